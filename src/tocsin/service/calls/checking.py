"""What a condition would do, before it is saved: is it understood, why does it match, how often would it have."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from starlette.responses import Response

from tocsin.engine import Engine
from tocsin.errors import ExpressionError, RecordError
from tocsin.language import Explanation, to_text
from tocsin.language.advice import advice_on
from tocsin.model.expression import attributes
from tocsin.service.api import Call, Exchange, answered
from tocsin.service.calls.subscriptions import condition_in, explained, parsed
from tocsin.service.names import amount, only, present, subscription_id, whole
from tocsin.service.principals import READ
from tocsin.service.problems import invalid, of_expression
from tocsin.service.times import now_ms, time_text
from tocsin.store import bounded

_MOST_EVENTS: Final = 1_000_000
_AT_ONCE: Final = 2_000
_MOST_BYTES: Final = 8 << 20
"""Of the events that are matched at once."""
_BUCKETS: Final = 60
_MOST_EXAMPLES: Final = 20
_YEAR_S: Final = 366 * 86_400


async def check(exchange: Exchange) -> Response:
    """A wrong condition is an answer here, and not an error: editors ask while somebody types."""
    record = await exchange.document()
    only(record, frozenset(("where", "language")), "check")
    record = present(record)
    try:
        where = condition_in(record)
        tree = await exchange.service.in_thread(parsed, where)
    except ExpressionError as error:
        problem = of_expression(error).document()
        told = {name: value for name, value in problem.items() if name not in ("type", "title", "status")}
        return answered({"valid": False, "problem": told})
    advice = advice_on(tree, where) if isinstance(where, str) else []
    warnings = [{"condition": one.condition, "reason": one.reason} for one in advice]
    names = sorted(attributes(tree))
    return answered({"valid": True, "text": to_text(tree), "attributes": names, "warnings": warnings})


async def explain(exchange: Exchange) -> Response:
    record = await exchange.document()
    only(record, frozenset(("id", "where", "language", "event")), "explanation")
    record = present(record)
    event = record.get("event")
    if not isinstance(event, dict):
        raise invalid("event is missing; give it as an object", field="event")
    if ("id" in record) == ("where" in record):
        raise invalid("give the id of a subscription, or a condition under where", field="id")
    return answered(told_of(await exchange.service.in_thread(_explained, exchange, record, event)))


def _explained(exchange: Exchange, record: Mapping[str, Any], event: Mapping[str, Any]) -> Explanation:
    if "id" in record:
        service = exchange.service
        id = subscription_id(str(record["id"]), service.transactions.kind)
        return service.engine.explain(id, event)
    return _alone(exchange, condition_in(record)).explain(0, event)


def told_of(one: Explanation) -> dict[str, Any]:
    """An explanation as a document."""
    held, failed = (
        [{"condition": finding.predicate, "found": finding.came} for finding in findings]
        for findings in (one.held, one.failed)
    )
    return {"matches": one.matched, "truth": one.truth, "holds": held, "fails": failed, "text": str(one)}


def _alone(exchange: Exchange, where: Any) -> Engine:
    """An engine with one condition, which reads texts as the service does."""
    engine = Engine(texts=exchange.service.engine._texts)
    try:
        engine.subscribe(0, where)
    except RecordError as error:
        raise explained(error, where) from None
    return engine


class _Span(NamedTuple):
    """The events that a dry run looks at, by their numbers and times."""

    first: int
    last: int
    since: int
    until: int


async def dry_run(exchange: Exchange) -> Response:
    """Match the events that are kept, newest first, until enough are looked at."""
    record = await exchange.document()
    only(record, frozenset(("where", "language", "limit", "since_s")), "dry run")
    record = present(record)
    limit = whole(record.get("limit", 100_000), "limit", 1, _MOST_EVENTS)
    since_s = amount(record.get("since_s", _YEAR_S), "since_s", 1, _YEAR_S)
    engine = await exchange.service.in_thread(_alone, exchange, condition_in(record))
    run = _DryRun(engine, exchange.principal.tenant, now_ms() - int(since_s * 1000))
    place: int | None = exchange.service.directory.last_event + 1
    while place is not None and run.seen < limit:
        most = min(_AT_ONCE, limit - run.seen)
        rows = await exchange.service.readers.read(partial(run.rows, before=place, most=most))
        place = await exchange.service.in_thread(run.take, rows)
    return answered(run.document(is_whole=place is None))


class _DryRun:
    """The matches so far of a condition among the events that are kept."""

    def __init__(self, engine: Engine, tenant: str, since: int) -> None:
        self._engine, self._tenant, self._since = engine, tenant, since
        self.seen = 0
        self._times: list[int] = []  # of matches
        self._examples: list[dict[str, Any]] = []
        self._first = self._last = 0  # times of the events that were looked at
        self._unreadable = 0

    def rows(self, connection: sqlite3.Connection, before: int, most: int) -> list[tuple[Any, ...]]:
        """The events before a number, newest first: number, time and text."""
        cursor = connection.execute(
            "SELECT sequence, published, event FROM service_events "
            "WHERE sequence < ? AND tenant = ? AND published >= ? AND kind = '' ORDER BY sequence DESC LIMIT ?",
            (before, self._tenant, self._since, most),
        )
        return bounded(cursor, most, _MOST_BYTES)[0]

    def take(self, rows: list[tuple[Any, ...]]) -> int | None:
        """Match some events; returns the number before which to go on, or None if there are none left."""
        if not rows:
            return None
        lines = "\n".join(text.replace("\n", " ") for _, _, text in rows).encode()
        moments = np.array([published for _, published, _ in rows], "datetime64[ms]")
        answer = self._engine.match_batch(lines, threads=1, now=moments)
        self._unreadable += len(answer.lost)
        for place in answer.table["event"].to_pylist():
            number, published, text = rows[place]
            self._times.append(published)
            if len(self._examples) < _MOST_EXAMPLES:
                self._examples.append(
                    {"sequence": number, "published": time_text(published), "event": json.loads(text)}
                )
        self.seen += len(rows)
        self._last = self._last or rows[0][1]
        self._first = rows[-1][1]
        before: int = rows[-1][0]
        return before

    def document(self, *, is_whole: bool) -> dict[str, Any]:
        """The answer. `whole` says whether all events were looked at that are kept, in the time that was asked for."""
        width = max((self._last - self._first) // _BUCKETS + 1, 1)
        counts = [0] * _BUCKETS
        for moment in self._times:
            counts[min(max((moment - self._first) // width, 0), _BUCKETS - 1)] += 1
        document: dict[str, Any] = {
            "events": self.seen, "matches": len(self._times), "whole": is_whole, "unreadable": self._unreadable,
            "examples": self._examples,
        }  # fmt: skip
        if self.seen:
            document |= {
                "from": time_text(self._first), "to": time_text(self._last),
                "histogram": {"width_s": width / 1000, "counts": counts},
            }  # fmt: skip
        return document


_CALLED: Final = (400, 408, 413, 415, 422)
CALLS: Final = (
    Call(
        "POST", "/v1/check", check, READ, "Whether a condition is understood, and what it asks for",
        takes={"application/json": "Condition"}, gives="Checked", problems=_CALLED,
    ),
    Call(
        "POST", "/v1/explain", explain, READ, "Why an event matches a subscription or a condition, or does not",
        takes={"application/json": "Explain"}, gives="Explained", problems=(404, *_CALLED),
    ),
    Call(
        "POST", "/v1/dry-run", dry_run, READ, "How often a condition would have matched the events that are kept",
        takes={"application/json": "DryRun"}, gives="DryRan", problems=_CALLED,
    ),
)  # fmt: skip
