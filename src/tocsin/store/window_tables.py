"""The tables of a durable window: the messages that are in it, and its subscriptions.

window_messages       number, key, x, y, time, words
window_subscriptions  id, x, y, k, alpha, words
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tocsin.store import connections

_PAGE: Final = 8192


class MessageRow(NamedTuple):
    """A message as the database has it; `words` is a JSON list."""

    number: int
    key: str | int | None
    x: float
    y: float
    time: float
    words: str


class InterestRow(NamedTuple):
    """A subscription of a window as the database has it; `words` is a JSON list."""

    id: str | int
    x: float
    y: float
    k: int
    alpha: float
    words: str


class WindowTables:
    """The window of a store. Changes are made within a transaction of the database."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self._folder, self._connection = folder, connection

    def put_messages(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add messages; rows have the values of a `MessageRow`."""
        self._connection.executemany("INSERT INTO window_messages VALUES (?, ?, ?, ?, ?, ?)", rows)

    def remove_messages(self, first: int) -> None:
        """Delete the messages with numbers below `first`."""
        self._connection.execute("DELETE FROM window_messages WHERE number < ?", (first,))

    def put_subscriptions(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add or replace subscriptions; rows have the values of an `InterestRow`."""
        self._connection.executemany("INSERT OR REPLACE INTO window_subscriptions VALUES (?, ?, ?, ?, ?, ?)", rows)

    def remove_subscriptions(self, ids: Iterable[str | int]) -> None:
        """Delete subscriptions."""
        self._connection.executemany("DELETE FROM window_subscriptions WHERE id = ?", ((id,) for id in ids))

    def first(self) -> int | None:
        """The number of the oldest message; None if there is none."""
        with connections.told(self._folder):
            found: tuple[int | None] = self._connection.execute("SELECT min(number) FROM window_messages").fetchone()
        return found[0]

    def messages(self) -> Iterator[list[MessageRow]]:
        """The messages in pages, oldest first."""
        return ([MessageRow._make(row) for row in page] for page in self._pages("window_messages", "number"))

    def subscriptions(self) -> Iterator[list[InterestRow]]:
        """The subscriptions in pages, by id."""
        return ([InterestRow._make(row) for row in page] for page in self._pages("window_subscriptions", "id"))

    def _pages(self, table: str, key: str) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a table by its key, which is the first column."""
        after, values = "", [_PAGE]
        while True:
            with connections.told(self._folder):
                statement = f"SELECT * FROM {table} {after} ORDER BY {key} LIMIT ?"
                page = self._connection.execute(statement, values).fetchall()
            if page:
                yield page
            if len(page) < _PAGE:
                return
            after, values = f"WHERE {key} > ?", [page[-1][0], _PAGE]
