"""Subscriptions: one by one, in pages, and in bulk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from tocsin.engine.durable.changes import Put
from tocsin.errors import RecordError, TocsinError
from tocsin.language import parse_any, parse_json
from tocsin.language.advice import advice_on
from tocsin.language.dialects import DIALECTS, as_given, tagged
from tocsin.model.expression import Expression
from tocsin.model.subscription import Reject, SubscriptionId
from tocsin.model.values import size_of
from tocsin.records import Parsed
from tocsin.service import bodies, pages
from tocsin.service.api import (
    IF_CHANGED,
    IF_MATCH,
    IF_NONE,
    LIMIT,
    MOST_PAGE,
    Call,
    Exchange,
    Option,
    answered,
    empty,
    versioned,
)
from tocsin.service.calls import bulks
from tocsin.service.calls.matching import only_of
from tocsin.service.calls.routing import FIELDS, members_of, route_of
from tocsin.service.changes import Guard, PutSubscription, PutSubscriptions, RemoveSubscription
from tocsin.service.directory import Route
from tocsin.service.names import only, record_id, subscription_id
from tocsin.service.pricing import price_beyond, tree_of
from tocsin.service.principals import READ, SUBSCRIBE
from tocsin.service.problems import Problem, conflict, invalid, unknown
from tocsin.service.quotas import require_cheap, require_small, too_expensive
from tocsin.service.service import Service

PATH: Final = "/v1/subscriptions"
_FIELDS: Final = FIELDS | {"fence", "where", "language", "score", "payload", "weights"}
CQL2_FORMS: Final = ("cql2-text", "cql2-json")
_TRIES: Final = 5
_FLAG: Final = {"type": "boolean", "default": True}
_ROW: Final = """
SELECT s.id, s.condition, s.score, s.payload, s.weights, s.sequence,
    r.destination, r.throttle_s, r.paused_until, r.expires_at, r.fence
FROM subscriptions AS s LEFT JOIN service_routes AS r ON r.id = s.id
"""


def _route(exchange: Exchange, record: Mapping[str, Any]) -> Route:
    """Where and when a subscription's matches go."""
    route, fence = route_of(exchange, record), record.get("fence")
    if fence is None:
        return route
    number = exchange.service.fences.number_of(fence)
    if route.throttle_s is not None:
        raise invalid("a subscription with a fence has no throttle_s: changes would be missing", field="throttle_s")
    return route._replace(fence=number)


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
    id, where, score, payload, weights, sequence, *columns = row
    route = Route(*columns)
    document: dict[str, Any] = {"id": id, **as_given(where), "score": score}
    for name, text in (("payload", payload), ("weights", weights)):
        if text:
            document[name] = json.loads(text)
    if (named := exchange.service.fences.name_of(route.fence)) is not None:
        document["fence"] = named
    return document | members_of(exchange, route) | {"sequence": sequence}


def _id(exchange: Exchange) -> SubscriptionId:
    return subscription_id(exchange.part("id"), exchange.service.transactions.kind)


async def _row(exchange: Exchange, id: SubscriptionId) -> tuple[Any, ...]:
    found = await exchange.service.readers.read(lambda one: one.execute(f"{_ROW} WHERE s.id = ?", (id,)).fetchone())
    if found is None:
        raise unknown("subscription", id)
    return tuple(found)


async def get(exchange: Exchange) -> Response:
    row = await _row(exchange, _id(exchange))
    return versioned(exchange, document_of(exchange, row), f'"{row[5]}"')


async def put(exchange: Exchange) -> Response:
    id, guard = _id(exchange), exchange.guard
    return await _put(exchange, id, await exchange.document(), guard)


async def _put(exchange: Exchange, id: SubscriptionId, record: dict[str, Any], guard: Guard) -> Response:
    """Check a record, and make it durable."""
    service = exchange.service
    only(record, _FIELDS | {"id", "sequence"}, "subscription")
    if not isinstance(record.get("weights"), dict | None):
        raise invalid("weights is an object with a number for each attribute", field="weights")
    if record.get("id", id) != id:
        raise invalid("id is another one than in the path", field="id")
    route, asked = _route(exchange, record), _engine_record(id, record)
    size = require_small(asked["payload"], service.limits)
    change, advice = await service.in_thread(_change, service, asked)
    service.quotas.stored()
    put_one = PutSubscription(service.directory, service.fences.areas, service.transactions, change, route, guard)
    size += size_of(change.parsed.source)
    with service.quotas.room(0 if service.transactions.has(id) else 1, size):
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
    most = service.limits.subscription_cost
    if (cost := price_beyond(change.parsed, most)) is not None:
        require_cheap(cost, service.limits)
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
    chosen, search = None, asked.text("search")
    if (only_those := only_of(exchange)) is not None:
        chosen = await service.in_thread(service.transactions.ids_after, only_those, first, pages.MOST_ROWS)
    rows, last = await service.readers.read(lambda one: pages.read(one, _ROW, first, limit, search, target, chosen))
    document: dict[str, Any] = {"subscriptions": [document_of(exchange, row) for row in rows]}
    if last is not None:
        document["next"] = str(last)
    return answered(document)


async def bulk(exchange: Exchange) -> Response:
    service, replace = exchange.service, exchange.asked.flag("replace", default=True)
    checked, rejects = await bulks.read(exchange, _FIELDS | {"id", "sequence"}, "subscription", _checked)
    rows = list(checked)
    accepted, refused = 0, list[Reject]()
    if rows:
        change = await service.in_thread(_bulk, service, [(own, route) for own, route, _ in checked.values()], replace)
        new = len({id for id, _ in change.routes if not service.transactions.has(id)})
        with service.quotas.room(new, sum(size for *_, size in checked.values())):
            accepted, refused = await exchange.commit(change)
    rejects += [one._replace(row=rows[one.row]) for one in refused]
    doubled = bulks.superseded([own["id"] for own, *_ in checked.values()]) if replace else []
    return bulks.report(accepted, rejects, doubled, sequence=service.engine.sequence)


def _bulk(service: Service, checked: Iterable[tuple[dict[str, Any], Route]], replace: bool) -> PutSubscriptions:
    """The change that a bulk asks for."""
    records, routes = zip(*checked, strict=True)
    limits = service.limits

    def check(parsed: Parsed) -> None:
        cost = price_beyond(parsed, limits.subscription_cost)
        if cost is not None:
            raise RecordError(too_expensive(cost, limits), "where")

    put_all = service.transactions.put_all(list(records), check, replace=replace)
    by_row = [(record["id"], route) for record, route in zip(records, routes, strict=True)]
    return PutSubscriptions(service.directory, service.fences.areas, service.transactions, put_all, by_row)


def _checked(exchange: Exchange, record: dict[str, Any]) -> tuple[dict[str, Any], Route, int]:
    """The part of a record of a bulk that the engine keeps, the route, and the size of payload and condition."""
    own, route = _engine_record(record_id(record["id"]), record), _route(exchange, record)
    service = exchange.service
    size, where = require_small(own["payload"], service.limits), own["where"]
    size += size_of(where if isinstance(where, str) else bodies.json_text(where, "where"))
    return own, route, size


_TAKES: Final = {"application/json": "Subscription"}
CALLS: Final = (
    Call(
        "GET", PATH, page, READ, "Subscriptions in the order of their ids",
        (
            Option("after", "the id before the first one"),
            LIMIT,
            Option("search", "a text in the id, the condition or the payload; letters A to Z in either case"),
            Option("destination", "the id of the destination that they name"),
            Option("only", "a condition that their payloads satisfy"),
        ),
        gives="Subscriptions", problems=(400, 404, 422),
    ),
    Call(
        "POST", PATH, bulk, SUBSCRIBE, "Add or replace many subscriptions; one bad record costs itself alone",
        (Option("replace", "false: the first of an id is kept, and those that exist stay", _FLAG),),
        takes=bulks.TAKES, gives="Report", problems=(400, 409, 413, 415, 422, 429, 507),
    ),
    Call(
        "GET", f"{PATH}/{{id}}", get, READ, "A subscription", (IF_CHANGED,), gives="Subscription",
        problems=(404, 422), tells=("ETag",), is_versioned=True,
    ),
    Call(
        "PUT", f"{PATH}/{{id}}", put, SUBSCRIBE, "Add or replace a subscription", (IF_MATCH, IF_NONE), _TAKES,
        "Changed", problems=(400, 409, 412, 413, 415, 422, 429, 507), tells=("ETag",),
    ),
    Call(
        "PATCH", f"{PATH}/{{id}}", patch, SUBSCRIBE, "Change members of a subscription (a JSON merge patch)",
        (IF_MATCH,), {"application/merge-patch+json": "Subscription", "application/json": "Subscription"},
        "Changed", problems=(400, 404, 409, 412, 413, 415, 422, 429, 507), tells=("ETag",),
    ),
    Call(
        "DELETE", f"{PATH}/{{id}}", delete, SUBSCRIBE, "Remove a subscription", (IF_MATCH,), status=204,
        problems=(404, 412, 422, 507),
    ),
)  # fmt: skip
