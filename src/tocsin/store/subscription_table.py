"""The tables of subscriptions and tombstones, written within a transaction: many rows with one statement.

Python's lock is given up and taken again for each statement. Beside other threads that costs more than the statement.
So added rows wait until something else is asked, or the transaction ends.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Any, Final, NamedTuple

_COLUMNS: Final = 7
_MOST: Final = 512
"""The most rows of a statement; SQLite takes 32,766 values."""
_FEW: Final = 64
"""Up to so many rows are one statement, which is kept prepared. More are statements with a power of two of them."""
_PLACES: Final = (1 << 23) - 1
_UPSERT: Final = """
ON CONFLICT (id) DO UPDATE SET condition = excluded.condition, score = excluded.score, payload = excluded.payload,
    weights = excluded.weights, sequence = excluded.sequence, version = coalesce(excluded.version, version)
"""
_WITH_VERSIONS: Final = """
SELECT column1, column2, column3, column4, column5, column6,
    coalesce(column7, (SELECT version FROM tombstones WHERE id = column1)) FROM (VALUES {}) WHERE TRUE
"""


class Row(NamedTuple):
    """A subscription as the database has it; `payload` and `weights` are JSON texts.

    `version` is that of a change by `tocsin update`, which tells the later of two changes of one id.
    """

    id: str | int
    condition: str
    score: float
    payload: str | None
    weights: str | None
    sequence: int = 0
    version: int | None = None


class Rows(NamedTuple):
    """Many subscriptions, in columns of one length."""

    ids: Sequence[str | int]
    conditions: Sequence[str]
    scores: Sequence[float]
    payloads: Sequence[str | None]
    weights: Sequence[str | None]
    sequences: Sequence[int]
    versions: Sequence[int | None]

    def each(self) -> Iterator[Row]:
        """The rows one by one."""
        return map(Row._make, zip(*self, strict=True))


class SubscriptionTable:
    """The subscriptions of a connection. Everything here is done within a transaction, which `begin` begins."""

    def __init__(self, connection: sqlite3.Connection, begin: Callable[[], None]) -> None:
        self._connection, self._begin = connection, begin
        self._waiting: list[Row] = []
        self._tombstones: _Filter | None = None  # None: not read yet

    def put(self, row: Row) -> None:
        """Add or replace a subscription. It waits for `flush`, which all other calls begin with."""
        self._waiting.append(row)

    def put_all(self, chunks: Iterable[Rows]) -> None:
        """Add or replace many subscriptions."""
        self.flush()
        for chunk in chunks:
            values: list[Any] = [None] * (_COLUMNS * len(chunk.ids))
            for place, column in enumerate(chunk):
                values[place::_COLUMNS] = column
            self._put(values)

    def flush(self) -> None:
        """Begin the transaction, and write the rows that wait."""
        self._begin()
        if self._waiting:
            self._put(self._taken())

    def flush_at_once(self) -> bool:
        """Write the rows that wait as one statement, which is a transaction; returns whether that could be done."""
        if len(self._waiting) > _FEW or self._may_have_tombstones([row.id for row in self._waiting]):
            return False
        if self._waiting:
            self._put(self._taken())
        return True

    def _taken(self) -> list[Any]:
        """The values of the rows that waited."""
        waiting, self._waiting = self._waiting, []
        return list(chain.from_iterable(waiting))

    def discard(self) -> None:
        """Drop the rows that wait, with the transaction."""
        self._waiting = []

    def _put(self, values: list[Any]) -> None:
        """Write rows whose values lie end to end."""
        first = 0
        while rest := (len(values) - first) // _COLUMNS:
            count = rest if rest <= _FEW else min(1 << (rest.bit_length() - 1), _MOST)
            some = values[first : first + _COLUMNS * count]
            has_tombstones = self._may_have_tombstones(some[::_COLUMNS])
            self._connection.execute(put_statement(count, has_tombstones=has_tombstones), some)
            if has_tombstones:
                marks = ", ".join(repeat("?", count))
                self._connection.execute(f"DELETE FROM tombstones WHERE id IN ({marks})", some[::_COLUMNS])
            first += len(some)

    def _may_have_tombstones(self, ids: Iterable[str | int]) -> bool:
        """Whether some of the ids may have tombstones; rarely true if none has. Those without need fewer statements."""
        if self._tombstones is None:
            self._tombstones = _Filter()
            for (id,) in self._connection.execute("SELECT id FROM tombstones"):
                self._tombstones.add(id)
        return self._tombstones.has_any and any(map(self._tombstones.may_have, ids))

    def remove(self, id: str | int, sequence: int, version: int | None = None) -> bool:
        """Remove a subscription; returns whether there was one. With a version, the removal is noted in any case."""
        last = self.version(id)
        found = self._connection.execute("DELETE FROM subscriptions WHERE id = ?", (id,)).rowcount > 0
        if found or version is not None:
            if self._tombstones is not None:
                self._tombstones.add(id)
            values = (id, sequence, last if version is None else version)
            self._connection.execute("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?)", values)
        return found

    def remove_all(self, ids: Sequence[str | int], sequence: int) -> int:
        """Remove subscriptions that there are, numbered from `sequence` + 1 on; returns the last number."""
        self.flush()
        if self._tombstones is not None:
            for id in ids:
                self._tombstones.add(id)
        run = self._connection.executemany
        run(
            "INSERT OR REPLACE INTO tombstones SELECT id, ?, version FROM subscriptions WHERE id = ?",
            ((number, id) for number, id in enumerate(ids, sequence + 1)),
        )
        run("DELETE FROM subscriptions WHERE id = ?", ((id,) for id in ids))
        return sequence + len(ids)

    def rescore(self, id: str | int, score: float, sequence: int, version: int | None = None) -> bool:
        """Change a score; returns whether there is such a subscription."""
        self.flush()
        statement = "UPDATE subscriptions SET score = ?, sequence = ?, version = coalesce(?, version) WHERE id = ?"
        return self._connection.execute(statement, (score, sequence, version, id)).rowcount > 0

    def version(self, id: str | int) -> int | None:
        """The version of the last change of an id that had one; None if there is none."""
        self.flush()
        of_one = "SELECT version FROM {} WHERE id = ?1"
        statement = f"{of_one.format('subscriptions')} UNION ALL {of_one.format('tombstones')}"
        found: tuple[int | None] | None = self._connection.execute(statement, (id,)).fetchone()
        return None if found is None else found[0]

    def has(self, id: str | int) -> bool:
        """Whether there is a subscription with an id."""
        self.flush()
        return self._connection.execute("SELECT 1 FROM subscriptions WHERE id = ?", (id,)).fetchone() is not None

    def kind(self) -> type | None:
        """The type of the ids, str or int; None if there are none."""
        self.flush()
        found = self._connection.execute("SELECT id FROM subscriptions LIMIT 1").fetchone()
        return None if found is None else type(found[0])


class _Filter:
    """A set of ids that may seem to have others, too: one in eight if it has a million. It takes a megabyte."""

    def __init__(self) -> None:
        self.has_any = False
        self._bits = bytearray(1 << 20)

    def add(self, id: str | int) -> None:
        place = hash(id) & _PLACES
        self._bits[place >> 3] |= 1 << (place & 7)
        self.has_any = True

    def may_have(self, id: str | int) -> bool:
        """False if the id was not added."""
        place = hash(id) & _PLACES
        return bool(self._bits[place >> 3] >> (place & 7) & 1)


@cache
def put_statement(count: int, *, has_tombstones: bool) -> str:
    """The statement that adds or replaces some rows, which take over the versions of their tombstones."""
    rows = ", ".join(repeat(f"({', '.join('?' * _COLUMNS)})", count))
    return f"INSERT INTO subscriptions {_WITH_VERSIONS.format(rows) if has_tombstones else f'VALUES {rows}'} {_UPSERT}"
