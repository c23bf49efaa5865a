"""When subscriptions with a throttle were last told. The store of the service and that of each window keep it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from tocsin.model.subscription import SubscriptionId
from tocsin.store import Database

SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS service_told (id ANY NOT NULL PRIMARY KEY, time INTEGER NOT NULL) STRICT, WITHOUT ROWID"
)


def read_told(connection: sqlite3.Connection) -> dict[SubscriptionId, int]:
    """The time of each, in milliseconds since 1970."""
    return dict(connection.execute("SELECT id, time FROM service_told").fetchall())


def put_told(database: Database, told: Mapping[SubscriptionId, int]) -> None:
    """Write times, within a transaction."""
    if told:
        database.connection.executemany("INSERT OR REPLACE INTO service_told VALUES (?, ?)", told.items())


def drop_told(database: Database, ids: Iterable[SubscriptionId]) -> None:
    """Forget subscriptions, within a transaction."""
    database.connection.executemany("DELETE FROM service_told WHERE id = ?", ((id,) for id in ids))
