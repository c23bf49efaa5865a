"""Pages of subscriptions, also of those with a text or a destination.

A page with such a condition reads many rows to find a few. It ends after a number of rows, so that one read stays
short. Then it has fewer subscriptions than it could, and says where the next page begins.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from tocsin.model.subscription import SubscriptionId
from tocsin.store import bounded

MOST_ROWS: Final = 50_000
"""Rows that a page looks at."""
_COLUMNS: Final = ("CAST(s.id AS TEXT)", "s.condition")
Row = tuple[Any, ...]


def read(
    connection: sqlite3.Connection,
    select: str,
    after: SubscriptionId | None,
    limit: int,
    search: str | None = None,
    destination: int | None = None,
    chosen: Sequence[SubscriptionId] | None = None,
) -> tuple[list[Row], SubscriptionId | None]:
    """The subscriptions after an id, whose ids come first in the rows of `select`, and the id before the next page.

    That id is None if there are no more. `search` is a text in the id, the condition or the payload, `destination` a
    number, `chosen` the first `MOST_ROWS` ids that may be on the page, sorted.
    """
    conditions: list[str] = []
    values: list[Any] = []
    if after is not None:
        conditions.append("s.id > ?")
        values.append(after)
    end = None
    if chosen is not None:
        end = chosen[-1] if len(chosen) >= MOST_ROWS else None
        conditions.append("s.id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(chosen))
    elif search or destination is not None:
        end = _end(connection, after)
        if end is not None:
            conditions.append("s.id <= ?")
            values.append(end)
    if search:
        text = "".join(one.lower() if one.isascii() else one for one in search)
        asked = [*((column, text) for column in _COLUMNS), *(("s.payload", form) for form in _in_json(text))]
        conditions.append(f"({' OR '.join(f'instr(lower({column}), ?)' for column, _ in asked)})")
        values += [form for _, form in asked]
    if destination is not None:
        conditions.append("r.destination = ?")
        values.append(destination)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    cursor = connection.execute(f"{select} {where} ORDER BY s.id LIMIT ?", (*values, limit + 1))
    rows, has_more = bounded(cursor, limit)
    return rows, rows[-1][0] if has_more else end


def _in_json(text: str) -> set[str]:
    """The forms that a text may have in a payload: as it is, and in a string of JSON, perhaps with escapes."""
    return {text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]}


def _end(connection: sqlite3.Connection, after: SubscriptionId | None) -> SubscriptionId | None:
    """The last id that a page looks at; None if it looks at all that come."""
    where, values = ("", ()) if after is None else ("WHERE id > ?", (after,))
    statement = f"SELECT id FROM subscriptions {where} ORDER BY id LIMIT 2 OFFSET ?"
    found = connection.execute(statement, (*values, MOST_ROWS - 1)).fetchall()
    return found[0][0] if len(found) > 1 else None
