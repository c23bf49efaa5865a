"""The audit log of a tenant."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from tocsin.service.api import Call, Exchange, Option, answered
from tocsin.service.audit import AT_ONCE, page
from tocsin.service.names import MOST_NUMBER
from tocsin.service.principals import ADMIN


async def log(exchange: Exchange) -> Response:
    limit, after = exchange.asked.number("limit", 100, 1, AT_ONCE), exchange.asked.number("after", 0, 0, MOST_NUMBER)
    found, has_more = await exchange.service.readers.read(lambda one: page(one, after, limit))
    document: dict[str, Any] = {"records": found}
    if has_more:
        document["next"] = found[-1]["number"]
    return answered(document)


CALLS: Final = (
    Call(
        "GET", "/v1/audit", log, ADMIN, "Changes of subscriptions and destinations: who made them, when and from where",
        (
            Option("after", "the number before the first one", {"type": "integer", "minimum": 0}),
            Option("limit", "how many", {"type": "integer", "minimum": 1, "maximum": AT_ONCE, "default": 100}),
        ),
        gives="Audit", problems=(400,),
    ),
)  # fmt: skip
