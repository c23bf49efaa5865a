"""Changes of outlets by their owners: made, rotated, enabled, and deliveries that are sent again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tocsin.service.changes import PutDestination
from tocsin.service.deliver.encryption import MOST_SECRETS, Secret, valid
from tocsin.service.deliver.kinds import secret_problem
from tocsin.service.deliver.letters import delivery_size
from tocsin.service.deliver.protocols import Sending
from tocsin.service.deliver.registry import Outlet, Outlets, outbox_size
from tocsin.service.deliver.schedule import WELL
from tocsin.service.directory import Destination, Directory
from tocsin.service.problems import Problem, conflict, unknown
from tocsin.service.times import now_ms
from tocsin.store import Database

_SECRETS: Final = "SELECT secrets FROM service_webhooks WHERE destination = ?"
_OPTIONS: Final = "SELECT number, options FROM service_destinations WHERE tenant = ? AND id = ? AND kind = ?"
_PUT_SECRETS: Final = "UPDATE service_webhooks SET secrets = ? WHERE destination = ?"


def _stored_secrets(
    outlets: Outlets, connection: sqlite3.Connection, number: int, now: int
) -> tuple[Secret, ...] | None:
    found = connection.execute(_SECRETS, (number,)).fetchone()
    return None if found is None else outlets.secrets_of(number, found[0], now)


def _require(connection: sqlite3.Connection, target: Destination) -> None:
    """Raise a `Problem` if a destination was deleted meanwhile."""
    statement = "SELECT 1 FROM service_destinations WHERE number = ?"
    if connection.execute(statement, (target.number,)).fetchone() is None:
        raise unknown("destination", target.id)


@dataclass(slots=True)
class PutOutlet:
    """Add an outlet, or change its options. Returns whether it is new, the destination, and a secret that was made."""

    put: PutDestination
    outlets: Outlets
    kind: Sending
    secret: str | None
    drops_secret: bool = False
    is_alone = False
    _secrets: tuple[Secret, ...] = ()
    _made: str | None = None

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        connection = database.connection
        self._require_secret(connection)  # nothing may be written before a refusal
        last = self.put.write(database, sequence, touched)
        number = self.put.number
        known = _stored_secrets(self.outlets, connection, number, now_ms())
        self._made, self._secrets = None, () if self.secret is None else (Secret(self.secret),)
        if known is None or (self.drops_secret and not self.secret):
            if not self.secret and (made := self.kind.new_secret()) is not None:
                self._made, self._secrets = made, (Secret(made),)
        elif not self.secret or (known and known[0].text == self.secret):
            self._secrets = known
        if known is None:
            row = (number, self.outlets.keys.closed(number, self._secrets), json.dumps(WELL))
            connection.execute("INSERT INTO service_webhooks VALUES (?, ?, ?)", row)
        elif self._secrets != known:
            connection.execute(_PUT_SECRETS, (self.outlets.keys.closed(number, self._secrets), number))
        return last

    def _require_secret(self, connection: sqlite3.Connection) -> None:
        """Raise a `Problem` if the secret that is there would be sent elsewhere than before."""
        before = connection.execute(_OPTIONS, (self.put.tenant, self.put.id, self.kind.name)).fetchone()
        if before is None or self.secret or self.drops_secret:
            return
        has_moved = self.kind.secret_goes_to(json.loads(before[1])) != self.kind.secret_goes_to(self.put.options)
        if has_moved and _stored_secrets(self.outlets, connection, before[0], now_ms()):
            raise secret_problem(self.kind)

    def apply(self) -> tuple[bool, Destination, str | None]:
        is_new, target = self.put.apply()
        outlet = self.outlets.known.get(target.number)
        if outlet is None:
            self.outlets.known[target.number] = Outlet(target, self.kind, self._secrets)
        else:
            outlet.secrets = self._secrets
        return is_new, target, self._made


@dataclass(slots=True)
class Rotate:
    """Sign with a new secret, and for some time with those before, too."""

    outlets: Outlets
    outlet: Outlet
    secret: str
    now: int
    kept_ms: int
    is_alone = False
    _secrets: tuple[Secret, ...] = ()

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        target, number = self.outlet.target, self.outlet.target.number
        known = _stored_secrets(self.outlets, database.connection, number, self.now)
        if known is None:
            raise unknown("destination", target.id)
        until = self.now + self.kept_ms
        old = [Secret(one.text, min(until, one.until or until)) for one in known if one.text != self.secret]
        self._secrets = (Secret(self.secret), *valid(old, self.now))[:MOST_SECRETS]
        database.connection.execute(_PUT_SECRETS, (self.outlets.keys.closed(number, self._secrets), number))
        return sequence

    def apply(self) -> Sequence[Secret]:
        self.outlet.secrets = self._secrets
        return self._secrets


@dataclass(slots=True)
class Enable:
    """Send again at once to an endpoint that failed."""

    outlet: Outlet
    is_alone = False

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        target, connection = self.outlet.target, database.connection
        _require(connection, target)
        health = "UPDATE service_webhooks SET health = ? WHERE destination = ?"
        connection.execute(health, (json.dumps(WELL), target.number))
        letters = "UPDATE service_letters SET attempts = 0, refusals = 0, due = 0 WHERE destination = ? AND dead = ''"
        connection.execute(letters, (target.number,))
        return sequence

    def apply(self) -> None:
        self.outlet.health = WELL
        self.outlet.revision += 1


@dataclass(slots=True)
class Replay:
    """Move the cursor of a destination back, so that all deliveries from a number on come again."""

    directory: Directory
    target: Destination
    first: int
    outlet: Outlet | None
    is_alone = True
    _size: tuple[int, int] = (0, 0)

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        target, connection = self.target, database.connection
        _require(connection, target)
        if self.first < target.earliest:
            detail = f"the deliveries before {target.earliest} are not kept any more"
            raise Problem(410, "gone", detail, earliest=target.earliest)
        if self.first > target.acknowledged + 1:
            detail = f"the cursor is at {target.acknowledged}; a replay moves it back, and leaves nothing out"
            raise conflict(detail, acknowledged=target.acknowledged)
        after = self.first - 1
        statement = "UPDATE service_destinations SET acknowledged = ? WHERE number = ?"
        connection.execute(statement, (after, target.number))
        if self.outlet is not None:
            self.outlet.begin_anew()
            statement = "DELETE FROM service_letters WHERE destination = ? AND sequence > ?"
            connection.execute(statement, (target.number, after))
            self._size = outbox_size(connection, target.number, after)
        return sequence

    def apply(self) -> int:
        self.target.acknowledged = self.first - 1
        if self.outlet is not None:
            self.outlet.waiting, self.outlet.waiting_bytes = self._size
            self.outlet.begin_anew()
        return self.target.acknowledged


@dataclass(slots=True)
class RetryLetter:
    """Send a dead letter again."""

    outlet: Outlet
    number: int
    is_alone = False
    _waiting: tuple[int, int] = (0, 0)

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        target, connection = self.outlet.target, database.connection
        place = (target.number, self.number)
        statement = "SELECT dead FROM service_letters WHERE destination = ? AND sequence = ?"
        row = connection.execute(statement, place).fetchone()
        if row is None:
            raise unknown("dead letter", self.number)
        if (size := delivery_size(connection, *place)) is None:
            raise Problem(410, "gone", "retention deleted the delivery; only this record of it is left")
        self._waiting = (1, size) if row[0] else (0, 0)  # a letter that is not dead waits already
        again = "UPDATE service_letters SET dead = '', attempts = 0, refusals = 0, due = 0"
        connection.execute(f"{again} WHERE destination = ? AND sequence = ?", place)
        return sequence

    def apply(self) -> None:
        count, size = self._waiting
        self.outlet.waiting += count
        self.outlet.waiting_bytes += size
        self.outlet.revision += 1
