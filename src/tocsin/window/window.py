"""The sliding window: keeps the best recent messages for each subscription as messages arrive."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import InvalidInput, RecordError
from tocsin.index.window.kernels.layouts import Changes
from tocsin.model.subscription import Reject
from tocsin.model.window import ENTER, EXIT, Change, Location, MessageKey, Moment, checked_seconds
from tocsin.records import ObjectChunk
from tocsin.records.events import Events
from tocsin.window.answer import WindowAnswer
from tocsin.window.reading import Read
from tocsin.window.saving import load_window, save_window
from tocsin.window.subscription_set import WindowSubscriptions, stop_at_first

_KINDS: Final = pa.array([EXIT, ENTER])
_TABLE: Final = ("event", "subscription", "message", "kind", "score")


class Window(WindowSubscriptions):
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

    # Messages

    def push(
        self,
        *,
        words: Iterable[str] | None = None,
        text: str | None = None,
        location: Location,
        key: MessageKey | None = None,
        time: Moment | None = None,
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

    def push_batch(self, messages: Events, *, strict: bool = False, changes: bool = True) -> WindowAnswer:
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
                    stop_at_first(errors, strict)
                    if changes:
                        parts.append(self._table(self._push(read), read.rows))
                    else:
                        self._fill(read)
            finally:
                self._timed(self._sliding.end_fill)
            filled = [part for part in parts if part.num_rows] or parts[:1]
            table = pa.concat_tables(filled).unify_dictionaries()
            return WindowAnswer(table, errors, self.stats.less(before))

    def advance(self, time: Moment) -> list[Change]:
        """Let time pass without a message; returns the changes. Later messages must not have an earlier time."""
        if self.span is None:
            raise InvalidInput("this window is one of a number of messages; only a window with time= can be advanced")
        with self._lock:
            now = checked_seconds(time)
            if now < self._reader.latest:
                raise InvalidInput(f"time is {now:g}, before {self._reader.latest:g}, the latest so far")
            self._reader.latest = now
            return self._told(self._counted(self._sliding.advance(now)))

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
            stop_at_first(read.rejects, strict=True)
            self._push(read)
        self._reader.latest = -np.inf if latest is None else float(latest)
        self.subscribe_many(subscriptions, strict=True)

    def _counted(self, changes: Changes) -> Changes:
        self._changes += len(changes.slots)
        return changes

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
