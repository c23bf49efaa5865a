"""The way of events through a monitor: as visits of objects, past what is remembered, to changes of states."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.engine.questions import View
from tocsin.errors import TocsinError, UnknownSubscription
from tocsin.model.event import Problem
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.monitor.latest import parsed, records_of
from tocsin.monitor.notes import MonitorNotes
from tocsin.monitor.objects import LONG_AGO, Objects
from tocsin.monitor.options import MonitorOptions
from tocsin.monitor.reordering import BufferedVisit, ReorderBuffer
from tocsin.monitor.states import CausedChange, States, in_order, own_key
from tocsin.monitor.terms.matching import TermMatcher
from tocsin.monitor.terms.memory.kernels.admitting import admit
from tocsin.monitor.visiting import Reading, Visiting, encoded, identities_of, instants_of, numbered
from tocsin.records import ObjectChunk
from tocsin.records.chunks import Chunk
from tocsin.segment import Snapshots

_NO_EVENTS: Final = np.empty(0, np.int64)


class Pushed(NamedTuple):
    """What a chunk of events caused."""

    told: list[CausedChange]  # events by their number
    rejects: list[Reject]
    lost: frozenset[int]  # the rows of events that could not be read, or have no key
    rows: NDArray[np.int64]  # the row of each event that could be read
    first: int  # the number of the first of them


class Processing:
    """Objects, what is remembered of them, and where they are. Not thread-safe; the caller holds a lock."""

    def __init__(self, view: View, options: MonitorOptions) -> None:
        self.options = options
        self.objects = Objects()
        self.matcher = TermMatcher(view, options.key, self.objects, self._has_state)
        self.states = States(options.rules, self.objects, only_matches=options.matches)
        self.buffer: ReorderBuffer | None = None
        if (lateness := options.lateness_us) is not None:
            self.buffer = ReorderBuffer(lateness, options.most_ahead_us, self.objects)
        self._view = view
        self.floor = LONG_AGO  # until when `advance` let time pass
        self.events = 0  # how many came
        self._processed = 0
        self._is_whole = True

    def refresh(self, view: View, snapshots: Snapshots) -> None:
        """Take over subscriptions that changed, before any other call."""
        self.require_whole()
        self._view = view
        if self.matcher.refresh(view, snapshots):
            self.matcher.attend(self.passed())

    def passed(self) -> NDArray[np.int64]:
        """Until when time has passed for each object."""
        count = self.objects.count
        if self.buffer is not None:
            return self.buffer.frontiers(count)
        return np.maximum(self.objects.latest[:count], self.floor)

    def _has_state(self, object: int) -> bool:
        return object in self.states.by_object

    def push(self, snapshots: Snapshots, chunk: Chunk, how: Reading, notes: MonitorNotes) -> Pushed:
        """Process a chunk of events, and note what was odd about them."""
        with self._changing():
            batch, chunk, rejects = encoded(chunk, snapshots.wanted, self._view.texts, how)
            rows = batch.rows
            instants, has_time = self._instants(chunk, rows)
            numbers, problems = self._numbers(chunk, rows)
            first, self.events = self.events, self.events + len(rows)
            has_key: NDArray[np.bool_] = np.any(numbers >= 0, axis=1)
            without = np.flatnonzero(~has_key).tolist()
            named = [(int(rows[at]), problem) for at in without if (problem := problems[at]) is not None]
            rejects += [Reject(row, None, problem.field, problem.reason) for row, problem in named]
            events, keys = np.nonzero((numbers >= 0) & has_time[:, None])
            visiting = Visiting(numbers[events, keys].astype(np.int32), keys, instants[events], events)
            notes.see(chunk, batch, has_time, has_key)
            if self.buffer is None:
                told = self._follow_now(snapshots, batch, chunk, visiting, how, first, notes)
            else:
                told = self._hold(snapshots, self.buffer, chunk, rows, visiting, how, first, notes)
            told += self._drop()
        lost = {one.row for one in rejects}.difference(rows[has_key].tolist())
        return Pushed(told, rejects, frozenset(lost), rows, first)

    def advance(self, snapshots: Snapshots, until: int) -> list[CausedChange]:
        """Let time pass up to an instant without an event."""
        with self._changing():
            if self.buffer is None:
                self.floor = max(self.floor, until)
                return in_order(self._pass_time(snapshots, self.floor))
            self.buffer.advance(until)
            return in_order(self._flush(snapshots))

    def _instants(self, chunk: Chunk, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The instant of each event, and which have one."""
        if self.options.time is None:
            return np.full(len(rows), now(), np.int64), np.ones(len(rows), bool)
        found = instants_of(chunk, rows, self.options.time, self.options.time_unit)
        has_time = np.array([one is not None for one in found], bool)
        return np.array([one or 0 for one in found], np.int64), has_time

    def _numbers(self, chunk: Chunk, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Problem | None]]:
        """(E, K) the number of each event's object by each key, -1 without one; and why the first key gives none."""
        columns, problems = [], list[Problem | None]()
        for names, key in self.matcher.registry.keys.items():
            identities, why = identities_of(chunk, rows, names)
            columns.append(numbered(self.objects, key, identities))
            problems = why if key == 0 else problems
        return np.stack(columns, axis=1), problems

    def _follow_now(
        self,
        snapshots: Snapshots,
        batch: EventBatch,
        chunk: Chunk,
        visiting: Visiting,
        how: Reading,
        first: int,
        notes: MonitorNotes,
    ) -> list[CausedChange]:
        """Process visits as they came. Those older than the latest of their object are ignored."""
        on_time = admit(visiting.objects, visiting.instants, self.objects.latest, self.floor)
        notes.late.add_all(batch.rows[np.unique(visiting.events[~on_time])])
        visiting = visiting.only(on_time)
        told = self._follow(snapshots, batch, visiting, first + visiting.events, shares_clock=False)
        self._keep_latest(chunk, batch.rows, visiting, how)
        return told

    def _follow(
        self,
        snapshots: Snapshots,
        batch: EventBatch,
        visiting: Visiting,
        numbers: NDArray[np.int64],
        *,
        shares_clock: bool,
    ) -> list[CausedChange]:
        """The changes of visits, whose events have numbers; those of one event in order or, with a clock, all."""
        told: list[CausedChange] = []
        group: list[CausedChange] = []
        latest, last = -1, -1  # the event of the group, and the visit before
        key_of, first = self._key_of(), self._processed
        self._processed += len(batch)
        for part in self.matcher.match(snapshots, batch, visiting, first, shares_clock=shares_clock):
            before = np.maximum.accumulate(np.append(last, part.rows.visits))
            of_visit = np.where(part.rows.visits < 0, before[1:] + 1, part.rows.visits)
            last = int(before[-1])
            for row, found in self.states.take(part, numbers, key_of):
                event = 0 if shares_clock else int(numbers[of_visit[row]])
                if event != latest:
                    told += in_order(group)
                    group, latest = [], event
                group += found
        return told + in_order(group)

    def _pass_time(self, snapshots: Snapshots, until: int, object: int | None = None) -> list[CausedChange]:
        """What time changes up to an instant, for all objects or one."""
        key_of, told = self._key_of(), list[CausedChange]()
        for part in self.matcher.pass_time(snapshots, until, self._processed, object):
            for _, found in self.states.take(part, _NO_EVENTS, key_of):
                told += found
        return told + self.states.pass_time(until, object)

    # ---- events that are held back

    def _hold(
        self,
        snapshots: Snapshots,
        holding: ReorderBuffer,
        chunk: Chunk,
        rows: NDArray[np.int64],
        visiting: Visiting,
        how: Reading,
        first: int,
        notes: MonitorNotes,
    ) -> list[CausedChange]:
        """Hold visits back, and process those up to the frontier that they move."""
        told: list[CausedChange] = []
        records = records_of(chunk, rows)
        columns = zip(*(column.tolist() for column in visiting), strict=True)
        for event, visits in groupby(columns, key=lambda visit: visit[3]):
            own = [(object, instant) for object, _, instant, _ in visits]
            kept = [(object, instant) for object, instant in own if not holding.is_late(object, instant)]
            if len(kept) < len(own):
                notes.late.add(int(rows[event]))
            for object, instant in kept:
                holding.hold(BufferedVisit(instant, first + event, object, records[event], how))
            if not kept:
                continue
            if holding.move(kept[0][1]):
                notes.ahead.add(int(rows[event]))
            ahead = [object for object, _ in kept if holding.is_ahead(object)]
            if ahead:
                own_changes = self._flush(snapshots)
                told += in_order(own_changes + [one for object in ahead for one in self._flush_of(snapshots, object)])
        return told + in_order(self._flush(snapshots))

    def _flush(self, snapshots: Snapshots) -> list[CausedChange]:
        """Process the visits up to the frontier, and let time pass until there."""
        assert self.buffer is not None
        told = self._follow_held(snapshots, self.buffer.ready(), shares_clock=True)
        frontier = self.buffer.frontier
        return told if frontier is None else told + self._pass_time(snapshots, frontier)

    def _flush_of(self, snapshots: Snapshots, object: int) -> list[CausedChange]:
        """The same for an object that is ahead of all others."""
        assert self.buffer is not None
        frontier, visits = self.buffer.ready_of(object)
        told = self._follow_held(snapshots, visits, shares_clock=False)
        return told + self._pass_time(snapshots, frontier, object)

    def _follow_held(
        self, snapshots: Snapshots, visits: list[BufferedVisit], *, shares_clock: bool
    ) -> list[CausedChange]:
        """Process visits that were held back, in order. Those of one way of reading in a row are read together."""
        told: list[CausedChange] = []
        for how, own in groupby(visits, key=lambda visit: visit.how):
            run = list(own)
            arrivals = {visit.arrival: parsed(visit.record) for visit in run}
            places = {arrival: place for place, arrival in enumerate(arrivals)}
            chunk: Chunk = ObjectChunk(list(enumerate(arrivals.values())))
            batch, chunk, _ = encoded(chunk, snapshots.wanted, self._view.texts, how)
            objects = np.array([visit.object for visit in run], np.int32)
            instants = np.array([visit.instant for visit in run], np.int64)
            events = np.array([places[visit.arrival] for visit in run], np.int64)
            visiting = Visiting(objects, self.objects.keys[objects], instants, events)
            numbers = np.array([visit.arrival for visit in run], np.int64)
            told += self._follow(snapshots, batch, visiting, numbers, shares_clock=shares_clock)
            self._keep_latest(chunk, batch.rows, visiting, how)
        return told

    # ---- what is known

    def time_of(self, object: int) -> int:
        """The instant up to which an object was processed."""
        latest = int(self.objects.latest[object])
        return max(latest, self.floor) if self.buffer is None else self.buffer.frontier_of(object)

    def latest_time(self) -> int | None:
        """The instant of the latest event, those held back included; None before the first."""
        if self.buffer is not None:
            return self.buffer.clock
        latest = max((int(self.objects.latest[number]) for number in self.objects.numbers()), default=LONG_AGO)
        return latest if latest > LONG_AGO else None

    # ---- what is kept

    def _keep_latest(self, chunk: Chunk, rows: NDArray[np.int64], visiting: Visiting, how: Reading) -> None:
        """Keep the latest event of each object of which something is remembered."""
        objects, at = np.unique(visiting.objects[::-1], return_index=True)
        remembers = self.matcher.memory.remembers(objects)
        if self.states.by_object:
            remembers |= np.array([one in self.states.by_object for one in objects.tolist()], bool)
        for object in objects[~remembers].tolist():
            self.matcher.latest.forget(object)
        events = visiting.events[::-1][at[remembers]]
        self.matcher.latest.keep(chunk, rows[events], objects[remembers], how)

    def _drop(self) -> list[CausedChange]:
        """Drop the objects that were unseen for longest while there are too many."""
        told: list[CausedChange] = []
        while len(self.objects) > self.options.most_objects:
            number = self.objects.oldest()
            told += in_order(self.states.lose(number))
            self.matcher.forget(number)
            if self.buffer is not None:
                self.buffer.drop(number)
            self.objects.drop(number)
        return told

    def _key_of(self) -> Callable[[SubscriptionId], int] | None:
        """A function that gives the number of a subscription's key; None if all have the monitor's."""
        if len(self.matcher.registry.keys) == 1:
            return None

        def key_of(id: SubscriptionId) -> int:
            try:
                source, number = self._view.store.find(id)
            except UnknownSubscription:
                return -1
            return self.matcher.registry.key_number(own_key(source.text(number)))

        return key_of

    def require_whole(self) -> None:
        """Refuse to go on after a change that ended in the middle, of which it is not known how far it came."""
        if not self._is_whole:
            raise TocsinError(
                "the monitor was interrupted in the middle of events, and does not know what it has seen; "
                "load it from where it was last saved"
            )

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """A change, which ends whole, or else is the last one."""
        self.require_whole()
        self._is_whole = False
        yield
        self._is_whole = True


def now() -> int:
    """The present in microseconds since 1970."""
    return clock.time_ns() // 1000
