"""Where the changes of a window's subscriptions go, and what they carry: tables beside those of the window."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tocsin.model.subscription import SubscriptionId
from tocsin.model.values import size_of
from tocsin.service import throttles
from tocsin.service.clock import Moment
from tocsin.service.directory import NOWHERE, Route
from tocsin.service.fragments import fragment
from tocsin.service.tables import add_columns
from tocsin.service.throttles import drop_told, read_told
from tocsin.store import Database, bounded

TABLE: Final = "service_interests"
_SCHEMA: Final = f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    id ANY NOT NULL PRIMARY KEY, destination INTEGER, payload TEXT,
    throttle_s REAL, paused_until INTEGER, expires_at INTEGER
) STRICT, WITHOUT ROWID"""
_LATER: Final = (
    (TABLE, "throttle_s", "REAL"), (TABLE, "paused_until", "INTEGER"), (TABLE, "expires_at", "INTEGER"),
)  # fmt: skip
"""Columns that tables of earlier releases do not have."""
_BY_EXPIRY: Final = f"CREATE INDEX IF NOT EXISTS {TABLE}_by_expiry ON {TABLE} (expires_at) WHERE expires_at IS NOT NULL"
_READ: Final = f"SELECT id, payload, destination, throttle_s, paused_until, expires_at FROM {TABLE}"
_PUT: Final = f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?)"
_ROWS: Final = f"""
SELECT s.id, s.words, s.x, s.y, s.k, s.alpha, i.payload, i.destination, i.throttle_s, i.paused_until, i.expires_at
FROM window_subscriptions AS s LEFT JOIN {TABLE} AS i ON i.id = s.id
"""
Change = tuple[SubscriptionId, Any, str, float]
"""The subscription, the message, the kind of the change, and the score."""


class Interest(NamedTuple):
    """Where and when the changes of a window's subscription go, and what they carry."""

    route: Route = NOWHERE
    payload: str | None = None  # JSON


Changed = Mapping[SubscriptionId, Interest | None]
"""Subscriptions that change; None: one that is removed."""


class Interests:
    """The interests of a window in memory. The thread of the window changes them, others read single values."""

    def __init__(self, known: Mapping[SubscriptionId, Interest], told: Mapping[SubscriptionId, int]) -> None:
        self._known: dict[SubscriptionId, Interest] = {}
        self._told = dict(told)
        self.uses = Counter[int]()  # subscriptions by destination
        self.expiring = 0  # subscriptions that expire at some time
        self.payload_bytes = 0
        self.set(known)

    def __len__(self) -> int:
        """The durable subscriptions of the window, with or without a destination."""
        return len(self._known)

    def set(self, changed: Changed) -> None:
        """Take over what is durable."""
        for id, one in changed.items():
            before = self._known.pop(id, None)
            if before is not None:
                self._count(before, -1)
            if one is None or one.route.throttle_s is None:
                self._told.pop(id, None)
            if one is not None:
                self._known[id] = one
                self._count(one, 1)

    def _count(self, one: Interest, step: int) -> None:
        route = one.route
        if route.destination is not None:
            self.uses[route.destination] += step
        self.expiring += step * (route.expires_at is not None)
        self.payload_bytes += step * size_of(one.payload or "")

    def expired(self, ids: Iterable[SubscriptionId], now: int) -> list[SubscriptionId]:
        """Those of some subscriptions that have expired."""
        known = ((id, self._known[id].route.expires_at) for id in ids if id in self._known)
        return [id for id, moment in known if moment is not None and moment <= now]

    def addressed(
        self, changed: Sequence[tuple[str, Sequence[Change]]], now: Moment, told: dict[SubscriptionId, Moment]
    ) -> tuple[list[tuple[str, dict[int, list[str]]]], int]:
        """The changes of each event by destination, as JSON objects, and how many are held back.

        A subscription is told of all changes by an event or of none. `told` has the times of this transaction so far.
        """
        events, suppressed = [], 0
        for text, changes in changed:
            parts: dict[int, list[str]] = {}
            are_told: dict[SubscriptionId, bool] = {}
            for subscription, message, kind, score in changes:
                one = self._known.get(subscription)
                if one is None or one.route.destination is None:
                    continue
                if subscription not in are_told:
                    are_told[subscription] = self._is_told(subscription, one.route, now, told)
                if not are_told[subscription]:
                    suppressed += 1
                    continue
                more = f',"change":"{kind}","message":{json.dumps(message, ensure_ascii=False)}}}'
                part = fragment(subscription, score, one.payload)[:-1] + more
                parts.setdefault(one.route.destination, []).append(part)
            if parts:
                events.append((text, parts))
        return events, suppressed

    def _is_told(self, id: SubscriptionId, route: Route, now: Moment, told: dict[SubscriptionId, Moment]) -> bool:
        last = told[id].steady if id in told else self._told.get(id)
        if route.is_silent(now.wall) or not route.is_due(last, now.steady):
            return False
        if route.throttle_s is not None:
            told[id] = now
        return True

    def were_told(self, told: Mapping[SubscriptionId, Moment]) -> None:
        """Take over the times of a transaction that is durable."""
        self._told.update((id, moment.steady) for id, moment in told.items())


def prepare(database: Database) -> None:
    """Make the tables, within a transaction."""
    database.connection.execute(_SCHEMA)
    add_columns(database, _LATER)
    for statement in (_BY_EXPIRY, throttles.SCHEMA):
        database.connection.execute(statement)


def read(connection: sqlite3.Connection, now: Moment) -> Interests:
    """The interests that are stored."""
    known = {id: Interest(Route(*route), payload) for id, payload, *route in connection.execute(_READ)}
    return Interests(known, read_told(connection, now))


def put_interests(database: Database, changed: Changed) -> None:
    """Write and delete interests, within a transaction."""
    run = database.connection.executemany
    run(f"DELETE FROM {TABLE} WHERE id = ?", ((id,) for id, one in changed.items() if one is None))
    run(_PUT, (_row(id, one) for id, one in changed.items() if one is not None))
    drop_told(database, (id for id, one in changed.items() if one is None or one.route.throttle_s is None))


def _row(id: SubscriptionId, one: Interest) -> tuple[Any, ...]:
    destination, *times, _ = one.route
    return (id, destination, one.payload, *times)


def row(connection: sqlite3.Connection, id: SubscriptionId) -> dict[str, Any] | None:
    """A subscription as the store has it; None if there is none."""
    found = connection.execute(f"{_ROWS} WHERE s.id = ?", (id,)).fetchone()
    return None if found is None else _record(found)


def rows(connection: sqlite3.Connection, after: str | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The first subscriptions after an id, in the order of their ids, and whether there are more."""
    where, values = ("", ()) if after is None else ("WHERE s.id > ?", (after,))
    cursor = connection.execute(f"{_ROWS} {where} ORDER BY s.id LIMIT ?", (*values, limit + 1))
    found, has_more = bounded(cursor, limit)
    return list(map(_record, found)), has_more


def _record(found: tuple[Any, ...]) -> dict[str, Any]:
    """A subscription with its route."""
    id, words, x, y, k, alpha, payload, *route = found
    document = {"id": id, "words": json.loads(words), "location": [x, y], "k": k, "alpha": alpha}
    return document | {"payload": None if payload is None else json.loads(payload), "route": Route(*route)}
