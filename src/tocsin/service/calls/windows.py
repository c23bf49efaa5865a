"""Windows, and the messages that are pushed into them. `interests` has the calls of their subscriptions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from tocsin.service import arrow, bodies
from tocsin.service.api import IF_MATCH, IF_NONE, LIMIT, Call, Exchange, Option, answered, empty, named_page
from tocsin.service.calls.events import given_key, in_progress, units_of
from tocsin.service.limits import Limits
from tocsin.service.names import checked_name, integral, only, present
from tocsin.service.principals import OPERATE, PUBLISH, READ, SUBSCRIBE
from tocsin.service.problems import Problem, invalid, partly, refusal
from tocsin.service.units import Key, Unit, digest_of
from tocsin.service.windows.hosted import Hosted
from tocsin.service.windows.registry import PutWindow, RemoveWindow
from tocsin.window import Window
from tocsin.window.saving import options_of

PATH: Final = "/v1/windows"
_OPTIONS: Final = ("size", "time", "bounds", "weights", "text", "term_frequency")
_SHOWN: Final = frozenset(("name", "messages", "next", "subscriptions"))
_FORMS: Final = frozenset((bodies.JSON, bodies.LINES, bodies.ARROW))
_MOST_ERRORS: Final = 1000


def _name(exchange: Exchange) -> str:
    return checked_name(exchange.part("name"), "window")


def window_of(exchange: Exchange) -> Hosted:
    """The window of a path; raises a `Problem`."""
    return exchange.service.windows.of(_name(exchange))


def document_of(exchange: Exchange, one: Hosted) -> dict[str, Any]:
    """A window as the document that a client gets. Operators do not see its words."""
    window = one.window
    options = {name: value for name, value in options_of(window).items() if name in _OPTIONS and value is not None}
    if not exchange.principal.scopes.intersection((READ, SUBSCRIBE)):
        options.pop("weights")
    counts = {"messages": window.held, "next": window.stats.messages, "subscriptions": len(one.interests)}
    return {"name": one.name, **options, **counts}


async def get(exchange: Exchange) -> Response:
    found = window_of(exchange)
    return answered(document_of(exchange, found), headers={"ETag": f'"{found.number}"'})


async def put(exchange: Exchange) -> Response:
    name, guard, service = _name(exchange), exchange.guard, exchange.service
    record = {word: value for word, value in (await exchange.document()).items() if word not in _SHOWN}
    only(record, frozenset(_OPTIONS), "window")
    record = present(record)
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
    size = integral(record.get("size"))
    if isinstance(size, int | float) and size > limits.window_messages:
        raise invalid(f"size is {size:,}; {limits.window_messages:,g} messages are allowed", field="size")
    weights = record.get("weights")
    if weights is not None and not isinstance(weights, Mapping):
        raise invalid("weights is an object with a number for each word", field="weights")
    if not isinstance(record.get("text", ""), str):
        raise invalid("text says how texts become words, such as 'english stem'", field="text")
    return options_of(Window(**{**record, "size": size}))


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


# Messages


async def messages(exchange: Exchange) -> Response:
    service, found = exchange.service, window_of(exchange)
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
        try:
            with in_progress(exchange, unit.key):
                reports.append(await asyncio.wrap_future(found.push(unit, is_told=is_told)))
        except Exception as error:
            if len(units) == 1:
                raise
            stored = sum(report["accepted"] + report["rejected"] for report in reports) + _stored(error)
            if not stored:
                raise
            raise partly(error, stored, has_key=unit.key is not None) from error
    report = _report(reports, found)
    if form == bodies.JSON and report["errors"]:
        raise invalid(report["errors"][0]["reason"], field=report["errors"][0]["field"])
    return _repeated(reports, report)


def _stored(error: Exception) -> int:
    """How many messages a window has, although their request failed."""
    return int(error.more.get("stored", 0)) if isinstance(error, Problem) else 0


def _route(one: Hosted) -> str:
    return f"windows/{one.number}"


def _one(body: bytes, key: Key | None) -> Unit:
    """A single message."""
    lines = bodies.Lines(bodies.one_line(body).encode())
    own = None if key is None else key._replace(digest=digest_of(body))
    return Unit("", [lines.texts()[0].decode()], chunk=lines.chunk(0, 1), key=own)


def _report(reports: Sequence[Mapping[str, Any]], found: Hosted) -> dict[str, Any]:
    """What became of the messages of a request."""
    summed = {word: sum(one[word] for one in reports) for word in ("accepted", "rejected", "changes", "deliveries")}
    errors, first = [], 0
    for one in reports:
        errors += [refusal(first + row, field, reason) for row, field, reason in one["errors"]]
        first += one["accepted"] + one["rejected"]
    following = reports[-1]["messages"] if reports else found.window.stats.messages
    return {**summed, **_suppressed(*reports), "next": following, "errors": errors[:_MOST_ERRORS]}


def _suppressed(*reports: Mapping[str, Any]) -> dict[str, int]:
    """How many changes were held back, unless there are none."""
    count = sum(one.get("suppressed", 0) for one in reports)
    return {"suppressed": count} if count else {}


def _repeated(reports: Sequence[Mapping[str, Any]], document: Mapping[str, Any]) -> Response:
    """The answer, which says if the same request came before."""
    is_repeated = bool(reports) and all(one.get("is_repeated") for one in reports)
    return answered(document, 202, {"Idempotent-Replayed": "true"} if is_repeated else None)


async def advance(exchange: Exchange) -> Response:
    found = window_of(exchange)
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
    counts = {word: report[word] for word in ("changes", "deliveries")}
    return _repeated([report], counts | _suppressed(report))


_KEY: Final = Option("Idempotency-Key", "makes a retry harmless for 24 hours", place="header")
CHANGED: Final = (400, 404, 409, 413, 415, 422, 429, 503, 507)
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
        tells=("ETag",),
    ),
    Call(
        "PUT", f"{PATH}/{{name}}", put, SUBSCRIBE, "Make a window; its options do not change", (IF_MATCH, IF_NONE),
        {"application/json": "Window"}, "Window", problems=(400, 409, 412, 413, 415, 422, 429, 503, 507),
        tells=("ETag",),
    ),
    Call(
        "DELETE", f"{PATH}/{{name}}", delete, SUBSCRIBE, "Delete a window with its messages and subscriptions",
        (IF_MATCH,), status=204, problems=(404, 412, 422, 503, 507),
    ),
    Call(
        "POST", f"{PATH}/{{name}}/messages", messages, PUBLISH,
        "Push messages: answered once they, and the deliveries of their changes, are durable",
        (_KEY, Option("changes", "false: no changes are told, as for a window that is filled", {"type": "boolean"})),
        {"application/json": "Message", "application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow"},
        "Pushed", 202, (400, 404, 408, 409, 413, 415, 422, 429, 503, 507), tells=("Idempotent-Replayed",),
    ),
    Call(
        "POST", f"{PATH}/{{name}}/advance", advance, PUBLISH, "Let time pass in a window without a message",
        (_KEY,), {"application/json": "Advance"}, "Advanced", 202, CHANGED,
        tells=("Idempotent-Replayed",),
    ),
)  # fmt: skip
