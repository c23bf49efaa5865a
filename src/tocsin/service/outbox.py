"""The change that publishes: events, their deliveries and the answers to their publishers, in one transaction."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tocsin.model.subscription import SubscriptionId
from tocsin.model.values import size_of
from tocsin.service.clock import Clock, Moment, put_misdated
from tocsin.service.deliver.letters import OVERFLOW, Letter, put_letters
from tocsin.service.deliver.registry import Filling, Outlets
from tocsin.service.directory import Directory
from tocsin.service.fences.hosted import HostedFences
from tocsin.service.problems import Problem, invalid
from tocsin.service.throttles import put_told
from tocsin.service.units import Event, Key, Published, Unit
from tocsin.store import Database

MOST_SUBSCRIPTIONS: Final = 1000
_MOST_BYTES: Final = 1 << 20
"""Subscriptions, and bytes of them, in a delivery; further ones are in its parts. It has one at least."""
_MOST_PAYLOADS: Final = 16 << 20
"""Bytes of the subscriptions of a delivery, from which on further ones are without their payloads."""
_WIDEST: Final = 4
"""Bytes of a character in UTF-8."""
Outcome = Published | Problem


class Stored(NamedTuple):
    """A delivery as the database has it."""

    destination: int
    sequence: int
    event: int
    subscribed: int  # how many subscriptions
    subscriptions: str  # the first of them
    text: str  # the event
    published: int
    parts: int  # how many further parts there are; in rows of older releases 0

    @property
    def further(self) -> int:
        """How many further parts there are."""
        return further_parts(self.subscribed, self.parts)


def further_parts(subscribed: int, parts: int) -> int:
    """How many further parts a delivery has, by its columns. Those of older releases have 1,000 subscriptions each."""
    return max(parts, (subscribed - 1) // MOST_SUBSCRIPTIONS)


@dataclass(slots=True)
class _Pending:
    """What a transaction has assigned so far. It is forgotten if the transaction is."""

    transaction: object
    last_event: int
    published_bytes: int
    filling: Filling
    newest: dict[int, int] = field(default_factory=dict)
    told: dict[SubscriptionId, Moment] = field(default_factory=dict)
    answers: dict[tuple[str, str, str], tuple[bytes, list[Outcome]]] = field(default_factory=dict)


class Outbox:
    """Assigns the numbers of events and deliveries. Only the committing thread uses it."""

    def __init__(self, directory: Directory, outlets: Outlets, fences: HostedFences, clock: Clock) -> None:
        self.directory, self.outlets, self.fences, self.clock = directory, outlets, fences, clock
        self._pending = self._nothing(None)

    def _nothing(self, transaction: object) -> _Pending:
        last, size = self.directory.last_event, self.directory.published_bytes
        return _Pending(transaction, last, size, Filling(self.outlets))

    def pending(self, transaction: object) -> _Pending:
        """What is assigned in a transaction, which its set of touched ids tells."""
        if self._pending.transaction is not transaction:
            self._pending = self._nothing(transaction)
        return self._pending


@dataclass(slots=True)
class Publish:
    """Publish matched events. `apply` returns the outcomes by unit, and the new deliveries."""

    outbox: Outbox
    units: list[Unit]
    events: list[list[Event]]
    is_alone = False
    _outcomes: list[list[Outcome]] = field(default_factory=list)
    _stored: list[Stored] = field(default_factory=list)
    _matched: list[Sequence[SubscriptionId]] = field(default_factory=list)
    _now: int = 0
    _expected: Moment = field(default_factory=lambda: Moment(0, 0))
    _pending: _Pending | None = None

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        pending = self._pending = self.outbox.pending(touched)
        self._outcomes, self._stored, self._matched = [], [], []
        rows, matched = _Rows(), self._copied()
        self.outbox.fences.begin(database, touched, itertools.chain(*matched))
        now = self.outbox.clock.moment()
        self._now, self._expected = now.wall, self.outbox.clock.expected(now)
        for unit, events in zip(self.units, matched, strict=True):
            whole = self._repeated(database, unit, unit.key if unit.record is None else None)
            if whole is not None:
                self._outcomes.append(whole)
                continue
            made = [self._published(database, unit, event, now, rows, pending) for event in events]
            if unit.key is not None and unit.record is None:
                rows.answers.append(_answer(unit, unit.key, made, self._expected.wall))
            self._outcomes.append(made)
        rows.write(database)
        if self._expected.wall > now.wall:  # the events would seem to be old
            put_misdated(database, pending.last_event, self._expected.wall)
        self.outbox.fences.write(database)
        return sequence

    def _copied(self) -> list[list[Event]]:
        """The events by unit; those to which fences and throttles may add deliveries are copies."""
        is_followed = bool(self.outbox.fences.named)
        return [
            [event.copied() if is_followed or event.throttled else event for event in events] for events in self.events
        ]

    @property
    def outcomes(self) -> list[list[Outcome]]:
        """The outcomes by unit, once it is written."""
        return self._outcomes

    def _repeated(self, database: Database, unit: Unit, key: Key | None) -> list[Outcome] | None:
        """The outcomes of what came before with the same key."""
        if key is None:
            return None
        assert self._pending is not None
        name = (unit.tenant, key.route, key.key)
        if name in self._pending.answers:
            digest, outcomes = self._pending.answers[name]
        else:
            statement = "SELECT digest, answer FROM service_answers WHERE tenant = ? AND route = ? AND key = ?"
            found = database.connection.execute(statement, name).fetchone()
            if found is None:
                return None
            digest, outcomes = found[0], _outcomes(found[1])
        if digest != key.digest:
            return [
                invalid("the idempotency key came before with another body; use a new key", field="Idempotency-Key")
            ]
        return [one._replace(is_repeated=True) if isinstance(one, Published) else one for one in outcomes]

    def _published(
        self, database: Database, unit: Unit, event: Event, now: Moment, rows: _Rows, pending: _Pending
    ) -> Outcome:
        """Assign the numbers of one event."""
        if event.refused is not None:
            return invalid(event.refused.reason, field=event.refused.field or None)
        if (before := self._repeated(database, unit, event.key)) is not None:
            return before[0]
        if (full := self._refusing(event, pending)) is not None:
            detail = f"the outbox of the destination {full} is full; publish the event later"
            return Problem(429, "outbox-full", detail, headers={"Retry-After": "5"})
        if event.throttled:
            self._throttle(event, now, rows, pending)
        if not event.kind:
            self.outbox.fences.follow(event, now.wall)
        published = now.wall if event.moment is None else event.moment
        pending.last_event += 1
        number, pairs, has_limits = pending.last_event, list[str](), pending.filling.has_limits
        suppressed = event.suppressed
        pending.published_bytes += size_of(event.text)
        for destination, fragments in event.deliveries.items():
            target = self.outbox.directory.destinations.get(destination)
            if target is None:  # deleted since it was matched
                suppressed += len(fragments)
                continue
            own = pending.newest.get(destination, target.newest) + 1
            pending.newest[destination] = own
            pairs.append(f"[{destination},{own}]")
            first, *others = divided(fragments)
            one = Stored(destination, own, number, len(fragments), first, event.text, published, len(others))
            self._stored.append(one)
            size = len(one.text) + sum(map(len, (first, *others)))
            if has_limits and pending.filling.overflows(destination, own, size):
                rows.dead.append(
                    (destination, own, Letter(number, OVERFLOW, 0, 0, "the outbox was full", None, self._expected.wall))
                )
            rows.add(one, others)
            pending.published_bytes += size_of(first, *others)
        told = f"[{','.join(pairs)}]"
        rows.events.append(
            (number, unit.tenant, published, event.text, event.matches, told, pending.published_bytes, event.kind)
        )
        self._matched.append(event.ids)
        outcome = Published(number, event.matches, len(pairs), suppressed)
        if event.key is not None:
            pending.answers[unit.tenant, event.key.route, event.key.key] = event.key.digest, [outcome]
            rows.answers.append(_answer(unit, event.key, [outcome], self._expected.wall))
        return outcome

    def _refusing(self, event: Event, pending: _Pending) -> str | None:
        """The id of a destination that refuses an event."""
        if event.kind or not pending.filling.has_limits:
            return None
        return pending.filling.refusing({*event.deliveries, *(one.route.destination or 0 for one in event.throttled)})

    def _throttle(self, event: Event, now: Moment, rows: _Rows, pending: _Pending) -> None:
        """Deliver the throttled matches that are due."""
        for one in event.throttled:
            before = pending.told.get(one.id)
            last = self.outbox.directory.told.get(one.id) if before is None else before.steady
            if not one.route.is_due(last, now.steady):
                event.suppressed += 1
                continue
            pending.told[one.id] = rows.told[one.id] = self._expected
            event.deliveries.setdefault(one.route.destination or 0, []).append(one.fragment)
        event.throttled = []

    def apply(self) -> tuple[list[list[Outcome]], list[Stored]]:
        directory, pending = self.outbox.directory, self._pending
        assert pending is not None
        directory.last_event, directory.published_bytes = pending.last_event, pending.published_bytes
        for number, newest in pending.newest.items():
            directory.destinations[number].newest = newest
        directory.told.update((id, one.steady) for id, one in pending.told.items() if _is_throttled(directory, id))
        self.outbox.fences.applied()
        pending.filling.apply()
        directory.activity.count(self._matched, self._now)
        return self._outcomes, self._stored


class _Rows:
    """The rows that a change adds."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.answers: list[tuple[Any, ...]] = []
        self.told: dict[SubscriptionId, Moment] = {}  # when throttled subscriptions were told
        self.dead: list[tuple[int, int, Letter]] = []  # destination, number, and why it is not sent
        self._deliveries: list[tuple[Any, ...]] = []
        self._more: list[tuple[Any, ...]] = []

    def add(self, one: Stored, others: list[str]) -> None:
        """Add a delivery with its further parts."""
        row = (one.destination, one.sequence, one.event, one.subscribed, one.subscriptions, one.parts)
        self._deliveries.append(row)
        self._more += [(one.destination, one.sequence, part, text) for part, text in enumerate(others, 1)]

    def write(self, database: Database) -> None:
        """Write all of them."""
        put = database.connection.executemany
        put("INSERT INTO service_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self.events)
        put("INSERT INTO service_deliveries VALUES (?, ?, ?, ?, ?, ?)", self._deliveries)
        put_told(database, self.told)
        if self._more:
            put("INSERT INTO service_more VALUES (?, ?, ?, ?)", self._more)
        for destination, number, letter in self.dead:
            put_letters(database.connection, destination, [(number, letter)])
        if self.answers:
            put("INSERT OR REPLACE INTO service_answers VALUES (?, ?, ?, ?, ?, ?)", self.answers)


def _is_throttled(directory: Directory, id: SubscriptionId) -> bool:
    """Whether a subscription has a throttle, also after the transaction."""
    route = directory.routes.get(id)
    return route is not None and route.throttle_s is not None


def divided(fragments: list[str]) -> list[str]:
    """The parts of a delivery, each a list in JSON: at most so many subscriptions and so many bytes each.

    Once they have taken `_MOST_PAYLOADS`, further subscriptions are without their payloads, and say so.
    """
    if len(fragments) <= MOST_SUBSCRIPTIONS:
        text = _listed(fragments)
        if len(text) <= _MOST_BYTES // _WIDEST:
            return [text]
    parts, part, size, whole = list[str](), list[str](), 0, 0
    for fragment in fragments:
        shown = fragment if whole <= _MOST_PAYLOADS else _without_payload(fragment)
        own = len(shown.encode())
        if part and (len(part) == MOST_SUBSCRIPTIONS or size + own > _MOST_BYTES):
            parts.append(_listed(part))
            part, size = [], 0
        part.append(shown)
        size, whole = size + own, whole + own
    return [*parts, _listed(part)]


def _without_payload(fragment: str) -> str:
    subscription = json.loads(fragment)
    if subscription.get("payload") is None:
        return fragment
    return json.dumps(subscription | {"payload": None, "left_out": ["payload"]}, separators=(",", ":"))


def _listed(fragments: list[str]) -> str:
    return f"[{','.join(fragments)}]"


def _answer(unit: Unit, key: Key, outcomes: Sequence[Outcome], now: int) -> tuple[Any, ...]:
    """A row that lets the same outcomes come again."""
    kept = [one[:4] if isinstance(one, Published) else [one.detail, one.more.get("field")] for one in outcomes]
    return (unit.tenant, key.route, key.key, key.digest, json.dumps(kept), now)


def _outcomes(text: str) -> list[Outcome]:
    kept = json.loads(text)
    return [Published(*one) if len(one) == 4 else invalid(one[0], field=one[1]) for one in kept]
