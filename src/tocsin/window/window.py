"""The sliding window: keeps the best recent messages for each subscription as messages arrive."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import DuplicateSubscription, InvalidInput, RecordError
from tocsin.forking import renewed
from tocsin.index.registry import window_index
from tocsin.index.window import Shares, Sliding
from tocsin.index.window.kernels.layouts import ALPHA, EXAMINED, REACHED, REEVALUATED, Changes, X, Y
from tocsin.index.window.stored import words_of_message
from tocsin.model.subscription import Reject, Report, SubscriptionId, shown
from tocsin.model.texts import PLAIN, Text
from tocsin.model.window import ENTER, EXIT, Bounds, Change, MessageKey, checked_seconds, checked_squares
from tocsin.records import ObjectChunk
from tocsin.threads import workers
from tocsin.window.answer import WindowAnswer, WindowStats
from tocsin.window.explaining import Side, WindowExplanation, explain
from tocsin.window.keys import Keys
from tocsin.window.names import Names
from tocsin.window.reading import DEFAULT_ALPHA, DEFAULT_K, NewSubscriptions, Read, Reader
from tocsin.window.saving import load_window, save_window
from tocsin.window.vocabulary import Vocabulary

_KINDS: Final = pa.array([EXIT, ENTER])
_TABLE: Final = ("event", "subscription", "message", "kind", "score")


class Window:
    """The best k recent messages for every subscription, kept up to date as messages arrive.

    The window has the last `size` messages, those of the last `time` seconds (a number or a `timedelta`), or those that
    meet both limits. A message is a set of words at a place within `bounds` (xmin, ymin, xmax, ymax); so is a
    subscription. A message that has a word in common with a subscription has the score

        alpha * (1 - distance / diagonal of the bounds) + (1 - alpha) * cosine of the words

    Each word weighs 1, unless `weights` gives another weight (`tocsin.idf` computes them). Of equal scores the newer
    message is better. `text` says how texts are split into words. `index` names the structure that finds the
    subscriptions that a message reaches, with options in parentheses; all structures give the same answers. `threads`
    share the subscriptions when messages come in batches (None: one per core); each thread has all messages. Any thread
    may call; calls are serialised.

    >>> window = Window(size=1000, bounds=(-180, -90, 180, 90))
    >>> window.subscribe("u1", words=["seafood"], location=(2.35, 48.85), k=1, alpha=0.3)
    >>> window.push(words=["fresh", "seafood"], location=(2.29, 48.86))
    [Change(subscription='u1', message=0, kind='enter', score=0.7949...)]
    >>> [(change.kind, change.message) for change in window.push(words=["seafood"], location=(2.29, 48.86))]
    [('exit', 0), ('enter', 1)]
    >>> window.results("u1")
    [(1, 0.9999...)]

    Source: Wang et al. 2016 (Skype); docs/papers/skype.md says where it departs.
    """

    def __init__(
        self,
        size: int | None = None,
        *,
        bounds: Sequence[float],
        time: float | timedelta | None = None,
        weights: Mapping[str, float] | None = None,
        text: Text | str = PLAIN,
        index: str = "blocks",
        threads: int | None = 1,
    ) -> None:
        self.size, self.span = _checked_size(size), _checked_span(time)
        if self.size is None and self.span is None:
            raise InvalidInput("a window needs size, a number of messages, or time, a number of seconds, or both")
        self.bounds, self.index = Bounds.of(bounds), index
        self.text = text if isinstance(text, Text) else Text.of(text)
        self.weights, self._squares = dict(weights or {}), checked_squares(weights)
        diagonal = self.bounds.diagonal
        shares = [
            Sliding(*window_index(index, diagonal), diagonal, self.size, self.span) for _ in range(workers(threads))
        ]
        self._sliding: Sliding | Shares = shares[0] if len(shares) == 1 else Shares(shares)
        self._vocabulary, self._names, self._keys = Vocabulary(self._squares), Names(), Keys()
        self._reader = Reader(self.bounds, self.text, self.span is not None, self._vocabulary, self._keys)
        self._changes = 0
        self._seconds = 0.0
        self.renew_locks()
        renewed(self)

    def renew_locks(self) -> None:
        self._lock = threading.RLock()

    # Subscriptions

    def subscribe(
        self,
        id: SubscriptionId,
        *,
        words: Iterable[str] | None = None,
        text: str | None = None,
        location: Any,
        k: int = DEFAULT_K,
        alpha: float = DEFAULT_ALPHA,
        replace: bool = False,
    ) -> None:
        """Add a subscription: from now on the window keeps its best k messages, starting with the current ones.

        `alpha` is the weight of the place, from 0 to less than 1. Raises `RecordError` for an invalid subscription, and
        `DuplicateSubscription` if the id is taken and `replace` is not set. Cost: microseconds, plus a search of the
        window.
        """
        words = words if words is None or isinstance(words, str) else list(words)
        record = {"id": id, "words": words, "text": text, "location": location, "k": k, "alpha": alpha}
        with self._lock:
            asked = self._reader.subscriptions(ObjectChunk([(0, record)]), self._know)
            if asked.rejects:
                raise RecordError(asked.rejects[0].reason, asked.rejects[0].field)
            if id in self._names and not replace:
                raise DuplicateSubscription(f"subscription {shown(id)} exists; give replace=True to replace it")
            self._names.check_kind(id)
            self._take(asked, [0])

    def subscribe_many(self, subscriptions: Any, *, replace: bool = False, strict: bool = False) -> Report:
        """Add subscriptions from any source of records: `id`, `words` or `text`, `location`, optionally `k`, `alpha`.

        A bad subscription is skipped and reported with its row and reason; `strict` raises `RecordError` at the first
        one.
        """
        accepted, errors = 0, list[Reject]()
        with self._lock:
            for chunk in self._reader.subscription_chunks(subscriptions):
                asked = self._reader.subscriptions(chunk, self._know)
                places, rejects = self._names.free(asked.ids, asked.rows.tolist(), replace=replace)
                errors += sorted([*asked.rejects, *rejects], key=lambda one: one.row)
                _stop_at_first(errors, strict)
                self._take(asked, places)
                accepted += len(places)
        return Report(accepted, errors)

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Remove a subscription; raises `UnknownSubscription`."""
        with self._lock:
            slot = self._names.slot(id)
            self._names.remove(id)
            self._sliding.remove(slot)

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._names)

    def __contains__(self, id: object) -> bool:
        return id in self._names

    def __iter__(self) -> Iterator[SubscriptionId]:
        """The ids, ascending."""
        return iter(self._names)

    # Messages

    def push(
        self,
        *,
        words: Iterable[str] | None = None,
        text: str | None = None,
        location: Any,
        key: MessageKey | None = None,
        time: Any = None,
    ) -> list[Change]:
        """Push a message; returns all changes that it causes: exits, then enters, each by subscription.

        Messages are identified by `key`, or numbered from 0. `time` is seconds or an instant; a window of time requires
        it. Raises `RecordError` for a bad message, which changes nothing.
        """
        words = words if words is None or isinstance(words, str) else list(words)
        record = {"words": words, "text": text, "location": location, "key": key, "time": time}
        with self._lock:
            read = self._read(ObjectChunk([(0, record)]))
            if read.rejects:
                raise RecordError(read.rejects[0].reason, read.rejects[0].field)
            return self._told(self._push(read))

    def push_batch(self, messages: Any, *, strict: bool = False, changes: bool = True) -> WindowAnswer:
        """Push messages from any source of records, one after the other.

        They have `words` or `text`, `location`, and optionally `key` and `time`. A bad message is skipped and reported
        with its row and reason. `strict` raises `RecordError` at the first one; the messages of earlier chunks are then
        in the window.

        With `changes=False` the table is empty, and many messages cost much less. If a chunk is larger than an eighth
        of the messages held, as while the window fills, best messages are searched for once, at the end.
        """
        parts, errors = [self._table(None, np.zeros(0, np.int64))], list[Reject]()
        with self._lock:
            before = self.stats
            try:
                for chunk in self._reader.message_chunks(messages):
                    read = self._read(chunk)
                    errors += read.rejects
                    _stop_at_first(errors, strict)
                    if changes:
                        parts.append(self._table(self._push(read), read.rows))
                    else:
                        self._fill(read)
            finally:
                self._timed(self._sliding.end_fill)
            filled = [part for part in parts if part.num_rows] or parts[:1]
            table = pa.concat_tables(filled).unify_dictionaries()
            return WindowAnswer(table, errors, self.stats.less(before))

    def advance(self, time: Any) -> list[Change]:
        """Let time pass without a message; returns the changes. Later messages must not have an earlier time."""
        if self.span is None:
            raise InvalidInput("this window is one of a number of messages; only a window with time= can be advanced")
        with self._lock:
            now = checked_seconds(time)
            if now < self._reader.latest:
                raise InvalidInput(f"time is {now:g}, before {self._reader.latest:g}, the latest so far")
            self._reader.latest = now
            return self._told(self._counted(self._sliding.advance(now)))

    # Answers

    def results(self, id: SubscriptionId) -> list[tuple[MessageKey, float]]:
        """The best messages of a subscription with their scores, best first; raises `UnknownSubscription`."""
        with self._lock:
            numbers, scores = self._sliding.best(self._names.slot(id))
            return list(zip(self._keys.of(numbers), scores.tolist(), strict=True))

    def results_table(self) -> pa.Table:
        """The best messages of all: `subscription`, `rank` from 1, `message`, `score`; ordered by the first two."""
        with self._lock:
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
        """Why a message is among a subscription's best, or not.

        If several messages have the key, the newest is explained. Raises `UnknownSubscription`, and `InvalidInput` for
        a message that is not in the window.
        """
        with self._lock:
            sliding, slot = self._sliding, self._names.slot(id)
            first, taken = sliding.taken - sliding.held, sliding.taken
            numbers = self._keys.numbers_of(message, first, taken)
            if not numbers:
                raise InvalidInput(f"message {shown(message)} is not in the window; it expired, or never came")
            at = numbers[-1] & (len(sliding.messages.word_starts) - 1)
            asked, own = sliding.held_at(np.array([slot], np.int32)), sliding.messages.records[at]
            given = Side((float(own[X]), float(own[Y])), self._weighed(words_of_message(sliding.messages, numbers[-1])))
            record = asked.records[0]
            wanted = Side((float(record[X]), float(record[Y])), self._weighed(asked.words))
            best = list(zip(*(array.tolist() for array in sliding.best(slot)), strict=True))
            return explain(
                (id, wanted, float(record[ALPHA]), int(asked.ks[0])), (message, numbers[-1], given), best, self.bounds
            )

    @property
    def held(self) -> int:
        """The number of messages in the window."""
        return self._sliding.held

    @property
    def stats(self) -> WindowStats:
        """The work of the window since it was made."""
        counts = self._sliding.counts()
        examined, reached, reevaluations = (int(counts[column]) for column in (EXAMINED, REACHED, REEVALUATED))
        return WindowStats(self._sliding.taken, examined, reached, self._changes, reevaluations, self._seconds)

    def sizes(self) -> Mapping[str, int]:
        """Bytes by purpose: `records`, `buffers`, `structure`, `messages`, `work`."""
        return self._sliding.sizes()

    def __repr__(self) -> str:
        return f"Window({len(self)} subscriptions, {self.held} messages, index={self.index!r})"

    # Files

    def save(self, folder: str | Path) -> None:
        """Write the messages and the subscriptions into a folder as two tables, atomically."""
        with self._lock:
            save_window(self, folder)

    @classmethod
    def load(cls, folder: str | Path, *, index: str | None = None, threads: int | None = 1) -> Window:
        """Load a saved window, with the same index or another one; raises `SegmentError`."""
        return load_window(cls, folder, index, threads)

    # Internals

    def _know(self) -> NDArray[np.float64]:
        """Register new words with the structures."""
        self._sliding.know_words(len(self._vocabulary), *self._vocabulary.new_words())
        return self._sliding.squares

    def _read(self, chunk: Any) -> Read:
        sliding = self._sliding
        if sliding.settle() or self._vocabulary.is_full():
            self._vocabulary.forget(sliding.uses)
        self._keys.forget(sliding.taken - sliding.held, sliding.taken)
        return self._reader.messages(chunk, self._know)

    def _push(self, read: Read) -> Changes:
        self._keys.add(read.keys)
        return self._counted(self._timed(self._sliding.push, read.batch))

    def _fill(self, read: Read) -> None:
        self._keys.add(read.keys)
        self._timed(self._sliding.fill, read.batch)

    def _timed(self, step: Callable[..., Any], *given: Any) -> Any:
        began = clock.perf_counter()
        done = step(*given)
        self._seconds += clock.perf_counter() - began
        return done

    def _restore(self, messages: pa.Table, subscriptions: pa.Table, taken: int, latest: float | None) -> None:
        """Restore saved messages, the last of which has a number below `taken`, then the subscriptions."""
        self._sliding.start_at(taken - messages.num_rows)
        for chunk in self._reader.message_chunks(messages):
            read = self._read(chunk)
            _stop_at_first(read.rejects, strict=True)
            self._push(read)
        self._reader.latest = -np.inf if latest is None else float(latest)
        self.subscribe_many(subscriptions, strict=True)

    def _counted(self, changes: Changes) -> Changes:
        self._changes += len(changes.slots)
        return changes

    def _take(self, asked: NewSubscriptions, places: list[int]) -> None:
        """Add some of the requested subscriptions, replacing those with the same ids."""
        if not places:
            return
        for name in [asked.ids[place] for place in places if asked.ids[place] in self._names]:
            self.unsubscribe(name)
        coming = asked.coming if len(places) == len(asked.ids) else asked.coming.part(np.array(places))
        slots = self._sliding.add(coming)
        self._names.add([asked.ids[place] for place in places], slots, self._sliding.rank)

    def _weighed(self, numbers: NDArray[np.int32]) -> dict[str, float]:
        words = self._vocabulary.words_of(numbers.tolist())
        return {word: self._squares.get(word, 1.0) for word in words}

    def _told(self, changes: Changes) -> list[Change]:
        kinds = [ENTER if enters else EXIT for enters in changes.enters.tolist()]
        names, keys = self._names.of(changes.slots), self._keys.of(changes.numbers)
        return list(map(Change, names, keys, kinds, changes.scores.tolist()))

    def _table(self, changes: Changes | None, rows: NDArray[np.int64]) -> pa.Table:
        if changes is None:
            empty = np.zeros(0, np.int32)
            changes = Changes(empty, rows, np.zeros(0, np.bool_), np.zeros(0), rows)
        events = np.repeat(rows, np.diff(changes.ends, prepend=0))
        kinds = pa.DictionaryArray.from_arrays(pa.array(changes.enters.astype(np.int8)), _KINDS)
        columns = [events, self._names.column(changes.slots), self._keys.column(changes.numbers), kinds, changes.scores]
        return pa.table(columns, names=_TABLE)


def _stop_at_first(errors: list[Reject], strict: bool) -> None:
    if strict and errors:
        first = errors[0]
        raise RecordError(f"row {first.row}: {first.reason}", first.field)


def _checked_size(size: Any) -> int | None:
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 1 << 30:
        raise InvalidInput(f"size is {size!r:.40}; it must be a number of messages, from 1 to {1 << 30:,}")
    return int(size)


def _checked_span(time: Any) -> float | None:
    if time is None:
        return None
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise InvalidInput(f"time is {time!r:.40}; it must be a number of seconds above 0, or a timedelta")
    return float(seconds)
