"""Subscriptions that expire: they are deleted, with a record for the audit log. Those of windows, too."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tocsin.client.calls import path_part
from tocsin.errors import StoreError
from tocsin.model.subscription import SubscriptionId
from tocsin.service.audit import Sender, put_record
from tocsin.service.changes import RemoveSubscription
from tocsin.service.problems import Problem, is_full
from tocsin.service.windows import interests
from tocsin.service.windows.hosted import Hosted
from tocsin.store import Database

if TYPE_CHECKING:
    from tocsin.service.service import Service

_LOG: Final = logging.getLogger("tocsin.service")
_AT_ONCE: Final = 1000
_ROUTES: Final = "service_routes"


@dataclass(slots=True)
class RemoveExpired:
    """Delete the subscriptions that expired by a time, some at once. Returns how many."""

    service: Service
    now: int
    is_alone = True
    _removed: list[RemoveSubscription] = field(default_factory=list)

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        service, last = self.service, sequence
        for id in due(database.connection, _ROUTES, self.now):
            change = service.transactions.remove(id)
            one = RemoveSubscription(service.directory, service.fences.areas, change)
            before, last = last, one.write(database, last, touched)
            sender = Sender.expiry(f"/v1/subscriptions/{path_part(id)}")
            put_record(database, sender, self.now, before + 1, last)
            self._removed.append(one)
        return last

    def apply(self) -> int:
        for one in self._removed:
            one.apply()
        return len(self._removed)


def due(connection: sqlite3.Connection, table: str, now: int, limit: int = _AT_ONCE) -> list[SubscriptionId]:
    """The subscriptions of a table that expired by a time, the earliest first."""
    statement = f"SELECT id FROM {table} WHERE expires_at <= ? ORDER BY expires_at LIMIT ?"
    return [id for (id,) in connection.execute(statement, (now, limit)).fetchall()]


async def remove_expired(service: Service, now: int) -> None:
    """Delete all subscriptions that have expired by a time."""
    while await service.readers.read(lambda one: due(one, _ROUTES, now, 1)):
        service.metrics.removed(await service.commit(RemoveExpired(service, now)))


async def remove_expired_of_windows(service: Service, now: int) -> None:
    """The same for those of windows. A window that fails is tried again a second later, and delays no other."""
    async with service.windows.changing:  # none is closed meanwhile
        for one in service.windows:
            try:
                while one.interests.expiring and (count := await _expire(one, now)):
                    service.metrics.removed(count)
            except (Problem, StoreError, sqlite3.Error) as error:
                if not is_full(error):
                    _LOG.warning("expired subscriptions of the window %s could not be deleted: %s", one.name, error)


async def _expire(one: Hosted, now: int) -> int:
    """Delete some subscriptions of a window that have expired. Returns how many."""
    ids = await one.readers.read(partial(due, table=interests.TABLE, now=now))
    return await asyncio.wrap_future(one.expire(ids, now)) if ids else 0
