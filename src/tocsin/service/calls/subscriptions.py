"""Subscriptions: one by one, in pages, and in bulk."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from tocsin.engine.durable.changes import Put
from tocsin.errors import RecordError, TocsinError
from tocsin.language import parse_any, parse_json
from tocsin.language.advice import advice_on
from tocsin.language.dialects import DIALECTS, as_given, tagged
from tocsin.model.expression import Expression
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.service import arrow, bodies, pages
from tocsin.service.api import IF_MATCH, IF_NONE, LIMIT, MOST_PAGE, Call, Exchange, Option, answered, empty
from tocsin.service.changes import Guard, PutSubscription, PutSubscriptions, RemoveSubscription
from tocsin.service.directory import Route
from tocsin.service.names import amount, instant, only, record_id, subscription_id
from tocsin.service.pricing import price, tree_of
from tocsin.service.principals import READ, SUBSCRIBE
from tocsin.service.problems import Problem, conflict, invalid, unknown
from tocsin.service.quotas import require_cheap
from tocsin.service.service import Service
from tocsin.service.times import time_text

PATH: Final = "/v1/subscriptions"
_OWN: Final = frozenset(("destination", "fence", "throttle_s", "paused_until", "expires_at"))
_FIELDS: Final = _OWN | {"where", "language", "score", "payload", "weights"}
CQL2_FORMS: Final = ("cql2-text", "cql2-json")
_MOST_ERRORS: Final = 1000
_TRIES: Final = 5
_YEAR_S: Final = 366 * 86_400
_ROW: Final = """
SELECT s.id, s.condition, s.score, s.payload, s.weights, s.sequence,
    r.destination, r.throttle_s, r.paused_until, r.expires_at, r.fence
FROM subscriptions AS s LEFT JOIN service_routes AS r ON r.id = s.id
"""


def _route(exchange: Exchange, record: Mapping[str, Any]) -> Route:
    """Where and when a subscription's matches go."""
    name, throttle = record.get("destination"), record.get("throttle_s")
    number, fence = None, record.get("fence")
    if name is not None:
        found = (
            exchange.service.directory.named.get((exchange.principal.tenant, name)) if isinstance(name, str) else None
        )
        if found is None:
            raise invalid(f"there is no destination {str(name)!r:.80}; make it first", field="destination")
        number = found.number
    if fence is not None:
        fence = exchange.service.fences.number_of(fence)
        if throttle is not None:
            raise invalid("a subscription with a fence has no throttle_s: changes would be missing", field="throttle_s")
    seconds = None if throttle is None else amount(throttle, "throttle_s", 0.001, _YEAR_S)
    return Route(number, seconds, instant(record, "paused_until"), instant(record, "expires_at"), fence)


def _engine_record(id: SubscriptionId, record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that the engine keeps. The condition is in the language that the record names."""
    return {"id": id, "where": condition_in(record)} | {
        name: record.get(name) for name in ("score", "payload", "weights")
    }


def condition_in(record: Mapping[str, Any]) -> Any:
    """The condition of a record: in CQL2, or a rule of another system as a text that names its language."""
    language, where = record.get("language"), record.get("where")
    if where is None:
        raise invalid("where is missing; give a condition as CQL2 text or JSON", field="where")
    if isinstance(language, str) and language in DIALECTS:
        return tagged(where, language)
    if language is not None and language not in CQL2_FORMS:
        known = " or ".join((*CQL2_FORMS, *DIALECTS))
        raise invalid(f"language is {str(language)!r:.40}; it is {known}", field="language")
    if not isinstance(where, str | Mapping | bool):
        raise invalid("where is CQL2 text, which is a string, or CQL2 JSON, which is an object", field="where")
    if language is not None and isinstance(where, str) != (language == "cql2-text"):
        raise invalid(f"where is not {language}: CQL2 text is a string, CQL2 JSON an object", field="where")
    return where


def parsed(where: str | Mapping[str, Any] | bool) -> Expression:
    """The tree of a condition."""
    return parse_json(where) if isinstance(where, bool) else parse_any(where)


def explained(error: RecordError, where: object) -> TocsinError:
    """The error of a condition, with its place."""
    if error.field == "where" and isinstance(where, str | Mapping | bool):
        try:
            parsed(where)
        except TocsinError as own:
            return own
    return error


def document_of(exchange: Exchange, row: Sequence[Any]) -> dict[str, Any]:
    """A row of the database as the document that a client gets."""
    id, where, score, payload, weights, sequence, number, throttle, paused, expires, fence = row
    document: dict[str, Any] = {"id": id, **as_given(where), "score": score}
    for name, text in (("payload", payload), ("weights", weights)):
        if text:
            document[name] = json.loads(text)
    target = exchange.service.directory.destinations.get(number) if number is not None else None
    if target is not None:
        document["destination"] = target.id
    if (named := exchange.service.fences.name_of(fence)) is not None:
        document["fence"] = named
    if throttle is not None:
        document["throttle_s"] = throttle
    for name, moment in (("paused_until", paused), ("expires_at", expires)):
        if moment is not None:
            document[name] = time_text(moment)
    return document | {"sequence": sequence}


def _id(exchange: Exchange) -> SubscriptionId:
    return subscription_id(exchange.part("id"), exchange.service.transactions.kind)


async def _row(exchange: Exchange, id: SubscriptionId) -> tuple[Any, ...]:
    found = await exchange.service.readers.read(lambda one: one.execute(f"{_ROW} WHERE s.id = ?", (id,)).fetchone())
    if found is None:
        raise unknown("subscription", id)
    return tuple(found)


async def get(exchange: Exchange) -> Response:
    row = await _row(exchange, _id(exchange))
    return answered(document_of(exchange, row), headers={"ETag": f'"{row[5]}"'})


async def put(exchange: Exchange) -> Response:
    id, guard = _id(exchange), exchange.guard
    return await _put(exchange, id, await exchange.document(), guard)


async def _put(exchange: Exchange, id: SubscriptionId, record: dict[str, Any], guard: Guard) -> Response:
    """Check a record, and make it durable."""
    service = exchange.service
    only(record, _FIELDS | {"id", "sequence"}, "subscription")
    if record.get("id", id) != id:
        raise invalid("id is another one than in the path", field="id")
    route, asked = _route(exchange, record), _engine_record(id, record)
    change, advice = await service.in_thread(_change, service, asked)
    service.quotas.stored()
    put_one = PutSubscription(service.directory, service.fences.areas, service.transactions, change, route, guard)
    with service.quotas.room(0 if service.transactions.has(id) else 1):
        is_new, sequence = await exchange.commit(put_one)
    document: dict[str, Any] = {"id": id, "sequence": sequence}
    if advice:
        document["warnings"] = advice
    return answered(document, 201 if is_new else 200, {"ETag": f'"{sequence}"'})


def _change(service: Service, record: Mapping[str, Any]) -> tuple[Put, list[str]]:
    """The change that puts a record, and advice about conditions that probably mean something else."""
    where = record["where"]
    try:
        change = service.transactions.put(record)
    except RecordError as error:
        raise explained(error, where) from None
    if not math.isinf(service.limits.subscription_cost):
        require_cheap(price(change.parsed), service.limits)
    is_text = isinstance(where, str) and where == change.parsed.source  # not a rule of another system
    advice = advice_on(tree_of(change.parsed), where) if is_text else []
    return change, [f"{one.condition}: {one.reason}" for one in advice]


async def patch(exchange: Exchange) -> Response:
    id, asked, changed = _id(exchange), exchange.guard, await exchange.document()
    for _ in range(_TRIES):
        row = await _row(exchange, id)
        asked.check(f'"{row[5]}"')
        before = document_of(exchange, row)
        record = merged({name: before[name] for name in before if name in _FIELDS}, changed)
        try:
            return await _put(exchange, id, record, Guard(frozenset((f'"{row[5]}"',))))
        except Problem as problem:
            if problem.status != 412:
                raise
    raise conflict("others change it all the time; try again")


def merged(before: Any, changed: Any) -> Any:
    """A JSON merge patch (RFC 7396). Bodies are at most 64 levels deep, and so is the recursion."""
    if not isinstance(changed, dict):
        return changed
    whole = dict(before) if isinstance(before, dict) else {}
    for name, value in changed.items():
        if value is None:
            whole.pop(name, None)
        else:
            whole[name] = merged(whole.get(name), value)
    return whole


async def delete(exchange: Exchange) -> Response:
    service = exchange.service
    change = service.transactions.remove(_id(exchange))
    await exchange.commit(RemoveSubscription(service.directory, service.fences.areas, change, exchange.guard))
    return empty()


async def page(exchange: Exchange) -> Response:
    asked, service = exchange.asked, exchange.service
    limit, after = asked.number("limit", 100, 1, MOST_PAGE), asked.text("after")
    first = None if after is None else subscription_id(after, service.transactions.kind)
    name, target = asked.text("destination"), None
    if name is not None:
        target = service.destination(exchange.principal, name).number
    rows, last = await service.readers.read(
        lambda one: pages.read(one, _ROW, first, limit, asked.text("search"), target)
    )
    document: dict[str, Any] = {"subscriptions": [document_of(exchange, row) for row in rows]}
    if last is not None:
        document["next"] = str(last)
    return answered(document)


async def bulk(exchange: Exchange) -> Response:
    form = bodies.media_type(exchange.request, frozenset((bodies.LINES, bodies.ARROW)), bodies.LINES)
    body = await exchange.body()
    service = exchange.service
    service.quotas.stored()
    found = await service.in_thread(_bulk, exchange, form, body)
    with service.quotas.room(found.new):
        accepted, refused = await exchange.commit(found.change) if found.rows else (0, [])
    errors = [*found.rejects, *(one._replace(row=found.rows[one.row]) for one in refused)]
    errors.sort(key=lambda one: one.row)
    document = {
        "accepted": accepted,
        "rejected": len(errors),
        "errors": [
            {"row": one.row, "id": one.id, "field": one.field or None, "reason": one.reason[:2000]}
            for one in errors[:_MOST_ERRORS]
        ],
        "sequence": service.engine.sequence,
    }
    return answered(document)


def _records(form: str, body: bytes) -> Iterator[tuple[int, Any]]:
    """The records of a bulk; a problem in place of one that cannot be read."""
    if form == bodies.ARROW:
        yield from enumerate(arrow.records(arrow.read_table(body)))
        return
    for row, text in enumerate(bodies.Lines(body).texts):
        try:
            yield row, bodies.json_object(text)
        except Problem as problem:
            yield row, problem


class _Bulk(NamedTuple):
    """The change that a bulk asks for, the rows of its records, what was refused before, and how many ids are new."""

    change: PutSubscriptions
    rows: list[int]
    rejects: list[Reject]
    new: int


def _bulk(exchange: Exchange, form: str, body: bytes) -> _Bulk:
    """Check the records of a bulk."""
    records: list[dict[str, Any]] = []
    routes: list[tuple[SubscriptionId, Route]] = []
    rows: list[int] = []
    rejects: list[Reject] = []
    for row, record in _records(form, body):
        try:
            if isinstance(record, Problem):
                raise record
            own, route = _checked(exchange, record)
            records.append(own)
            routes.append((own["id"], route))
            rows.append(row)
        except Problem as problem:
            rejects.append(Reject(row, None, str(problem.more.get("field") or ""), problem.detail))
    service = exchange.service
    put_all = service.transactions.put_all(records)
    change = PutSubscriptions(service.directory, service.fences.areas, service.transactions, put_all, routes)
    new = {id for id, _ in routes if not service.transactions.has(id)} if service.quotas.counts_subscriptions else ()
    return _Bulk(change, rows, rejects, len(new))


def _checked(exchange: Exchange, record: dict[str, Any]) -> tuple[dict[str, Any], Route]:
    """The part of a record that the engine keeps, and the route."""
    record = {name: value for name, value in record.items() if value is not None}
    bodies.fields(record, "id")
    id = record_id(record["id"])
    only(record, _FIELDS | {"id", "sequence"}, "subscription")
    own, route = _engine_record(id, record), _route(exchange, record)
    service = exchange.service
    if not math.isinf(service.limits.subscription_cost):
        with suppress(RecordError):  # the change refuses it, with the reason
            require_cheap(price(service.transactions.put(own).parsed), service.limits)
    return own, route


_TAKES: Final = {"application/json": "Subscription"}
CALLS: Final = (
    Call(
        "GET", PATH, page, READ, "Subscriptions in the order of their ids",
        (
            Option("after", "the id before the first one"),
            LIMIT,
            Option("search", "a text in the id or in the condition; letters A to Z in either case"),
            Option("destination", "the id of the destination that they name"),
        ),
        gives="Subscriptions", problems=(400, 404, 422),
    ),
    Call(
        "POST", PATH, bulk, SUBSCRIBE, "Add or replace many subscriptions; one bad record costs itself alone",
        takes={"application/x-ndjson": "Lines", "application/vnd.apache.arrow.stream": "Arrow"},
        gives="Report", problems=(400, 409, 413, 415, 422, 429, 507),
    ),
    Call("GET", f"{PATH}/{{id}}", get, READ, "A subscription", gives="Subscription", problems=(404, 422)),
    Call(
        "PUT", f"{PATH}/{{id}}", put, SUBSCRIBE, "Add or replace a subscription", (IF_MATCH, IF_NONE), _TAKES,
        "Changed", problems=(400, 409, 412, 413, 415, 422, 429, 507),
    ),
    Call(
        "PATCH", f"{PATH}/{{id}}", patch, SUBSCRIBE, "Change members of a subscription (a JSON merge patch)",
        (IF_MATCH,), {"application/merge-patch+json": "Subscription", "application/json": "Subscription"},
        "Changed", problems=(400, 404, 409, 412, 413, 415, 422, 429, 507),
    ),
    Call(
        "DELETE", f"{PATH}/{{id}}", delete, SUBSCRIBE, "Remove a subscription", (IF_MATCH,), status=204,
        problems=(404, 412, 422, 507),
    ),
)  # fmt: skip
