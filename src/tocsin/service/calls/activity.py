"""Which subscriptions match most, and which never did."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from starlette.responses import Response

from tocsin.model.subscription import SubscriptionId
from tocsin.service.activity import Activity
from tocsin.service.api import Call, Exchange, Option, answered
from tocsin.service.principals import READ
from tocsin.service.times import time_text

_MOST: Final = 1000
_AT_ONCE: Final = 2000
_MOST_ROWS: Final = 100_000
"""Rows that are read to find silent subscriptions."""
_AFTER: Final = "SELECT id FROM subscriptions WHERE id > ? ORDER BY id LIMIT ?"
_FIRST: Final = "SELECT id FROM subscriptions ORDER BY id LIMIT ?"


async def get(exchange: Exchange) -> Response:
    limit = exchange.asked.number("limit", 20, 0, _MOST)
    service = exchange.service
    activity = service.directory.activity
    busiest = await service.in_thread(activity.busiest, limit)
    silent = await service.readers.read(lambda one: _silent(one, activity, limit))
    count = len(service.engine)
    document: dict[str, Any] = {
        "since": time_text(activity.since),
        "subscriptions": count,
        "silent": max(count - len(activity), 0),
        "busiest": [{"id": one.id, "matches": one.matches, "last": time_text(one.last)} for one in busiest],
        "first_silent": silent,
    }
    return answered(document)


def _silent(connection: sqlite3.Connection, activity: Activity, limit: int) -> list[SubscriptionId]:
    """The first subscriptions without a match, in the order of their ids, among the first hundred thousand."""
    found: list[SubscriptionId] = []
    read, after = 0, None
    while len(found) < limit and read < _MOST_ROWS:
        statement, values = (_FIRST, (_AT_ONCE,)) if after is None else (_AFTER, (after, _AT_ONCE))
        rows = connection.execute(statement, values).fetchall()
        found += [id for (id,) in rows if id not in activity]
        if len(rows) < _AT_ONCE:
            break
        read, after = read + len(rows), rows[-1][0]
    return found[:limit]


CALLS: Final = (
    Call(
        "GET", "/v1/activity", get, READ,
        "The subscriptions that matched most published events since the server started, and those that matched none",
        (Option("limit", "how many of each", {"type": "integer", "minimum": 0, "maximum": _MOST, "default": 20}),),
        gives="Activity", problems=(400,),
    ),
)  # fmt: skip
