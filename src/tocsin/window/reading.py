"""Parsing records of messages and subscriptions into arrays, with the reasons for rejecting others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.errors import InvalidInput, RecordError
from tocsin.index.window.kernels.layouts import Batch
from tocsin.index.window.kernels.lists import distinct_words
from tocsin.index.window.slots import Coming
from tocsin.model.subscription import Reject, SubscriptionId, checked_id
from tocsin.model.texts import Text
from tocsin.model.window import (
    MOST_MESSAGES,
    Bounds,
    MessageKey,
    checked_alpha,
    checked_k,
    checked_key,
    checked_seconds,
)
from tocsin.records import Chunk, read_events
from tocsin.window.fields import Column, Fields, WordLists, chosen_words, places_in, seconds_in, words_in
from tocsin.window.frequencies import BOOLEAN, TermFrequency, factors_of
from tocsin.window.keys import Keys
from tocsin.window.vocabulary import Vocabulary

DEFAULT_K: Final = 10
DEFAULT_ALPHA: Final = 0.5
_MESSAGE: Final = frozenset(("words", "text", "location", "key", "time"))
_SUBSCRIPTION: Final = ("id", "words", "text", "location", "k", "alpha")


class Read(NamedTuple):
    """Accepted messages with their rows, and the rejects."""

    batch: Batch
    rows: NDArray[np.int64]
    keys: list[MessageKey]
    rejects: list[Reject]


class Checked(NamedTuple):
    """The messages of a chunk of R records, including rejected ones."""

    places: NDArray[np.float64]  # (R, 2)
    times: NDArray[np.float64]  # (R,)
    lists: WordLists
    keys: list[Any]  # (R,) or empty, if messages have no keys
    good: NDArray[np.int64]  # places of accepted messages
    rows: NDArray[np.int64]  # (R,)
    rejects: list[Reject]


class CheckedSubscriptions(NamedTuple):
    """The subscriptions of a chunk of R records, including rejected ones."""

    ids: list[SubscriptionId | None]  # (R,)
    places: NDArray[np.float64]  # (R, 2)
    lists: WordLists
    ks: NDArray[np.int32]  # (R,)
    alphas: NDArray[np.float64]  # (R,)
    good: NDArray[np.int64]  # places of accepted subscriptions
    rows: NDArray[np.int64]  # (R,)
    rejects: list[Reject]


class NewSubscriptions(NamedTuple):
    """Accepted subscriptions with their ids and rows, and the rejects."""

    coming: Coming
    ids: list[Any]
    rows: NDArray[np.int64]
    rejects: list[Reject]


class Admission(NamedTuple):
    """The rules for the next message that earlier ones set."""

    latest: float  # the time before which messages are late
    kind: type | None  # of keys
    is_decided: bool


class Reader:
    """Reads records by the rules of a window.

    `latest` is the time before which messages are late, and `horizon` the time after which they are too far ahead.
    """

    def __init__(
        self,
        bounds: Bounds,
        how: Text,
        has_time: bool,
        vocabulary: Vocabulary,
        keys: Keys,
        frequency: TermFrequency = BOOLEAN,
    ) -> None:
        self._bounds, self._how, self._has_time, self._frequency = bounds, how, has_time, frequency
        self._vocabulary, self._keys = vocabulary, keys
        self.latest, self.horizon = -np.inf, np.inf
        self._stamps, self._stamp = np.zeros(0, np.int64), 0

    @property
    def admission(self) -> Admission:
        """What the messages read so far decide for the next ones."""
        return Admission(self.latest, self._keys.kind, self._keys.is_decided)

    def readmit(self, admission: Admission) -> None:
        """Return to an earlier state, because messages that were read since then are not in the window."""
        self.latest = admission.latest
        self._keys.kind, self._keys.is_decided = admission.kind, admission.is_decided

    def message_chunks(self, source: Any) -> Iterator[Chunk]:
        """The records of a source; raises `InvalidInput` if it cannot be read."""
        return read_events(source, lambda name: name in _MESSAGE, what="messages")

    def subscription_chunks(self, source: Any) -> Iterator[Chunk]:
        """The records of a source; raises `InvalidInput` if it cannot be read."""
        return read_events(source, what="subscriptions")

    def messages(self, chunk: Chunk, know: Callable[[], NDArray[np.float64]]) -> Read:
        """The messages of a chunk; `know` registers new words and returns the squared weights of all words."""
        checked = self.checked(chunk)
        good = checked.good
        starts, words, factors = self._weighed(checked.lists, good, know)
        places, times = np.ascontiguousarray(checked.places[good]), np.ascontiguousarray(checked.times[good])
        keys = [checked.keys[at] for at in good.tolist()] if checked.keys else []
        return Read(Batch(starts, words, factors, places, times), checked.rows[good], keys, checked.rejects)

    def message(self, record: Mapping[str, Any], know: Callable[[], NDArray[np.float64]]) -> Read:
        """One message, as `messages` reads it; raises `RecordError` if it is bad."""
        place = self._bounds.place(record["location"])
        time = checked_seconds(record["time"]) if self._has_time else 0.0
        words = chosen_words(record["words"], record["text"], self._how)
        key = self._accepted(record["key"], time)
        numbers, squares = self._vocabulary.numbers_of(words), know()
        starts, factors = np.array([0, len(numbers)], np.int64), _NO_FACTORS
        if self._frequency != BOOLEAN:
            starts, numbers, factors = counted_words(starts, numbers, squares, self._frequency)
        else:
            numbers = np.array(sorted(dict.fromkeys(numbers.tolist()), key=squares.__getitem__), np.int32)
            starts[1] = len(numbers)
        batch = Batch(starts, numbers, factors, np.array([place]), np.array([time]))
        return Read(batch, _ONE_ROW, [] if self._keys.kind is None else [key], [])

    def checked(self, chunk: Chunk) -> Checked:
        """The messages of a chunk, before their words are numbered."""
        fields = Fields(chunk)
        places = places_in(fields, self._bounds)
        times = seconds_in(fields) if self._has_time else np.zeros(len(fields))
        lists = words_in(fields, self._how)
        keys = self._keys_in(fields, times)
        return Checked(places, times, lists, keys, fields.good(), fields.rows, fields.rejects())

    def subscriptions(self, chunk: Chunk, know: Callable[[], NDArray[np.float64]]) -> NewSubscriptions:
        """The subscriptions of a chunk. Does not check whether ids are taken."""
        checked = self.checked_subscriptions(chunk)
        good = checked.good
        starts, words = self._numbered(checked.lists, good, know)
        norms = norms_of(starts, words, know())
        coming = Coming(starts, words, checked.places[good], checked.ks[good], checked.alphas[good], norms)
        ids = [checked.ids[at] for at in good.tolist()]
        return NewSubscriptions(coming, ids, checked.rows[good], checked.rejects)

    def checked_subscriptions(self, chunk: Chunk) -> CheckedSubscriptions:
        """The subscriptions of a chunk, before their words are numbered."""
        fields = Fields(chunk)
        _refuse_unknown(fields)
        ids = _ids_in(fields)
        places, lists = places_in(fields, self._bounds), words_in(fields, self._how)
        for at in np.flatnonzero(np.diff(lists.starts) == 0).tolist():
            fields.refuse(at, RecordError("there is none; a subscription needs at least one word", "words"))
        ks = _numbers_in(fields, "k", DEFAULT_K, checked_k, np.int32)
        alphas = _numbers_in(fields, "alpha", DEFAULT_ALPHA, checked_alpha, np.float64)
        rejects = fields.rejects(lambda at: ids[at])
        return CheckedSubscriptions(ids, places, lists, ks, alphas, fields.good(), fields.rows, rejects)

    def _keys_in(self, fields: Fields, times: NDArray[np.float64]) -> list[Any]:
        """The keys of messages; empty if they have none. Refuses late messages."""
        column = fields.column("key")
        keys: list[Any] = [None] * len(fields) if column is None else _plain(column)
        for at, time in zip((good := fields.good()).tolist(), times[good].tolist(), strict=True):
            try:
                keys[at] = self._accepted(keys[at], time)
            except RecordError as error:
                fields.refuse(at, error)
        return keys if self._keys.kind is not None else []

    def _accepted(self, key: Any, time: float) -> Any:
        """The checked key of a message that is in time; raises `RecordError`, and then nothing has changed."""
        if self._has_time and time < self.latest:
            raise RecordError(late(time, self.latest), "time")
        if self._has_time:
            self.require_near(time)
        key = checked_key(key)
        self._keys.check(key)
        if self._has_time:
            self.latest = time
        return key

    def require_near(self, time: float) -> None:
        """Raise `RecordError` for a time that is too far ahead."""
        if time > self.horizon:
            raise RecordError(f"{time:g} is after {self.horizon:g}, and a window does not go back", "time")

    def _weighed(
        self, lists: WordLists, good: NDArray[np.int64], know: Callable[[], NDArray[np.float64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """The words of some messages as a batch has them: where each message begins, numbers, factors."""
        if self._frequency == BOOLEAN:
            return *self._numbered(lists, good, know), _NO_FACTORS
        starts, numbers = self._repeated(lists, good)
        return counted_words(starts, numbers, know(), self._frequency)

    def _repeated(self, lists: WordLists, good: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The words of some records as numbers, which may repeat; new words are registered nowhere else."""
        numbers = self._vocabulary.numbers_of(lists.distinct)
        starts, members = lists.starts, lists.numbers
        if len(good) < len(starts) - 1:
            own, owners = gathered(starts, good)
            members, starts = members[own], np.searchsorted(owners, np.arange(len(good) + 1))
        return starts, numbers[members] if len(members) else np.empty(0, np.int32)

    def _numbered(
        self, lists: WordLists, good: NDArray[np.int64], know: Callable[[], NDArray[np.float64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The words of some records as numbers, distinct within a record, the lightest first."""
        starts, given = self._repeated(lists, good)
        squares = know()
        out_starts, out = np.empty(len(starts), np.int64), np.empty(len(given), np.int32)
        if len(self._stamps) < len(squares):
            self._stamps = np.zeros(len(squares), np.int64)
        stamp, self._stamp = self._stamp, self._stamp + len(good)  # first, so that no stamp is ever used twice
        distinct_words(starts, given, squares, self._stamps, stamp, out_starts, out)
        return out_starts, out[: out_starts[-1]]


_ONE_ROW: Final = np.zeros(1, np.int64)
_NO_FACTORS: Final = np.zeros(0)


def counted_words(
    starts: NDArray[np.int64], words: NDArray[np.int32], squares: NDArray[np.float64], frequency: TermFrequency
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """The distinct words of each message, with the factors by which they count: those that add least first.

    `words[starts[i]:starts[i + 1]]` are those of message i, and may repeat.
    """
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pairs, counts = np.unique(owners * len(squares) + words, return_counts=True)
    owners, distinct = np.divmod(pairs, len(squares))
    factors = factors_of(frequency, counts)
    order = np.lexsort((squares[distinct], squares[distinct] * factors, owners))
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(starts) - 1))])
    return starts.astype(np.int64), distinct[order].astype(np.int32), factors[order]


def stop_at_first(errors: list[Reject], strict: bool) -> None:
    """Raise the first of some rejects, if asked to be strict."""
    if strict and errors:
        first = errors[0]
        raise RecordError(f"row {first.row}: {first.reason}", first.field)


def late(time: float, before: float) -> str:
    """The reason for rejecting a late message."""
    return f"{time:g} is before {before:g}, the time of the message before; send messages in order"


def norms_of(starts: NDArray[np.int64], words: NDArray[np.int32], squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The norm of each record's words, summed in order."""
    counts = np.diff(starts)
    sums = np.zeros(len(counts))
    for place in range(int(counts.max(initial=0))):
        has = np.flatnonzero(counts > place)
        sums[has] += squares[words[starts[has] + place]]
    return np.sqrt(sums)


def _refuse_unknown(fields: Fields) -> None:
    """Reject unknown fields: they are probably misspelt."""
    known = ", ".join(_SUBSCRIPTION)
    for name in fields.names:
        if name not in _SUBSCRIPTION:
            raise InvalidInput(f"a subscription has no column {name!r:.60}; it has {known}. Leave the column out.")
    for at, record in enumerate(fields.objects):
        if unknown := next((name for name in record if name not in _SUBSCRIPTION), None):
            fields.refuse(at, RecordError(f"a subscription has no field {unknown!r:.60}; it has {known}", str(unknown)))


def _ids_in(fields: Fields) -> list[SubscriptionId | None]:
    column = fields.column("id")
    ids: list[SubscriptionId | None] = [None] * len(fields)
    if isinstance(column, pa.Array) and not column.null_count and _is_id(column.type):
        ids = column.to_pylist()
    else:
        for at, one in fields.each(column, range(len(fields)), checked_id):
            ids[at] = one
    return ids


def _is_id(kind: pa.DataType) -> bool:
    is_small = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
    return is_small or pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _numbers_in(fields: Fields, name: str, default: float, check: Callable[[Any], Any], kind: Any) -> NDArray[Any]:
    """A number for each record, or the default if it has none."""
    column = fields.column(name)
    numbers = np.full(len(fields), default, kind)
    if column is None:
        return numbers
    is_good = np.zeros(len(fields), bool)
    if isinstance(column, pa.Array) and not column.null_count and _fits(column.type, kind):
        raw = column.to_numpy(zero_copy_only=False)
        is_good = (raw >= 1) & (raw <= MOST_MESSAGES) if kind is np.int32 else (raw >= 0) & (raw < 1)
        numbers[is_good] = raw[is_good]
    for at, number in fields.each(
        column, np.flatnonzero(~is_good).tolist(), lambda raw: default if raw is None else check(raw)
    ):
        numbers[at] = number
    return numbers


def _fits(given: pa.DataType, kind: Any) -> bool:
    return bool(pa.types.is_integer(given) if kind is np.int32 else pa.types.is_floating(given))


def _plain(column: Column) -> list[Any]:
    return list(column) if isinstance(column, list) else column.to_pylist()
