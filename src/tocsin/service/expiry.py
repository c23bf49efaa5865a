"""Subscriptions that expire: they are deleted, with a record for the audit log."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tocsin.model.subscription import SubscriptionId
from tocsin.service.audit import Sender, put_record
from tocsin.service.changes import RemoveSubscription
from tocsin.service.times import now_ms
from tocsin.store import Database

if TYPE_CHECKING:
    from tocsin.service.service import Service

_AT_ONCE: Final = 1000
_DUE: Final = "SELECT id FROM service_routes WHERE expires_at <= ? ORDER BY expires_at LIMIT ?"


@dataclass(slots=True)
class RemoveExpired:
    """Delete the subscriptions that expired by a time, some at once. Returns how many."""

    service: Service
    now: int
    is_alone = True
    _removed: list[RemoveSubscription] = field(default_factory=list)

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        service, last = self.service, sequence
        for id in due(database.connection, self.now):
            change = service.transactions.remove(id)
            one = RemoveSubscription(service.directory, service.fences.areas, change)
            before, last = last, one.write(database, last, touched)
            path = f"/v1/subscriptions/{quote(str(id), safe='')}"
            put_record(database, Sender("", "expiry", "", "DELETE", path), self.now, before + 1, last)
            self._removed.append(one)
        return last

    def apply(self) -> int:
        for one in self._removed:
            one.apply()
        return len(self._removed)


def due(connection: sqlite3.Connection, now: int, limit: int = _AT_ONCE) -> list[SubscriptionId]:
    """The subscriptions that expired by a time, the earliest first."""
    return [id for (id,) in connection.execute(_DUE, (now, limit)).fetchall()]


async def remove_expired(service: Service) -> None:
    """Delete all subscriptions that have expired."""
    while await service.readers.read(lambda one: due(one, now_ms(), 1)):
        service.metrics.removed(await service.commit(RemoveExpired(service, now_ms())))
