"""Fences: objects of published events that enter, stay in and leave subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from starlette.responses import Response

from tocsin.engine import Engine
from tocsin.language import to_text
from tocsin.monitor import Fences
from tocsin.service import bodies
from tocsin.service.api import IF_MATCH, IF_NONE, LIMIT, Call, Exchange, Option, answered, empty, named_page
from tocsin.service.calls.subscriptions import parsed
from tocsin.service.fences.hosted import HostedFence, PutFence, RemoveFence
from tocsin.service.limits import Limits
from tocsin.service.names import checked_name, integral, only, present, whole
from tocsin.service.principals import OPERATE, READ, SUBSCRIBE
from tocsin.service.problems import invalid

PATH: Final = "/v1/fences"
_OPTIONS: Final = (
    "key", "time", "path", "enter_after", "exit_after", "dwell", "inside", "most_objects", "forget_after", "time_unit",
    "no_places", "accuracy",
)  # fmt: skip
_SHOWN: Final = frozenset(("name", "objects", "subscriptions"))


def _name(exchange: Exchange) -> str:
    return checked_name(exchange.part("name"), "fence")


def document_of(exchange: Exchange, one: HostedFence) -> dict[str, Any]:
    """A fence as the document that a client gets. Operators do not see its condition."""
    options = {word: value for word, value in one.options.items() if value is not None}
    if not exchange.principal.scopes.intersection((READ, SUBSCRIBE)):
        options.pop("where", None)
    counts = {"objects": len(one.fences), "subscriptions": exchange.service.fences.areas.count(one.number)}
    return {"name": one.name, **options, **counts}


async def get(exchange: Exchange) -> Response:
    found = exchange.service.fences.of(_name(exchange))
    return answered(document_of(exchange, found), headers={"ETag": f'"{found.number}"'})


async def put(exchange: Exchange) -> Response:
    name, guard, service = _name(exchange), exchange.guard, exchange.service
    record = {word: value for word, value in (await exchange.document()).items() if word not in _SHOWN}
    only(record, frozenset((*_OPTIONS, "where")), "fence")
    record = present(record)
    options = await service.in_thread(_checked, record, service.limits)
    service.quotas.stored()
    if name not in service.fences.named:
        service.quotas.another("fences", len(service.fences.named))
    is_new, made = await exchange.commit(PutFence(service.fences, name, options, guard))
    return answered(document_of(exchange, made), 201 if is_new else 200, {"ETag": f'"{made.number}"'})


def _checked(record: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The options of a fence as they are stored."""
    bodies.fields(record, "key")
    given = {word: value for word, value in record.items() if word != "where" and value is not None}
    given |= {word: integral(given[word]) for word in ("enter_after", "exit_after") if word in given}
    most = int(limits.fence_objects)
    given["most_objects"] = whole(given.get("most_objects", most), "most_objects", 1, most)
    tracking = Fences(Engine(), **given)._tracking
    options = {**asdict(tracking.followed), **asdict(tracking.rules)}
    stored = {word: options[word] for word in _OPTIONS} | {"no_places": [list(one) for one in options["no_places"]]}
    where = record.get("where")
    if where is not None:
        if not isinstance(where, str | Mapping | bool):
            raise invalid("where is a condition as CQL2 text or JSON", field="where")
        stored["where"] = to_text(parsed(where))
    else:
        stored["where"] = None
    return stored


async def delete(exchange: Exchange) -> Response:
    await exchange.commit(RemoveFence(exchange.service.fences, _name(exchange), exchange.guard))
    return empty()


async def page(exchange: Exchange) -> Response:
    named = exchange.service.fences.named

    def document(name: str) -> dict[str, Any] | None:
        found = named.get(name)
        return None if found is None else document_of(exchange, found)

    return named_page(exchange, "fences", list(named), document)


CALLS: Final = (
    Call(
        "GET", PATH, page, READ, "Fences in the order of their names",
        (
            Option("after", "the name before the first one"),
            LIMIT,
        ),
        gives="Fences", problems=(400,), also=(OPERATE,),
    ),
    Call(
        "GET", f"{PATH}/{{name}}", get, READ, "A fence", gives="Fence", problems=(404, 422), also=(OPERATE,),
        tells=("ETag",),
    ),
    Call(
        "PUT", f"{PATH}/{{name}}", put, SUBSCRIBE, "Make a fence; its options do not change", (IF_MATCH, IF_NONE),
        {"application/json": "Fence"}, "Fence", problems=(400, 409, 412, 413, 415, 422, 429, 507), tells=("ETag",),
    ),
    Call(
        "DELETE", f"{PATH}/{{name}}", delete, SUBSCRIBE, "Delete a fence that no subscription names", (IF_MATCH,),
        status=204, problems=(404, 409, 412, 422, 507),
    ),
)  # fmt: skip
