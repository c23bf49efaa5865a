"""Outlets, the destinations that the service sends to: their secrets, their health, and how full each outbox is.

As with the directory, only the committing thread changes it, once a change is durable.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tocsin.service.deliver.encryption import MOST_KEPT_MS, Keys, Secret
from tocsin.service.deliver.kinds import sending_kind, sending_kinds
from tocsin.service.deliver.letters import OVERFLOW, SIZE, Expired
from tocsin.service.deliver.options import REJECT
from tocsin.service.deliver.protocols import Sending, counts_of
from tocsin.service.deliver.schedule import WELL, Health
from tocsin.service.directory import Destination, Directory

STATES: Final = ("well", "failing", "disabled")
_OUTBOX: Final = f"""
SELECT count(*), coalesce(sum({SIZE}), 0)
FROM service_deliveries AS d JOIN service_events AS e ON e.sequence = d.event
LEFT JOIN service_letters AS l ON l.destination = d.destination AND l.sequence = d.sequence
WHERE d.destination = ? AND d.sequence > ? AND coalesce(l.dead, '') = ''
"""
_TRIED_AGAIN: Final = f"""
SELECT count(*), coalesce(sum({SIZE}), 0)
FROM service_letters AS l JOIN service_deliveries AS d ON d.destination = l.destination AND d.sequence = l.sequence
JOIN service_events AS e ON e.sequence = d.event
WHERE l.destination = ? AND l.sequence <= ? AND l.dead = ''
"""


@dataclass(slots=True, eq=False)
class Outlet:
    """A destination to which the service sends."""

    target: Destination
    kind: Sending
    secrets: tuple[Secret, ...]
    health: Health = WELL
    waiting: int = 0  # deliveries in the outbox, and those that are tried again
    waiting_bytes: int = 0  # of them, about
    letters_to: int = 0  # no delivery after this one has a letter
    generation: int = 0  # what a sender found out in an earlier one does not count any more
    revision: int = 0  # of letters and health: they are read again
    template_error: str = ""  # why the template failed for the last message
    slow_template: tuple[Mapping[str, Any], int] = ({}, 0)  # one that took too long, and until when it rests
    next_try: int | None = None  # when what failed is sent again, in milliseconds since 1970

    def begin_anew(self) -> None:
        """Let the sender read everything again. Called when that is written, and when memory has it."""
        self.generation += 1


@dataclass(slots=True, eq=False)
class Outlets:
    """All of them by number, the bounds of their outboxes, and what is counted."""

    directory: Directory
    most: float  # deliveries in an outbox
    most_bytes: float
    keys: Keys = field(default_factory=Keys)  # of secrets
    known: dict[int, Outlet] = field(default_factory=dict)
    attempts: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and outcome
    dead: Counter[str] = field(default_factory=Counter)  # letters, by cause
    refused: int = 0  # events, for a full outbox
    disabled: Counter[str] = field(default_factory=Counter)  # how often, by kind
    plain: Counter[str] = field(default_factory=Counter)  # messages whose template failed, by kind

    def read(self, connection: sqlite3.Connection, now: int) -> None:
        """Read all of them from the database."""
        statement = "SELECT destination, secrets, health FROM service_webhooks"
        for number, secrets, health in connection.execute(statement).fetchall():
            target = self.directory.destinations[number]
            one = Outlet(
                target, sending_kind(target.kind), self.secrets_of(number, secrets, now), Health(*json.loads(health))
            )
            one.waiting, one.waiting_bytes = outbox_size(connection, number, target.acknowledged)
            newest = "SELECT coalesce(max(sequence), 0) FROM service_letters WHERE destination = ?"
            one.letters_to = connection.execute(newest, (number,)).fetchone()[0]
            self.known[number] = one

    def secrets_of(self, number: int, text: str, now: int) -> tuple[Secret, ...]:
        """Secrets from the form in which they are stored. None signs longer than the longest rotation from now on."""
        latest = now + MOST_KEPT_MS
        secrets = self.keys.opened(number, text)
        return tuple(one if one.until is None else one._replace(until=min(one.until, latest)) for one in secrets)

    def of(self, target: Destination) -> Outlet | None:
        """The outlet of a destination; None if the service does not send to it."""
        return self.known.get(target.number)

    def targets(self) -> dict[int, Destination]:
        """The destinations, by number."""
        return {number: one.target for number, one in list(self.known.items())}

    def expired(self, what: Expired) -> None:
        """Note what retention deleted."""
        for number, count in what.counts.items():
            one = self.known.get(number)
            if one is not None and count:
                one.waiting = max(0, one.waiting - count)
                one.waiting_bytes = max(0, one.waiting_bytes - what.sizes[number])
                one.revision += 1
                self.dead["expired"] += count

    def collect(self) -> Iterator[Any]:
        """The metrics, for Prometheus."""
        about = "Requests to destinations, by kind and outcome"
        attempts = CounterMetricFamily("tocsin_delivery_attempts", about, labels=["kind", "outcome"])
        for labels, count in sorted(self.attempts.items()):
            attempts.add_metric(labels, count)
        dead = CounterMetricFamily("tocsin_dead_letters", "Deliveries that became dead letters", labels=["cause"])
        for cause, count in sorted(self.dead.items()):
            dead.add_metric([cause], count)
        about = "Messages that were sent as plain documents because the template failed, by kind"
        plain = CounterMetricFamily("tocsin_template_failures", about, labels=["kind"])
        for kind, count in sorted(self.plain.items()):
            plain.add_metric([kind], count)
        yield from (attempts, dead, plain)
        yield CounterMetricFamily("tocsin_events_refused_full", "Events refused for a full outbox", value=self.refused)
        about = "How often a destination was disabled because it failed"
        disabled = CounterMetricFamily("tocsin_destinations_disabled", about, labels=["kind"])
        about = "Destinations to which the service sends, by kind and state"
        states = GaugeMetricFamily("tocsin_destination_states", about, labels=["kind", "state"])
        found = Counter((one.target.kind, state_of(one.health)) for one in list(self.known.values()))
        for kind in sorted({*self.disabled, *(name for name, _ in found)}):
            disabled.add_metric([kind], self.disabled[kind])
            for state in STATES:
                states.add_metric([kind, state], found[kind, state])
        yield from (disabled, states)
        for one in sending_kinds():
            of_kind = {state: found[one.name, state] for state in STATES}
            yield from one.metrics(counts_of(self.attempts, self.disabled[one.name], of_kind, one.name))


def state_of(health: Health) -> str:
    """A word for how an endpoint does."""
    if health.disabled is not None:
        return "disabled"
    return "failing" if health.failures else "well"


def outbox_size(connection: sqlite3.Connection, number: int, after: int) -> tuple[int, int]:
    """How many deliveries an outbox has, with those that are tried again, and about how many bytes."""
    ahead, behind = (connection.execute(of, (number, after)).fetchone() for of in (_OUTBOX, _TRIED_AGAIN))
    return ahead[0] + behind[0], ahead[1] + behind[1]


class Filling:
    """What a transaction adds to outboxes, and what they have no room for."""

    def __init__(self, outlets: Outlets) -> None:
        self._outlets = outlets
        self._added: dict[int, tuple[int, int]] = {}
        self._overflowed: dict[int, list[int]] = {}

    @property
    def has_limits(self) -> bool:
        """Whether any outbox may be full."""
        return bool(self._outlets.known)

    def _is_full(self, one: Outlet) -> bool:
        count, size = self._added.get(one.target.number, (0, 0))
        return one.waiting + count >= self._outlets.most or one.waiting_bytes + size >= self._outlets.most_bytes

    def refusing(self, destinations: Iterable[int]) -> str | None:
        """The id of a destination whose full outbox refuses an event, if there is one."""
        for number in destinations:
            one = self._outlets.known.get(number)
            if one is not None and one.target.options["on_full"] == REJECT and self._is_full(one):
                self._outlets.refused += 1
                return one.target.id
        return None

    def overflows(self, destination: int, sequence: int, size: int) -> bool:
        """Whether there is no room for a delivery; otherwise it is counted."""
        one = self._outlets.known.get(destination)
        if one is None:
            return False
        if self._is_full(one):
            self._overflowed.setdefault(destination, []).append(sequence)
            return True
        count, before = self._added.get(destination, (0, 0))
        self._added[destination] = count + 1, before + size
        return False

    def apply(self) -> None:
        """Bring memory to the same state."""
        for number, (count, size) in self._added.items():
            one = self._outlets.known.get(number)
            if one is not None:
                one.waiting += count
                one.waiting_bytes += size
        for number, sequences in self._overflowed.items():
            one = self._outlets.known.get(number)
            if one is not None:
                one.letters_to = max(one.letters_to, sequences[-1])
            self._outlets.dead[OVERFLOW] += len(sequences)
        self._added, self._overflowed = {}, {}
