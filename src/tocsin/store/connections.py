"""Connections to a SQLite database, errors that name the folder, and reads that end after some bytes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from tocsin.errors import StoreError
from tocsin.model.values import size_of

BUSY_MS: Final = 10_000
MOST_BYTES: Final = 4 << 20
"""Of the rows that one read returns; at least one row is returned."""
_UNREADABLE: Final = (
    sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS,
    sqlite3.SQLITE_IOERR_DATA,
)  # fmt: skip


def sync(folder: Path) -> None:
    """Make a rename within a folder durable."""
    if os.name != "nt":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def connect(place: Path, mode: str) -> sqlite3.Connection:
    """A connection that leaves transactions to its caller; `mode` is ro, rw or rwc.

    A new database is its owner's alone, whatever the umask. SQLite gives its log the same rights.
    """
    if mode == "rwc":
        os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
    uri = f"{place.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return connection


@contextmanager
def connected(place: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection that is closed when the block ends."""
    connection = connect(place, mode)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Convert SQLite's errors, which name no file."""
    try:
        yield
    except sqlite3.Error as error:
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        advice = "; run `tocsin doctor`" if damaged else ""
        raise StoreError(f"the store in {folder} cannot be used: {error}{advice}") from error
    except OSError as error:
        raise StoreError(f"the store in {folder} cannot be used: {error.strerror or error}") from error


def is_damage(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, says that a database is damaged, or cannot be read from the disk."""
    while error is not None:
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or code in _UNREADABLE:
            return True
        error = error.__cause__
    return False


class Filling:
    """How full a page is: of things, at most `limit`, and of bytes of their texts, by default `MOST_BYTES`."""

    def __init__(self, limit: int, size_limit: int | None = None) -> None:
        self._things, self._bytes = limit, MOST_BYTES if size_limit is None else size_limit

    @property
    def is_full(self) -> bool:
        """Whether nothing more goes into the page. An empty page takes a thing of any size."""
        return self._things <= 0 or self._bytes <= 0

    def add(self, texts: Iterable[str], things: int = 1) -> None:
        """Put things into the page, which have some texts."""
        self._things -= things
        self._bytes -= size_of(*texts)


@contextmanager
def overwriting(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Let the pages of the database keep nothing of what is deleted or replaced, within a transaction."""
    (before,) = connection.execute("PRAGMA secure_delete").fetchone()
    connection.execute("PRAGMA secure_delete = ON")
    try:
        yield connection
    finally:
        connection.execute(f"PRAGMA secure_delete = {before}")


def bounded(
    cursor: sqlite3.Cursor | Generator[tuple[Any, ...]], limit: int, size_limit: int | None = None
) -> tuple[list[tuple[Any, ...]], bool]:
    """The first rows of a cursor, and whether there is another one.

    They are at most `limit`, and as many as have `size_limit` bytes of texts together, by default `MOST_BYTES`, but one
    at least. The others are not read. The cursor is closed.
    """
    rows, page = list[tuple[Any, ...]](), Filling(limit, size_limit)
    with closing(cursor):
        for row in cursor:
            if page.is_full:
                return rows, True
            rows.append(row)
            page.add(value for value in row if isinstance(value, str))
    return rows, False
