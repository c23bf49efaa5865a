"""Matching without storing anything."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import pyarrow as pa
from starlette.responses import Response

from tocsin.engine import Engine
from tocsin.engine.groups import Hits, hits_of, table_answer
from tocsin.engine.rooms import Room
from tocsin.errors import ExpressionError, UnknownSubscription
from tocsin.language import parse_any
from tocsin.model.ranking import RANKINGS, Ranking
from tocsin.model.subscription import SubscriptionId
from tocsin.model.values import size_of
from tocsin.records import ObjectChunk
from tocsin.service import arrow, bodies
from tocsin.service.api import Call, Exchange, Option, raw
from tocsin.service.fragments import fragments
from tocsin.service.matching import MOST_BYTES, lines_of, listed, members, next_line, next_place, ranking_of
from tocsin.service.names import subscription_id
from tocsin.service.principals import READ
from tocsin.service.problems import invalid, refusal

ERRORS: Final = "tocsin:errors"
_MOST_ERRORS: Final = 1000
_MOST_EXPLAINED: Final = 20
_EXPLAINING_S: Final = 1.0
"""After so long, an answer with explanations ends early."""
NEXT: Final = "tocsin:next"
_FIRST_LINES: Final = 256
_AT_ONCE: Final = 4096
"""Lines that are matched together: the others are matched after them, and single events between."""
_MATCHES_AT_ONCE: Final = 4_000_000
"""Matches from which on fewer lines are matched together."""
_NAMED_BYTES: Final = 1 << 10
"""What the named parts of a match take, and 8 times the mean size of an event for the places of elements."""


async def match(exchange: Exchange) -> Response:
    forms = frozenset((bodies.JSON, bodies.LINES, bodies.ARROW))
    form, ranking = bodies.media_type(exchange.request, forms), ranking_of(exchange.asked)
    if exchange.asked.flag("explain"):
        return await _explained(exchange, form, ranking)
    named, only = exchange.asked.flag("named"), only_of(exchange)
    if form == bodies.LINES and (named or only is not None):
        raise invalid("named and only are for one event as JSON, or for an Arrow stream", field="named")
    body, quotas, after = await exchange.body(), exchange.service.quotas, _after(exchange)
    matcher = exchange.service.matcher
    if form == bodies.JSON:
        event = await exchange.parsed(bodies.event_object, body)
        quotas.events(1)
        if not named and only is None and after is None:
            holding = exchange.answer_holding()
            if (matches := await matcher.match(event, ranking, holding)) is not None:
                return exchange.holding_answer(holding, raw(f"{{{matches}}}".encode()))
        room = _room(body, 1, after, named=named)
        return await exchange.large(MOST_BYTES, lambda: matcher.run(_one, exchange, event, ranking, room, named, only))
    if form == bodies.LINES:
        lines = await exchange.parsed(bodies.Lines, body)
        quotas.events(len(lines))
        room = _room(body, len(lines), after, named=False)
        return await exchange.large(
            MOST_BYTES, lambda: _of_lines(exchange, lines, ranking, room), "application/x-ndjson"
        )
    table = await exchange.service.in_thread(arrow.read_table, body)
    quotas.events(len(table))
    room = _room(body, len(table), after, named=named)
    return await exchange.large(
        MOST_BYTES, lambda: matcher.run(_table, exchange, table, ranking, room, named, only), arrow.MEDIA_TYPE
    )


def _after(exchange: Exchange) -> SubscriptionId | None:
    text = exchange.asked.text("after")
    return None if text is None else subscription_id(text, exchange.service.transactions.kind)


def _room(body: bytes, events: int, after: SubscriptionId | None, *, named: bool) -> Room:
    return Room(MOST_BYTES, after, _NAMED_BYTES + 8 * len(body) // max(events, 1) if named else 0)


async def _of_lines(exchange: Exchange, lines: bodies.Lines, ranking: Ranking | None, room: Room) -> bytes:
    """A line for each event that fits. While some are matched, the answers of those before are written."""
    service, size, at_once, first = exchange.service, 0, _FIRST_LINES, 0
    parts: list[bytes] = []
    writing: asyncio.Task[bytes] | None = None
    while first < len(lines) and room.end is None and size < MOST_BYTES:
        chunk, room.base = lines.chunk(first, first + at_once), first
        found = await service.matcher.columns(chunk, ranking, room)
        if writing is not None:
            parts.append(await writing)
            size += len(parts[-1])
        count = len(chunk) if room.end is None else room.end.row - first + 1
        writing = asyncio.create_task(service.in_thread(lines_of, found, count, first))
        first += count
        matches = sum(len(columns.ids) for columns in found[0])
        at_once = max(1, min(_AT_ONCE, len(chunk) * _MATCHES_AT_ONCE // (matches + 1)))
    parts += [] if writing is None else [await writing]
    if room.end is not None:
        parts.append(next_line(*room.end))
    elif first < len(lines):
        parts.append(next_line(first, None))
    return b"".join(parts)


def only_of(exchange: Exchange) -> str | None:
    """The condition on payloads, which must be one."""
    only = exchange.asked.text("only")
    try:
        if only is not None:
            parse_any(only)
    except ExpressionError as error:
        raise invalid(error.reason, field="only") from None
    return only


def _one(
    exchange: Exchange, event: dict[str, Any], ranking: Ranking | None, room: Room, named: bool, only: str | None
) -> bytes:
    """The matches of one event, among a part of the subscriptions, or with the named parts that held."""
    engine = exchange.service.engine
    chunk = ObjectChunk([(0, event)])
    naming = (lambda ids: range(len(ids))) if named else None
    found, rejects = hits_of(engine, chunk, ranking, naming, room=room, only=only)
    if not found or not found[0].rows:
        raise invalid(rejects[0].reason, field=rejects[0].field or None)
    last = None if room.end is None else room.end.subscription
    return f"{{{members(listed(found[0])[0], last)}}}".encode()


def _table(
    exchange: Exchange, table: pa.Table, ranking: Ranking | None, room: Room, named: bool, only: str | None
) -> bytes:
    """The answer to an Arrow stream: `event`, `subscription`, with a ranking `score`, `payload`, and perhaps `named`.

    The metadata of its schema has what could not be read, and where to go on if it ends early.
    """
    answer = table_answer(exchange.service.engine, table, ranking, room, named=named, only=only)
    rejects = [one for one in answer.errors if room.end is None or one.row <= room.end.row]
    errors = [refusal(one.row, one.field, one.reason) for one in rejects[:_MOST_ERRORS]]
    metadata = {ERRORS: json.dumps(errors)} if errors else {}
    if room.end is not None:
        metadata[NEXT] = json.dumps(next_place(*room.end))
    found = answer.table.replace_schema_metadata(metadata or None)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, found.schema) as writer:
        writer.write_table(found)
    return stream.getvalue()


async def _explained(exchange: Exchange, form: str, ranking: Ranking | None) -> Response:
    """The matches of one event, with the conditions that hold: as many as there are room and time for."""
    if form != bodies.JSON or ranking is not None:
        raise invalid("explain is for one event as JSON, without a ranking", field="explain")
    service, after, body = exchange.service, _after(exchange), await exchange.body()
    event = await exchange.parsed(bodies.event_object, body)
    service.quotas.events(1)
    room = Room(MOST_BYTES // 2, after, most=_MOST_EXPLAINED)

    async def made() -> bytes:
        found, rejects = await service.matcher.run(
            partial(hits_of, service.engine, ObjectChunk([(0, event)]), room=room)
        )
        if not found or not found[0].rows:
            raise invalid(rejects[0].reason, field=rejects[0].field or None)
        last = None if room.end is None else room.end.subscription
        return await service.in_thread(_explanations, service.engine, event, found[0], last)

    return await exchange.large(MOST_BYTES, made)


def _explanations(engine: Engine, event: Mapping[str, Any], hits: Hits, last: SubscriptionId | None) -> bytes:
    """The first matches with their explanations, one at least. `last` is that of them all if there are more."""
    texts, size, begun = list[str](), 0, time.monotonic()
    for place, (id, text) in enumerate(zip(hits.ids, fragments(hits), strict=True)):
        try:
            explanation = engine.explain(id, event)
        except UnknownSubscription:  # it was deleted meanwhile
            continue
        held = [{"condition": finding.predicate, "found": finding.came} for finding in explanation.held]
        more = json.dumps({"holds": held, "text": str(explanation)}, ensure_ascii=False)
        texts.append(f"{text[:-1]},{more[1:]}")
        size += size_of(texts[-1])
        if size >= MOST_BYTES or time.monotonic() - begun >= _EXPLAINING_S:
            last = id if place + 1 < len(hits.ids) else last
            break
    listed_texts = ",".join(texts)
    return f"{{{members(f'[{listed_texts}]', last)}}}".encode("utf-8", "backslashreplace")


CALLS: Final = (
    Call(
        "POST", "/v1/match", match, READ, "The subscriptions that events match; nothing is stored",
        (
            *(Option(word, f"{kind.help}; {kind.spelling()[1]}") for word, kind in RANKINGS.items()),
            Option("named", "also tell which named parts held (not for JSON lines)", {"type": "boolean"}),
            Option("only", "ask only subscriptions whose payload satisfies this condition (not for JSON lines)"),
            Option("after", "the last match of an answer that ended early, to go on behind it with the first event"),
            Option("explain", f"also tell what holds, of at most {_MOST_EXPLAINED} matches", {"type": "boolean"}),
        ),
        {"application/json": "Event", "application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow"},
        "Matches", problems=(400, 408, 413, 415, 422, 429),
        gives_for={"application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow"},
    ),
)  # fmt: skip
