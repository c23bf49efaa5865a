"""Reads of the database: on threads of their own, with read-only connections, never for long."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from tocsin.service.outbox import Stored
from tocsin.store import Database
from tocsin.store.connections import bounded, told

_THREADS: Final = 4
Read = TypeVar("Read")

_DELIVERIES: Final = """
SELECT d.destination, d.sequence, d.event, d.count, d.subscriptions, e.event, e.published, d.parts
FROM service_deliveries AS d JOIN service_events AS e ON e.sequence = d.event
WHERE d.destination = ? AND d.sequence > ? ORDER BY d.sequence LIMIT ?
"""


class Readers:
    """Threads that read. Each has a connection; a cursor is read and closed before anything is sent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = threading.local()
        self._opened: list[Database] = []
        self._threads = ThreadPoolExecutor(_THREADS, "tocsin-read")

    async def read(self, ask: Callable[[sqlite3.Connection], Read]) -> Read:
        """What `ask` reads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, ask)

    def _read(self, ask: Callable[[sqlite3.Connection], Read]) -> Read:
        database: Database | None = getattr(self._own, "database", None)
        if database is None:
            database = self._own.database = Database.open(self._folder, read_only=True)
            self._opened.append(database)
        with told(self._folder):
            return ask(database.connection)

    def close(self) -> None:
        """End the threads, and close their connections."""
        self._threads.shutdown()
        for one in self._opened:
            one.close()


def deliveries(
    connection: sqlite3.Connection, destination: int, after: int, limit: int, size_limit: int | None = None
) -> list[Stored]:
    """The deliveries of a destination after a number: at most `limit`, and as many as have `size_limit` bytes."""
    rows, _ = bounded(connection.execute(_DELIVERIES, (destination, after, limit)), limit, size_limit)
    return list(map(Stored._make, rows))


def used_bytes(connection: sqlite3.Connection) -> int:
    """The size of the database without its free pages."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    used: int = (pages - free) * size
    return used
