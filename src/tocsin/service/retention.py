"""Deletes events and deliveries by age and size, a few at a time, and expired subscriptions.

It also looks whether the disk takes changes again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from tocsin.errors import StoreError
from tocsin.service import audit
from tocsin.service.clock import TOLERANCE_MS, misdated, put_misdated
from tocsin.service.deliver.letters import KEPT_MS, Expired, expire, forget_letters, redate_letters
from tocsin.service.deliver.registry import Outlets
from tocsin.service.directory import Directory
from tocsin.service.expiry import remove_expired, remove_expired_of_windows
from tocsin.service.limits import Limits
from tocsin.service.problems import is_full
from tocsin.service.readers import used_bytes
from tocsin.service.times import now_ms
from tocsin.store import Database

if TYPE_CHECKING:
    from tocsin.service.service import Service

_LOG: Final = logging.getLogger("tocsin.service")
_PERIOD_S: Final = 1.0
_AT_ONCE: Final = 1000
_LITTLE: Final = 1 << 18
"""Bytes of the events, besides one, that are deleted at once on a full disk.

SQLite may overwrite what it deletes, and its log, which grows by as much, has little room there.
"""
_REDATE: Final = "UPDATE service_answers SET given = ? WHERE given > ? OR given < ?"
Row = tuple[int, int, str, int]
_BEGIN: Final = "SELECT sequence, published, deliveries, bytes FROM service_events ORDER BY sequence LIMIT ?"


@dataclass(slots=True)
class Trim:
    """Delete events beyond the limits. Returns how many acknowledged and other deliveries, and if that is all."""

    directory: Directory
    outlets: Outlets
    limits: Limits
    now: int  # milliseconds
    is_clock_right: bool  # if it is not, nothing is deleted by its age
    has_clock_returned: bool = False  # from being behind
    most_bytes: float = math.inf  # of the events that are deleted at once, besides one
    is_alone = False
    _earliest: dict[int, int] = field(default_factory=dict)
    _counts: tuple[int, int] = (0, 0)
    _floor: int = 0
    _expired: Expired | None = None

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        connection, now = database.connection, self.now
        audit.trim(database)
        if self.is_clock_right:
            before = now - int(self.limits.answers_s * 1000)
            connection.execute(_REDATE, (now, now + TOLERANCE_MS, before if self.has_clock_returned else -1))
            connection.execute("DELETE FROM service_answers WHERE given < ?", (before,))
            redate_letters(connection, now, now - KEPT_MS if self.has_clock_returned else -1)
            forget_letters(connection, now - KEPT_MS)
        rows = connection.execute(_BEGIN, (_AT_ONCE,)).fetchall()
        rows = list(takewhile(lambda row: row[3] - rows[0][3] <= self.most_bytes, rows))
        if old := self._old(database, rows):
            self._delete(database, old)
        return sequence

    def _old(self, database: Database, rows: Sequence[Row]) -> list[Row]:
        """The first events, as far as they are beyond the limits."""
        last, moment = misdated(database)
        before = self.now - int(self.limits.retain_s * 1000) if self.is_clock_right else -math.inf
        total, most = self.directory.published_bytes, self.limits.retain_bytes

        def published(row: Row) -> int:
            return row[1] if row[0] > last else moment

        if self.has_clock_returned:
            last, moment = self._misdated(database)
        old = list(takewhile(lambda row: published(row) < before or total - row[3] >= most, rows))
        first = rows[len(old)] if len(old) < len(rows) else None
        if self.is_clock_right and first is not None and published(first) > self.now + TOLERANCE_MS:
            self._misdated(database)
        return old

    def _misdated(self, database: Database) -> tuple[int, int]:
        """Let all events so far be as old as if they were published now: the clock was wrong for some of them."""
        last = self.directory.last_event
        put_misdated(database, last, self.now)
        return last, self.now

    def _delete(self, database: Database, old: Sequence[Row]) -> None:
        deleted = [(destination, number, row[0]) for row in old for destination, number in json.loads(row[2])]
        pairs = [(destination, number) for destination, number, _ in deleted]
        known = self.directory.destinations
        acknowledged = sum(number <= known[one].acknowledged for one, number in pairs if one in known)
        self._counts = acknowledged, len(pairs) - acknowledged
        self._expired = expire(database.connection, self.outlets.targets(), deleted, self.now)
        for destination, number in pairs:
            self._earliest[destination] = max(self._earliest.get(destination, 0), number + 1)
        run = database.connection.executemany
        for table in ("service_deliveries", "service_more"):
            run(f"DELETE FROM {table} WHERE destination = ? AND sequence = ?", pairs)
        earliest = [(number, destination) for destination, number in self._earliest.items()]
        run("UPDATE service_destinations SET earliest = ? WHERE number = ?", earliest)
        self._floor = old[-1][0]
        database.connection.execute("DELETE FROM service_events WHERE sequence <= ?", (self._floor,))
        database.put_meta("service_floor", self._floor)
        database.put_meta("service_bytes", old[-1][3])

    def apply(self) -> tuple[tuple[int, int], bool]:
        for destination, number in self._earliest.items():
            if destination in self.directory.destinations:
                self.directory.destinations[destination].earliest = number
        if self._expired is not None:
            self.outlets.expired(self._expired)
        if self._floor:
            self.directory.first_event = self._floor + 1
        return self._counts, not self._floor


class Probe:
    """A change that only shows whether the disk takes changes."""

    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        database.put_meta("service_probe", now_ms())
        return sequence

    def apply(self) -> None:
        """Nothing is in memory."""


async def keep(service: Service, turn: asyncio.Lock) -> None:
    """Send what is due to outlets. Trim once a second, and again at once while there is more.

    Stores are checked meanwhile, by one service at a time: which has the `turn`.
    """
    async with service.senders.running(), service.readiness.watching(turn):
        while True:
            await asyncio.sleep(_PERIOD_S)
            try:
                while not await _trim(service):
                    await asyncio.sleep(0)
                if service.transactions.progress().error is not None:
                    await service.commit(Probe())
                service.windows.probe()
                await _measure(service)
                service.windows.hand_over()
                now = service.clock.look()
                if service.clock.is_right:
                    await remove_expired(service, now.wall)
                    await remove_expired_of_windows(service, now.wall)
            except (StoreError, sqlite3.Error) as error:
                if not is_full(error):
                    _LOG.warning("retention failed, and is tried again: %s", error)


async def _measure(service: Service) -> None:
    """Look how large the store is, if there is a limit, and how large the payloads are."""
    if not math.isinf(service.limits.store_bytes):
        service.quotas.store_bytes = await service.readers.read(used_bytes)
    await service.quotas.look(service.in_thread)


async def _trim(service: Service) -> bool:
    now = service.clock.expected(service.clock.look())
    clock, returns = service.clock, service.clock.returns
    has_returned = returns > service.clock_returns
    most = _LITTLE if service.quotas.is_disk_full else math.inf
    change = Trim(service.directory, service.outlets, service.limits, now.wall, clock.is_right, has_returned, most)
    (acknowledged, unacknowledged), is_done = await service.commit(change)
    service.clock_returns = returns
    service.metrics.expired(acknowledged, unacknowledged)
    return bool(is_done)
