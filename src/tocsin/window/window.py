"""The sliding window: keeps the best recent messages for each subscription as messages arrive."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.errors import InvalidInput
from tocsin.index.window.kernels.layouts import Changes
from tocsin.model.showing import html_table, refuse_pickling
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.window import ENTER, EXIT, Change, Location, MessageKey, Moment, checked_seconds
from tocsin.records.events import Events
from tocsin.window.answer import WindowAnswer
from tocsin.window.changing import require_at_rest
from tocsin.window.kept import KeptWindow
from tocsin.window.reading import Read, stop_at_first

_KINDS: Final = (EXIT, ENTER)
_TABLE: Final = ("event", "subscription", "message", "kind", "score")


class Window(KeptWindow):
    """The best k recent messages for every subscription, kept up to date as messages arrive.

    A message is a set of words at a place; so is a subscription. A message that has a word in common with a
    subscription has the score

        alpha * (1 - distance / diagonal of the bounds) + (1 - alpha) * cosine of the words

    Of equal scores the newer message is better. Any thread may call; calls are serialised. `len(window)`, `id in
    window` and iteration are about the subscriptions' ids, ascending.

    Parameters
    ----------
    size : int, optional
        How many messages the window has at most.
    bounds : sequence of float
        The area of all places: xmin, ymin, xmax, ymax.
    time : float or timedelta, optional
        For how many seconds a message stays in the window. A window needs `size` or `time`; with both, messages meet
        both limits.
    weights : mapping of str to float, optional
        The weight of each word, above 0 (`tocsin.idf` computes them). A word that is not named weighs 1.
    text : Text or str
        How texts are split into words.
    term_frequency : {"boolean", "natural", "logarithm"}
        How often a word occurs in a message counts: not at all; or the word's weight is multiplied by the number of its
        occurrences; or by one more than the natural logarithm of that. With `weights` by idf, this is tf-idf.
    index : str
        The structure that finds the subscriptions that a message reaches, with options in parentheses. Answers do not
        depend on it.
    threads : int, optional
        The number of threads that share the subscriptions when messages come in batches. None: one per core.

    Attributes
    ----------
    span : float or None
        `time` in seconds.

    Raises
    ------
    InvalidInput
        If neither `size` nor `time` is given, or an option is invalid.
    UnknownIndex
        If no structure for windows has that name, or it has no such option.

    Examples
    --------
    >>> window = Window(size=1000, bounds=(-180, -90, 180, 90))
    >>> window.subscribe("u1", words=["seafood"], location=(2.35, 48.85), k=1, alpha=0.3)
    >>> window.push(words=["fresh", "seafood"], location=(2.29, 48.86))
    [Change(subscription='u1', message=0, kind='enter', score=0.7949...)]
    >>> [(change.kind, change.message) for change in window.push(words=["seafood"], location=(2.29, 48.86))]
    [('exit', 0), ('enter', 1)]
    >>> window.results("u1")
    [(1, 0.9999...)]

    Messages about a word come before those that mention it:

    >>> window = Window(size=1000, bounds=(0, 0, 10, 10), term_frequency="natural")
    >>> window.subscribe("u1", words=["fish"], location=(2, 5), alpha=0)
    >>> changes = window.push(text="Fish, fish, fish and chips", location=(2, 5))
    >>> changes = window.push(text="Fish and chips", location=(2, 5))
    >>> [message for message, _ in window.results("u1")]
    [0, 1]

    Notes
    -----
    Paper: Wang et al. 2016 (Skype), section 3, Equation 1, for the score. Its weights are tf-idf on both sides; here a
    subscription's words are a set. docs/papers/skype.md says where tocsin
    departs.
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
        """Push a message.

        Parameters
        ----------
        words : iterable of str, optional
            The message's words. Duplicates count as `term_frequency` of the window says.
        text : str, optional
            A text instead, which is split into words as the window's `text` says.
        location : pair of float, or GeoJSON point
            The place, within the bounds.
        key : str or int, optional
            The name of the message. Either all messages have keys or none; without keys they are numbered from 0.
        time : float, str or datetime, optional
            Seconds or an instant, not earlier than that of the message before. A window of time requires it.

        Returns
        -------
        list of Change
            All changes that the message causes: exits, then enters, each by subscription.

        Raises
        ------
        RecordError
            If the message is bad. It changes nothing then.

        Notes
        -----
        Only the net difference is reported. While a window fills, a message causes many changes; `push_batch` can leave
        them out.
        """
        record = {"words": words, "text": text, "location": location, "key": key, "time": time}
        with self._changing():
            self._settle()
            return self._told(self._push(self._reader.message(record, self._know)))

    def push_batch(self, messages: Events, *, strict: bool = False, changes: bool = True) -> WindowAnswer:
        """Push messages from any source of records, one after the other.

        Parameters
        ----------
        messages : source of events
            Records with `words` or `text`, `location`, and optionally `key` and `time`.
        strict : bool
            Whether to raise `RecordError` at the first bad message. The messages of earlier chunks are then in the
            window.
        changes : bool
            Whether the table has the changes. Without them many messages cost much less.

        Returns
        -------
        WindowAnswer
            The changes, the rejected messages, and the cost.

        Raises
        ------
        InvalidInput
            If the source cannot be read.
        RecordError
            With `strict`, at the first bad message.

        Notes
        -----
        Without `changes`, a chunk that is larger than an eighth of the messages held defers the search for best
        messages. They are then searched for once, at the end.

        Examples
        --------
        >>> window = Window(size=1000, bounds=(0, 0, 10, 10))
        >>> window.subscribe("u1", words=["seafood"], location=(2, 5), alpha=0)
        >>> window.push_batch([{"words": ["seafood"], "location": [2, 5], "key": "offer-17"}]).table.to_pylist()
        [{'event': 0, 'subscription': 'u1', 'message': 'offer-17', 'kind': 'enter', 'score': 1.0}]
        """
        parts, errors = [self._table(None, np.zeros(0, np.int64))], list[Reject]()
        with self._changing():
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
        """Let time pass without a message.

        Parameters
        ----------
        time : float, str or datetime
            The new time. Later messages must not have an earlier one.

        Returns
        -------
        list of Change
            The changes that the expiry of messages causes.

        Raises
        ------
        InvalidInput
            If the window is not one of time, or the time is before the latest so far.
        RecordError
            If the time cannot be read.

        Examples
        --------
        >>> window = Window(time=60, bounds=(0, 0, 10, 10))
        >>> window.subscribe("u1", words=["seafood"], location=(2, 5), alpha=0)
        >>> changes = window.push(words=["seafood"], location=(2, 5), time=0)
        >>> window.advance(61)
        [Change(subscription='u1', message=0, kind='exit', score=1.0)]
        """
        if self.span is None:
            raise InvalidInput("this window has a number of messages; only a window with time= can be advanced")
        with self._changing():
            now = checked_seconds(time)
            if now < self._reader.latest:
                raise InvalidInput(f"time is {now:g}, before {self._reader.latest:g}, the latest so far")
            self._reader.require_near(now)
            self._reader.latest = now
            return self._told(self._counted(self._sliding.advance(now)))

    @property
    def latest(self) -> float:
        """The latest time so far, in seconds; minus infinity before the first one."""
        return self._reader.latest

    def refuse_after(self, time: float) -> None:
        """Refuse messages after a time, and to let time pass beyond it.

        A single message of a far future would make all later ones late.

        Parameters
        ----------
        time : float
            The time in seconds; infinity, as at first, for none.
        """
        self._reader.horizon = time

    def __repr__(self) -> str:
        return f"Window({len(self._names)} subscriptions, {self._sliding.held} messages, index={self.index!r})"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "save it with save(folder), and Window.load(folder) in the other process")

    def _repr_html_(self) -> str:
        """The window in a notebook."""
        rows = [("subscriptions", len(self._names)), ("messages", self._sliding.held), ("index", self.index)]
        return html_table(type(self).__name__, ("", ""), rows)

    # Memory

    def sizes(self) -> Mapping[str, int]:
        """The memory of the window.

        Returns
        -------
        mapping of str to int
            Bytes by purpose: `records`, `buffers`, `structure`, `messages` and `work`.
        """
        require_at_rest(self)
        return self._sliding.sizes()

    def bytes_for(self, ks: Mapping[SubscriptionId, int]) -> int:
        """The memory that subscriptions would take.

        Parameters
        ----------
        ks : mapping of str or int to int
            Their ids, each with its k. Those that the window has with this k or a larger one take nothing.

        Returns
        -------
        int
            About how many bytes, before their words. Growth takes up to three times as many for a moment.
        """
        there = [id for id in ks if id in self._names]
        slots = np.array([self._names.slot(id) for id in there], np.int32)
        own = dict(zip(there, self._sliding.held_at(slots).ks.tolist() if there else (), strict=True))
        return self._sliding.bytes_for([k for id, k in ks.items() if own.get(id, 0) < k])

    # Internals

    def _read(self, chunk: Any) -> Read:
        self._settle()
        return self._reader.messages(chunk, self._know)

    def _settle(self) -> None:
        """Forget removed subscriptions, unused words and expired keys, if there are many."""
        sliding = self._sliding
        if sliding.settle() or self._vocabulary.is_full():
            self._vocabulary.forget(sliding.uses)
        self._keys.forget(sliding.taken - sliding.held, sliding.taken)

    def _push(self, read: Read) -> Changes:
        self._keys.add(read.keys, self._sliding.taken)
        return self._counted(self._timed(self._sliding.push, read.batch))

    def _fill(self, read: Read) -> None:
        self._keys.add(read.keys, self._sliding.taken)
        self._timed(self._sliding.fill, read.batch)

    def _timed(self, step: Callable[..., Any], *given: Any) -> Any:
        began = clock.perf_counter()
        done = step(*given)
        self._seconds += clock.perf_counter() - began
        return done

    def _restore(
        self,
        messages: Iterable[pa.Table],
        subscriptions: Iterable[pa.Table],
        first: int,
        latest: float | None,
    ) -> None:
        """Restore saved messages, the first of which has the number `first`, then the subscriptions."""
        self._sliding.start_at(first)
        for table in messages:
            for chunk in self._reader.message_chunks(table):
                read = self._read(chunk)
                stop_at_first(read.rejects, strict=True)
                self._push(read)
        self._reader.latest = -np.inf if latest is None else float(latest)
        for table in subscriptions:
            self._subscribe_all(table, replace=False, strict=True)

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
        kinds = pa.DictionaryArray.from_arrays(pa.array(changes.enters.astype(np.int8)), pa.array(_KINDS))
        columns = [events, self._names.column(changes.slots), self._keys.column(changes.numbers), kinds, changes.scores]
        return pa.table(columns, names=_TABLE)
