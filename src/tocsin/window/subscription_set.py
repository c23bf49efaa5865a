"""The subscriptions of a window: added, removed, and asked for their best messages."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.commits import Commit
from tocsin.errors import DuplicateSubscription, HalfChanged, InvalidInput, RecordError
from tocsin.forking import renewed
from tocsin.index.registry import window_index
from tocsin.index.window import Shares, Sliding
from tocsin.index.window.kernels.layouts import ALPHA, EXAMINED, REACHED, REEVALUATED, X, Y
from tocsin.index.window.stored import words_of_message
from tocsin.model.subscription import Reject, Report, SubscriptionId, shown
from tocsin.model.texts import PLAIN, Text
from tocsin.model.window import Bounds, Location, MessageKey, checked_size, checked_span, checked_squares
from tocsin.records import ObjectChunk
from tocsin.records.events import Events
from tocsin.threads import workers
from tocsin.window.answer import WindowStats
from tocsin.window.changing import Alone, Changing, require_at_rest
from tocsin.window.explaining import Side, WindowExplanation, explain
from tocsin.window.frequencies import BOOLEAN, TermFrequency, checked_term_frequency
from tocsin.window.keys import Keys
from tocsin.window.names import Names, Naming
from tocsin.window.reading import DEFAULT_ALPHA, DEFAULT_K, NewSubscriptions, Reader, stop_at_first
from tocsin.window.vocabulary import Vocabulary


class WindowSubscriptions:
    """The part of a window that holds its subscriptions and their best messages; `Window` takes messages, too."""

    def __init__(
        self,
        size: int | None = None,
        *,
        bounds: Sequence[float],
        time: float | timedelta | None = None,
        weights: Mapping[str, float] | None = None,
        text: Text | str = PLAIN,
        term_frequency: TermFrequency = BOOLEAN,
        index: str = "blocks",
        threads: int | None = 1,
    ) -> None:
        self.size, self.span = checked_size(size), checked_span(time)
        if self.size is None and self.span is None:
            raise InvalidInput("a window needs size, a number of messages, or time, a number of seconds, or both")
        self.bounds, self.index = Bounds.of(bounds), index
        self.text = text if isinstance(text, Text) else Text.of(text)
        self.weights, self._squares = dict(weights or {}), checked_squares(weights)
        self.term_frequency = checked_term_frequency(term_frequency)
        self._share_count = workers(threads)
        self._begin()
        self.renew_locks()
        renewed(self)

    def _begin(self) -> None:
        """Begin without messages and subscriptions."""
        diagonal, has_factors = self.bounds.diagonal, self.term_frequency != BOOLEAN
        shares = [
            Sliding(*window_index(self.index, diagonal), diagonal, self.size, self.span, has_factors)
            for _ in range(self._share_count)
        ]
        self._sliding: Sliding | Shares = shares[0] if len(shares) == 1 else Shares(shares)
        self._commit = Commit()
        self._vocabulary, self._names, self._keys = Vocabulary(self._squares), Names(), Keys()
        has_time = self.span is not None
        self._reader = Reader(self.bounds, self.text, has_time, self._vocabulary, self._keys, self.term_frequency)
        self._changes = 0
        self._seconds = 0.0

    def renew_locks(self) -> None:
        """Recreate the lock as unheld; the child of a fork calls this."""
        self._lock = threading.RLock()

    def _reading(self) -> AbstractContextManager[Any]:
        """Within this, other threads change nothing. Raises `HalfChanged` for a window that is."""
        return Alone(self)

    def _changing(self) -> AbstractContextManager[Any]:
        """Within this, messages and subscriptions change; a durable window makes the changes durable at its end."""
        return Changing(self)

    def _require_whole(self) -> None:
        """Raise `HalfChanged` if a change ended halfway. The caller holds the lock, and has changed nothing yet."""
        if self._commit.is_half or not self._sliding.is_whole:
            raise HalfChanged(
                "a change of this window failed halfway, for lack of memory or by an interrupt, and its answers could "
                "be wrong; make the window again, or load it"
            )

    # Subscriptions

    def subscribe(
        self,
        id: SubscriptionId,
        *,
        words: Iterable[str] | None = None,
        text: str | None = None,
        location: Location,
        k: int = DEFAULT_K,
        alpha: float = DEFAULT_ALPHA,
        replace: bool = False,
    ) -> None:
        """Add a subscription; from now on the window keeps its best messages, starting with the current ones.

        Parameters
        ----------
        id : str or int
            The id. All ids of a window are strings, or all are integers.
        words : iterable of str, optional
            The subscription's words, at least one.
        text : str, optional
            A text instead, which is split into words as the window's `text` says.
        location : pair of float, or GeoJSON point
            The place, within the bounds.
        k : int
            The number of messages to keep, from 1 to 1,000,000.
        alpha : float
            The weight of the place, from 0 to less than 1.
        replace : bool
            Whether to replace a subscription with the same id.

        Raises
        ------
        RecordError
            If a field is invalid.
        DuplicateSubscription
            If the id exists and `replace` is False.

        Notes
        -----
        Cost: microseconds, plus a search of the window.
        """
        words = words if words is None or isinstance(words, str) else list(words)
        record = {"id": id, "words": words, "text": text, "location": location, "k": k, "alpha": alpha}
        with self._changing():
            asked = self._reader.subscriptions(ObjectChunk([(0, record)]), self._know)
            if asked.rejects:
                raise RecordError(asked.rejects[0].reason, asked.rejects[0].field)
            if id in self._names and not replace:
                raise DuplicateSubscription(f"subscription {shown(id)} exists; give replace=True to replace it")
            self._names.check_kind(id)
            self._take(asked, [0])

    def subscribe_many(self, subscriptions: Events, *, replace: bool = False, strict: bool = False) -> Report:
        """Add subscriptions from any source of records.

        Parameters
        ----------
        subscriptions : source of events
            Records with `id`, `words` or `text`, `location`, and optionally `k` and `alpha`.
        replace : bool
            Whether to replace existing subscriptions. Otherwise these stay, and of several with one id the first is
            kept.
        strict : bool
            Whether to raise `RecordError` at the first bad record. Those of earlier chunks are then in the window.

        Returns
        -------
        Report
            The number of subscriptions that were added, and the rejected records.

        Raises
        ------
        InvalidInput
            If the source cannot be read.
        RecordError
            With `strict`, at the first bad record.
        """
        with self._changing():
            return self._subscribe_all(subscriptions, replace=replace, strict=strict)

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Remove a subscription.

        Parameters
        ----------
        id : str or int
            Its id.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        """
        with self._changing():
            self._drop(id)

    def __len__(self) -> int:
        """The number of subscriptions."""
        require_at_rest(self)
        return len(self._names)

    def __contains__(self, id: object) -> bool:
        require_at_rest(self)
        return id in self._names

    def __iter__(self) -> Iterator[SubscriptionId]:
        """The ids, ascending."""
        require_at_rest(self)
        return iter(self._names)

    # Answers

    def results(self, id: SubscriptionId) -> list[tuple[MessageKey, float]]:
        """The best messages of a subscription, best first.

        Parameters
        ----------
        id : str or int
            The subscription's id.

        Returns
        -------
        list of (str or int, float)
            The key or number of each message, and its score.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        """
        with self._reading():
            numbers, scores = self._sliding.best(self._names.slot(id))
            return list(zip(self._keys.of(numbers), scores.tolist(), strict=True))

    def results_table(self) -> pa.Table:
        """The best messages of all subscriptions.

        Returns
        -------
        pyarrow.Table
            Columns `subscription`, `rank` (from 1), `message` and `score`, ordered by the first two.

        Examples
        --------
        >>> import tocsin
        >>> window = tocsin.Window(size=1000, bounds=(0, 0, 10, 10))
        >>> window.subscribe("u1", words=["seafood"], location=(2, 5), alpha=0)
        >>> changes = window.push(words=["seafood"], location=(2, 5))
        >>> window.results_table().to_pylist()
        [{'subscription': 'u1', 'rank': 1, 'message': 0, 'score': 1.0}]
        """
        with self._reading():
            slots = np.array([self._names.slot(name) for name in self._names], np.int32)
            counts, numbers, scores = self._sliding.best_of_each(slots)
            return pa.table(
                {
                    "subscription": self._names.column(np.repeat(slots, counts)),
                    "rank": np.arange(1, len(numbers) + 1) - np.repeat(np.cumsum(counts) - counts, counts),
                    "message": self._keys.column(numbers),
                    "score": scores,
                }
            )

    def explain(self, id: SubscriptionId, message: MessageKey) -> WindowExplanation:
        """Explain why a message is among a subscription's best, or is not.

        Parameters
        ----------
        id : str or int
            The subscription's id.
        message : str or int
            The message's key, or its number. If several messages have the key, the newest is explained.

        Returns
        -------
        WindowExplanation
            The score, its parts and the rank; `str` gives it in words.

        Raises
        ------
        UnknownSubscription
            If no subscription has the id.
        InvalidInput
            If the message is not in the window.

        Examples
        --------
        >>> import tocsin
        >>> window = tocsin.Window(size=1000, bounds=(0, 0, 10, 10))
        >>> window.subscribe("u1", words=["seafood"], location=(2, 5), alpha=0.5)
        >>> changes = window.push(words=["fresh", "seafood"], location=(2, 5))
        >>> why = window.explain("u1", 0)
        >>> why.rank, why.common, why.spatial
        (1, ('seafood',), 1.0)
        """
        with self._reading():
            sliding, slot = self._sliding, self._names.slot(id)
            first, taken = sliding.taken - sliding.held, sliding.taken
            numbers = self._keys.numbers_of(message, first, taken)
            if not numbers:
                raise InvalidInput(
                    f"message {shown(message)} is not in the window; it has expired, or was never pushed"
                )
            at = numbers[-1] & (len(sliding.messages.word_starts) - 1)
            asked, own = sliding.held_at(np.array([slot], np.int32)), sliding.messages.records[at]
            words, factors = words_of_message(sliding.messages, numbers[-1])
            given = Side((float(own[X]), float(own[Y])), self._weighed(words, factors.tolist()))
            record = asked.records[0]
            wanted = Side((float(record[X]), float(record[Y])), self._weighed(asked.words, repeat(1.0)))
            best = list(zip(*(array.tolist() for array in sliding.best(slot)), strict=True))
            return explain(
                (id, wanted, float(record[ALPHA]), int(asked.ks[0])), (message, numbers[-1], given), best, self.bounds
            )

    @property
    def held(self) -> int:
        """The number of messages in the window."""
        require_at_rest(self)
        return self._sliding.held

    @property
    def stats(self) -> WindowStats:
        """The work of the window since it was made."""
        require_at_rest(self)
        counts = self._sliding.counts()
        examined, reached, reevaluations = (int(counts[column]) for column in (EXAMINED, REACHED, REEVALUATED))
        return WindowStats(self._sliding.taken, examined, reached, self._changes, reevaluations, self._seconds)

    # Internals

    def _know(self) -> NDArray[np.float64]:
        """Register new words with the structures."""
        numbers, squares = self._vocabulary.new_words()
        self._sliding.know_words(len(self._vocabulary), numbers, squares)
        self._vocabulary.know(len(numbers))
        return self._sliding.squares

    def _subscribe_all(self, subscriptions: Events, *, replace: bool, strict: bool) -> Report:
        accepted, errors = 0, list[Reject]()
        for chunk in self._reader.subscription_chunks(subscriptions):
            asked = self._reader.subscriptions(chunk, self._know)
            places, rejects = self._names.free(asked.ids, asked.rows.tolist(), replace=replace)
            errors += sorted([*asked.rejects, *rejects], key=lambda one: one.row)
            stop_at_first(errors, strict)
            self._take(asked, places)
            accepted += len(places)
        return Report(accepted, errors)

    def _take(self, asked: NewSubscriptions, places: list[int]) -> None:
        """Add some of the requested subscriptions, replacing those with the same ids: all of them, or none."""
        if not places:
            return
        names, slots = [asked.ids[place] for place in places], self._names
        replaced = [slots.slot(name) for name in names if name in slots]
        coming = asked.coming if len(places) == len(asked.ids) else asked.coming.part(np.array(places))
        sliding: Any = self._sliding
        joining = sliding.plan(coming)
        naming: Naming | None = None

        def assign(naming: Naming) -> None:
            self._names.assign(naming, self._sliding.rank)
            for slot in replaced:
                self._sliding.remove(slot)

        self._commit.is_half = True
        try:
            sliding.add(joining)
            naming = self._names.plan(names, joining.slots)
            assign(naming)
            self._commit.is_half = False
        except BaseException:
            if naming is None:
                self._sliding.remove_all(joining.slots)
            else:
                assign(naming)
            self._commit.is_half = False
            raise

    def _drop(self, id: SubscriptionId) -> None:
        """Remove a subscription; raises `UnknownSubscription`."""
        slot = self._names.slot(id)

        def drop() -> None:
            self._names.remove(id)
            self._sliding.remove(slot)

        self._commit.make(drop)

    def _weighed(self, numbers: NDArray[np.int32], factors: Iterable[float]) -> dict[str, tuple[float, float]]:
        """The squared weight of each word, and its factor."""
        words = self._vocabulary.words_of(numbers.tolist())
        return {word: (self._squares.get(word, 1.0), factor) for word, factor in zip(words, factors, strict=False)}
