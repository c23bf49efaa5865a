"""Diagnosis: what became of an event for one subscription, and why nothing was delivered.

Everything is derived from what the store keeps: the event, its deliveries, letters and attempts, the audit log. Nothing
is written for it when an event is published. So it says what is known now: a subscription that was changed after the
event is judged as it is, and the answer says that it was changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from tocsin.client.calls import path_part
from tocsin.model.subscription import SubscriptionId
from tocsin.service.deliver.attempts import Attempt, attempts_before
from tocsin.service.deliver.letters import Letter
from tocsin.service.deliver.registry import Outlet
from tocsin.service.deliver.verdict import DELIVERED
from tocsin.service.directory import Destination, Route
from tocsin.service.fragments import quoted_id
from tocsin.service.times import milliseconds_of, now_ms, time_text

DEAD, WAITING, GONE = "dead-letter", "waiting", "destination-deleted"
NO_MATCH, NO_CHANGE, NOWHERE = "no-match", "no-change", "no-destination"
PAUSED, EXPIRED, THROTTLED, DELETED, UNKNOWN = "paused", "expired", "throttled", "deleted", "unknown"
OUTCOMES: Final = (
    *(DELIVERED, WAITING, DEAD, GONE),
    *(NO_MATCH, NO_CHANGE, NOWHERE, PAUSED, EXPIRED, THROTTLED, DELETED, UNKNOWN),
)
"""What became of an event for a subscription: those of the first line are of a delivery that has both."""
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_COUNT: Final = {"type": "integer", "minimum": 0}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["id", "state", "since", "matches"],
    "properties": {
        "id": {"type": ["string", "integer"]},
        "sequence": {**_COUNT, "description": "Of the last change; a deleted subscription has none"},
        "state": {"enum": ["active", PAUSED, EXPIRED, NOWHERE, DELETED]},
        "changed": {
            "type": "object",
            "description": "The last change, if the audit log has it; `token` is its name, or its id",
            "properties": {"time": _TIME, "method": _TEXT, "token": _TEXT},
        },
        "since": {**_TIME, "description": "When the server began to count matches"},
        "matches": _COUNT,
        "last_match": _TIME,
        "last_told": {**_TIME, "description": "Of a subscription with a throttle"},
        "event": {
            "type": "object",
            "required": ["sequence", "published", "matches", "event", "outcome", "reason", "changed_since"],
            "properties": {
                "sequence": _COUNT,
                "published": _TIME,
                "matches": {**_COUNT, "description": "Of all subscriptions"},
                "event": {"type": "object"},
                "outcome": {"enum": list(OUTCOMES)},
                "reason": {**_TEXT, "description": "The outcome as a sentence"},
                "changed_since": {
                    "type": "boolean",
                    "description": "Whether the subscription was changed after the event",
                },
                "delivery": {"type": "object", "properties": {"destination": _TEXT, "sequence": _COUNT}},
                "explanation": {"$ref": "#/components/schemas/Explained"},
            },
        },
    },
}
"""The answer of the service, for the OpenAPI document."""
_LATEST: Final = 1 << 62
_MOST_DELETIONS: Final = 100_000
"""Records of the audit log that are read to find out who deleted a subscription."""
_EVENT: Final = "SELECT sequence, published, event, matches, deliveries, kind FROM service_events WHERE sequence = ?"
_PARTS: Final = """
SELECT subscriptions FROM service_deliveries
WHERE destination = ?1 AND sequence = ?2 AND (instr(subscriptions, ?3) OR instr(subscriptions, ?4))
UNION ALL SELECT subscriptions FROM service_more
WHERE destination = ?1 AND sequence = ?2 AND (instr(subscriptions, ?3) OR instr(subscriptions, ?4))
"""
_LETTER: Final = (
    "SELECT event, dead, attempts, due, reason, status, since, refusals FROM service_letters "
    "WHERE destination = ? AND sequence = ?"
)
_RECORD: Final = "SELECT number, time, token, name, method, first, last FROM service_audit WHERE number"
_DELETIONS: Final = """
SELECT time, token, name, method, path FROM service_audit
WHERE number > (SELECT coalesce(max(number), 0) FROM service_audit) - ? AND method = 'DELETE' ORDER BY number DESC
"""
_TOLD: Final = "SELECT time FROM service_told WHERE id = ?"


class KeptEvent(NamedTuple):
    """An event that is kept, with its deliveries as pairs of a destination's number and their own."""

    sequence: int
    published: int
    text: str
    matches: int
    deliveries: Sequence[tuple[int, int]]
    kind: str


class Changed(NamedTuple):
    """The last change of a subscription: when, by which token, and by which method."""

    time: int
    token: str  # its name, or its id; empty without tokens
    method: str

    def document(self) -> dict[str, Any]:
        """The change as a client gets it."""
        shown = {"time": time_text(self.time), "method": self.method}
        return shown | ({"token": self.token} if self.token else {})


class Sent(NamedTuple):
    """What the store has of the delivery of an event to a subscription."""

    destination: int
    sequence: int
    letter: Letter | None
    attempt: Attempt | None  # the last one


class Outcome(NamedTuple):
    """What became of an event for a subscription, one of `OUTCOMES`, and the reason as a sentence."""

    outcome: str
    reason: str


class Stored(NamedTuple):
    """What one read of the database finds out."""

    event: KeptEvent | None
    sent: Sent | None
    changed: Changed | None
    told: int | None  # when a subscription with a throttle was told last


def read(connection: sqlite3.Connection, id: SubscriptionId, sequence: int | None, number: int | None) -> Stored:
    """What the store has about a subscription whose last change is `sequence`, and about the event `number`.

    `sequence` is None of a subscription that is not there. Searches the event's deliveries for the id: 0.1 s for an
    event with a million matches, and less than a millisecond for most.
    """
    event = None if number is None else _event(connection, number)
    sent = None if event is None else _sent(connection, event.deliveries, id)
    changed = _deleted(connection, id) if sequence is None else _changed(connection, sequence)
    told = connection.execute(_TOLD, (id,)).fetchone()
    return Stored(event, sent, changed, None if told is None else told[0])


def _event(connection: sqlite3.Connection, number: int) -> KeptEvent | None:
    found = connection.execute(_EVENT, (number,)).fetchone()
    if found is None:
        return None
    sequence, published, text, matches, deliveries, kind = found
    return KeptEvent(sequence, published, text, matches, [tuple(one) for one in json.loads(deliveries)], kind)


def _sent(connection: sqlite3.Connection, deliveries: Sequence[tuple[int, int]], id: SubscriptionId) -> Sent | None:
    """The delivery that has a subscription."""
    # A delivery that is too large for payloads is written anew, with escapes for letters beyond ASCII.
    texts = (f'"id":{quoted_id(id)},', f'"id":{json.dumps(id)},')
    for destination, sequence in deliveries:
        for (part,) in connection.execute(_PARTS, (destination, sequence, *texts)):
            if any(one["id"] == id for one in json.loads(part)):  # and not only a text in a payload
                letter = connection.execute(_LETTER, (destination, sequence)).fetchone()
                attempts, _ = attempts_before(connection, destination, _LATEST, 1, sequence, failed=False)
                own = None if letter is None else Letter(*letter)
                return Sent(destination, sequence, own, attempts[0][1] if attempts else None)
    return None


def _changed(connection: sqlite3.Connection, sequence: int) -> Changed | None:
    """The change with a number, if the audit log has it. Its records are in the order of their changes."""
    low, high = (connection.execute(f"SELECT {of}(number) FROM service_audit").fetchone()[0] for of in ("min", "max"))
    found = None
    while low is not None and low <= high:
        middle = (low + high) // 2
        record = connection.execute(f"{_RECORD} >= ? ORDER BY number LIMIT 1", (middle,)).fetchone()
        if record[-1] >= sequence:
            found, high = record, middle - 1
        else:
            low = record[0] + 1
    if found is None or found[5] is None or found[5] > sequence:
        return None
    return Changed(found[1], found[3] or found[2], found[4])


def _deleted(connection: sqlite3.Connection, id: SubscriptionId) -> Changed | None:
    """The deletion of a subscription, if it was deleted by its id, and lately."""
    path = unquote(f"/v1/subscriptions/{path_part(id)}")
    for time, token, name, method, own in connection.execute(_DELETIONS, (_MOST_DELETIONS,)):
        if unquote(own) == path:
            return Changed(time, name or token, method)
    return None


def of_delivery(sent: Sent, target: Destination | None, outlet: Outlet | None) -> Outcome:
    """What became of a delivery. `target` is None if the destination was deleted."""
    if target is None:
        return Outcome(GONE, "it was delivered to a destination that was deleted since")
    name = f"delivery {sent.sequence} of {target.id}"
    if outlet is not None:
        return _posted(sent, target, outlet, name)
    if sent.sequence <= target.acknowledged:
        return Outcome(DELIVERED, f"a client acknowledged {name}")
    return Outcome(WAITING, f"no client acknowledged {name} so far; the cursor is {target.acknowledged}")


def _posted(sent: Sent, target: Destination, outlet: Outlet, name: str) -> Outcome:
    """The outcome of a delivery that the service sends."""
    letter, attempt = sent.letter, sent.attempt
    if letter is not None and letter.dead:
        tries = f"after {_attempts(letter)}" if letter.attempts else "without an attempt"
        return Outcome(DEAD, f"{name} is a dead letter since {time_text(letter.since)}, {tries}: {letter.reason}")
    if attempt is not None and attempt.outcome == DELIVERED:
        status = outlet.kind.status_text(attempt.status)
        return Outcome(DELIVERED, f"the endpoint took {name} at {time_text(attempt.time)} {status}")
    if letter is None and sent.sequence <= target.acknowledged:
        return Outcome(DELIVERED, f"the endpoint took {name}; the attempt is not in the log any more")
    if outlet.health.disabled is not None:
        return Outcome(WAITING, f"{name} waits: the destination is disabled since {time_text(outlet.health.disabled)}")
    if letter is not None:
        again = f"and is sent again at {time_text(letter.due)}"
        return Outcome(WAITING, f"{name} failed after {_attempts(letter)} ({letter.reason}), {again}")
    paused = target.options.get("paused_until")
    if paused is not None and milliseconds_of(paused) > now_ms():
        return Outcome(WAITING, f"{name} waits: the destination is paused until {paused}")
    next_try = "" if outlet.next_try is None else f"; the next request is due at {time_text(outlet.next_try)}"
    return Outcome(WAITING, f"{name} waits for {sent.sequence - 1 - target.acknowledged} before it{next_try}")


def _attempts(letter: Letter) -> str:
    return f"{letter.attempts} attempt{'s' if letter.attempts > 1 else ''}"


def of_silence(event: KeptEvent, route: Route, told: int | None, *, matches: bool) -> Outcome:
    """Why no delivery of an event has a subscription, as it is now."""
    if event.kind:
        return Outcome(NO_MATCH, "the event tells of a window, and is not matched with subscriptions")
    if not matches:
        return Outcome(NO_MATCH, "the condition does not match the event")
    if route.destination is None:
        return Outcome(NOWHERE, "it matches, but the subscription has no destination, so matches are only counted")
    if route.expires_at is not None and route.expires_at <= event.published:
        return Outcome(EXPIRED, f"it matches, but the subscription expired at {time_text(route.expires_at)}")
    if (route.paused_until or 0) > event.published:
        return Outcome(PAUSED, f"it matches, but the subscription is paused until {time_text(route.paused_until or 0)}")
    if route.fence is not None:
        return Outcome(
            NO_CHANGE, "it matches, but the fence noticed no change of its object, and only changes are sent"
        )
    if route.throttle_s is not None and told is not None and event.published < told + route.throttle_s * 1000:
        about = f"it is told at most once in {route.throttle_s:g} s, and was told last at {time_text(told)}"
        return Outcome(THROTTLED, f"it matches, but {about}")
    return Outcome(UNKNOWN, "it matches now, but did not when the event was published")
