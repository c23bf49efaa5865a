"""Publishing events."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pyarrow as pa
from starlette.responses import Response

from tocsin.model.subscription import Reject
from tocsin.records import Chunk, TableChunk, read_events
from tocsin.service import arrow, bodies, cloudevents
from tocsin.service.api import Call, Exchange, Option, answered, raw
from tocsin.service.backlog import Request
from tocsin.service.metrics import Counts, counts_of
from tocsin.service.outbox import Outcome
from tocsin.service.principals import PUBLISH
from tocsin.service.problems import Problem, conflict, invalid, partly, refusal
from tocsin.service.units import Key, Published, Unit, digest_of

_ROUTE: Final = "events"
_AT_ONCE: Final = 4096
"""Events of a bulk in a transaction."""
_MOST_KEY: Final = 512
_MOST_ERRORS: Final = 1000
_FORMS: Final = frozenset((bodies.JSON, bodies.LINES, bodies.ARROW, bodies.CLOUD_EVENT, bodies.CLOUD_EVENTS))


async def publish(exchange: Exchange) -> Response:
    with exchange.service.publisher.admitted(bodies.announced_bytes(exchange.request)) as request:
        return await _published(exchange, request)


async def _published(exchange: Exchange, request: Request) -> Response:
    form, headers = bodies.media_type(exchange.request, _FORMS), exchange.request.headers
    exchange.service.quotas.stored()
    given = given_key(exchange)
    body = await exchange.body()
    request.arrive()
    if form == bodies.JSON and not cloudevents.is_binary(headers):
        event = await exchange.parsed(bodies.event_object, body)
        return await _single(exchange, event, bodies.one_line(body), given, body)
    if form in (bodies.JSON, bodies.CLOUD_EVENT):
        document = await exchange.parsed(bodies.json_value, body)
        is_plain = form == bodies.JSON
        event, key = cloudevents.of_headers(headers, document) if is_plain else cloudevents.of_document(document)
        text = _text(event)
        own = given or Key(cloudevents.ROUTE, key, digest_of(cloudevents.compared(event)))
        return await _single(exchange, event, text, own, body)
    if form == bodies.CLOUD_EVENTS:
        return await _several(exchange, [await exchange.service.in_thread(_cloud_unit, exchange, body)])
    units = await exchange.service.in_thread(units_of, exchange, form, body, given, exchange.asked.text("key"))
    return await _several(exchange, units)


def _text(event: Mapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=True, separators=(",", ":"))


def given_key(exchange: Exchange, route: str = _ROUTE) -> Key | None:
    """The key of the header, without its digest."""
    text = exchange.request.headers.get("idempotency-key")
    if text is None:
        return None
    if not 0 < len(text) <= _MOST_KEY or not text.isprintable():
        raise Problem(400, "header", f"Idempotency-Key has 1 to {_MOST_KEY} characters, all of them visible")
    return Key(route, text, b"")


async def _single(exchange: Exchange, event: Mapping[str, Any], text: str, key: Key | None, body: bytes) -> Response:
    """Publish one event."""
    if key is not None and not key.digest:
        key = key._replace(digest=digest_of(body))
    unit = Unit(exchange.principal.tenant, [text], record=event, key=key)
    exchange.service.quotas.events(1)
    with in_progress(exchange, key), exchange.service.metrics.publishing():
        (outcome,) = await exchange.service.publisher.publish(unit)
    if isinstance(outcome, Problem):
        raise outcome
    exchange.service.metrics.published(counts_of([outcome]))
    answer = f'{{"sequence":{outcome.sequence},"matches":{outcome.matches},"deliveries":{outcome.deliveries}'
    answer += f',"suppressed":{outcome.suppressed}}}' if outcome.suppressed else "}"
    response = raw(answer.encode(), 202)
    if outcome.is_repeated:
        response.headers["Idempotent-Replayed"] = "true"
    return response


@contextmanager
def in_progress(exchange: Exchange, key: Key | None) -> Iterator[None]:
    """Refuses a key whose request is not answered yet."""
    if key is None:
        yield
        return
    name, busy = (exchange.principal.tenant, key.route, key.key), exchange.service.in_progress
    if name in busy:
        raise conflict("a request with this idempotency key is in progress", headers={"Retry-After": "1"})
    busy.add(name)
    try:
        yield
    finally:
        busy.discard(name)


def units_of(exchange: Exchange, form: str, body: bytes, key: Key | None, named: str | None) -> list[Unit]:
    """The units of a bulk: each is a transaction, and has a key of its own if the request has one."""
    tenant = exchange.principal.tenant
    if key is not None and named is not None:
        raise Problem(400, "query", "key= names the keys of single events; leave the header out")
    pieces: list[tuple[list[str], Chunk]]
    if form == bodies.ARROW:
        table = arrow.read_table(body)
        texts, rejects = arrow.texts(table)
        pieces = [
            (texts[at : at + _AT_ONCE], _table_chunk(table, at, rejects)) for at in range(0, len(texts), _AT_ONCE)
        ]
    else:
        lines = bodies.Lines(body)
        pieces = [
            (_line_texts(lines.texts(at, at + _AT_ONCE)), lines.sound_chunk(at, at + _AT_ONCE))
            for at in range(0, len(lines), _AT_ONCE)
        ]
    units = []
    for number, (texts, chunk) in enumerate(pieces):
        own = None if key is None else Key(key.route, f"{key.key}#{number}", digest_of("\n".join(texts).encode()))
        keys = None if named is None else [_line_key(text, named) for text in texts]
        units.append(Unit(tenant, texts, chunk=chunk, key=own, keys=keys))
    return units


def _line_texts(lines: Sequence[bytes]) -> list[str]:
    """The lines as texts. One that is not UTF-8 is refused when it is matched."""
    return [line.decode(errors="replace").replace("\r", " ") for line in lines]


def _table_chunk(table: pa.Table, first: int, rejects: Sequence[Reject]) -> TableChunk:
    """Some of the rows, to be matched, without those that are rejects."""
    (chunk,) = list(read_events(table.slice(first, _AT_ONCE).combine_chunks()))
    assert isinstance(chunk, TableChunk)
    ends = (first, first + len(chunk))
    start, stop = (bisect.bisect_left(rejects, row, key=lambda reject: reject.row) for row in ends)
    refused = [reject._replace(row=reject.row - first) for reject in rejects[start:stop]]
    if not refused:
        return chunk
    is_sound = np.ones(len(chunk), bool)
    is_sound[[reject.row for reject in refused]] = False
    misfits = {name: where[is_sound] for name, where in chunk.misfits.items()}
    rest = chunk.table.filter(pa.array(is_sound))
    return TableChunk(rest, chunk.rows[is_sound], misfits, [*chunk.rejects, *refused], chunk.done)


def _line_key(text: str, name: str) -> Key | None:
    """The key of an event of a bulk: the value of an attribute."""
    try:
        value = json.loads(text)
        for part in name.split("."):
            value = value[part]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or not 0 < len(str(value)) <= _MOST_KEY:
        return None
    return Key(f"{_ROUTE}/{name}", str(value), digest_of(text.encode()))


def _cloud_unit(exchange: Exchange, body: bytes) -> Unit:
    """A batch of CloudEvents. The batch as a whole is refused if one of them is wrong."""
    documents = bodies.json_value(body)
    if not isinstance(documents, list) or len(documents) > _AT_ONCE:
        raise invalid(f"a batch is a JSON array of at most {_AT_ONCE:,} CloudEvents")
    made = [cloudevents.of_document(one) for one in documents]
    texts = [_text(event) for event, _ in made]
    keys: list[Key | None] = [
        Key(cloudevents.ROUTE, key, digest_of(cloudevents.compared(event))) for event, key in made
    ]
    lines = bodies.Lines("\n".join(texts).encode())
    return Unit(exchange.principal.tenant, texts, chunk=lines.chunk(0, len(lines)), keys=keys)


async def _several(exchange: Exchange, units: Sequence[Unit]) -> Response:
    """Publish units one after the other, so that what is answered is an unbroken beginning if one is refused."""
    outcomes: list[Outcome] = []
    exchange.service.quotas.events(sum(len(unit.texts) for unit in units))
    for unit in units:
        try:
            with in_progress(exchange, unit.key), exchange.service.metrics.publishing():
                found = await exchange.service.publisher.publish(unit)
        except Exception as error:
            if not outcomes:
                raise
            exchange.service.metrics.published(_report(outcomes)[1])
            raise partly(error, len(outcomes), has_key=bool(unit.key or unit.keys)) from error
        if unit.key is not None and len(found) < len(unit.texts) and isinstance(found[0], Problem):
            raise found[0]  # the key came with another body
        outcomes += found
    report, counts = await exchange.service.in_thread(_report, outcomes)
    exchange.service.metrics.published(counts)
    return answered(report, 202)


def _report(outcomes: Sequence[Outcome]) -> tuple[dict[str, Any], Counts]:
    """What became of the events of a bulk."""
    made = [one for one in outcomes if isinstance(one, Published)]
    errors = [(row, one) for row, one in enumerate(outcomes) if isinstance(one, Problem)]
    counts = counts_of(made, len(errors))
    report = {
        "accepted": len(made),
        "rejected": len(errors),
        "sequence": max((one.sequence for one in made), default=0),
        "matches": sum(one.matches for one in made),
        "deliveries": sum(one.deliveries for one in made),
        "errors": [refusal(row, one.more.get("field"), one.detail) for row, one in errors[:_MOST_ERRORS]],
    }
    return report, counts


CALLS: Final = (
    Call(
        "POST", "/v1/events", publish, PUBLISH,
        "Publish events: answered once they and their deliveries are durable",
        (
            Option("Idempotency-Key", "makes a retry harmless for 24 hours", place="header"),
            Option("key", "of a bulk: the attribute whose value is each event's idempotency key"),
        ),
        {
            "application/json": "Event", "application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow",
            "application/cloudevents+json": "CloudEvent", "application/cloudevents-batch+json": "CloudEvents",
        },
        "Published", 202, (400, 408, 409, 413, 415, 422, 429, 507), tells=("Idempotent-Replayed",),
    ),
)  # fmt: skip
