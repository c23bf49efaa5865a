"""Changes of subscriptions and destinations: written together with the service's tables, then made in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tocsin.engine.durable.changes import Put, PutAll, Remove, RemoveAll, rows_of
from tocsin.engine.durable.transactions import Transactions
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.service.directory import NOWHERE, Destination, Directory, Route
from tocsin.service.fences.areas import Area, Areas
from tocsin.service.problems import Problem, conflict, unknown
from tocsin.service.throttles import drop_told
from tocsin.store import Database, overwriting

_PUT_ROUTE: Final = "INSERT OR REPLACE INTO service_routes VALUES (?, ?, ?, ?, ?, ?)"
_DROP_ROUTE: Final = "DELETE FROM service_routes WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Guard:
    """The conditions of a change: `If-Match` has one of these tags, `*` if there is anything; or there is nothing."""

    match: frozenset[str] | None = None
    none: bool = False

    def check(self, tag: str | None) -> None:
        """Raise a `Problem` unless the tag of what is there fits; None if nothing is there."""
        if self.none and tag is not None:
            raise Problem(412, "precondition", "it exists already", etag=tag)
        if self.match is not None and (tag is None or ("*" not in self.match and tag not in self.match)):
            raise Problem(412, "precondition", "it was changed meanwhile; read it again", etag=tag)


FREE: Final = Guard()


def etag_of(database: Database, id: SubscriptionId) -> str | None:
    """The tag of a subscription: the number of its last change."""
    found = database.connection.execute("SELECT sequence FROM subscriptions WHERE id = ?", (id,)).fetchone()
    return None if found is None else f'"{found[0]}"'


def require_there(database: Database, route: Route) -> None:
    """Raise a `Problem` if what a route names was deleted meanwhile."""
    for what, number in (("destination", route.destination), ("fence", route.fence)):
        statement = f"SELECT 1 FROM service_{what}s WHERE number = ?"
        if number is not None and database.connection.execute(statement, (number,)).fetchone() is None:
            raise conflict(f"the {what} was deleted meanwhile")


@dataclass(slots=True)
class PutSubscription:
    """Add or replace a subscription and its route. Returns whether it is new, and its sequence."""

    directory: Directory
    fences: Areas
    transactions: Transactions
    put: Put
    route: Route
    guard: Guard = FREE
    is_alone = False
    _is_new: bool = False
    _sequence: int = 0

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        id = self.put.parsed.id
        tag = etag_of(database, id)
        self.guard.check(tag)
        require_there(database, self.route)
        self._sequence = self.put.write(database, sequence, touched)
        if self.route != NOWHERE:
            database.connection.execute(_PUT_ROUTE, (id, *self.route))
        elif tag is not None:
            database.connection.execute(_DROP_ROUTE, (id,))
        if self.route.throttle_s is None and tag is not None:
            drop_told(database, [id])
        self._is_new = tag is None
        return self._sequence

    def apply(self) -> tuple[bool, int]:
        self.transactions.grown(self.put.apply())
        self.directory.route(self.put.parsed.id, self.route)
        one = self.put.parsed
        self.fences.place([Area(one.id, self.route.fence, one.source, one.score, one.payload)])
        return self._is_new, self._sequence


@dataclass(slots=True)
class RemoveSubscription:
    """Remove a subscription and its route."""

    directory: Directory
    fences: Areas
    remove: Remove
    guard: Guard = FREE
    is_alone = False

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        tag = etag_of(database, self.remove.id)
        if tag is None:
            raise unknown("subscription", self.remove.id)
        self.guard.check(tag)
        last = self.remove.write(database, sequence, touched)
        database.connection.execute(_DROP_ROUTE, (self.remove.id,))
        drop_told(database, [self.remove.id])
        return last

    def apply(self) -> None:
        self.remove.apply()
        self.directory.route(self.remove.id, None)
        self.fences.place([Area(self.remove.id)])


@dataclass(slots=True)
class RemoveSubscriptions:
    """Remove the subscriptions of a choice and their routes, all of them or none. Returns the ids of those removed."""

    directory: Directory
    fences: Areas
    remove: RemoveAll
    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        with overwriting(database.connection) as connection:
            last = self.remove.write(database, sequence, touched)
            connection.executemany(_DROP_ROUTE, ((id,) for id in self.remove.removed))
            drop_told(database, self.remove.removed)
        return last

    def apply(self) -> list[SubscriptionId]:
        removed = self.remove.apply()
        for id in removed:
            self.directory.route(id, None)
        self.fences.place(map(Area, removed))
        return removed


@dataclass(slots=True)
class PutSubscriptions:
    """Add or replace many subscriptions and their routes. Returns how many, and the rejects."""

    directory: Directory
    fences: Areas
    transactions: Transactions
    put: PutAll
    routes: list[tuple[SubscriptionId, Route]]  # by row
    is_alone = True
    _kept: dict[SubscriptionId, Route] | None = None

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        for route in {Route(destination=one.destination, fence=one.fence) for _, one in self.routes}:
            require_there(database, route)
        last = self.put.write(database, sequence, touched)
        refused = {reject.row for reject in self.put.rejects}
        self._kept = {id: route for row, (id, route) in enumerate(self.routes) if row not in refused}
        put = ((id, *route) for id, route in self._kept.items() if route != NOWHERE)
        database.connection.executemany(_PUT_ROUTE, put)
        before = [(id,) for id, route in self._kept.items() if route == NOWHERE and id in self.directory.routes]
        database.connection.executemany(_DROP_ROUTE, before)
        told = (id for id, route in self._kept.items() if route.throttle_s is None and id in self.directory.told)
        drop_told(database, told)
        return last

    def apply(self) -> tuple[int, list[Reject]]:
        answer = self.put.apply()
        self.transactions.grown()
        for id, route in (self._kept or {}).items():
            self.directory.route(id, route)
        self.fences.place(self._areas())
        return answer

    def _areas(self) -> list[Area]:
        """The subscriptions of fences, and those that may have been of one."""
        kept = self._kept or {}
        if not self.fences:
            return []
        segment = self.put.segment
        has_fence = any(one.fence for one in kept.values())
        rows = {row.id: row for chunk in rows_of(segment, 0) for row in chunk.each()} if has_fence else {}
        return [
            Area(id, one.fence, rows[id].condition, rows[id].score, rows[id].payload) if one.fence else Area(id)
            for id, one in kept.items()
        ]


@dataclass(slots=True)
class PutDestination:
    """Add a destination, or change its options. Returns whether it is new, and the destination."""

    directory: Directory
    tenant: str
    id: str
    kind: str
    options: Mapping[str, Any]
    guard: Guard = FREE
    is_alone = False
    _row: tuple[int, int, int, int] | None = None  # number, version, acknowledged, earliest

    @property
    def number(self) -> int:
        """The number of the destination, once it is written."""
        assert self._row is not None
        return self._row[0]

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        connection = database.connection
        found = connection.execute(
            "SELECT number, version, acknowledged, earliest, kind FROM service_destinations "
            "WHERE tenant = ? AND id = ?",
            (self.tenant, self.id),
        ).fetchone()
        self.guard.check(None if found is None else f'"{found[0]}.{found[1]}"')
        options = json.dumps(dict(self.options))
        if found is None:
            made = connection.execute(
                "INSERT INTO service_destinations (tenant, id, kind, options, version, acknowledged, earliest) "
                "VALUES (?, ?, ?, ?, 1, 0, 1)",
                (self.tenant, self.id, self.kind, options),
            )
            assert made.lastrowid is not None
            self._row = made.lastrowid, 1, 0, 1
            return sequence
        if found[4] != self.kind:
            raise conflict(f"it is of kind {found[4]}; delete it to make one of another kind")
        self._row = found[0], found[1] + 1, found[2], found[3]
        connection.execute(
            "UPDATE service_destinations SET options = ?, version = version + 1 WHERE number = ?", (options, found[0])
        )
        return sequence

    def apply(self) -> tuple[bool, Destination]:
        assert self._row is not None
        number, version, acknowledged, earliest = self._row
        before = self.directory.destinations.get(number)
        if before is not None:
            self.directory.change(before, dict(self.options), version)
            return False, before
        new = Destination(
            number, self.tenant, self.id, self.kind, dict(self.options), version, acknowledged, earliest, earliest - 1
        )
        self.directory.put(new)
        return True, new


@dataclass(slots=True)
class RemoveDestination:
    """Delete a destination and its deliveries, unless subscriptions name it."""

    directory: Directory
    destination: Destination
    guard: Guard = FREE
    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        number, connection = self.destination.number, database.connection
        found = connection.execute("SELECT version FROM service_destinations WHERE number = ?", (number,)).fetchone()
        if found is None:
            raise unknown("destination", self.destination.id)
        self.guard.check(f'"{number}.{found[0]}"')
        statement = "SELECT count(*) FROM service_routes WHERE destination = ?"
        count = connection.execute(statement, (number,)).fetchone()[0]
        if count:
            raise conflict(f"{count:,} subscriptions name it; change or delete them first", subscriptions=count)
        for table in ("deliveries", "more", "letters", "attempts", "webhooks"):
            connection.execute(f"DELETE FROM service_{table} WHERE destination = ?", (number,))
        connection.execute("DELETE FROM service_destinations WHERE number = ?", (number,))
        return sequence

    def apply(self) -> Destination:
        self.directory.remove(self.destination)
        return self.destination


@dataclass(slots=True)
class Acknowledge:
    """Move the durable cursor of a destination forwards."""

    directory: Directory
    destination: Destination
    sequence: int
    is_alone = False

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        number, connection = self.destination.number, database.connection
        found = connection.execute(
            "SELECT acknowledged FROM service_destinations WHERE number = ?", (number,)
        ).fetchone()
        if found is None:
            raise unknown("destination", self.destination.id)
        if self.sequence < found[0]:
            raise conflict(f"{found[0]} is acknowledged already; a cursor does not go back", acknowledged=found[0])
        if self.sequence > self.destination.newest:
            newest = self.destination.newest
            raise conflict(f"the newest delivery is {newest}", newest=newest)
        connection.execute("UPDATE service_destinations SET acknowledged = ? WHERE number = ?", (self.sequence, number))
        return sequence

    def apply(self) -> int:
        self.destination.acknowledged = self.sequence
        return self.sequence
