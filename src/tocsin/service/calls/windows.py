"""Windows: the best recent messages of each subscription, and their changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from tocsin.errors import UnknownSubscription
from tocsin.service import arrow, bodies
from tocsin.service.api import IF_MATCH, IF_NONE, LIMIT, MOST_PAGE, Call, Exchange, Option, answered, empty, named_page
from tocsin.service.calls.events import given_key, in_progress, units_of
from tocsin.service.directory import Destination
from tocsin.service.limits import Limits
from tocsin.service.names import checked_name, only
from tocsin.service.principals import OPERATE, PUBLISH, READ, SUBSCRIBE
from tocsin.service.problems import invalid, unknown
from tocsin.service.quotas import require_cheap
from tocsin.service.units import Key, Unit, digest_of
from tocsin.service.windows.batches import Interest
from tocsin.service.windows.hosted import Hosted
from tocsin.service.windows.registry import PutWindow, RemoveWindow
from tocsin.window import Window
from tocsin.window.saving import options_of

PATH: Final = "/v1/windows"
_OPTIONS: Final = ("size", "time", "bounds", "weights", "text")
_SHOWN: Final = frozenset(("name", "messages", "next", "subscriptions"))
_OWN: Final = ("words", "text", "location", "k", "alpha")
_FORMS: Final = frozenset((bodies.JSON, bodies.LINES, bodies.ARROW))
_MOST_ERRORS: Final = 1000
_K: Final = 100
"""So many messages of a list cost as much as a word."""


def _name(exchange: Exchange) -> str:
    return checked_name(exchange.part("name"), "window")


def _window(exchange: Exchange) -> Hosted:
    return exchange.service.windows.of(_name(exchange))


def _id(exchange: Exchange) -> str:
    return checked_name(exchange.part("id"), "subscription")


def document_of(exchange: Exchange, one: Hosted) -> dict[str, Any]:
    """A window as the document that a client gets. Operators do not see its words."""
    window = one.window
    options = {name: value for name, value in options_of(window).items() if name in _OPTIONS and value is not None}
    if not exchange.principal.scopes.intersection((READ, SUBSCRIBE)):
        options.pop("weights")
    counts = {"messages": window.held, "next": window.stats.messages, "subscriptions": len(window)}
    return {"name": one.name, **options, **counts}


async def get(exchange: Exchange) -> Response:
    found = _window(exchange)
    return answered(document_of(exchange, found), headers={"ETag": f'"{found.number}"'})


async def put(exchange: Exchange) -> Response:
    name, guard, service = _name(exchange), exchange.guard, exchange.service
    record = {word: value for word, value in (await exchange.document()).items() if word not in _SHOWN}
    only(record, frozenset(_OPTIONS), "window")
    options = await service.in_thread(_checked, record, service.limits)
    service.quotas.stored()
    async with service.windows.changing:
        if name not in service.windows.names():
            service.quotas.another("windows", len(service.windows))
        is_new, number = await exchange.commit(PutWindow(name, options, guard))
        if name not in service.windows:
            await service.in_thread(service.windows.open, number, name, options)
    document = document_of(exchange, service.windows.of(name))
    return answered(document, 201 if is_new else 200, {"ETag": f'"{number}"'})


def _checked(record: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The options of a window as they are stored."""
    bodies.fields(record, "bounds")
    size = record.get("size")
    if isinstance(size, int | float) and size > limits.window_messages:
        raise invalid(f"size is {size:,}; {limits.window_messages:,g} messages are allowed", field="size")
    weights = record.get("weights")
    if weights is not None and not isinstance(weights, Mapping):
        raise invalid("weights is an object with a number for each word", field="weights")
    if not isinstance(record.get("text", ""), str):
        raise invalid("text says how texts become words, such as 'english stem'", field="text")
    return options_of(Window(**record))


async def delete(exchange: Exchange) -> Response:
    name, guard, service = _name(exchange), exchange.guard, exchange.service
    async with service.windows.changing:
        if name in service.windows:
            await asyncio.wrap_future(service.windows.of(name).hand_over())
        number = await exchange.commit(RemoveWindow(name, guard))
        await service.in_thread(service.windows.remove, name, number)
    return empty()


async def page(exchange: Exchange) -> Response:
    windows = exchange.service.windows

    def document(name: str) -> dict[str, Any] | None:
        return document_of(exchange, windows.of(name)) if name in windows else None

    return named_page(exchange, "windows", windows.names(), document)


# Subscriptions


async def put_subscription(exchange: Exchange) -> Response:
    service, found, id = exchange.service, _window(exchange), _id(exchange)
    record = await exchange.document()
    only(record, frozenset((*_OWN, "id", "destination", "payload")), "subscription of a window")
    if record.get("id", id) != id:
        raise invalid("id is another one than in the path", field="id")
    own = {word: record[word] for word in _OWN if record.get(word) is not None}
    bodies.fields(own, "location")
    require_cheap(_cost(own), service.limits)
    target = _destination(exchange, record.get("destination"))
    payload = None if record.get("payload") is None else bodies.json_text(record["payload"])
    interest = Interest(None if target is None else target.number, payload)
    service.quotas.stored()
    with service.quotas.room(0 if id in found.window else 1), service.windows.naming(target):
        is_new = await asyncio.wrap_future(found.subscribe(id, own, interest, exchange.sender))
    return answered({"id": id}, 201 if is_new else 200)


def _destination(exchange: Exchange, name: object) -> Destination | None:
    if name is None:
        return None
    named = exchange.service.directory.named
    found = named.get((exchange.principal.tenant, name)) if isinstance(name, str) else None
    if found is None:
        raise invalid(f"there is no destination {str(name)!r:.80}; make it first", field="destination")
    return found


def _cost(record: Mapping[str, Any]) -> int:
    """The price of a subscription: a word costs 1, and so do 100 messages of its list."""
    words, text, k = record.get("words"), record.get("text"), record.get("k")
    count = len(words) if isinstance(words, Sequence) and not isinstance(words, str) else 0
    count += len(text.split()) if isinstance(text, str) else 0
    return count + (k // _K if isinstance(k, int) else 0)


async def get_subscription(exchange: Exchange) -> Response:
    found, id = _window(exchange), _id(exchange)
    row = await found.readers.read(lambda connection: found.row(connection, id))
    if row is None:
        raise unknown("subscription", id)
    return answered(_interest(exchange, row))


def _interest(exchange: Exchange, row: dict[str, Any]) -> dict[str, Any]:
    """A subscription as the document that a client gets."""
    target = exchange.service.directory.destinations.get(row["destination"] or 0)
    row["destination"] = None if target is None else target.id
    return {word: value for word, value in row.items() if value is not None}


async def subscriptions(exchange: Exchange) -> Response:
    found, after = _window(exchange), exchange.asked.text("after")
    limit = exchange.asked.number("limit", 100, 1, MOST_PAGE)
    rows = await found.readers.read(lambda connection: found.rows(connection, after, limit + 1))
    document: dict[str, Any] = {"subscriptions": [_interest(exchange, row) for row in rows[:limit]]}
    if len(rows) > limit:
        document["next"] = rows[limit - 1]["id"]
    return answered(document)


async def delete_subscription(exchange: Exchange) -> Response:
    found, id = _window(exchange), _id(exchange)
    await asyncio.wrap_future(found.unsubscribe(id, exchange.sender))
    return empty()


async def results(exchange: Exchange) -> Response:
    found, id = _window(exchange), _id(exchange)
    try:
        best = await exchange.service.in_thread(found.window.results, id)
    except UnknownSubscription:
        raise unknown("subscription", id) from None
    return answered({"results": [{"message": message, "score": score} for message, score in best]})


# Messages


async def messages(exchange: Exchange) -> Response:
    service, found = exchange.service, _window(exchange)
    form = bodies.media_type(exchange.request, _FORMS)
    service.quotas.stored()
    is_told, given = exchange.asked.flag("changes", default=True), given_key(exchange, _route(found))
    body = await exchange.body()
    if form == bodies.JSON:
        bodies.json_object(body)
        units = [_one(body, given)]
    else:
        units = await service.in_thread(units_of, exchange, form, body, given, None)
    service.quotas.events(sum(len(unit.texts) for unit in units))
    reports = []
    for unit in units:
        with in_progress(exchange, unit.key):
            reports.append(await asyncio.wrap_future(found.push(unit, is_told=is_told)))
    report = _report(reports, found)
    if form == bodies.JSON and report["errors"]:
        raise invalid(report["errors"][0]["reason"], field=report["errors"][0]["field"])
    return _repeated(reports, report)


def _route(one: Hosted) -> str:
    return f"windows/{one.number}"


def _one(body: bytes, key: Key | None) -> Unit:
    """A single message."""
    lines = bodies.Lines(bodies.one_line(body).encode())
    own = None if key is None else key._replace(digest=digest_of(body))
    return Unit("", [lines.texts[0].decode()], chunk=lines.chunk(0, 1), key=own)


def _report(reports: Sequence[Mapping[str, Any]], found: Hosted) -> dict[str, Any]:
    """What became of the messages of a request."""
    summed = {word: sum(one[word] for one in reports) for word in ("accepted", "rejected", "changes", "deliveries")}
    errors, first = [], 0
    for one in reports:
        errors += [
            {"row": first + row, "field": field, "reason": reason[:2000]} for row, field, reason in one["errors"]
        ]
        first += one["accepted"] + one["rejected"]
    following = reports[-1]["messages"] if reports else found.window.stats.messages
    return {**summed, "next": following, "errors": errors[:_MOST_ERRORS]}


def _repeated(reports: Sequence[Mapping[str, Any]], document: Mapping[str, Any]) -> Response:
    """The answer, which says if the same request came before."""
    is_repeated = bool(reports) and all(one.get("is_repeated") for one in reports)
    return answered(document, 202, {"Idempotent-Replayed": "true"} if is_repeated else None)


async def advance(exchange: Exchange) -> Response:
    found = _window(exchange)
    key = given_key(exchange, f"{_route(found)}/advance")
    body = await exchange.body()
    bodies.media_type(exchange.request, frozenset((bodies.JSON,)))
    record = bodies.json_object(body)
    only(record, frozenset(("time",)), "request of this kind")
    bodies.fields(record, "time")
    exchange.service.quotas.stored()
    key = None if key is None else key._replace(digest=digest_of(body))
    with in_progress(exchange, key):
        report = await asyncio.wrap_future(found.advance(record["time"], key))
    return _repeated([report], {word: report[word] for word in ("changes", "deliveries")})


_KEY: Final = Option("Idempotency-Key", "makes a retry harmless for 24 hours", place="header")
_CHANGED: Final = (400, 404, 409, 413, 415, 422, 429, 503, 507)
CALLS: Final = (
    Call(
        "GET", PATH, page, READ, "Windows in the order of their names",
        (
            Option("after", "the name before the first one"),
            LIMIT,
        ),
        gives="Windows", problems=(400,), also=(OPERATE,),
    ),
    Call(
        "GET", f"{PATH}/{{name}}", get, READ, "A window", gives="Window", problems=(404, 422, 503), also=(OPERATE,),
    ),
    Call(
        "PUT", f"{PATH}/{{name}}", put, SUBSCRIBE, "Make a window; its options do not change", (IF_MATCH, IF_NONE),
        {"application/json": "Window"}, "Window", problems=(400, 409, 412, 413, 415, 422, 429, 503, 507),
    ),
    Call(
        "DELETE", f"{PATH}/{{name}}", delete, SUBSCRIBE, "Delete a window with its messages and subscriptions",
        (IF_MATCH,), status=204, problems=(404, 412, 422, 503, 507),
    ),
    Call(
        "GET", f"{PATH}/{{name}}/subscriptions", subscriptions, READ,
        "Subscriptions of a window in the order of their ids", (Option("after", "the id before the first one"), LIMIT),
        gives="Interests", problems=(400, 404, 422, 503),
    ),
    Call(
        "GET", f"{PATH}/{{name}}/subscriptions/{{id}}", get_subscription, READ, "A subscription of a window",
        gives="Interest", problems=(404, 422, 503),
    ),
    Call(
        "PUT", f"{PATH}/{{name}}/subscriptions/{{id}}", put_subscription, SUBSCRIBE,
        "Add or replace a subscription of a window", takes={"application/json": "Interest"}, gives="Named",
        problems=_CHANGED,
    ),
    Call(
        "DELETE", f"{PATH}/{{name}}/subscriptions/{{id}}", delete_subscription, SUBSCRIBE,
        "Remove a subscription of a window", status=204, problems=(404, 422, 503, 507),
    ),
    Call(
        "GET", f"{PATH}/{{name}}/results/{{id}}", results, READ, "The best messages of a subscription, best first",
        gives="Results", problems=(404, 422, 503),
    ),
    Call(
        "POST", f"{PATH}/{{name}}/messages", messages, PUBLISH,
        "Push messages: answered once they, and the deliveries of their changes, are durable",
        (_KEY, Option("changes", "false: no changes are told, as for a window that is filled", {"type": "boolean"})),
        {"application/json": "Message", "application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow"},
        "Pushed", 202, (400, 404, 408, 409, 413, 415, 422, 429, 503, 507),
    ),
    Call(
        "POST", f"{PATH}/{{name}}/advance", advance, PUBLISH, "Let time pass in a window without a message",
        (_KEY,), {"application/json": "Advance"}, "Advanced", 202, _CHANGED,
    ),
)  # fmt: skip
