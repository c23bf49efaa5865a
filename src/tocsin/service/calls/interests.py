"""Subscriptions of windows: one by one, in pages, and in bulk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from tocsin.errors import RecordError, UnknownSubscription
from tocsin.model.values import size_of
from tocsin.service import bodies
from tocsin.service.api import LIMIT, MOST_PAGE, Call, Exchange, Option, answered, empty
from tocsin.service.calls import bulks
from tocsin.service.calls.routing import FIELDS, members_of, route_of
from tocsin.service.calls.windows import CHANGED, PATH, window_of
from tocsin.service.names import checked_name, integral, only, present
from tocsin.service.principals import READ, SUBSCRIBE
from tocsin.service.problems import invalid, unknown
from tocsin.service.quotas import require_cheap, require_small
from tocsin.service.windows import interests
from tocsin.service.windows.hosted import Hosted, Subscribed
from tocsin.service.windows.interests import Interest

_OWN: Final = ("words", "text", "location", "k", "alpha")
_FIELDS: Final = FIELDS | {*_OWN, "id", "payload"}
_WHAT: Final = "subscription of a window"
_K: Final = 100
"""So many messages of a list cost as much as a word."""
Record = tuple[dict[str, Any], Interest]
"""The part of a record that the window keeps, and where its changes go."""


def _id(exchange: Exchange) -> str:
    return checked_name(exchange.part("id"), "subscription")


async def put(exchange: Exchange) -> Response:
    found, id = window_of(exchange), _id(exchange)
    record = await exchange.document()
    only(record, _FIELDS, _WHAT)
    record = present(record)
    if record.get("id", id) != id:
        raise invalid("id is another one than in the path", field="id")
    checked = _checked(exchange, record | {"id": id})
    exchange.service.quotas.stored()
    made = await _subscribe(exchange, found, {0: checked})
    for one in made.rejects:
        raise RecordError(one.reason, one.field)
    return answered({"id": id}, 201 if made.new else 200)


async def bulk(exchange: Exchange) -> Response:
    found = window_of(exchange)
    checked, rejects = await bulks.read(exchange, _FIELDS, _WHAT, _checked)
    made = await _subscribe(exchange, found, checked) if checked else Subscribed(0, 0, [])
    return bulks.report(made.accepted, [*rejects, *made.rejects])


def _checked(exchange: Exchange, record: Mapping[str, Any]) -> Record:
    """A record that may be sent to the window; raises a `Problem`."""
    if not isinstance(record["id"], str):
        raise invalid("the id of a subscription of a window is a string", field="id")
    own = {word: record[word] for word in _OWN if record.get(word) is not None}
    bodies.fields(own, "location")
    own |= {"k": integral(own["k"])} if "k" in own else {}
    require_cheap(_cost(own), exchange.service.limits)
    require_small(record.get("payload"), exchange.service.limits)
    payload = None if record.get("payload") is None else bodies.json_text(record["payload"], "payload")
    id = checked_name(record["id"], "subscription")
    return {"id": id, **own}, Interest(route_of(exchange, record), payload)


def _cost(record: Mapping[str, Any]) -> int:
    """The price of a subscription: a word costs 1, and so do 100 messages of its list."""
    words, text, k = record.get("words"), record.get("text"), record.get("k")
    count = len(words) if isinstance(words, Sequence) and not isinstance(words, str) else 0
    count += len(text.split()) if isinstance(text, str) else 0
    return count + (k // _K if isinstance(k, int) else 0)


async def _subscribe(exchange: Exchange, found: Hosted, records: Mapping[int, Record]) -> Subscribed:
    """Add or replace subscriptions, by row, if there is room for them."""
    service = exchange.service
    new = {record["id"] for record, _ in records.values() if record["id"] not in found.window}
    routes = [interest.route for _, interest in records.values()]
    size = sum(size_of(interest.payload or "") for _, interest in records.values())
    with service.quotas.room(len(new), window_bytes=size), service.windows.naming(routes):
        return await asyncio.wrap_future(found.subscribe(records, exchange.sender))


async def get(exchange: Exchange) -> Response:
    found, id = window_of(exchange), _id(exchange)
    row = await found.readers.read(lambda connection: interests.row(connection, id))
    if row is None:
        raise unknown("subscription", id)
    return answered(_document(exchange, row))


def _document(exchange: Exchange, row: dict[str, Any]) -> dict[str, Any]:
    """A subscription as the document that a client gets."""
    route = row.pop("route")
    return {word: value for word, value in row.items() if value is not None} | members_of(exchange, route)


async def page(exchange: Exchange) -> Response:
    found, after = window_of(exchange), exchange.asked.text("after")
    limit = exchange.asked.number("limit", 100, 1, MOST_PAGE)
    rows, has_more = await found.readers.read(lambda connection: interests.rows(connection, after, limit))
    document: dict[str, Any] = {"subscriptions": [_document(exchange, row) for row in rows]}
    if has_more:
        document["next"] = rows[-1]["id"]
    return answered(document)


async def delete(exchange: Exchange) -> Response:
    found, id = window_of(exchange), _id(exchange)
    await asyncio.wrap_future(found.unsubscribe(id, exchange.sender))
    return empty()


async def results(exchange: Exchange) -> Response:
    found, id = window_of(exchange), _id(exchange)
    try:
        best = await exchange.service.in_thread(found.window.results, id)
    except UnknownSubscription:
        raise unknown("subscription", id) from None
    return answered({"results": [{"message": message, "score": score} for message, score in best]})


_ALL: Final = f"{PATH}/{{name}}/subscriptions"
_ONE: Final = f"{_ALL}/{{id}}"
CALLS: Final = (
    Call(
        "GET", _ALL, page, READ, "Subscriptions of a window in the order of their ids",
        (Option("after", "the id before the first one"), LIMIT), gives="Interests", problems=(400, 404, 422, 503),
    ),
    Call(
        "POST", _ALL, bulk, SUBSCRIBE,
        "Add or replace many subscriptions of a window; one bad record costs itself alone", takes=bulks.TAKES,
        gives="Report", problems=CHANGED,
    ),
    Call("GET", _ONE, get, READ, "A subscription of a window", gives="Interest", problems=(404, 422, 503)),
    Call(
        "PUT", _ONE, put, SUBSCRIBE, "Add or replace a subscription of a window",
        takes={"application/json": "Interest"}, gives="Named", problems=CHANGED,
    ),
    Call(
        "DELETE", _ONE, delete, SUBSCRIBE, "Remove a subscription of a window", status=204,
        problems=(404, 422, 503, 507),
    ),
    Call(
        "GET", f"{PATH}/{{name}}/results/{{id}}", results, READ, "The best messages of a subscription, best first",
        gives="Results", problems=(404, 422, 503),
    ),
)  # fmt: skip
