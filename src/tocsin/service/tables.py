"""The service's own tables in the database of the store. The committing thread writes them.

    service_routes        where a subscription's matches go: destination, throttle_s, paused_until, expires_at
    service_destinations  number, tenant, id, kind, options (JSON), version, acknowledged, earliest
    service_events        the events that are kept, each with its deliveries as [destination, sequence] pairs
    service_deliveries    destination (its number), sequence, event, the first subscriptions (JSON), and how many
                          further parts there are
    service_more          the further parts: at most 1,000 subscriptions, and 1 MB, each
    service_answers       answers to requests with an idempotency key
    service_audit         who changed what, when and from where: `audit`
    service_webhooks      secrets and health of a destination to which the service sends (JSON)
    service_told          when a subscription with a throttle was last told
    service_attempts      the last requests of a destination, and what became of them: `deliver.attempts`
    service_letters       its deliveries that failed: dead (why; empty if it is tried again), attempts, due and more

`docs/format.md` describes them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from tocsin.errors import StoreError
from tocsin.service import throttles
from tocsin.store import Database

VERSION: Final = 2
_NAME, _TOKENS = "service", "service_tokens"
_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS service_routes (
        id ANY NOT NULL PRIMARY KEY, destination INTEGER, throttle_s REAL, paused_until INTEGER, expires_at INTEGER,
        fence INTEGER
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS service_destinations (
        number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
        options TEXT NOT NULL, version INTEGER NOT NULL, acknowledged INTEGER NOT NULL, earliest INTEGER NOT NULL,
        UNIQUE (tenant, id)
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS service_events (
        sequence INTEGER PRIMARY KEY, tenant TEXT NOT NULL, published INTEGER NOT NULL, event TEXT NOT NULL,
        matches INTEGER NOT NULL, deliveries TEXT NOT NULL, bytes INTEGER NOT NULL, kind TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS service_deliveries (
        destination INTEGER NOT NULL, sequence INTEGER NOT NULL, event INTEGER NOT NULL, count INTEGER NOT NULL,
        subscriptions TEXT NOT NULL, parts INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (destination, sequence)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS service_more (
        destination INTEGER NOT NULL, sequence INTEGER NOT NULL, part INTEGER NOT NULL, subscriptions TEXT NOT NULL,
        PRIMARY KEY (destination, sequence, part)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS service_answers (
        tenant TEXT NOT NULL, route TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, answer TEXT NOT NULL,
        given INTEGER NOT NULL, PRIMARY KEY (tenant, route, key)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS service_audit (
        number INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, token TEXT NOT NULL, name TEXT NOT NULL,
        address TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL, first INTEGER, last INTEGER NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS service_webhooks (
        destination INTEGER PRIMARY KEY, secrets TEXT NOT NULL, health TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS service_letters (
        destination INTEGER NOT NULL, sequence INTEGER NOT NULL, event INTEGER NOT NULL, dead TEXT NOT NULL,
        attempts INTEGER NOT NULL, due INTEGER NOT NULL, reason TEXT NOT NULL, status INTEGER, since INTEGER NOT NULL,
        refusals INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (destination, sequence)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS service_windows (
        number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, options TEXT NOT NULL,
        handed INTEGER NOT NULL
    ) STRICT""",
    throttles.SCHEMA,
    """CREATE TABLE IF NOT EXISTS service_attempts (
        destination INTEGER NOT NULL, is_failure INTEGER NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL,
        webhook_id TEXT NOT NULL, sequence INTEGER, last INTEGER, deliveries INTEGER NOT NULL,
        attempt INTEGER NOT NULL, outcome TEXT NOT NULL, status INTEGER, reason TEXT NOT NULL,
        duration_ms INTEGER NOT NULL, PRIMARY KEY (destination, is_failure, number)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS service_fences (
        number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, options TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS service_objects (
        fence INTEGER NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (fence, key)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS service_routes_by_expiry ON service_routes (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS service_letters_by_time ON service_letters (since)",
    "CREATE INDEX IF NOT EXISTS service_answers_by_time ON service_answers (given)",
    "CREATE INDEX IF NOT EXISTS service_routes_by_destination ON service_routes (destination)",
)
_LATER: Final = (
    ("service_events", "kind", "TEXT NOT NULL DEFAULT ''"),
    ("service_deliveries", "parts", "INTEGER NOT NULL DEFAULT 0"),
    ("service_routes", "fence", "INTEGER"),
    ("service_letters", "refusals", "INTEGER NOT NULL DEFAULT 0"),
)
"""Columns that tables of older releases do not have."""


class Prepare:
    """The change that makes the tables; refuses those of a newer release."""

    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[object]) -> int:
        require_known(database)
        for statement in _SCHEMA:
            database.connection.execute(statement)
        add_columns(database, _LATER)
        # Another process may have removed subscriptions, as `tocsin update` does. Their rows go, too.
        for table in ("service_routes", "service_told"):
            database.connection.execute(f"DELETE FROM {table} WHERE id NOT IN (SELECT id FROM subscriptions)")
        database.put_meta(_NAME, VERSION)
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""


def require_known(database: Database) -> None:
    """Raise `StoreError` if the service's tables are of a newer release. There may be none."""
    version = database.meta(_NAME)
    if version is not None and version > VERSION:
        raise StoreError(
            f"{database.folder} was served by a newer release (tables of version {version}, this one knows "
            f"{VERSION}); use a newer tocsin"
        )


class RememberTokens:
    """The change that notes whether the folder has tokens. Their file could get lost, and nobody would need one."""

    is_alone = True

    def __init__(self, *, there: bool) -> None:
        self._there = there

    def write(self, database: Database, sequence: int, touched: set[object]) -> int:
        database.put_meta(_TOKENS, int(self._there))
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""


def had_tokens(database: Database) -> bool:
    """Whether the folder of a store had tokens when it was served."""
    return bool(database.meta(_TOKENS))


def add_columns(database: Database, later: Sequence[tuple[str, str, str]]) -> None:
    """Add the columns that older tables lack: the table, the name and the type of each."""
    for table, column, kind in later:
        known = database.connection.execute("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column))
        if known.fetchone() is None:
            database.connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")


def last_event(connection: sqlite3.Connection) -> tuple[int, int]:
    """The number of the last event that is kept, and the bytes of all events up to it."""
    found = connection.execute("SELECT sequence, bytes FROM service_events ORDER BY sequence DESC LIMIT 1").fetchone()
    return (0, 0) if found is None else (found[0], found[1])


def newest(connection: sqlite3.Connection, destination: int, earliest: int) -> int:
    """The number of a destination's last delivery; `earliest` is the first that is kept."""
    statement = "SELECT max(sequence) FROM service_deliveries WHERE destination = ?"
    found: int | None = connection.execute(statement, (destination,)).fetchone()[0]
    return earliest - 1 if found is None else found
