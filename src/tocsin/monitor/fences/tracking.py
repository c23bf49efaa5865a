"""The objects that fences follow: where each is, when it was last seen, and when it is forgotten."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pyarrow as pa

from tocsin.engine.matching import EVENT_KEY, PASSED
from tocsin.errors import RecordError
from tocsin.model.fence import FenceChange, FenceRules, Followed, ObjectKey, Position, Visits, plain_key, problem_of
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.monitor.fences.clocks import CommonClock
from tocsin.monitor.fences.notes import TimeReader
from tocsin.monitor.fences.trails import BEFORE, Trail
from tocsin.monitor.witness import Witness
from tocsin.records.keys import key_values


@dataclass(frozen=True, slots=True)
class Moved:
    """One event of an object: its matches, its time, and the matches along its line, which begins at event `start`."""

    row: int
    key: ObjectKey
    matched: frozenset[SubscriptionId]
    now: float | None
    passed: frozenset[SubscriptionId]
    start: int


class Tracking:
    """The state of all objects. Not thread-safe; the caller holds a lock."""

    def __init__(self, followed: Followed, rules: FenceRules) -> None:
        self.followed = followed
        self.rules = rules
        self.objects: OrderedDict[ObjectKey, Visits] = OrderedDict()  # by last event, oldest first
        self.others: OrderedDict[ObjectKey, float] = OrderedDict()  # latest times of objects in no subscription
        self.has_places = False  # whether any event had a place, with `path`
        self.events = 0  # events so far; each event is numbered by this count
        self.touched: dict[ObjectKey, None] | None = None  # objects whose state changed, last touched last, if kept
        self._due: list[tuple[float, int, ObjectKey]] = []  # a heap of (last seen, tie-breaker, key), one per object
        self._are_due: set[ObjectKey] = set()
        self._awaited = count()  # breaks ties in the heap, so that keys are never compared
        after = followed.forget_after
        self._clock = None if after is None else CommonClock(after, followed.most_objects)

    def restore(self, objects: Mapping[ObjectKey, Visits], others: Mapping[ObjectKey, float]) -> None:
        """Take over a saved state."""
        self.objects.update(objects)
        self.others.update(others)
        self.has_places = any(visits.at is not None for visits in objects.values())
        if self._clock is not None:
            latest = [
                *((visits.last, key) for key, visits in objects.items()),
                *((at, key) for key, at in others.items()),
            ]
            for date, key in sorted(
                ((date, key) for date, key in latest if date is not None), key=lambda seen: seen[0]
            ):
                self._clock.advance(key, date, None)
        for key, visits in objects.items():
            self._await(key, visits)

    def inside(self, key: ObjectKey) -> list[SubscriptionId]:
        """The subscriptions that an object has entered, by id."""
        visits = self.objects.get(key, Visits())
        return sorted(one for one, stay in visits.stays.items() if stay.has_entered)

    def last_place(self, key: ObjectKey) -> Position | None:
        """Where an object was at its last event; None if that is not known."""
        visits = self.objects.get(key)
        return None if visits is None else visits.at

    def follow_table(
        self, table: pa.Table, witness: Witness, trail: Trail | None, told: TimeReader
    ) -> tuple[list[Reject], list[tuple[int, FenceChange]]]:
        """Process a table with a row for each event; returns the events without a key, and each change with its row."""
        first_row = table["event"][0].as_py() if len(table) else 0
        return self.follow(rows_of(table, self.followed, told), first_row, witness, trail, told)

    def follow(
        self,
        rows: Sequence[tuple[Any, ...]],
        first_row: int,
        witness: Witness,
        trail: Trail | None,
        told: TimeReader,
    ) -> tuple[list[Reject], list[tuple[int, FenceChange]]]:
        """Process rows as `rows_of` gives them, the least of which is `first_row`.

        Returns the events without a key, and each change with its row.
        """
        keyless: list[Reject] = []
        changes: list[tuple[int, FenceChange]] = []
        before = self.events
        for one in rows:
            found = self._follow_row(one, before, before + 1 - first_row, witness, trail, told)
            if isinstance(found, Reject):
                keyless.append(found)
            else:
                changes += ((one[0], change) for change in found)
        if trail is not None:
            self.has_places |= trail.has_points
            for key, row in trail.moved.items():
                self._put(key, trail.places[row], before + 1 - first_row + row)
        return keyless, changes

    def follow_next(
        self, row: tuple[Any, ...], before: int, witness: Witness, trail: Trail | None, told: TimeReader
    ) -> list[FenceChange]:
        """Process one of the rows of a source that are processed one by one, some of them perhaps never.

        `before` was the number of events when the source began. Raises `RecordError` for a row without a key.
        """
        found = self._follow_row(row, before, before + 1, witness, trail, told)
        if isinstance(found, Reject):
            raise RecordError(found.reason, found.field)
        if trail is not None and row[0] in trail.places:
            self.has_places = True
            self._put(plain_key(row[1]), trail.places[row[0]], before + 1 + row[0])
        return found

    def _follow_row(
        self,
        one: tuple[Any, ...],
        before: int,
        first: int,
        witness: Witness,
        trail: Trail | None,
        told: TimeReader,
    ) -> list[FenceChange] | Reject:
        """Process one row; `first` is the number of the event in row 0."""
        row, key, ids, now, passed = one
        if ids is None:
            return []  # a bad event, already reported
        if reason := problem_of(key, self.followed.key):
            return Reject(row, None, self.followed.key, reason)
        self.events = first + row
        begun = BEFORE if trail is None else trail.starts.get(row, BEFORE)
        start = before if begun == BEFORE else first + begun
        event = Moved(row, plain_key(key), frozenset(ids), now, frozenset(passed or ()), start)
        return list(self.move(event, witness, told))

    def _put(self, key: ObjectKey, at: Position, event: int) -> None:
        """Note where an object was at an event, unless it was lost since."""
        visits = self.objects.get(key)
        if visits is not None and visits.began <= event:
            visits.at = at

    def move(self, event: Moved, witness: Witness, told: TimeReader) -> Iterator[FenceChange]:
        """Process one event of an object. If the object was lost since its line began, it has no last position."""
        event = _certain(event, witness)
        key, now, matched = event.key, event.now, event.matched
        self._touch(key)
        visits = self.objects.get(key)
        latest = self.others.get(key) if visits is None else visits.last
        is_late = now is not None and latest is not None and now < latest
        if now is not None and latest is not None and is_late:
            if self._clock is None or not self._clock.is_wrong(key, latest, now):
                told.late.add(event.row)
                return
            told.corrected.add(event.row)
        pending = set() if visits is None else visits.stays.keys() - matched
        unknown = {one for one in pending if witness.truth(event.row, one) is None}
        is_silent = not matched and unknown == pending and not witness.is_known(event.row)
        if unknown or is_silent:
            told.unknown.add(event.row)
        if is_silent:
            return
        if now is not None and self._clock is not None:
            if self._clock.advance(key, now, latest):
                told.far.add(event.row)
            yield from self._given_up(self._clock, key, now)
        if is_late:
            self._turn_back(key, now)
        keeps_all = self.followed.path is not None
        visits = self.objects.get(key)
        if visits is None:
            if not matched and not keeps_all:
                self._note_other(key, now)
                return
            while len(self.objects) >= self.followed.most_objects:
                longest, gone = self.objects.popitem(last=False)
                self._touch(longest)
                yield from gone.leave(longest)
            visits = self.objects[key] = Visits(began=self.events, last=self.others.pop(key, None))
        self.objects.move_to_end(key)
        passed = event.passed if event.start >= visits.began else frozenset()
        yield from visits.move(key, matched, now, self.rules, passed, unknown)
        self._await(key, visits)
        if not visits.stays and not keeps_all:
            del self.objects[key]
            self._note_other(key, visits.last)

    def _touch(self, key: ObjectKey) -> None:
        if self.touched is not None:
            self.touched.pop(key, None)
            self.touched[key] = None

    def _note_other(self, key: ObjectKey, latest: float | None) -> None:
        """Remember when an object in no subscription was last seen, so that its late events are recognised."""
        if latest is None:
            return
        self.others[key] = latest
        self.others.move_to_end(key)
        while len(self.others) > self.followed.most_objects:
            self._touch(self.others.popitem(last=False)[0])

    def _given_up(self, clock: CommonClock, own: ObjectKey, now: float) -> Iterator[FenceChange]:
        """Drop the objects with a last event that is too long ago, by the common clock; `own` by its own, too."""
        after, common = clock.forget_after, now if clock.time is None else min(now, clock.time)
        while self._due and common - self._due[0][0] > after:
            _, _, key = heapq.heappop(self._due)
            self._are_due.discard(key)
            visits = self.objects.get(key)
            if visits is None or visits.last is None:
                continue
            if common - clock.last_seen(key, visits.last) <= after:
                self._await(key, visits)
                continue
            yield from self._lose(key, visits)
        visits = self.objects.get(own)
        if visits is not None and visits.last is not None and now - visits.last > after:
            yield from self._lose(own, visits)

    def _lose(self, key: ObjectKey, visits: Visits) -> Iterator[FenceChange]:
        del self.objects[key]
        self._touch(key)
        yield from visits.leave(key)

    def _turn_back(self, key: ObjectKey, now: float | None) -> None:
        """Replace the wrong date of an object by that of its event."""
        visits = self.objects.get(key)
        self.others.pop(key, None)
        if visits is not None and now is not None:
            visits.turn_back(now)

    def _await(self, key: ObjectKey, visits: Visits) -> None:
        """Schedule a check of an object, for the time when it may have been silent for too long."""
        if self._clock is not None and visits.last is not None and key not in self._are_due:
            self._are_due.add(key)
            common = visits.last if self._clock.time is None else min(visits.last, self._clock.time)
            heapq.heappush(self._due, (common, next(self._awaited), key))


def _certain(event: Moved, witness: Witness) -> Moved:
    """An event with those matches alone that hold wherever its place may be."""
    if event.row not in witness.radii:
        return event
    truths = {one: witness.truth_around(event.row, one) for one in event.matched | event.passed}
    matched = frozenset(one for one in event.matched if truths[one])
    return replace(event, matched=matched, passed=frozenset(one for one in event.passed if truths[one] is False))


def rows_of(table: pa.Table, followed: Followed, told: TimeReader) -> list[tuple[Any, ...]]:
    """The row, key, matches, time and passed subscriptions of each event, in the order in which they count."""
    nothing = [None] * len(table)
    columns = [key_values(table[name]) for name in ("event", EVENT_KEY, "subscription")]
    times: list[Any] = nothing
    if followed.time is not None:
        moments = zip(key_values(table["also_0"]), columns[0], strict=True)
        times = [told.seconds_of(moment, row) for moment, row in moments]
    ways = nothing if followed.path is None else table[PASSED].to_pylist()
    rows = list(zip(*columns, times, ways, strict=True))
    if followed.order == "time":
        rows.sort(key=lambda one: float("-inf") if one[3] is None else one[3])
    return rows
