"""The regions of subscriptions, for maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from starlette.responses import Response

from tocsin.errors import TocsinError
from tocsin.language.dialects import read_any
from tocsin.model.values import Bounds
from tocsin.service import pages
from tocsin.service.api import Call, Exchange, Option, answered
from tocsin.service.names import subscription_id
from tocsin.service.principals import READ
from tocsin.service.problems import Problem
from tocsin.service.regions import may_have_regions, meet, regions_of

_MOST_PAGE: Final = 10_000
_AT_ONCE: Final = 1000
_MOST_ROWS: Final = 20_000
"""Subscriptions that a page looks at."""
_ROW: Final = """
SELECT s.id, s.condition, r.destination
FROM subscriptions AS s LEFT JOIN service_routes AS r ON r.id = s.id
"""


async def page(exchange: Exchange) -> Response:
    asked, service = exchange.asked, exchange.service
    limit, text = asked.number("limit", 1000, 1, _MOST_PAGE), asked.text("after")
    after = None if text is None else subscription_id(text, service.transactions.kind)
    name, box = asked.text("destination"), _box(asked.text("box"))
    target = None if name is None else service.destination(exchange.principal, name).number
    found: list[dict[str, Any]] = []
    for _ in range(_MOST_ROWS // _AT_ONCE):
        read = partial(pages.read, select=_ROW, after=after, limit=_AT_ONCE, destination=target)
        rows, after = await service.readers.read(read)
        found += await service.in_thread(_regions, exchange, rows, box)
        if after is None or len(found) >= limit:
            break
    return answered({"regions": found} | ({} if after is None else {"next": str(after)}))


def _box(text: str | None) -> Bounds | None:
    """A box of four numbers; raises a `Problem`."""
    if text is None:
        return None
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        west = south = east = north = math.nan
    if not (all(map(math.isfinite, (west, south, east, north))) and south <= north):
        raise Problem(400, "query", "box has four numbers, with commas between: west,south,east,north")
    return west, south, east, north


def _regions(exchange: Exchange, rows: Sequence[pages.Row], box: Bounds | None) -> list[dict[str, Any]]:
    """The regions of some subscriptions that meet a box."""
    destinations, found = exchange.service.directory.destinations, list[dict[str, Any]]()
    for id, where, number in rows:
        if not may_have_regions(where):
            continue
        target = destinations.get(number)
        own: dict[str, Any] = {"id": id} if target is None else {"id": id, "destination": target.id}
        try:
            regions = list(regions_of(read_any(where).tree))
        except TocsinError:  # written by another release: it is told when the subscription is read
            continue
        found += [own | one.document() for one in regions if box is None or meet(one.bounds, box)]
    return found


CALLS: Final = (
    Call(
        "GET", "/v1/regions", page, READ, "The regions that conditions of subscriptions name, as GeoJSON, for maps",
        (
            Option("box", "west,south,east,north: only regions that meet it; west is above east across 180 degrees"),
            Option("destination", "the id of the destination that the subscriptions name"),
            Option("after", "the id of the subscription before the first one"),
            Option(
                "limit", "after how many regions the page ends, with all of its last subscription",
                {"type": "integer", "minimum": 1, "maximum": _MOST_PAGE, "default": 1000},
            ),
        ),
        gives="Regions", problems=(400, 404, 422),
    ),
)  # fmt: skip
