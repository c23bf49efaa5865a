"""The log of attempts: each request of a destination, and what became of it.

Of each destination it has the last thousand that were delivered, and the last thousand that were not. So a fast
endpoint does not push out why one delivery failed.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tocsin.errors import MissingExtra
from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.protocols import Channel, Message
from tocsin.service.deliver.resolver import Unreachable
from tocsin.service.deliver.verdict import DELIVERED, Verdict, unreached
from tocsin.service.directory import Destination, Directory
from tocsin.store import Database, bounded

MOST: Final = 1000
"""Attempts of a destination that are kept, of those that were delivered and of the others."""
_TIMEOUT_S: Final = 30.0
"""The most time of an attempt. Channels give up earlier, and say why."""
_LOG: Final = logging.getLogger("tocsin.service")
_NEWEST: Final = "SELECT coalesce(max(number), 0) FROM service_attempts WHERE destination = ? AND is_failure = ?"
_PUT: Final = "INSERT INTO service_attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TRIM: Final = """
DELETE FROM service_attempts WHERE destination = ?1 AND is_failure = ?2 AND number <= (
    SELECT number FROM service_attempts WHERE destination = ?1 AND is_failure = ?2
    ORDER BY number DESC LIMIT 1 OFFSET ?3
)
"""
_PAGE: Final = """
SELECT number, time, webhook_id, sequence, last, deliveries, attempt, outcome, status, reason, duration_ms
FROM service_attempts WHERE destination = ? AND is_failure >= ? AND number < ? AND (? IS NULL OR ? BETWEEN sequence AND
last) ORDER BY number DESC LIMIT ?
"""


class Attempt(NamedTuple):
    """A request that was made, and what became of it. `time` is milliseconds since 1970, when it began."""

    time: int
    webhook_id: str
    sequence: int | None  # of the first delivery; None for a test
    last: int | None  # of the last one
    deliveries: int
    attempt: int  # 1 for the first one
    outcome: str
    status: int | None
    reason: str
    duration_ms: int


async def send(
    channel: Channel, secrets: Sequence[Secret], message: Message, clock: Callable[[], int]
) -> tuple[Verdict, Attempt]:
    """The verdict on a message, and its attempt without deliveries. `clock` gives the time in milliseconds."""
    begun, now = time.perf_counter(), clock()
    verdict = await _verdict(channel, secrets, message)
    took = round((time.perf_counter() - begun) * 1000)
    return verdict, Attempt(now, message.key, None, None, 0, 1, verdict.outcome, verdict.status, verdict.reason, took)


async def _verdict(channel: Channel, secrets: Sequence[Secret], message: Message) -> Verdict:
    """The verdict of a channel. Whatever a channel raises, the message is tried again."""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return await channel.send(message, secrets)
    except (Unreachable, MissingExtra) as error:
        return unreached(str(error))
    except TimeoutError:
        return unreached(f"there was no answer within {_TIMEOUT_S:g} s")
    except Exception as error:  # of a package's kind  # noqa: BLE001
        _LOG.exception("sending to %s failed with an error of its kind", message.destination)
        return unreached(f"the kind of the destination failed: {type(error).__name__}: {error}")


def put_attempts(connection: sqlite3.Connection, destination: int, attempts: Sequence[Attempt]) -> None:
    """Write attempts in their order, and delete those that are too many."""
    number = max(connection.execute(_NEWEST, (destination, kind)).fetchone()[0] for kind in (0, 1))
    rows: tuple[list[Any], list[Any]] = ([], [])
    for place, one in enumerate(attempts, number + 1):
        is_failure = int(one.outcome != DELIVERED)
        rows[is_failure].append((destination, is_failure, place, *one))
    for is_failure, some in enumerate(rows):
        if some:
            connection.executemany(_PUT, some[-MOST:])
            connection.execute(_TRIM, (destination, is_failure, MOST))


def attempts_before(
    connection: sqlite3.Connection, destination: int, before: int, limit: int, sequence: int | None, *, failed: bool
) -> tuple[list[tuple[int, Attempt]], bool]:
    """The attempts before a number, the latest first: all, or those of one delivery, or those that failed.

    They are as many as a page has room for. Also says whether there are more.
    """
    values = (destination, int(failed), before, sequence, sequence, limit + 1)
    rows, has_more = bounded(connection.execute(_PAGE, values), limit)
    return [(row[0], Attempt(*row[1:])) for row in rows], has_more


@dataclass(slots=True)
class RecordTest:
    """Write the attempt of a test."""

    directory: Directory
    target: Destination
    attempt: Attempt
    is_alone = False

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        if self.target.number in self.directory.destinations:  # and was not deleted meanwhile
            put_attempts(database.connection, self.target.number, [self.attempt])
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""
