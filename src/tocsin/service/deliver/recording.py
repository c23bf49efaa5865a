"""What senders found out, made durable: many deliveries of all outlets in one change.

A change is not made for each delivery, so that a fast endpoint does not wait for the disk. What a crash takes back
comes again: the cursor only moves past a delivery with what became of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tocsin.service.deliver.attempts import MOST, Attempt, put_attempts
from tocsin.service.deliver.letters import FURTHER, Letter, drop_letters, put_letters
from tocsin.service.deliver.options import options_of
from tocsin.service.deliver.registry import Outlet, outbox_size
from tocsin.service.deliver.schedule import Health
from tocsin.service.outbox import Outbox, Publish, Stored
from tocsin.service.times import time_text
from tocsin.service.units import NOTICE, Event, Unit
from tocsin.store import Database


@dataclass(slots=True)
class Results:
    """What a sender found out since it last told."""

    outlet: Outlet
    generation: int
    cursor: int  # all up to it are delivered, or have letters
    letters: dict[int, Letter | None] = field(default_factory=dict)  # None: delivered
    health: Health | None = None
    done: int = 0  # deliveries that do not wait any more
    done_bytes: int = 0  # of their events and first parts
    divided: list[int] = field(default_factory=list)  # those of them that have further parts
    is_idle: bool = False  # nothing waits: what memory counted is counted anew
    attempts: list[Attempt] = field(default_factory=list)

    def add(self, attempt: Attempt) -> None:
        """Add to the log of attempts. While the disk is full, the last ones are kept."""
        self.attempts.append(attempt)
        if len(self.attempts) > 2 * MOST:
            del self.attempts[:MOST]

    def then(self, later: Results) -> Results:
        """These and later ones."""
        attempts = (self.attempts + later.attempts)[-2 * MOST :]
        if later.generation != self.generation:
            return replace(later, attempts=attempts)
        return Results(
            self.outlet,
            self.generation,
            max(self.cursor, later.cursor),
            {**self.letters, **later.letters},
            later.health or self.health,
            self.done + later.done,
            self.done_bytes + later.done_bytes,
            self.divided + later.divided,
            later.is_idle,
            attempts,
        )


@dataclass(slots=True)
class Record:
    """Write results. Returns new deliveries, which tell of endpoints that were disabled."""

    outbox: Outbox
    results: Sequence[Results]
    now: int
    is_alone = False
    _valid: list[Results] = field(default_factory=list)
    _told: list[Publish] = field(default_factory=list)
    _sizes: dict[int, tuple[int, int]] = field(default_factory=dict)
    _further: Counter[int] = field(default_factory=Counter)  # bytes of further parts, by destination

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        self._valid, self._told, self._sizes, self._further = [], [], {}, Counter()
        for one in self.results:
            number = one.outlet.target.number
            if number not in self.outbox.directory.destinations:
                continue
            if one.attempts:
                put_attempts(database.connection, number, one.attempts)
            if one.generation == one.outlet.generation:
                self._write(database, one, number)
                self._valid.append(one)
                if one.health is not None and one.health.disabled and not one.outlet.health.disabled:
                    self._tell(database, one.outlet, one.health, sequence, touched)
        return sequence

    def _write(self, database: Database, one: Results, number: int) -> None:
        connection = database.connection
        drop_letters(connection, number, [key for key, letter in one.letters.items() if letter is None])
        put_letters(connection, number, [(key, letter) for key, letter in one.letters.items() if letter is not None])
        statement = "UPDATE service_destinations SET acknowledged = ? WHERE number = ? AND acknowledged < ?"
        connection.execute(statement, (one.cursor, number, one.cursor))
        if one.health is not None:
            statement = "UPDATE service_webhooks SET health = ? WHERE destination = ?"
            connection.execute(statement, (json.dumps(one.health), number))
        for delivery in one.divided:
            self._further[number] += connection.execute(FURTHER, (number, delivery)).fetchone()[0]
        if one.is_idle:
            self._sizes[number] = outbox_size(connection, number, one.cursor)

    def _tell(self, database: Database, outlet: Outlet, health: Health, sequence: int, touched: set[Any]) -> None:
        """Deliver the news that an endpoint is disabled to the destination that shall know."""
        target, directory = outlet.target, self.outbox.directory
        other = directory.named.get((target.tenant, options_of(target.options).failures_to or ""))
        if other is None or other is target:
            return
        news = {
            "type": "destination.disabled",
            "destination": target.id,
            "reason": health.reason,
            "failing_since": None if health.since is None else time_text(health.since),
            "failures": health.failures,
        }
        text = json.dumps(news)
        event = Event(text, deliveries={other.number: []}, kind=NOTICE)
        told = Publish(self.outbox, [Unit(target.tenant, [text])], [[event]])
        told.write(database, sequence, touched)
        self._told.append(told)

    def apply(self) -> list[Stored]:
        for one in self._valid:
            outlet, number = one.outlet, one.outlet.target.number
            outlet.target.acknowledged = max(outlet.target.acknowledged, one.cursor)
            outlet.letters_to = max(outlet.letters_to, *one.letters, 0)
            outlet.waiting = max(0, outlet.waiting - one.done)
            outlet.waiting_bytes = max(0, outlet.waiting_bytes - one.done_bytes - self._further.pop(number, 0))
            if number in self._sizes:
                outlet.waiting, outlet.waiting_bytes = self._sizes[number]
            if one.health is not None:
                outlet.health = one.health
        return [stored for told in self._told for stored in told.apply()[1]]

    def dead(self) -> Counter[str]:
        """How many letters are dead, by cause."""
        letters = (letter for one in self._valid for letter in one.letters.values())
        return Counter(letter.dead for letter in letters if letter is not None and letter.dead)
