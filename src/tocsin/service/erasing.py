"""Erasure of removed subscriptions from what the service keeps of them: deliveries, the audit log, and the index.

Deliveries are read beside other work, some at once, and rewritten in transactions that overwrite what was there.
Their numbers, and the events, stay.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tocsin.client.calls import path_part
from tocsin.model.subscription import SubscriptionId
from tocsin.store import Database, bounded, overwriting

if TYPE_CHECKING:
    from tocsin.service.service import Service

_AT_ONCE: Final = 500
_ERASED: Final = "/v1/subscriptions/(erased)"
_TABLES: Final = (
    ("service_deliveries", ("destination", "sequence")),
    ("service_more", ("destination", "sequence", "part")),
)


class _Page(NamedTuple):
    """Rows of a table that name erased subscriptions, without these, and the key of the last row that was read."""

    changed: list[tuple[Any, ...]]  # the new text, then the key
    last: tuple[int, ...] | None  # None: there are no more


@dataclass(slots=True)
class Rewrite:
    """Write rows of a table without the subscriptions that are erased."""

    table: str
    key: Sequence[str]
    rows: Iterable[tuple[Any, ...]]
    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        where = " AND ".join(f"{column} = ?" for column in self.key)
        with overwriting(database.connection) as connection:
            connection.executemany(f"UPDATE {self.table} SET subscriptions = ? WHERE {where}", self.rows)
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""


@dataclass(slots=True)
class Forget:
    """Take the ids of erased subscriptions out of the audit log. Who changed something, and when, stays."""

    ids: Collection[SubscriptionId]
    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        paths = json.dumps([f"/v1/subscriptions/{path_part(id)}" for id in self.ids])
        with overwriting(database.connection) as connection:
            statement = "UPDATE service_audit SET path = ? WHERE path IN (SELECT value FROM json_each(?))"
            connection.execute(statement, (_ERASED, paths))
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""


async def erase(service: Service, ids: Collection[SubscriptionId]) -> int:
    """Erase subscriptions that are removed. Returns how many rows of deliveries named some. Cost: reads all of them."""
    names, count = frozenset(ids), 0
    for table, key in _TABLES:
        after: tuple[int, ...] | None = (-1,) * len(key)
        while after is not None:
            read = partial(_page, table=table, key=key, after=after, names=names)
            changed, after = await service.readers.read(read)
            if changed:
                await service.commit(Rewrite(table, key, changed))
                count += len(changed)
    service.hub.forget()
    await service.commit(Forget(names))
    await service.in_thread(service.transactions.rewrite_index)
    return count


def _page(
    connection: sqlite3.Connection,
    table: str,
    key: Sequence[str],
    after: tuple[int, ...],
    names: frozenset[SubscriptionId],
) -> _Page:
    """The rows after one of them, as many as are read at once."""
    columns, marks = ", ".join(key), ", ".join("?" * len(key))
    statement = f"SELECT {columns}, subscriptions FROM {table} WHERE ({columns}) > ({marks}) ORDER BY {columns} LIMIT ?"
    rows, has_more = bounded(connection.execute(statement, (*after, _AT_ONCE + 1)), _AT_ONCE)
    changed = []
    for *place, text in rows:
        listed = json.loads(text)
        left = [one for one in listed if one["id"] not in names]
        if len(left) < len(listed):
            changed.append((json.dumps(left, ensure_ascii=False, separators=(",", ":")), *place))
    return _Page(changed, tuple(rows[-1][:-1]) if has_more else None)
