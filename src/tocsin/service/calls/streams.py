"""Server-sent events: the deliveries of one destination, or of several on one stream."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from tocsin.service.api import Call, Exchange, Option
from tocsin.service.calls.destinations import PATH
from tocsin.service.directory import Destination
from tocsin.service.names import MOST_NUMBER
from tocsin.service.principals import READ
from tocsin.service.problems import Problem
from tocsin.service.streaming import Source, Stream

_MOST_DESTINATIONS: Final = 32
_POSITION: Final = re.compile(r"([0-9a-f]{1,32}\.[0-9]{1,19})-([0-9]{1,16})")


async def one(exchange: Exchange) -> Response:
    return _stream(exchange, [exchange.service.destination(exchange.principal, exchange.part("id"))])


async def several(exchange: Exchange) -> Response:
    names, listed = exchange.asked.texts("destination"), exchange.asked.text("destinations")
    if listed is not None:
        names = [*names, *listed.split(",")]
    if not names or len(names) > _MOST_DESTINATIONS or len(set(names)) < len(names) or "" in names:
        detail = f"name 1 to {_MOST_DESTINATIONS} different destinations, such as destination=a&destination=b"
        raise Problem(400, "query", detail)
    return _stream(exchange, [exchange.service.destination(exchange.principal, name) for name in names])


def _stream(exchange: Exchange, targets: Sequence[Destination]) -> Response:
    service = exchange.service
    service.quotas.streams(service.streams + service.polls)
    last = exchange.request.headers.get("last-event-id") or None
    start = exchange.asked.text("from")
    sources = _resumed(exchange, targets, last) if last else [_begun(target, start) for target in targets]
    return Stream(service, sources, lambda: exchange.allowed_s, exchange.answer_holding())


def _begun(target: Destination, start: str | None) -> Source:
    """A source from where `from` says."""
    if start in (None, "latest"):
        return Source(target, target.newest)
    if start == "earliest":
        return Source(target, target.earliest - 1)
    if start is None or not re.fullmatch(r"[1-9][0-9]{0,15}", start) or int(start) > MOST_NUMBER:
        raise Problem(400, "query", "from is earliest, latest, or the number of a delivery")
    return Source(target, int(start) - 1)


def _resumed(exchange: Exchange, targets: Sequence[Destination], last: str) -> list[Source]:
    """Sources from where the client was. A position of another history begins at what is kept."""
    positions = dict[str, int]()
    for part in last.split(","):
        found = _POSITION.fullmatch(part.strip())
        if found is None:
            raise Problem(400, "header", "Last-Event-ID is not one of this server's")
        positions[found[1]] = int(found[2])
    directory, sources = exchange.service.directory, []
    numbers = {epoch.rpartition(".")[2] for epoch in positions}
    for target in targets:
        at = positions.get(directory.epoch(target))
        if at is None and str(target.number) not in numbers and len(positions) > 0:
            sources.append(Source(target, target.earliest - 1, reason="new"))
        elif at is None:
            sources.append(Source(target, target.earliest - 1, reason="restored"))
        else:
            sources.append(Source(target, at))
    return sources


_FROM: Final = Option("from", "earliest, latest (default), or the number of the first delivery")
_NAMES: Final = {"type": "array", "items": {"type": "string"}, "maxItems": _MOST_DESTINATIONS}
_LAST: Final = Option("Last-Event-ID", "resumes after this id", place="header")
CALLS: Final = (
    Call(
        "GET", f"{PATH}/{{id}}/stream", one, READ, "The deliveries of a destination as server-sent events",
        (_FROM, _LAST), problems=(400, 404, 429), media_type="text/event-stream",
    ),
    Call(
        "GET", "/v1/stream", several, READ, "The deliveries of several destinations on one stream",
        (
            Option("destination", "the id of a destination; repeat it for others", _NAMES),
            Option("destinations", "their ids, with commas between; ids that have commas need `destination`"),
            _FROM, _LAST,
        ),
        problems=(400, 404, 429), media_type="text/event-stream",
    ),
)  # fmt: skip
