"""Destinations: where matches are delivered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from tocsin.errors import MissingExtra
from tocsin.service.api import IF_MATCH, LIMIT, Call, Exchange, Option, answered, empty, named_page
from tocsin.service.calls.subscriptions import merged
from tocsin.service.changes import Guard, PutDestination, RemoveDestination
from tocsin.service.deliver.changes import PutOutlet
from tocsin.service.deliver.documents import SHOWN
from tocsin.service.deliver.kinds import checked_document
from tocsin.service.deliver.protocols import Sending
from tocsin.service.deliver.registry import state_of
from tocsin.service.deliver.templates.renderer import TemplateError
from tocsin.service.deliver.templates.shape import TEMPLATE, stored_template
from tocsin.service.directory import Destination
from tocsin.service.names import checked_name
from tocsin.service.principals import ADMIN, OPERATE, READ, SUBSCRIBE
from tocsin.service.problems import invalid
from tocsin.service.times import time_text

PATH: Final = "/v1/destinations"


def document_of(exchange: Exchange, one: Destination) -> dict[str, Any]:
    """A destination as the document that a client gets. Operators see no options: addresses may be among them."""
    is_operator = not exchange.principal.scopes.intersection((READ, SUBSCRIBE))
    return {
        "id": one.id,
        "kind": one.kind,
        **({} if is_operator else one.options),
        "epoch": exchange.service.directory.epoch(one),
        "newest": one.newest,
        "acknowledged": one.acknowledged,
        "earliest": one.earliest,
        "subscriptions": one.subscriptions + exchange.service.windows.uses(one.number),
        **_health_of(exchange, one, is_operator=is_operator),
    }


def _health_of(exchange: Exchange, one: Destination, *, is_operator: bool) -> dict[str, Any]:
    """How a destination does to which the service sends. The reason may quote what the endpoint answered."""
    found = exchange.service.outlets.of(one)
    if found is None:
        return {}
    health = found.health
    document: dict[str, Any] = {"state": state_of(health), "waiting": found.waiting}
    if health.failures and not is_operator:
        document["reason"] = health.reason
    if found.template_error and not is_operator:
        document["template_error"] = found.template_error
    times = {"failing_since": health.since, "disabled_at": health.disabled, "next_try": found.next_try}
    return document | {name: time_text(moment) for name, moment in times.items() if moment is not None}


async def get(exchange: Exchange) -> Response:
    found = exchange.service.destination(exchange.principal, exchange.part("id"))
    return answered(document_of(exchange, found), headers={"ETag": found.etag})


async def put(exchange: Exchange) -> Response:
    name = checked_name(exchange.part("id"), "destination")
    return await _put(exchange, name, await exchange.document(), exchange.guard)


async def _put(exchange: Exchange, name: str, record: dict[str, Any], guard: Guard) -> Response:
    record = {field: value for field, value in record.items() if field not in SHOWN}
    kind, options, secret, drops_secret = checked_document(record, is_admin=ADMIN in exchange.principal.scopes)
    _require_other(exchange, name, options.get("failures_to"))
    service = exchange.service
    if (template := stored_template(options)) is not None:
        await require_parsed(exchange, template)
    change = PutDestination(service.directory, exchange.principal.tenant, name, kind.name, options, guard)
    if isinstance(kind, Sending):
        put_outlet = PutOutlet(change, service.outlets, kind, secret, drops_secret)
        is_new, target, made = await exchange.commit(put_outlet)
        service.senders.changed(target)
        secrets = {} if made is None or kind.secret is None else {kind.secret: made}
    else:
        is_new, target = await exchange.commit(change)
        secrets = {}
    return answered(document_of(exchange, target) | secrets, 201 if is_new else 200, {"ETag": target.etag})


async def require_parsed(exchange: Exchange, template: Mapping[str, Any]) -> None:
    """Raise a `Problem` if a template cannot be parsed, or this server renders none."""
    try:
        await exchange.service.senders.trials.check(template)
    except TemplateError as error:
        place = {name: value for name, value in (("part", error.part), ("line", error.line)) if value is not None}
        raise invalid(f"template cannot be used: {error}", field=TEMPLATE, place=place) from None
    except MissingExtra as error:
        raise invalid(f"this server renders no templates: {error}", field=TEMPLATE) from None


def _require_other(exchange: Exchange, name: str, other: str | None) -> None:
    if other is not None and (
        other == name or (exchange.principal.tenant, other) not in exchange.service.directory.named
    ):
        raise invalid("failures_to is the id of another destination, which exists", field="failures_to")


async def patch(exchange: Exchange) -> Response:
    found = exchange.service.destination(exchange.principal, exchange.part("id"))
    exchange.guard.check(found.etag)
    guard = Guard(frozenset((found.etag,)))
    document = await exchange.document()
    outlet = exchange.service.outlets.of(found)
    member = None if outlet is None else outlet.kind.secret
    record = merged({"kind": found.kind, **found.options}, document)
    if member is not None and member in document:  # null for no secret
        record[member] = document[member]
    return await _put(exchange, found.id, record, guard)


async def delete(exchange: Exchange) -> Response:
    service = exchange.service
    found = service.destination(exchange.principal, exchange.part("id"))
    with service.windows.leaving(found):
        service.hub.deleted(await exchange.commit(RemoveDestination(service.directory, found, exchange.guard)))
    return empty()


async def page(exchange: Exchange) -> Response:
    named, tenant = exchange.service.directory.named, exchange.principal.tenant

    def document(id: str) -> dict[str, Any] | None:
        found = named.get((tenant, id))
        return None if found is None else document_of(exchange, found)

    return named_page(exchange, "destinations", [id for owner, id in list(named) if owner == tenant], document)


_TAKES: Final = {"application/json": "Destination"}
CALLS: Final = (
    Call(
        "GET", PATH, page, READ, "Destinations in the order of their ids",
        (
            Option("after", "the id before the first one"),
            LIMIT,
        ),
        gives="Destinations", problems=(400,), also=(OPERATE,),
    ),
    Call(
        "GET", f"{PATH}/{{id}}", get, READ, "A destination, with its cursor", gives="Destination", problems=(404,),
        also=(OPERATE,), tells=("ETag",),
    ),
    Call(
        "PUT", f"{PATH}/{{id}}", put, SUBSCRIBE, "Make a destination, or change its options", (IF_MATCH,), _TAKES,
        "Destination", problems=(400, 409, 412, 413, 415, 422, 507), tells=("ETag",),
    ),
    Call(
        "PATCH", f"{PATH}/{{id}}", patch, SUBSCRIBE, "Change options of a destination (a JSON merge patch)",
        (IF_MATCH,), _TAKES, "Destination", problems=(400, 404, 409, 412, 413, 415, 422, 507), tells=("ETag",),
    ),
    Call(
        "DELETE", f"{PATH}/{{id}}", delete, SUBSCRIBE, "Delete a destination that no subscription names",
        (IF_MATCH,), status=204, problems=(404, 409, 412, 507),
    ),
)  # fmt: skip
