"""Bulks of subscriptions: JSON lines or an Arrow stream. A bad record is reported, and the others are accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from starlette.responses import Response

from tocsin.model.subscription import Reject, SubscriptionId, superseded_notice
from tocsin.service import arrow, bodies
from tocsin.service.api import Exchange, answered
from tocsin.service.names import MOST_ID, only, present
from tocsin.service.problems import Problem, refusal

FORMS: Final = frozenset((bodies.LINES, bodies.ARROW))
TAKES: Final = {"application/x-ndjson": "Lines", arrow.MEDIA_TYPE: "Arrow"}
_MOST_ERRORS: Final = 1000
Checked = TypeVar("Checked")
Check = Callable[[Exchange, dict[str, Any]], Checked]


async def read(
    exchange: Exchange, known: frozenset[str], what: str, check: Check[Checked]
) -> tuple[dict[int, Checked], list[Reject]]:
    """What `check` makes of the records, by row, and rejects for those that it refuses. They have an id."""
    form = bodies.media_type(exchange.request, FORMS, bodies.LINES)
    body = await exchange.body()
    exchange.service.quotas.stored()
    return await exchange.service.in_thread(_checked, exchange, _records(form, body), known, what, check)


def _records(form: str, body: bytes) -> Iterator[dict[str, Any] | Problem]:
    """The records of a bulk; a problem in place of one that cannot be read."""
    if form == bodies.ARROW:
        yield from arrow.records(arrow.read_table(body))
        return
    for text in bodies.Lines(body).texts():
        try:
            yield bodies.json_object(text)
        except Problem as problem:
            yield problem


def _checked(
    exchange: Exchange,
    records: Iterable[dict[str, Any] | Problem],
    known: frozenset[str],
    what: str,
    check: Check[Checked],
) -> tuple[dict[int, Checked], list[Reject]]:
    checked: dict[int, Checked] = {}
    rejects: list[Reject] = []
    for row, record in enumerate(records):
        try:
            if isinstance(record, Problem):
                raise record
            given = present(record)
            bodies.fields(given, "id")
            only(given, known, what)
            checked[row] = check(exchange, given)
        except Problem as problem:
            id = record_id_of(record)
            rejects.append(Reject(row, id, str(problem.more.get("field") or ""), problem.detail))
    return checked, rejects


def record_id_of(record: dict[str, Any] | Problem) -> SubscriptionId | None:
    """The id of a record with another fault; None if it has none that can be shown."""
    raw = None if isinstance(record, Problem) else record.get("id")
    return raw if isinstance(raw, str | int) and not isinstance(raw, bool) and len(str(raw)) <= MOST_ID else None


def superseded(ids: Sequence[SubscriptionId]) -> list[str]:
    """A warning about records that a later one with the same id replaces, if there are any."""
    last = {id: place for place, id in enumerate(ids)}
    doubled = [id for place, id in enumerate(ids) if last[id] != place]
    return [str(superseded_notice(len(doubled), doubled[0]))] if doubled else []


def report(accepted: int, rejects: Iterable[Reject], warnings: Sequence[str] = (), **more: int) -> Response:
    """The answer to a bulk."""
    errors = sorted(rejects, key=lambda one: one.row)
    document: dict[str, Any] = {
        "accepted": accepted,
        "rejected": len(errors),
        "errors": [refusal(one.row, one.field, one.reason, id=one.id) for one in errors[:_MOST_ERRORS]],
    }
    if warnings:
        document["warnings"] = list(warnings)
    return answered(document | more)
