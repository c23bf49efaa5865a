"""When subscriptions with a throttle were last told. The store of the service and that of each window keep it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from tocsin.model.subscription import SubscriptionId
from tocsin.service.clock import Moment
from tocsin.store import Database

SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS service_told (id ANY NOT NULL PRIMARY KEY, time INTEGER NOT NULL) STRICT, WITHOUT ROWID"
)


def read_told(connection: sqlite3.Connection, now: Moment) -> dict[SubscriptionId, int]:
    """The time of each by the steady clock."""
    return {id: now.past(time) for id, time in connection.execute("SELECT id, time FROM service_told").fetchall()}


def put_told(database: Database, told: Mapping[SubscriptionId, Moment]) -> None:
    """Write times, within a transaction."""
    if told:
        rows = ((id, moment.wall) for id, moment in told.items())
        database.connection.executemany("INSERT OR REPLACE INTO service_told VALUES (?, ?)", rows)


def drop_told(database: Database, ids: Iterable[SubscriptionId]) -> None:
    """Forget subscriptions, within a transaction."""
    database.connection.executemany("DELETE FROM service_told WHERE id = ?", ((id,) for id in ids))
