"""Copies of a store, made while another process may write it.

Each copy has an epoch of its own. So readers, indexes and cursors of the original do not take the copy for it.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from tocsin.errors import StoreError
from tocsin.store import connections
from tocsin.store.database import DATABASE, Database
from tocsin.store.writer import make_folder

_PAGES: Final = 1024
"""Pages that are copied between two calls of `progress`."""


def back_up(folder: Path, path: str | Path) -> None:
    """Copy the store of this moment into another folder; raises `StoreError`."""
    target = Path(path)
    if (target / DATABASE).exists():
        raise StoreError(f"{path} has a store already; name a new folder")
    make_folder(target)
    with closing(Database.open(folder, read_only=True)) as source, source.one_state():
        copy_store(source, target)


def copy_store(source: Database, folder: Path, progress: Callable[[int], None] = lambda copied: None) -> None:
    """Write a copy of a store into another folder, atomically; within `source.one_state()`.

    `progress` gets the bytes that are copied so far. What it raises ends the copying, and leaves no file.
    """
    beside = folder / f".{DATABASE}.{uuid.uuid4().hex[:8]}"
    page_bytes = source.connection.execute("PRAGMA page_size").fetchone()[0]

    def stepped(_status: int, remaining: int, pages: int) -> None:
        progress((pages - remaining) * page_bytes)

    try:
        with connections.told(folder):
            with connections.connected(beside, "rwc") as copy:
                source.connection.backup(copy, pages=_PAGES, progress=stepped)
                copy.execute("PRAGMA journal_mode = DELETE")
                _put_epoch(copy)
            beside.rename(folder / DATABASE)
            connections.sync(folder)
    finally:
        beside.unlink(missing_ok=True)


def begin_epoch(folder: Path) -> None:
    """Give a store that no process has open another epoch."""
    with connections.told(folder), connections.connected(folder / DATABASE, "rw") as connection:
        _put_epoch(connection)


def _put_epoch(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (uuid.uuid4().hex[:12],))
