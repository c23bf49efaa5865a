"""Matching without storing anything."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any, Final

import pyarrow as pa
from starlette.responses import Response

from tocsin.errors import ExpressionError
from tocsin.language import parse_any
from tocsin.model.ranking import RANKINGS, Ranking
from tocsin.service import arrow, bodies
from tocsin.service.api import Call, Exchange, Option, answered, raw
from tocsin.service.matching import lines_of, ranking_of
from tocsin.service.principals import READ
from tocsin.service.problems import invalid, refusal

ERRORS: Final = "tocsin:errors"
_MOST_ERRORS: Final = 1000
_MOST_EXPLAINED: Final = 20
_AT_ONCE: Final = 4096
"""Lines that are matched together: the others are matched after them, and single events between."""


async def match(exchange: Exchange) -> Response:
    forms = frozenset((bodies.JSON, bodies.LINES, bodies.ARROW))
    form, ranking = bodies.media_type(exchange.request, forms), ranking_of(exchange.asked)
    if exchange.asked.flag("explain"):
        return await _explained(exchange, form, ranking)
    named, only = exchange.asked.flag("named"), _only(exchange)
    if form != bodies.ARROW and (named or only is not None):
        return await _of_part(exchange, form, ranking, named, only)
    body, matcher, quotas = await exchange.body(), exchange.service.matcher, exchange.service.quotas
    if form == bodies.JSON:
        quotas.events(1)
        matches = await matcher.match(await exchange.parsed(bodies.event_object, body), ranking)
        return raw(f'{{"matches":{matches}}}'.encode())
    if form == bodies.LINES:
        lines = await exchange.parsed(bodies.Lines, body)
        quotas.events(len(lines))
        return raw(await _of_lines(exchange, lines, ranking), media_type="application/x-ndjson")
    table = await exchange.service.in_thread(arrow.read_table, body)
    quotas.events(len(table))
    answer = await matcher.run(_table, exchange, table, ranking, named, only)
    return raw(answer, media_type=arrow.MEDIA_TYPE)


async def _of_lines(exchange: Exchange, lines: bodies.Lines, ranking: Ranking | None) -> bytes:
    """A line for each event. While some are matched, the answers of those before are written."""
    writing: list[asyncio.Task[bytes]] = []
    for first in range(0, len(lines), _AT_ONCE):
        chunk = lines.chunk(first, first + _AT_ONCE)
        found = await exchange.service.matcher.columns(chunk, ranking)
        writing.append(asyncio.create_task(exchange.service.in_thread(lines_of, found, len(chunk), first)))
    return b"".join(await asyncio.gather(*writing))


def _only(exchange: Exchange) -> str | None:
    """The condition on payloads, which must be one."""
    only = exchange.asked.text("only")
    try:
        if only is not None:
            parse_any(only)
    except ExpressionError as error:
        raise invalid(error.reason, field="only") from None
    return only


async def _of_part(exchange: Exchange, form: str, ranking: Ranking | None, named: bool, only: str | None) -> Response:
    """The matches of one event, among a part of the subscriptions, or with the named parts that held."""
    if form != bodies.JSON:
        raise invalid("named and only are for one event as JSON, or for an Arrow stream", field="named")
    event = await exchange.parsed(bodies.event_object, await exchange.body())
    exchange.service.quotas.events(1)

    def matched() -> list[dict[str, Any]]:
        found = exchange.service.engine.match(event, ranking=ranking, payload=True, named=named, only=only)
        return [
            {"id": one.subscription, "score": one.score, "payload": one.payload}
            | ({"named": one.named} if named else {})
            for one in found
        ]

    return answered({"matches": await exchange.service.matcher.run(matched)})


def _table(exchange: Exchange, table: pa.Table, ranking: Ranking | None, named: bool, only: str | None) -> bytes:
    """The answer to an Arrow stream: `event`, `subscription`, with a ranking `score`, `payload`, and perhaps `named`.

    The metadata of its schema has what could not be read.
    """
    answer = exchange.service.engine.match_batch(
        table, ranking=ranking, payload=True, threads=1, named=named, only=only
    )
    errors = [refusal(one.row, one.field, one.reason) for one in answer.errors[:_MOST_ERRORS]]
    found = answer.table.replace_schema_metadata({ERRORS: json.dumps(errors)} if errors else None)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, found.schema) as writer:
        writer.write_table(found)
    return stream.getvalue()


async def _explained(exchange: Exchange, form: str, ranking: Ranking | None) -> Response:
    """The matches of one event, with the conditions that hold."""
    if form != bodies.JSON or ranking is not None:
        raise invalid("explain is for one event as JSON, without a ranking", field="explain")
    event = await exchange.parsed(bodies.event_object, await exchange.body())
    exchange.service.quotas.events(1)

    def explained() -> list[dict[str, Any]]:
        engine, answers = exchange.service.engine, []
        for match in engine.match(event, payload=True)[:_MOST_EXPLAINED]:
            one = engine.explain(match.subscription, event)
            document = {"id": match.subscription, "score": match.score, "payload": getattr(match, "payload", None)}
            held = [{"condition": finding.predicate, "found": finding.came} for finding in one.held]
            answers.append(document | {"holds": held, "text": str(one)})
        return answers

    return answered({"matches": await asyncio.to_thread(explained)})


CALLS: Final = (
    Call(
        "POST", "/v1/match", match, READ, "The subscriptions that events match; nothing is stored",
        (
            *(Option(word, f"{kind.help}; {kind.spelling()[1]}") for word, kind in RANKINGS.items()),
            Option("named", "also tell which named parts held (not for JSON lines)", {"type": "boolean"}),
            Option("only", "ask only subscriptions whose payload satisfies this condition (not for JSON lines)"),
            Option("explain", f"also tell what holds, for the first {_MOST_EXPLAINED} matches", {"type": "boolean"}),
        ),
        {"application/json": "Event", "application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow"},
        "Matches", problems=(400, 408, 413, 415, 422, 429),
        gives_for={"application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow"},
    ),
)  # fmt: skip
