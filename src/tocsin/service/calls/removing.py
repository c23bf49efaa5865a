"""Removal of many subscriptions: those with some ids, or those whose payload satisfies a condition."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from tocsin.engine.only import Choice
from tocsin.model.subscription import SubscriptionId, removed_ids
from tocsin.service.api import Call, Exchange, Option, answered
from tocsin.service.calls.matching import only_of
from tocsin.service.calls.subscriptions import PATH
from tocsin.service.changes import RemoveSubscriptions
from tocsin.service.erasing import erase
from tocsin.service.names import subscription_id
from tocsin.service.principals import SUBSCRIBE
from tocsin.service.problems import invalid

_AT_ONCE: Final = 10_000
"""Subscriptions that one transaction removes. Other changes, and events, are written between two of them."""
_FLAG: Final = {"type": "boolean"}
_IDS: Final = {"type": "array", "items": {"type": "string"}}


async def remove(exchange: Exchange) -> Response:
    service, texts, only = exchange.service, exchange.asked.texts("id"), only_of(exchange)
    if bool(texts) == (only is not None):
        raise invalid("give either ids, as id=, or a condition on payloads, as only=", field="only")
    if only is None:
        choice = Choice(removed_ids(subscription_id(text, service.transactions.kind) for text in texts))
    else:
        choice = await service.in_thread(service.transactions.choice, only)
    is_dry = exchange.asked.flag("dry_run")
    removed = await (_present if is_dry else _removed)(exchange, choice)
    document: dict[str, Any] = {"removed": len(removed), "dry_run": is_dry}
    if exchange.asked.flag("erase") and not is_dry:
        document["erased"] = await erase(service, [*choice.ids, *removed])
    if only is None:
        unknown = set(choice.ids).difference(removed)
        document["unknown"] = [id for id in choice.ids if id in unknown]
    return answered(document)


async def _present(exchange: Exchange, choice: Choice) -> list[SubscriptionId]:
    return await exchange.service.in_thread(exchange.service.transactions.present, choice)


async def _removed(exchange: Exchange, choice: Choice) -> list[SubscriptionId]:
    """Remove the subscriptions of a choice, each part of them in one transaction."""
    service, removed = exchange.service, list[SubscriptionId]()
    for part in [*choice.parts(_AT_ONCE)] or [choice]:  # the record tells also of a removal that found none
        exchange.confirm()  # a token that is revoked meanwhile removes no more
        change = service.transactions.remove_all(part)
        removed += await exchange.commit(RemoveSubscriptions(service.directory, service.fences.areas, change))
    return removed


CALLS: Final = (
    Call(
        "DELETE", PATH, remove, SUBSCRIBE, "Remove many subscriptions",
        (
            Option("only", "remove the subscriptions whose payload satisfies this condition"),
            Option("id", "remove the subscription with this id; repeat it for others", _IDS),
            Option("erase", "also erase them from deliveries that are kept, and their ids from the audit log", _FLAG),
            Option("dry_run", "count only, and remove nothing", _FLAG),
        ),
        gives="Removed", problems=(400, 422, 507),
    ),
)  # fmt: skip
