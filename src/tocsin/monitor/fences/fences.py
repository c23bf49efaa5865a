"""Fences: which objects enter, stay in and leave which subscriptions, from event to event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tocsin.encoding import Points
from tocsin.engine.answer import Answer
from tocsin.engine.matching import Request
from tocsin.errors import InvalidInput
from tocsin.forking import renewed
from tocsin.model.fence import (
    MOST_OBJECTS,
    NO_PLACES,
    FenceChange,
    FenceChanges,
    FenceRules,
    Followed,
    number_of_seconds,
    without_time,
)
from tocsin.model.shapes import shapely
from tocsin.model.subscription import Row, one_event, shown
from tocsin.monitor.fences.accuracies import radius_of
from tocsin.monitor.fences.ahead import MatchedAhead
from tocsin.monitor.fences.fenced_objects import FencedObjects
from tocsin.monitor.fences.files import read_fences
from tocsin.monitor.fences.following import Matching, columns_read, match_one, matches_of
from tocsin.monitor.fences.notes import FenceNotes, TimeReader
from tocsin.monitor.fences.tables import FurtherColumns, table_of
from tocsin.monitor.fences.tracking import Tracking
from tocsin.records.chunks import pieces, rows_to
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events, read_events
from tocsin.records.formats import is_stream
from tocsin.records.keys import key_in
from tocsin.spelling import option


class Fences(FencedObjects):
    """The objects in a stream of events, and the subscriptions of an engine that each object is in.

    An object enters a subscription when one of its events is TRUE and the previous one was not. It exits when an event
    is FALSE. An event for which the subscription is UNKNOWN, such as one without a position, changes nothing. Many
    threads may push. `len(fences)` is the number of objects that are kept.

    Parameters
    ----------
    engine : Engine
        The engine with the subscriptions.
    key : str
        The attribute that identifies objects.
    time : str, optional
        The attribute with the time: an instant, a text that is one, or a number in `time_unit`. An event older than the
        latest one of its object is ignored and counted in the warnings.
    path : str, optional
        The attribute with the object's position. An object crosses a subscription that lies on the straight line from
        its last position and contains neither end. It needs shapely: `pip install 'tocsin[geo]'`.
    enter_after, exit_after : int, str or timedelta
        How many events in a row must be TRUE to enter, or FALSE to exit. A duration such as "30 s" says how long the
        run of events must last, from its first to its last event.
    dwell : float, str or timedelta, optional
        After how many seconds inside an object dwells, or a duration such as "5 min".
    inside : bool
        Whether every further event inside is reported.
    most_objects : int
        How many objects are kept: those inside a subscription, or all with `path`. As many times of other objects are
        kept with `time`. Those unseen for longest are dropped first, and reported as lost.
    forget_after : float, str or timedelta, optional
        After how many seconds without an event an object is dropped, or a duration such as "1 h". Events that are
        UNKNOWN for all subscriptions do not count. A date more than twice as far ahead of all other objects moves its
        own object alone.
    time_unit : str
        "s", "ms", "us" or "ns", if times are numbers.
    order : str
        "arrival": events are processed in the order of arrival. "time": those of one call are sorted by time first.
    no_places : sequence of pairs of float
        Points that mean "position not known". Default: (181, 91), which AIS sends; add (0, 0) if your devices send it.
    accuracy : str, optional
        The attribute with the accuracy of positions in metres, as GPS devices send it. A position whose circle is
        neither wholly inside a subscription nor wholly outside changes nothing there. It needs shapely.

    Raises
    ------
    InvalidInput
        If options contradict each other or name nothing.
    MissingExtra
        If `path` is given and shapely is not installed.

    Examples
    --------
    >>> from tocsin.engine import Engine
    >>> engine = Engine()
    >>> engine.subscribe("city", "S_INTERSECTS(location, BBOX(0, 0, 10, 10))")
    >>> fences = Fences(engine, key="vehicle")
    >>> [fences.push({"vehicle": 7, "location": [x, 5]}) for x in (-1, 3, 4, 12)]  # doctest: +NORMALIZE_WHITESPACE
    [[], [FenceChange(object=7, subscription='city', change='enter', seconds=None)], [],
     [FenceChange(object=7, subscription='city', change='exit', seconds=None)]]
    """

    def __init__(
        self,
        engine: Matching,
        *,
        key: str,
        time: str | None = None,
        path: str | None = None,
        enter_after: int | str | timedelta = 1,
        exit_after: int | str | timedelta = 1,
        dwell: float | str | timedelta | None = None,
        inside: bool = False,
        most_objects: int = MOST_OBJECTS,
        forget_after: float | str | timedelta | None = None,
        time_unit: str = "s",
        order: str = "arrival",
        no_places: Sequence[tuple[float, float]] = NO_PLACES,
        accuracy: str | None = None,
    ) -> None:
        if not isinstance(engine, Matching):
            raise InvalidInput(f"engine is {shown(engine)}; give a tocsin.Engine")
        self._engine = engine
        places: Any = no_places  # checked and converted there
        after = number_of_seconds(forget_after)
        followed = Followed(key, time, path, most_objects, after, time_unit, order, places, accuracy)
        self._tracking = Tracking(followed, FenceRules(enter_after, exit_after, number_of_seconds(dwell), inside))
        duration = self._tracking.rules.duration
        if duration is not None and time is None:
            raise InvalidInput(f"{option(*duration)} {without_time()}")
        if path is not None or accuracy is not None:
            shapely()  # raises an error that says what to install
        self.renew_locks()
        renewed(self)

    def push(self, event: Mapping[str, Any] | Row, *, notes: FenceNotes | None = None) -> FenceChanges:
        """Process one event.

        Parameters
        ----------
        event : mapping
            The event.
        notes : FenceNotes, optional
            Those of a stream that this event is part of. They count its late events, for example.

        Returns
        -------
        FenceChanges
            A list of the changes that it causes: lost, exits, crossings, then the rest, each ordered by subscription.
            Its `errors` are the event's values that could not be used; they count as absent.

        Raises
        ------
        RecordError
            If the event as a whole cannot be used, or has no key. It changes nothing then.
        """
        event = one_event(event, "push_batch")
        followed = self._tracking.followed
        times = TimeReader(followed.time, followed.time_unit) if notes is None else notes.times
        with self._lock:
            self._require()
            trail = self._trail()
            one = match_one(self._engine.view, event, followed, trail)
            if followed.accuracy is not None and (metres := radius_of(key_in(event, followed.accuracy))) is not None:
                one.witness.radii[0] = metres
            now = None if followed.time is None else times.seconds_of(one.moment, 0)
            row = (0, one.key, one.matches, now, one.passed)
            _, changes = self._tracking.follow([row], 0, one.witness, trail, times)
            self._keep()
        return FenceChanges((change for _, change in changes), one.rejects)

    def push_batch(
        self,
        events: Events,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        strict: bool = False,
        threads: int | None = None,
        event_key: str | None = None,
        payload: bool = False,
        notes: FenceNotes | None = None,
    ) -> Answer:
        """Process a source of events, which see one state of the subscriptions.

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
            As in `tocsin.match`.
        threads
            As in `tocsin.match`.
        event_key : str, optional
            An attribute of the event, which becomes the column `event_key`.
        payload : bool
            Whether to add the subscriptions' payloads, as JSON.
        notes : FenceNotes, optional
            Those of the stream that this batch is part of. The warnings are then about its earlier batches, too.

        Returns
        -------
        Answer
            One row per change: `event` (row), `object`, `subscription`, `change`, `seconds` and, if fences have a
            `time`, that of the event, as it came. Rows are ordered by event; lost objects come first, then exits,
            crossings and the rest. The errors have events that are bad or have no key. The warnings count events that
            are late, or UNKNOWN for all subscriptions. None of these changes anything.

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
        >>> engine.subscribe("speeding", "speed > 120")
        >>> tocsin.Fences(engine, key="car").push_batch([{"car": 7, "speed": 130}]).table.to_pylist()
        [{'event': 0, 'object': 7, 'subscription': 'speeding', 'change': 'enter', 'seconds': None}]
        """
        columns = FurtherColumns(self._tracking.followed.time, event_key)
        notes = self.notes() if notes is None else notes
        answer, changes = self._pushed(events, notes, schema, delimiter, points, strict, threads, columns.attributes)
        table = table_of(answer, changes, columns, self._engine.payload if payload else None)
        return replace(answer, table=table, noticing=columns.noted(answer, notes))

    def match_ahead(
        self, records: Sequence[Mapping[str, Any]], notes: FenceNotes
    ) -> Callable[[int], Sequence[FenceChange]]:
        """Match events together that are followed later, one by one, as far as they turn out to count.

        Parameters
        ----------
        records : sequence of mappings
            The events. They see the subscriptions as they are now.
        notes : FenceNotes
            Those of the stream that the events are part of.

        Returns
        -------
        callable
            It follows one event, by its number among `records`, and returns the changes, as `push` does. Numbers
            ascend from call to call. It raises `RecordError` if the event cannot be used, or has no key.
        """
        with self._lock:
            ahead = MatchedAhead(self._engine, self._tracking, self._trail(), records, notes)

        def follow(number: int) -> Sequence[FenceChange]:
            if not ahead.covers(number):
                return self.push(records[number], notes=notes)
            with self._lock:
                return ahead.follow(number)

        return follow

    def batches(
        self,
        events: Events,
        *,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        event_key: str | None = None,
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
        event_key : str, optional
            An attribute that `push_batch` adds to the changes.
        most : int
            The most events of a batch. With `order="time"`, a source that is not a stream is one batch.

        Returns
        -------
        iterator
            The batches, in order.
        """
        followed = self._tracking.followed
        if followed.order == "time" and not is_stream(events):
            return iter([events])
        names = (followed.key, followed.time, event_key, followed.accuracy)
        also = [name for name in names if name is not None]
        choose = columns_read(self._engine.view, also, points)
        chunks = read_events(events, choose, schema, delimiter=delimiter)
        return (piece for piece in pieces(chunks, lambda: most) if rows_to(piece))  # not those of blank lines

    def notes(self) -> FenceNotes:
        """Make notes for the batches of one stream, as `push_batch` takes them.

        Returns
        -------
        FenceNotes
            Empty notes.
        """
        return FenceNotes(self._tracking.followed.time, self._tracking.followed.time_unit)

    def _pushed(
        self,
        events: Events,
        notes: FenceNotes,
        schema: Mapping[str, ColumnType] | None = None,
        delimiter: str | None = None,
        points: Points | None = None,
        strict: bool = False,
        threads: int | None = None,
        also: Sequence[str] | None = None,
    ) -> tuple[Answer, list[tuple[int, FenceChange]]]:
        """Process events; `also` are attributes to read, the time first. The answer has a row for each event."""
        tracking, followed = self._tracking, self._tracking.followed
        if also is None:
            also = FurtherColumns(followed.time, None).attributes
        request = Request(strict=strict, schema=schema, threads=threads, delimiter=delimiter, points=points or {})
        with self._lock:
            self._require()
            trail = self._trail()
            answer, witness = matches_of(self._engine.view, events, followed, also, trail, request, notes.seen)
            if trail is not None:  # the warning about missing points looks at both
                trail.has_points = trail.has_points or tracking.has_places
            keyless, changes = tracking.follow_table(answer.table, witness, trail, notes.times)
            self._keep()
        told = {reject.row for reject in answer.event_errors if reject.field == followed.key}
        errors = [*answer.event_errors, *(reject for reject in keyless if reject.row not in told)]
        errors.sort(key=lambda reject: reject.row)
        changes.sort(key=lambda one: one[0])
        return replace(answer, event_errors=errors, lost=answer.lost.union(reject.row for reject in keyless)), changes

    @classmethod
    def load(cls, path: str | Path, engine: Matching) -> Fences:
        """Continue with fences that this release or the one before saved.

        Parameters
        ----------
        path : str or Path
            The file.
        engine : Engine
            An engine with the same subscriptions.

        Returns
        -------
        Fences
            The fences, with the options that were saved.

        Raises
        ------
        SegmentError
            If the file is damaged or of another version.
        """
        options, objects, others = read_fences(path)
        fences = cls(engine, **options)
        fences._tracking.restore(objects, others)
        return fences
