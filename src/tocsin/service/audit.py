"""The audit log: who changed what, when and from where. A change and its record are one transaction."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tocsin.service.times import now_ms, time_text
from tocsin.store import Change, Database, bounded

MOST: Final = 1_000_000
"""Records that are kept; the oldest go first."""
AT_ONCE: Final = 1000
_PUT: Final = (
    "INSERT INTO service_audit (time, token, name, address, method, path, first, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_PAGE: Final = """
SELECT number, time, token, name, address, method, path, first, last FROM service_audit
WHERE number > ? ORDER BY number LIMIT ?
"""
_TRIM: Final = """
DELETE FROM service_audit WHERE number IN
(SELECT number FROM service_audit WHERE number <= ? ORDER BY number LIMIT ?)
"""


class Sender(NamedTuple):
    """The sender of a change, with its address and the call."""

    token: str  # its id; empty without tokens
    name: str  # the token's
    address: str
    method: str
    path: str

    @classmethod
    def expiry(cls, path: str) -> Sender:
        """The sender of the change that deletes an expired subscription."""
        return cls("", "expiry", "", "DELETE", path)


def put_record(database: Database, sender: Sender, time: int, first: int | None, last: int) -> None:
    """Write a record of the changes of subscriptions from number `first` to `last`, if there are any."""
    database.connection.execute(_PUT, (time, *sender, first, last))


@dataclass(slots=True)
class Audited:
    """A change with its record, which is written only if the change is."""

    change: Change
    sender: Sender
    is_alone: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_alone = self.change.is_alone

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        last = self.change.write(database, sequence, touched)
        put_record(database, self.sender, now_ms(), sequence + 1 if last > sequence else None, last)
        return last

    def apply(self) -> Any:
        return self.change.apply()


def page(connection: sqlite3.Connection, after: int, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The records after a number, within the size of a page, and whether there are more."""
    rows, has_more = bounded(connection.execute(_PAGE, (after, limit + 1)), limit)
    found = []
    for number, time, token, name, address, method, path, first, last in rows:
        record = {"number": number, "time": time_text(time), "token": token, "name": name, "address": address}
        record |= {"method": method, "path": path}
        if first is not None:
            record |= {"first": first, "last": last}
        found.append(record)
    return found, has_more


def trim(database: Database) -> None:
    """Delete the oldest records beyond `MOST`, some at a time, within a transaction."""
    newest = database.connection.execute("SELECT max(number) FROM service_audit").fetchone()[0] or 0
    database.connection.execute(_TRIM, (newest - MOST, AT_ONCE))
