"""What the transactions of a window hand over to the outbox of the service.

A window has a store of its own, so that its messages and their deliveries cannot share a transaction. A transaction of
the window therefore also writes a batch: the changes, the answer to the request, and the record for the audit log. A
transaction of the service's store then writes all of it, with the number of the batch. A batch whose number is there
already is not written again, so that nothing is lost or doubled when the process dies in between.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from tocsin.service.audit import Sender, put_record
from tocsin.service.outbox import Outbox, Publish, Stored
from tocsin.service.problems import Problem, unknown
from tocsin.service.times import now_ms
from tocsin.service.units import CHANGE, Event, Key, Published, Unit
from tocsin.store import Database

_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS service_batches (number INTEGER PRIMARY KEY, batch TEXT NOT NULL) STRICT"
_PUT_ANSWER: Final = "INSERT OR REPLACE INTO service_answers VALUES (?, ?, ?, ?, ?, ?)"


@dataclass(slots=True)
class Batch:
    """What one request changed. Of events, each has its text, and JSON objects of changes by destination."""

    events: list[tuple[str, dict[int, list[str]]]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    key: Key | None = None
    sender: Sender | None = None  # of a change of subscriptions
    time: int = field(default_factory=now_ms)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to hand over."""
        return not self.events and self.key is None and self.sender is None

    def text(self) -> str:
        """The form in which it is stored."""
        key = None if self.key is None else [self.key.route, self.key.key, self.key.digest.hex()]
        return json.dumps([self.events, self.report, key, self.sender, self.time], ensure_ascii=False)

    @classmethod
    def of(cls, text: str) -> Batch:
        """The batch that is stored as a text."""
        events, report, key, sender, time = json.loads(text)
        return cls(
            [(text, {int(number): own for number, own in parts.items()}) for text, parts in events],
            report,
            None if key is None else Key(key[0], key[1], bytes.fromhex(key[2])),
            None if sender is None else Sender(*sender),
            time,
        )


def prepare(database: Database) -> None:
    """Make the table, within a transaction."""
    database.connection.execute(_SCHEMA)


def read(connection: sqlite3.Connection) -> list[tuple[int, Batch]]:
    """The batches that are not deleted yet, by number."""
    rows = connection.execute("SELECT number, batch FROM service_batches ORDER BY number").fetchall()
    return [(number, Batch.of(text)) for number, text in rows]


def put_batches(database: Database, batches: Iterable[tuple[int, Batch]], done: int) -> None:
    """Write batches, and delete those up to `done`, which the service has, within a transaction."""
    database.connection.execute("DELETE FROM service_batches WHERE number <= ?", (done,))
    rows = ((number, one.text()) for number, one in batches)
    database.connection.executemany("INSERT INTO service_batches VALUES (?, ?)", rows)


@dataclass(slots=True)
class HandOver:
    """Write a batch of a window, unless it is there. Returns the answer to its request, and new deliveries."""

    outbox: Outbox
    window: int
    name: str
    after: int  # the number of the batch before it
    number: int
    batch: Batch
    is_alone = False
    _publish: Publish | None = None
    _answer: dict[str, Any] = field(default_factory=dict)

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        connection, batch = database.connection, self.batch
        found = connection.execute("SELECT handed FROM service_windows WHERE number = ?", (self.window,)).fetchone()
        if found is None:
            raise unknown("window", self.name)
        self._answer = dict(batch.report)
        if found[0] >= self.number:
            return sequence
        if found[0] < self.after:
            raise Problem(503, "store", "earlier changes of the window wait for the disk", headers={"Retry-After": "1"})
        if batch.events:
            events = [Event(text, deliveries=parts, kind=CHANGE) for text, parts in batch.events]
            self._publish = Publish(self.outbox, [Unit("", [text for text, _ in batch.events])], [events])
            self._publish.write(database, sequence, touched)
            if "deliveries" in batch.report:
                made = [one for one in self._publish.outcomes[0] if isinstance(one, Published)]
                self._answer["deliveries"] = sum(one.deliveries for one in made)
        if batch.key is not None:
            clock = self.outbox.clock
            given = clock.expected(clock.moment()).wall
            values = ("", batch.key.route, batch.key.key, batch.key.digest, json.dumps(self._answer), given)
            connection.execute(_PUT_ANSWER, values)
        if batch.sender is not None:
            put_record(database, batch.sender, batch.time, None, sequence)
        connection.execute("UPDATE service_windows SET handed = ? WHERE number = ?", (self.number, self.window))
        return sequence

    def apply(self) -> tuple[dict[str, Any], list[Stored]]:
        return self._answer, [] if self._publish is None else self._publish.apply()[1]
