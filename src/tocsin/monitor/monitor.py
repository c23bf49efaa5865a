"""Monitors: conditions over several events of one object, and when they become TRUE and FALSE."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from tocsin.encoding import Points, with_coordinates
from tocsin.engine import Engine
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.loading import raise_first
from tocsin.engine.matching import choice_of
from tocsin.errors import InvalidInput, RecordError
from tocsin.forking import renewed
from tocsin.model.change import MonitorChanges
from tocsin.model.fence import MOST_OBJECTS
from tocsin.model.subscription import Row, one_event, shown
from tocsin.monitor.dry_run import DryRun, until_of
from tocsin.monitor.fences.following import Matching
from tocsin.monitor.monitored import MonitoredObjects
from tocsin.monitor.notes import MonitorNotes
from tocsin.monitor.options import MOST_AHEAD, MonitorOptions
from tocsin.monitor.processing import Processing, Pushed, now
from tocsin.monitor.tables import table_of
from tocsin.monitor.visiting import Reading, microseconds_of
from tocsin.records import ObjectChunk
from tocsin.records.chunks import CHUNK_ROWS, pieces, rows_to
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events, read_events
from tocsin.segment import Snapshots


class Monitor(MonitoredObjects):
    """The objects in a stream of events, and the subscriptions of an engine that are TRUE for each.

    Subscriptions may ask about several events of one object: COUNT, SUM, PREVIOUS, SINCE and others. An object enters a
    subscription when it becomes TRUE, by an event or by time alone, and exits when it becomes FALSE. UNKNOWN changes
    nothing. Many threads may push. `len(monitor)` is the number of objects that are known.

    Parameters
    ----------
    engine : Engine
        The engine with the subscriptions.
    key : str or list of str
        The attributes that identify an object. A subscription with BY has a key of its own.
    time : str, optional
        The attribute with the time: an instant, a text that is one, or a number in `time_unit` since 1970. Without it
        the time of arrival counts.
    lateness : float, str or timedelta, optional
        How long events are held back, in seconds or as in "30 s", so that they are processed in order. All objects then
        share a clock. Without it each object has a time of its own. Events that are older are ignored and counted.
    most_ahead : float, str or timedelta
        With `lateness`: an event that is so far ahead of all others moves its own object alone.
    enter_after, exit_after : int, str or timedelta
        How many events in a row must be TRUE to enter, or FALSE to exit. A duration such as "30 s" says how long they
        must last.
    dwell : float, str or timedelta, optional
        After how many seconds inside an object dwells, or a duration such as "5 min".
    inside : bool
        Whether every further event inside is reported.
    matches : bool
        Whether to report every event for which a subscription is TRUE instead of changes.
    most_objects : int
        How many objects are known. Those unseen for longest are dropped after a call, and reported as lost.
    time_unit : str
        "s", "ms", "us" or "ns", if times are numbers.

    Raises
    ------
    InvalidInput
        If options contradict each other or name nothing.

    Examples
    --------
    >>> import tocsin
    >>> engine = tocsin.Engine()
    >>> engine.subscribe("guessing", "COUNT(ok = FALSE, 'PT10M') >= 2")
    >>> monitor = Monitor(engine, key="user", time="ts")
    >>> [[change.change for change in monitor.push({"user": 7, "ts": t, "ok": False})] for t in (0, 60)]
    [[], ['enter']]
    >>> [(change.change, change.seconds) for change in monitor.advance(3600)]
    [('exit', 540.000001)]
    """

    def __init__(
        self,
        engine: Matching,
        *,
        key: str | Sequence[str],
        time: str | None = None,
        lateness: float | str | timedelta | None = None,
        most_ahead: float | str | timedelta = MOST_AHEAD,
        enter_after: int | str | timedelta = 1,
        exit_after: int | str | timedelta = 1,
        dwell: float | str | timedelta | None = None,
        inside: bool = False,
        matches: bool = False,
        most_objects: int = MOST_OBJECTS,
        time_unit: str = "s",
    ) -> None:
        if not isinstance(engine, Matching):
            raise InvalidInput(f"engine is {shown(engine)}; give a tocsin.Engine")
        options = MonitorOptions.of(
            key,
            time=time,
            lateness=lateness,
            most_ahead=most_ahead,
            enter_after=enter_after,
            exit_after=exit_after,
            dwell=dwell,
            inside=inside,
            matches=matches,
            most_objects=most_objects,
            time_unit=time_unit,
        )
        self._engine, self._options = engine, options
        self._processing = Processing(engine.view, options)
        self.renew_locks()
        renewed(self)

    def push(self, event: Mapping[str, Any] | Row) -> MonitorChanges:
        """Process one event.

        Parameters
        ----------
        event : mapping
            The event.

        Returns
        -------
        MonitorChanges
            A list of the changes that it causes, by instant: those of time alone, then those of the event; exits first,
            then by subscription. Its `errors` are the event's values that could not be used; they count as absent.

        Raises
        ------
        RecordError
            If the event as a whole cannot be used, or has no key. It changes nothing then.
        """
        chunk = ObjectChunk([(0, one_event(event, "push_batch"))])
        with self._reading() as snapshots:
            pushed = self._processing.push(snapshots, chunk, Reading(), self.notes())
        if pushed.lost:
            raise RecordError(pushed.rejects[0].reason, pushed.rejects[0].field)
        return MonitorChanges((one.change for one in pushed.told), pushed.rejects)

    def push_batch(
        self,
        events: Events,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        strict: bool = False,
        payload: bool = False,
        notes: MonitorNotes | None = None,
    ) -> Answer:
        """Process a source of events. Changes are those of `push`, event by event, however a stream is cut.

        Parameters
        ----------
        events
            As in `tocsin.match`.
        schema
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.
        strict
            As in `tocsin.match`. Events before the bad one have been processed then.
        payload : bool
            Whether to add the subscriptions' payloads, as JSON.
        notes : MonitorNotes, optional
            Those of the stream that this batch is part of. The warnings are then about its earlier batches, too.

        Returns
        -------
        Answer
            One row per change, in order: `event` (the row of the event that made it; null if time alone did, or an
            event of an earlier call that was held back), `object`, `subscription`, `change`, `seconds` and `time`. The
            errors have events that are bad or have no key; they change nothing.

        Raises
        ------
        InvalidInput
            If the source cannot be read, or an option is invalid.
        RecordError
            With `strict`, at the first bad event.

        Examples
        --------
        >>> import tocsin
        >>> engine = tocsin.Engine()
        >>> engine.subscribe("hot", "PREVIOUS(x) > 5 AND x > 5")
        >>> answer = Monitor(engine, key="car", time="t").push_batch([{"car": 7, "t": n, "x": n * 4} for n in range(4)])
        >>> [(row["event"], row["object"], row["change"]) for row in answer]
        [(3, 7, 'enter')]
        """
        notes = self.notes() if notes is None else notes
        stats, begun = Stats(), clock.perf_counter()
        with self._reading() as snapshots:
            parts = list(self._pushed(snapshots, events, Reading(schema, points), delimiter, strict, notes))
            stats.events = sum(len(part.rows) for part in parts)
            stats.subscriptions = len(snapshots)
            noticing = partial(notes.notices, snapshots, self._processing.matcher.registry)
        stats.seconds = clock.perf_counter() - begun
        table = table_of(parts, snapshots.ids_column_type, self._engine.payload if payload else None)
        stats.matches = len(table)
        errors = sorted((one for part in parts for one in part.rejects), key=lambda one: one.row)
        lost = frozenset(row for part in parts for row in part.lost)
        return Answer(table, errors, [], stats, noticing=noticing, lost=lost)

    def _pushed(
        self,
        snapshots: Snapshots,
        events: Events,
        how: Reading,
        delimiter: str | None,
        strict: bool,
        notes: MonitorNotes,
    ) -> Iterator[Pushed]:
        """What each chunk of a source causes; the caller holds the lock."""
        chunks = read_events(events, self._chooses(snapshots, how.points), how.schema, delimiter=delimiter)
        for chunk in pieces(chunks, lambda: CHUNK_ROWS):
            pushed = self._processing.push(snapshots, chunk, how, notes)
            if strict and pushed.rejects:
                raise_first(pushed.rejects, "event")
            yield pushed

    def dry_run(
        self,
        condition: str | Mapping[str, Any],
        events: Events,
        *,
        by: str | Sequence[str] | None = None,
        language: str | None = None,
        time: str | None = None,
        until: datetime | str | float | None = None,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
    ) -> DryRun:
        """Try a condition on past events, before it is subscribed. The monitor and its engine are not touched.

        The events are processed by a new monitor of this condition alone, with the options of this one. Cost: that of
        `push_batch`, and memory for all changes.

        Parameters
        ----------
        condition : str or mapping
            The condition as CQL2 text or JSON, or a rule of another system.
        events
            As in `tocsin.match`.
        by : str or list of str, optional
            The condition's own key, as in `tocsin.Engine.subscribe`.
        language : str, optional
            As in `tocsin.Engine.subscribe`.
        time : str, optional
            The attribute with the time, if the monitor has none.
        until : datetime, str or float, optional
            Until when time passes after the last event. Default: until the latest event of all.
        schema
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.

        Returns
        -------
        DryRun
            When it would have fired, for which objects, and how often.

        Raises
        ------
        RecordError
            If the condition cannot be read.
        InvalidInput
            If the source cannot be read, or an option is invalid.

        Examples
        --------
        >>> import tocsin
        >>> monitor = tocsin.Monitor(tocsin.Engine(), key="user", time="ts")
        >>> history = [{"user": user, "ts": 60 * n, "ok": False} for n in range(9) for user in ("ann", "bob")[: n + 1]]
        >>> print(monitor.dry_run("COUNT(ok = FALSE, 'PT10M') >= 9", history))
        would have fired 1 time for 1 object in 17 events, 1 object inside at the end
          'ann': 1 time, first at 1970-01-01T00:08:00Z
        """
        options = self._options.as_json()
        if (options["time"] or time) is None:
            raise InvalidInput("the monitor goes by the time of arrival, which past events do not have; give time=")
        options["time"] = time or options["time"]
        engine = Engine(texts=self._engine.view.texts)
        engine.subscribe("condition", condition, by=by, language=language)
        return Monitor(engine, **options)._replayed(events, Reading(schema, points), delimiter, until)

    def _replayed(
        self, events: Events, how: Reading, delimiter: str | None, until: datetime | str | float | None
    ) -> DryRun:
        """Process a source, and let time pass after it."""
        end, notes = None if until is None else self._microseconds(until), self.notes()
        with self._reading() as snapshots:
            parts = list(self._pushed(snapshots, events, how, delimiter, False, notes))
            end = self._processing.latest_time() if end is None else end
            told = [one for part in parts for one in part.told]
            if end is not None:
                told += self._processing.advance(snapshots, end + (self._options.lateness_us or 0))
            warnings = notes.notices(snapshots, self._processing.matcher.registry)
        rejects = sorted((one for part in parts for one in part.rejects), key=lambda one: one.row)
        count = sum(len(part.rows) for part in parts)
        return DryRun([one.change for one in told], count, until_of(end), rejects, warnings)

    def batches(
        self,
        events: Events,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        most: int = 4096,
    ) -> Iterator[Any]:
        """Cut a source of events into batches for `push_batch`, to which the same options are given. Rows count on.

        Parameters
        ----------
        events
            As in `tocsin.match`. Of a stream of JSON lines (`"-"`), a batch is what has arrived.
        schema
            As in `tocsin.match`.
        delimiter
            As in `tocsin.match`.
        points
            As in `tocsin.match`.
        most : int
            The most events of a batch.

        Returns
        -------
        iterator
            The batches, in order.
        """
        with self._reading() as snapshots:
            chunks = read_events(events, self._chooses(snapshots, points), schema, delimiter=delimiter)
        return (piece for piece in pieces(chunks, lambda: most) if rows_to(piece))  # not those of blank lines

    def notes(self) -> MonitorNotes:
        """Make notes for the batches of one stream, as `push_batch` takes them.

        Returns
        -------
        MonitorNotes
            Empty notes.
        """
        return MonitorNotes(self._options.time, self._options.key)

    def _chooses(self, snapshots: Snapshots, points: Points | None) -> Callable[[str], bool]:
        """Which top-level columns of events are read."""
        keys = {name for names in self._processing.matcher.registry.keys for name in names}
        also = {*keys, *([] if self._options.time is None else [self._options.time])}
        return choice_of(with_coordinates(snapshots.wanted, points or {}), also)

    def advance(self, instant: datetime | str | float | None = None) -> MonitorChanges:
        """Let time pass without an event.

        Parameters
        ----------
        instant : datetime, str or float, optional
            Until when, as the attribute `time` has it. Default: now. One in the past changes nothing.

        Returns
        -------
        MonitorChanges
            What time changed up to and including the instant, in order. With a `lateness` that is so long before.

        Raises
        ------
        InvalidInput
            If the instant cannot be read.
        """
        until = now() if instant is None else self._microseconds(instant)
        with self._reading() as snapshots:
            return MonitorChanges(one.change for one in self._processing.advance(snapshots, until))

    def _microseconds(self, instant: datetime | str | float) -> int:
        """An instant that a caller gave. Raises `InvalidInput`."""
        found = microseconds_of(instant, self._options.time_unit)
        if found is None:
            raise InvalidInput(f"the instant is {shown(instant)}; give a datetime, a text that is one, or a number")
        return found
