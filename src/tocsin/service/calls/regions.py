"""The regions of subscriptions, for maps."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from starlette.responses import Response

from tocsin.errors import TocsinError
from tocsin.language.dialects import read_any
from tocsin.model.subscription import SubscriptionId
from tocsin.model.values import Bounds
from tocsin.service import pages
from tocsin.service.api import Call, Exchange, Option, raw
from tocsin.service.names import subscription_id
from tocsin.service.principals import READ
from tocsin.service.problems import Problem
from tocsin.service.regions import may_have_regions, meet, regions_of
from tocsin.store import Filling

_MOST_PAGE: Final = 10_000
_AT_ONCE: Final = 1000
_MOST_ROWS: Final = 20_000
"""Subscriptions that a page looks at."""
_text: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
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
    found, filling = list[str](), Filling(limit)
    for _ in range(_MOST_ROWS // _AT_ONCE):
        read = partial(pages.read, select=_ROW, after=after, limit=_AT_ONCE, destination=target)
        rows, after = await service.readers.read(read)
        for id, texts in await service.in_thread(_regions, exchange, rows, box):
            found += texts
            filling.add(texts, len(texts))
            if filling.is_full and id != rows[-1][0]:
                after = id
                break
        if after is None or filling.is_full:
            break
    more = "" if after is None else f',"next":{json.dumps(str(after), ensure_ascii=False)}'
    return raw(f'{{"regions":[{",".join(found)}]{more}}}'.encode("utf-8", "backslashreplace"))


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


def _regions(
    exchange: Exchange, rows: Sequence[pages.Row], box: Bounds | None
) -> list[tuple[SubscriptionId, list[str]]]:
    """The regions of some subscriptions that meet a box, as JSON."""
    destinations, found = exchange.service.directory.destinations, list[tuple[SubscriptionId, list[str]]]()
    for id, where, number in rows:
        if not may_have_regions(where):
            continue
        target = destinations.get(number)
        own: dict[str, Any] = {"id": id} if target is None else {"id": id, "destination": target.id}
        try:
            regions = list(regions_of(read_any(where).tree))
        except TocsinError:  # written by another release: it is told when the subscription is read
            continue
        texts = [_text(own | one.document()) for one in regions if box is None or meet(one.bounds, box)]
        found.append((id, texts))
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
