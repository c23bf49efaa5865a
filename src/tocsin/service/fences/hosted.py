"""The fences of a tenant, which follow published events in the transaction that publishes them.

Objects change in memory first. If the transaction is not made, they are read from the database again before the next
event.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tocsin.engine import Engine
from tocsin.errors import RecordError
from tocsin.language.evaluate import evaluate
from tocsin.language.stored import stored_expression
from tocsin.model.elements import values_for
from tocsin.model.expression import Expression
from tocsin.model.fence import FenceChange
from tocsin.model.texts import Text
from tocsin.monitor import Fences
from tocsin.monitor.fences.durable import changed_objects, tracking_of
from tocsin.monitor.fences.notes import FenceNotes
from tocsin.records.json_lines import parse_line
from tocsin.service.changes import FREE, Guard
from tocsin.service.directory import Directory
from tocsin.service.fences.areas import Area, Areas
from tocsin.service.problems import conflict, invalid, unknown
from tocsin.service.units import Event
from tocsin.store import Database

_OBJECTS: Final = "SELECT key, place, state FROM service_objects WHERE fence = ? ORDER BY place"
_AREAS: Final = """
SELECT s.id, r.fence, s.condition, s.score, s.payload FROM service_routes AS r JOIN subscriptions AS s ON s.id = r.id
WHERE r.fence IS NOT NULL
"""
_COUNTERS: Final = {
    "events": "Events of objects that fences followed",
    "changes": "Changes of objects at subscriptions",
    "refused": "Selected events that no object can be told from",
}


@dataclass(slots=True, eq=False)
class HostedFence:
    """A fence. `fences` has the objects."""

    number: int
    name: str
    options: Mapping[str, Any]
    areas: Engine
    fences: Fences
    selected: Expression | None  # which events it follows; None: all that have a key
    notes: FenceNotes
    place: int = 0  # of the last object
    counts: Counter[str] = field(default_factory=Counter)
    _numbers: dict[int, int] = field(default_factory=dict)  # of matched events, by their place in the transaction
    _follow: Callable[[int], Sequence[FenceChange]] | None = None

    def match(self, records: Sequence[tuple[int, Mapping[str, Any]]]) -> None:
        """Match events together that may be followed later, each with its place in the transaction."""
        self._numbers = {place: number for number, (place, _) in enumerate(records)}
        self._follow = self.fences.match_ahead([record for _, record in records], self.notes) if records else None

    def follow(self, place: int) -> Sequence[FenceChange]:
        """Follow an event that was matched; raises `RecordError` if no object can be told from it."""
        return [] if self._follow is None else self._follow(self._numbers[place])

    def read(self, database: Database) -> None:
        """Take the objects from the database."""
        rows = database.connection.execute(_OBJECTS, (self.number,)).fetchall()
        with self.fences._lock:
            self.fences._tracking, self.place = tracking_of(self.fences._tracking, rows)

    def write(self, database: Database) -> None:
        """Write the objects that changed."""
        states, gone = changed_objects(self.fences._tracking, self.place)
        self.place += len(states)
        put = database.connection.executemany
        put("INSERT OR REPLACE INTO service_objects VALUES (?, ?, ?, ?)", ((self.number, *one) for one in states))
        put("DELETE FROM service_objects WHERE fence = ? AND key = ?", ((self.number, key) for key in gone))


def fence_of(number: int, name: str, options: Mapping[str, Any], areas: Areas) -> HostedFence:
    """A fence without objects, and with an empty engine; raises the errors of `Fences`."""
    own = dict(options)
    where = own.pop("where", None)
    engine = areas.add(number)
    fences, selected = Fences(engine, **own), None if where is None else stored_expression(where)
    return HostedFence(number, name, options, engine, fences, selected, fences.notes())


class HostedFences:
    """All fences by name. The event loop reads single values."""

    def __init__(self, directory: Directory, texts: Mapping[str, Text]) -> None:
        self._directory = directory
        self.areas = Areas(texts)
        self.named: dict[str, HostedFence] = {}
        self._transaction: object = None  # the one that memory is ahead with
        self._records: dict[int, tuple[int, Mapping[str, Any]]] = {}  # place and record of each event, by its identity

    def read(self, database: Database) -> None:
        """Read all of them from the database."""
        run = database.connection.execute
        for number, name, options in run("SELECT number, name, options FROM service_fences").fetchall():
            self.named[name] = fence_of(number, name, json.loads(options), self.areas)
        self.areas.place(map(Area._make, run(_AREAS).fetchall()))
        for one in self.named.values():
            one.read(database)

    def of(self, name: str) -> HostedFence:
        """A fence; raises a `Problem`."""
        found = self.named.get(name)
        if found is None:
            raise unknown("fence", name)
        return found

    def number_of(self, name: object) -> int:
        """The number of a fence that a subscription names."""
        found = self.named.get(name) if isinstance(name, str) else None
        if found is None:
            raise invalid(f"there is no fence {str(name)!r:.80}; make it first", field="fence")
        return found.number

    def name_of(self, number: int | None) -> str | None:
        """The name of a fence."""
        return next((name for name, one in list(self.named.items()) if one.number == number), None)

    # In the transaction that publishes

    def begin(self, database: Database, transaction: object, events: Iterable[Event]) -> None:
        """Match the events of a change. Forget what events of another transaction changed that was not made."""
        if self._transaction is not None and self._transaction is not transaction:
            for one in self.named.values():
                one.read(database)
        self._transaction, self._records = transaction if self.named else None, {}
        if not self.named:
            return
        for place, event in enumerate(events):
            if not event.kind and event.refused is None:
                with suppress(RecordError):  # it is published, and followed by no fence
                    self._records[id(event)] = place, parse_line(event.text.encode(), 1)
        for one in self.named.values():
            one.match([pair for pair in self._records.values() if _is_selected(one, pair[1])])

    def follow(self, event: Event, now: int) -> None:
        """Add the changes that an event causes to its deliveries."""
        if not self.named or id(event) not in self._records:
            return
        place, record = self._records[id(event)]
        for one in self.named.values():
            if not _is_selected(one, record):
                continue
            try:
                changes = one.follow(place)
            except RecordError:
                one.counts["refused"] += 1
                continue
            one.counts["events"] += 1
            one.counts["changes"] += len(changes)
            for change in changes:
                self._tell(event, one, change, now)

    def _tell(self, event: Event, one: HostedFence, change: Any, now: int) -> None:
        """Add a change to the deliveries of an event."""
        route, told = self._directory.routes.get(change.subscription), self.areas.told(change.subscription)
        if route is None or route.destination is None or told is None:
            return
        if route.is_silent(now):
            event.suppressed += 1
            return
        more = {"change": change.change, "fence": one.name, "object": change.object, "seconds": change.seconds}
        text = f"{told},{json.dumps(more, ensure_ascii=False)[1:]}"
        event.deliveries.setdefault(route.destination, []).append(text)

    def write(self, database: Database) -> None:
        """Write what events changed."""
        for one in self.named.values():
            one.write(database)

    def applied(self) -> None:
        """The transaction is made."""
        self._transaction = None

    def collect(self) -> Iterator[Any]:
        """The metrics, for Prometheus."""
        named = list(self.named.items())
        for word, about in _COUNTERS.items():
            counter = CounterMetricFamily(f"tocsin_fence_{word}", about, labels=["fence"])
            for name, one in named:
                counter.add_metric([name], one.counts[word])
            yield counter
        about = "Events that fences ignored: older than another one of their object"
        late = CounterMetricFamily("tocsin_fence_late", about, labels=["fence"])
        for name, one in named:
            late.add_metric([name], one.notes.times.late.count)
        yield late
        gauge = GaugeMetricFamily("tocsin_fence_objects", "Objects that fences keep", labels=["fence"])
        for name, one in named:
            gauge.add_metric([name], len(one.fences))
        yield gauge


def _is_selected(one: HostedFence, record: Mapping[str, Any]) -> bool:
    """Whether a fence follows an event."""
    if one.selected is None:
        return True
    try:
        return evaluate(one.selected, values_for([one.selected], record)) is True
    except RecordError:
        return False


@dataclass(slots=True)
class PutFence:
    """Make a fence, unless there is one with these options. Returns whether it is new, and the fence."""

    fences: HostedFences
    name: str
    options: Mapping[str, Any]
    guard: Guard = FREE
    is_alone = True
    _made: tuple[bool, int] = (False, 0)

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        run, options = database.connection.execute, json.dumps(self.options)
        found = run("SELECT number, options FROM service_fences WHERE name = ?", (self.name,)).fetchone()
        self.guard.check(None if found is None else f'"{found[0]}"')
        if found is None:
            made = run("INSERT INTO service_fences (name, options) VALUES (?, ?)", (self.name, options))
            assert made.lastrowid is not None
            self._made = True, made.lastrowid
            return sequence
        before = json.loads(found[1])
        for word, value in json.loads(options).items():
            if before[word] != value:
                detail = f"{word} is {before[word]!r:.60} in this fence; delete the fence to make another one"
                raise conflict(detail, field=word)
        self._made = False, found[0]
        return sequence

    def apply(self) -> tuple[bool, HostedFence]:
        is_new, number = self._made
        if is_new:
            one = fence_of(number, self.name, self.options, self.fences.areas)
            one.fences._tracking, _ = tracking_of(one.fences._tracking, ())
            self.fences.named[self.name] = one
        return is_new, self.fences.named[self.name]


@dataclass(slots=True)
class RemoveFence:
    """Delete a fence with its objects, unless subscriptions name it."""

    fences: HostedFences
    name: str
    guard: Guard = FREE
    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        run = database.connection.execute
        found = run("SELECT number FROM service_fences WHERE name = ?", (self.name,)).fetchone()
        if found is None:
            raise unknown("fence", self.name)
        self.guard.check(f'"{found[0]}"')
        count = run("SELECT count(*) FROM service_routes WHERE fence = ?", found).fetchone()[0]
        if count:
            raise conflict(f"{count:,} subscriptions name it; change or delete them first", subscriptions=count)
        run("DELETE FROM service_objects WHERE fence = ?", found)
        run("DELETE FROM service_fences WHERE number = ?", found)
        return sequence

    def apply(self) -> None:
        self.fences.areas.remove(self.fences.named.pop(self.name).number)
