"""Destinations to which the service sends: secrets, failures, dead letters, and deliveries that come again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from tocsin.service import bodies
from tocsin.service.api import LIMIT, MOST_PAGE, Call, Exchange, Option, answered, raw
from tocsin.service.calls.deliveries import delivery_number
from tocsin.service.calls.destinations import PATH, document_of, require_parsed
from tocsin.service.deliver.attempts import Attempt, attempts_before
from tocsin.service.deliver.changes import Enable, Replay, RetryLetter, Rotate
from tocsin.service.deliver.documents import MOST_PREVIEWS, PREVIEWS
from tocsin.service.deliver.encryption import MOST_KEPT_MS
from tocsin.service.deliver.letters import Letter
from tocsin.service.deliver.protocols import Message
from tocsin.service.deliver.registry import Outlet
from tocsin.service.deliver.templates.filling import filled
from tocsin.service.deliver.templates.renderer import TemplateError
from tocsin.service.deliver.templates.shape import TEMPLATE, checked_template, stored_template
from tocsin.service.directory import Destination
from tocsin.service.names import MOST_NUMBER, amount, instant, only, present, whole
from tocsin.service.outbox import Stored
from tocsin.service.principals import READ, SUBSCRIBE
from tocsin.service.problems import conflict, invalid
from tocsin.service.readers import Readers
from tocsin.service.times import time_text
from tocsin.store import bounded

_KEPT_S: Final = 86_400.0
_AT_ONCE: Final = 50_000
_LETTERS: Final = """
SELECT l.*, d.count, d.subscriptions, e.event, e.published, d.parts FROM service_letters AS l
LEFT JOIN service_deliveries AS d ON d.destination = l.destination AND d.sequence = l.sequence
LEFT JOIN service_events AS e ON e.sequence = d.event
WHERE l.destination = ? AND l.sequence > ? AND l.dead <> '' ORDER BY l.sequence LIMIT ?
"""
_PUBLISHED: Final = """
SELECT d.sequence FROM service_deliveries AS d JOIN service_events AS e ON e.sequence = d.event
WHERE d.destination = ? AND d.sequence >= ? AND d.sequence < ? AND e.published >= ? ORDER BY d.sequence LIMIT 1
"""


def _outlet(exchange: Exchange) -> Outlet:
    target = exchange.service.destination(exchange.principal, exchange.part("id"))
    found = exchange.service.outlets.of(target)
    if found is None:
        raise conflict(f"it is of kind {target.kind}, to which nothing is sent: clients read it")
    return found


async def _document(exchange: Exchange, *known: str) -> dict[str, Any]:
    """The body, which may be left out."""
    bodies.media_type(exchange.request, frozenset((bodies.JSON,)))
    body = await exchange.body()
    record = await exchange.parsed(bodies.json_object, body) if body else {}
    only(record, frozenset(known), "request of this kind")
    return present(record)


async def rotate(exchange: Exchange) -> Response:
    service, found = exchange.service, _outlet(exchange)
    record = await _document(exchange, "secret", "keep_s")
    if not found.kind.rotates:
        raise conflict(f"the secret of a destination of kind {found.kind.name} is not rotated: PUT or PATCH changes it")
    kept_s = amount(record.get("keep_s", _KEPT_S), "keep_s", 0, MOST_KEPT_MS / 1000)
    secret = found.kind.checked_secret(record["secret"]) if "secret" in record else found.kind.new_secret()
    known = await exchange.commit(
        Rotate(service.outlets, found, secret or "", service.senders.clock.now_ms(), int(kept_s * 1000))
    )
    document: dict[str, Any] = {"secrets": len(known)}
    if len(known) > 1 and known[1].until is not None:
        document["old_until"] = time_text(known[1].until)
    return answered(document | ({} if "secret" in record else {"secret": secret}))


async def enable(exchange: Exchange) -> Response:
    found = _outlet(exchange)
    await exchange.service.senders.flush()  # what failed before does not count any more
    await exchange.commit(Enable(found))
    exchange.service.senders.changed(found.target)
    return answered(document_of(exchange, found.target))


async def replay(exchange: Exchange) -> Response:
    service = exchange.service
    target = service.destination(exchange.principal, exchange.part("id"))
    record = await _document(exchange, "from", "since")
    if len(record) != 1:
        raise invalid("from is the number of the first delivery that comes again, or since the time", field="from")
    if "from" in record:
        first = whole(record["from"], "from", 1, MOST_NUMBER)
    else:
        since = instant(record, "since")
        if since is None:
            raise invalid("since is a time such as 2026-01-31T12:00:00Z", field="since")
        first = min(await _since(service.readers, target, since), target.acknowledged + 1)
    outlet = service.outlets.of(target)
    done: int = await exchange.commit(Replay(service.directory, target, first, outlet))
    service.senders.changed(target)
    return answered({"acknowledged": done, "newest": target.newest})


async def _since(readers: Readers, target: Destination, since: int) -> int:
    """The first number whose event was published at a time or later. All are asked: the clock may have been set."""
    for low in range(target.earliest, target.newest + 1, _AT_ONCE):
        values = (target.number, low, low + _AT_ONCE, since)
        found = await readers.read(lambda one, values=values: one.execute(_PUBLISHED, values).fetchone())  # type: ignore[misc]
        if found is not None:
            number: int = found[0]
            return number
    return target.newest + 1


async def dead_letters(exchange: Exchange) -> Response:
    target = _outlet(exchange).target
    limit, after = exchange.asked.number("limit", 100, 1, MOST_PAGE), exchange.asked.number("after", 0, 0, MOST_NUMBER)
    values = (target.number, after, limit + 1)
    rows, has_more = await exchange.service.readers.read(lambda one: bounded(one.execute(_LETTERS, values), limit))
    parts = [_letter(exchange, target, row) for row in rows]
    more = f',"next":{rows[-1][1]}' if has_more else ""
    return raw(b'{"dead_letters":[%s]%s}' % (b",".join(parts), more.encode()))


def _letter(exchange: Exchange, target: Destination, row: Sequence[Any]) -> bytes:
    """A dead letter as JSON. Its delivery is null once retention has deleted it."""
    letter, delivery = Letter(*row[2:10]), b"null"
    count, subscriptions, event, published, further = row[10:]
    if event is not None:
        stored = Stored(target.number, row[1], letter.event, count, subscriptions, event, published, further)
        delivery = exchange.service.hub.document(stored).document
    document = {
        "sequence": row[1],
        "key": exchange.service.directory.key(letter.event, target.number),
        "cause": letter.dead,
        "reason": letter.reason,
        "status": letter.status,
        "attempts": letter.attempts,
        "since": time_text(letter.since),
    }
    return json.dumps(document)[:-1].encode() + b', "delivery": %s}' % delivery


async def retry(exchange: Exchange) -> Response:
    found, number = _outlet(exchange), delivery_number(exchange, "dead letter")
    await exchange.commit(RetryLetter(found, number))
    exchange.service.senders.changed(found.target)
    return answered({"sequence": number}, 202)


async def test(exchange: Exchange) -> Response:
    """A test answers 200 whatever the endpoint answered: the attempt says it."""
    found = _outlet(exchange)
    event = (await _document(exchange, "event")).get("event", {"type": "tocsin.test"})
    if not isinstance(event, dict):
        raise invalid("event is the JSON object that is sent; it may be left out", field="event")
    return answered(_attempt(None, await exchange.service.senders.test(found, event)))


async def preview(exchange: Exchange) -> Response:
    """What a template makes of the last messages, or of a sample. Nothing is sent."""
    found, senders = _outlet(exchange), exchange.service.senders
    record = await _document(exchange, TEMPLATE, "limit")
    limit = whole(record.get("limit", PREVIEWS), "limit", 1, MOST_PREVIEWS)
    template: Mapping[str, Any] | None = stored_template(found.target.options)
    if TEMPLATE in record:
        template = checked_template(found.kind, record[TEMPLATE])
    if template is None:
        raise conflict("the destination has no template; give one to try it")
    await require_parsed(exchange, template)
    with senders.trying(found.target):
        messages = await senders.samples(found, limit)
        return answered({"previews": [await _preview(exchange, found, template, one) for one in messages]})


async def _preview(exchange: Exchange, found: Outlet, template: Mapping[str, Any], message: Message) -> dict[str, Any]:
    """What a template makes of a message, or why the plain document would be sent."""
    document = {"key": message.key, "type": message.type}
    try:
        full = await filled(exchange.service.senders.trials, found, template, message)
    except TemplateError as error:
        return document | {"error": str(error)}
    return document | {"parts": dict(full.parts)}


async def attempts(exchange: Exchange) -> Response:
    number, asked = _outlet(exchange).target.number, exchange.asked
    limit, before = asked.number("limit", 100, 1, MOST_PAGE), asked.number("before", MOST_NUMBER, 1, MOST_NUMBER)
    delivery, failed = asked.number("sequence", 0, 1, MOST_NUMBER) or None, asked.flag("failed")
    rows, has_more = await exchange.service.readers.read(
        lambda one: attempts_before(one, number, before, limit, delivery, failed=failed)
    )
    document: dict[str, Any] = {"attempts": [_attempt(*row) for row in rows]}
    if has_more:
        document["next"] = rows[-1][0]
    return answered(document)


def _attempt(number: int | None, attempt: Attempt) -> dict[str, Any]:
    """An attempt as a client gets it. A test has no delivery."""
    members = attempt._asdict() | {"number": number, "time": time_text(attempt.time), "reason": attempt.reason or None}
    return {name: value for name, value in members.items() if value is not None}


_NUMBER: Final = {"type": "integer", "minimum": 0}
_PROBLEMS: Final = (400, 404, 409, 413, 415, 422, 507)
CALLS: Final = (
    Call(
        "POST", f"{PATH}/{{id}}/enable", enable, SUBSCRIBE, "Send again to a destination that was disabled, or failed",
        gives="Destination", problems=(404, 409, 507),
    ),
    Call(
        "POST", f"{PATH}/{{id}}/rotate-secret", rotate, SUBSCRIBE,
        "Sign with a new secret, and for a day (`keep_s`) with the old one, too",
        takes={"application/json": "Rotation"}, gives="Rotated", problems=_PROBLEMS, may_be_empty=True,
    ),
    Call(
        "POST", f"{PATH}/{{id}}/replay", replay, SUBSCRIBE,
        "Move the cursor back to a number or a time, so that deliveries come again",
        takes={"application/json": "Replay"}, gives="Acknowledged", problems=(*_PROBLEMS, 410),
    ),
    Call(
        "GET", f"{PATH}/{{id}}/dead-letters", dead_letters, READ, "Deliveries to a destination that were given up",
        (
            Option("after", "the number before the first one", _NUMBER),
            LIMIT,
        ),
        gives="DeadLetters", problems=(400, 404, 409),
    ),
    Call(
        "POST", f"{PATH}/{{id}}/test", test, SUBSCRIBE,
        "Send an event to a destination now, and answer what came of it; it has no number, and is not tried again",
        takes={"application/json": "Test"}, gives="Attempt", problems=_PROBLEMS, may_be_empty=True,
    ),
    Call(
        "POST", f"{PATH}/{{id}}/preview", preview, READ,
        "What a template, which is given or stored, makes of the last deliveries, or of a sample; nothing is sent",
        takes={"application/json": "Preview"}, gives="Previewed", problems=_PROBLEMS[:-1], may_be_empty=True,
    ),
    Call(
        "GET", f"{PATH}/{{id}}/attempts", attempts, READ,
        "The last requests, the latest first: the last thousand that were delivered, and as many others",
        (
            Option("before", "the number after the first one", _NUMBER),
            LIMIT,
            Option("sequence", "only those of the delivery with this number", _NUMBER),
            Option("failed", "true: only those that were not delivered", {"type": "boolean"}),
        ),
        gives="Attempts", problems=(400, 404, 409),
    ),
    Call(
        "POST", f"{PATH}/{{id}}/dead-letters/{{sequence}}/retry", retry, SUBSCRIBE, "Send a dead letter again",
        gives="Retried", status=202, problems=(404, 409, 410, 507),
    ),
)  # fmt: skip
