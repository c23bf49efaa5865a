"""What a subscription does, and what became of an event for it."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.responses import Response

from tocsin.errors import UnknownSubscription
from tocsin.language import Explanation
from tocsin.model.subscription import SubscriptionId
from tocsin.service import diagnosis
from tocsin.service.api import Call, Exchange, Option, answered
from tocsin.service.calls.checking import told_of
from tocsin.service.calls.subscriptions import PATH
from tocsin.service.diagnosis import KeptEvent, Outcome, Stored
from tocsin.service.directory import NOWHERE, Route
from tocsin.service.names import MOST_NUMBER, subscription_id
from tocsin.service.principals import READ
from tocsin.service.problems import Problem, unknown
from tocsin.service.times import now_ms, time_text

_SEQUENCE: Final = "SELECT sequence FROM subscriptions WHERE id = ?"


async def diagnose(exchange: Exchange) -> Response:
    service, number = exchange.service, exchange.asked.number("event", 0, 1, MOST_NUMBER) or None
    id = subscription_id(exchange.part("id"), service.transactions.kind)

    def read(connection: Any) -> tuple[int | None, Stored]:
        found = connection.execute(_SEQUENCE, (id,)).fetchone()
        sequence = None if found is None else found[0]
        return sequence, diagnosis.read(connection, id, sequence, number)

    sequence, stored = await service.readers.read(read)
    if sequence is None and stored.changed is None:
        raise unknown("subscription", id)
    document = _state(exchange, id, sequence, stored)
    if number is not None:
        document["event"] = await _event(exchange, id, number, stored, is_there=sequence is not None)
    return answered(document)


def _state(exchange: Exchange, id: SubscriptionId, sequence: int | None, stored: Stored) -> dict[str, Any]:
    """What a subscription does now, who changed it last, and when it matched and was told last."""
    directory = exchange.service.directory
    route, active = directory.routes.get(id, NOWHERE), directory.activity.of(id)
    document: dict[str, Any] = {"id": id, "state": _word(route, is_there=sequence is not None)}
    if sequence is not None:
        document["sequence"] = sequence
    if stored.changed is not None:
        document["changed"] = stored.changed.document()
    document |= {"since": time_text(directory.activity.since), "matches": 0 if active is None else active.matches}
    if active is not None:
        document["last_match"] = time_text(active.last)
    if stored.told is not None:
        document["last_told"] = time_text(stored.told)
    return document


def _word(route: Route, *, is_there: bool) -> str:
    """A word for what a subscription does."""
    now = now_ms()
    if not is_there:
        return diagnosis.DELETED
    if route.expires_at is not None and route.expires_at <= now:
        return diagnosis.EXPIRED
    if (route.paused_until or 0) > now:
        return diagnosis.PAUSED
    return "active" if route.destination is not None else diagnosis.NOWHERE


async def _event(
    exchange: Exchange, id: SubscriptionId, number: int, stored: Stored, *, is_there: bool
) -> dict[str, Any]:
    """What became of an event."""
    event, service = stored.event, exchange.service
    if event is None:
        first = service.directory.first_event
        if number < first:
            raise Problem(410, "gone", f"the events before {first} are not kept any more", earliest=first)
        raise unknown("event", number)
    explanation = await service.in_thread(_explained, exchange, id, event) if is_there and not event.kind else None
    outcome = _outcome(exchange, id, stored, event, explanation, is_there=is_there)
    document: dict[str, Any] = {
        "sequence": number, "published": time_text(event.published), "matches": event.matches,
        "outcome": outcome.outcome, "reason": outcome.reason, "event": json.loads(event.text),
        "changed_since": stored.changed is not None and stored.changed.time > event.published,
    }  # fmt: skip
    if stored.sent is not None:
        target = service.directory.destinations.get(stored.sent.destination)
        if target is not None:
            document["delivery"] = {"destination": target.id, "sequence": stored.sent.sequence}
    if explanation is not None:
        document["explanation"] = told_of(explanation)
    return document


def _outcome(
    exchange: Exchange,
    id: SubscriptionId,
    stored: Stored,
    event: KeptEvent,
    explanation: Explanation | None,
    *,
    is_there: bool,
) -> Outcome:
    service = exchange.service
    if stored.sent is not None:
        target = service.directory.destinations.get(stored.sent.destination)
        outlet = None if target is None else service.outlets.of(target)
        return diagnosis.of_delivery(stored.sent, target, outlet)
    if not is_there:
        return Outcome(diagnosis.DELETED, "no delivery of the event has it, and it was deleted since")
    route = service.directory.routes.get(id, NOWHERE)
    return diagnosis.of_silence(event, route, stored.told, matches=explanation is not None and explanation.matched)


def _explained(exchange: Exchange, id: SubscriptionId, event: KeptEvent) -> Explanation | None:
    """Why the subscription matches the event, or does not; None if it was deleted meanwhile."""
    try:
        return exchange.service.engine.explain(id, json.loads(event.text))
    except UnknownSubscription:
        return None


CALLS: Final = (
    Call(
        "GET", f"{PATH}/{{id}}/diagnosis", diagnose, READ,
        "What a subscription does, who changed it last, and what became of an event for it",
        (Option("event", "the number of an event that is kept", {"type": "integer", "minimum": 1}),),
        gives="Diagnosis", problems=(400, 404, 410, 422),
    ),
)  # fmt: skip
