"""Each call of the service: what is sent, and how its answer is read. Both clients share them; nothing here waits."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import pyarrow as pa

from tocsin.errors import DuplicateSubscription, InvalidInput, RecordError, ServiceError, UnknownSubscription
from tocsin.model.ranking import RANKINGS, Ranking
from tocsin.model.subscription import Hit, Match, Omitted, Reject, Removal, Report, SubscriptionId

Result = TypeVar("Result")
Event: TypeAlias = Mapping[str, Any]
LINES: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
_JSON: Final = "application/json"


class Published(NamedTuple):
    """What became of published events, which are durable.

    Attributes
    ----------
    sequence : int
        The number of the last event; 0 if none was accepted.
    matches, deliveries : int
        How many subscriptions matched, and how many deliveries were made.
    errors : list of Reject
        The events that were refused, by row.
    """

    sequence: int
    matches: int
    deliveries: int
    errors: list[Reject]


class Further(NamedTuple):
    """The event with which a match goes on whose answer ended early, and its last match of that answer."""

    row: int
    after: str | None


class Matched(NamedTuple):
    """The matches of a batch.

    Attributes
    ----------
    table : pyarrow.Table
        A row for each match: `event` (the row of the event), `subscription`, `score` and `payload` (a JSON text).
    errors : list of Reject
        The events, or values of events, that could not be used.
    """

    table: pa.Table
    errors: list[Reject]


@dataclass(frozen=True, slots=True)
class Ask(Generic[Result]):
    """A request, and how to read its answer."""

    method: str
    path: str
    read: Callable[[int, bytes], Result]
    params: Mapping[str, str | int | float | Sequence[str]] = field(default_factory=dict)
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    may_repeat: bool = True  # whether sending it twice does what sending it once does
    id: SubscriptionId | None = None  # the subscription that it is about

    def answer(self, status: int, body: bytes) -> Result:
        """Read an answer; raises the error that it stands for."""
        if status < 400:
            return self.read(status, body)
        raise self._error(status, body)

    def _error(self, status: int, body: bytes) -> Exception:
        try:
            members = dict(json.loads(body))
        except (ValueError, TypeError):
            members = {}
        detail = str(members.pop("detail", "") or f"the service answered {self.path} with status {status}")
        kind = str(members.pop("type", "")).rpartition(":")[2] or "unknown"
        if status == 404 and self.id is not None:
            return UnknownSubscription(detail)
        if status == 412 and self.id is not None:
            return DuplicateSubscription(f"a subscription {self.id!r} exists already; give replace=True to replace it")
        if status == 422:
            if "line" in members:
                detail = f"line {members['line']}, column {members['column']}: {detail}\n{members.get('caret', '')}"
            return RecordError(detail, str(members.get("field") or ""))
        return ServiceError(status, kind, detail, members)


def path_part(text: object) -> str:
    """A part of a path. The dots of `.` and `..` are encoded, since a path means other things by them."""
    encoded = quote(str(text), safe="")
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def answer_document(status: int, body: bytes) -> Any:
    return json.loads(body)


def no_answer(status: int, body: bytes) -> None:
    return None


def json_text(record: object) -> bytes:
    """A JSON document; raises `InvalidInput` for what JSON does not have."""
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the service takes JSON: {error}") from None


def json_body(record: object) -> dict[str, Any]:
    """The body and the header of a JSON document."""
    return {"body": json_text(record), "headers": {"Content-Type": _JSON}}


def _lines(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    bodies = [json_body(record)["body"] for record in records]
    return {"body": b"\n".join(bodies) + b"\n", "headers": {"Content-Type": LINES}}


def _table(table: pa.Table) -> dict[str, Any]:
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return {"body": stream.getvalue(), "headers": {"Content-Type": ARROW}}


def many_body(source: pa.Table | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return _table(source) if isinstance(source, pa.Table) else _lines(source)


# Subscriptions


def subscribe(id: SubscriptionId, *, replace: bool, **record: Any) -> Ask[int]:
    """Of the record, what is None is left out."""
    sent = json_body({name: value for name, value in record.items() if value is not None})
    headers = sent["headers"] | ({} if replace else {"If-None-Match": "*"})
    return Ask(
        "PUT", f"/v1/subscriptions/{path_part(id)}", lambda _, body: int(json.loads(body)["sequence"]),
        body=sent["body"], headers=headers, may_repeat=replace, id=id,
    )  # fmt: skip


def rescore(id: SubscriptionId, score: float) -> Ask[None]:
    return Ask("PATCH", f"/v1/subscriptions/{path_part(id)}", no_answer, **json_body({"score": score}), id=id)


def unsubscribe(id: SubscriptionId) -> Ask[None]:
    return Ask("DELETE", f"/v1/subscriptions/{path_part(id)}", no_answer, id=id, may_repeat=False)


def unsubscribe_many(ids: Sequence[SubscriptionId], only: str | None, *, dry_run: bool) -> Ask[Removal]:
    """The removal of subscriptions with some ids, which are few, or with a condition on their payloads."""
    params: dict[str, Any] = {"only": only} if only is not None else {"id": [str(id) for id in ids]}

    def read(status: int, body: bytes) -> Removal:
        document = json.loads(body)
        return Removal(document["removed"], document.get("unknown", []))

    params |= {"dry_run": "true"} if dry_run else {}
    return Ask("DELETE", "/v1/subscriptions", read, params=params, may_repeat=dry_run)


def get(id: SubscriptionId) -> Ask[dict[str, Any]]:
    return Ask("GET", f"/v1/subscriptions/{path_part(id)}", answer_document, id=id)


def page(path: str, after: str | None, limit: int = 1000, *, only: str | None = None) -> Ask[dict[str, Any]]:
    """A page of subscriptions or destinations. Options that are None are left out."""
    given = {name: value for name, value in {"after": after, "only": only}.items() if value is not None}
    return Ask("GET", path, answer_document, params={"limit": limit, **given})


def subscribe_bulk(body: Mapping[str, Any], path: str, *, replace: bool | None) -> Ask[Report]:
    """Subscriptions of events, or of the window that the path names; these have no `replace`."""

    def read(status: int, body: bytes) -> Report:
        report = json.loads(body)
        return Report(report["accepted"], rejects_of(report["errors"]))

    params = {"replace": "false"} if replace is False else {}
    return Ask("POST", path, read, params, **body, may_repeat=replace is not False)


def rejects_of(errors: Iterable[Mapping[str, Any]]) -> list[Reject]:
    return [Reject(one["row"], one.get("id"), one.get("field") or "", one["reason"]) for one in errors]


# Matching and publishing


def _ranked(ranking: Ranking | None) -> dict[str, str]:
    if ranking is None:
        return {}
    word = ranking.word()
    if word not in RANKINGS:
        raise InvalidInput(f"the service has the rankings {', '.join(RANKINGS)}")
    return {word: ":".join(str(getattr(ranking, name)) for name, _ in ranking.numbers)}


def matches_of(found: Iterable[Mapping[str, Any]]) -> list[Match]:
    """The matches among the subscriptions of an answer. Those that are told of changes are not matches."""
    return [
        Hit(
            one["id"],
            one["score"],
            {"payload": payload_of(one)} | {name: one[name] for name in ("named",) if name in one},
        )
        for one in found
        if "change" not in one
    ]


def payload_of(found: Mapping[str, Any]) -> Any:
    """The payload of a subscription of an answer, or `Omitted.PAYLOAD`, which nobody mistakes for it."""
    return Omitted.PAYLOAD if Omitted.PAYLOAD.value in found.get("left_out", ()) else found.get("payload")


def _match_params(ranking: Ranking | None, after: str | None) -> dict[str, str]:
    return _ranked(ranking) | ({} if after is None else {"after": after})


def match(event: Event, ranking: Ranking | None, after: str | None) -> Ask[tuple[list[Match], str | None]]:
    """The matches of an event behind one of them, and the last one if there are more."""

    def read(status: int, body: bytes) -> tuple[list[Match], str | None]:
        document = json.loads(body)
        return matches_of(document["matches"]), document.get("next")

    return Ask("POST", "/v1/match", read, params=_match_params(ranking, after), **json_body(event))


def match_batch(
    events: pa.Table | Iterable[Event], ranking: Ranking | None, after: str | None
) -> Ask[tuple[Matched, Further | None]]:
    """The matches of events, those of the first one behind one of them, and where they go on if there are more."""
    read = _of_table if isinstance(events, pa.Table) else _of_lines
    return Ask("POST", "/v1/match", read, params=_match_params(ranking, after), **many_body(events))


def _further(document: Mapping[str, Any] | None) -> Further | None:
    return None if document is None else Further(document["row"], document.get("after"))


def _of_table(status: int, body: bytes) -> tuple[Matched, Further | None]:
    table = pa.ipc.open_stream(body).read_all()
    metadata = table.schema.metadata or {}
    errors, further = (json.loads(metadata.get(name, b"null")) for name in (b"tocsin:errors", b"tocsin:next"))
    return Matched(table.replace_schema_metadata(None), rejects_of(errors or ())), _further(further)


def _of_lines(status: int, body: bytes) -> tuple[Matched, Further | None]:
    rows: list[tuple[int, Any, float, str | None]] = []
    errors: list[Reject] = []
    further = None
    for line in body.splitlines():
        one = json.loads(line)
        further = _further(one.get("next"))
        if "error" in one:
            errors.append(Reject(one["row"], None, "", one["error"]))
        for found in one.get("matches", ()):
            payload = found.get("payload")
            rows.append((one["row"], found["id"], found["score"], None if payload is None else json.dumps(payload)))
    events, ids, scores, payloads = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = {
        "event": pa.array(events, pa.int64()),
        "subscription": pa.array(ids, None if ids else pa.string()),
        "score": pa.array(scores, pa.float64()),
        "payload": pa.array(payloads, pa.string()),
    }
    return Matched(pa.table(columns), errors), further


def joined(parts: Iterable[Matched]) -> Matched:
    """The matches of several answers, the first of which is always there."""
    first, *others = parts
    tables = [one.table for one in (first, *others) if len(one.table)] or [first.table]
    return Matched(pa.concat_tables(tables), [error for one in (first, *others) for error in one.errors])


def publish(event: Event, key: str) -> Ask[Published]:
    return publish_body(json_body(event), key)


def publish_body(sent: Mapping[str, Any], key: str) -> Ask[Published]:
    """The publication of a body, which happens once however often it is sent."""

    def read(status: int, body: bytes) -> Published:
        found = json.loads(body)
        return Published(found["sequence"], found["matches"], found["deliveries"], rejects_of(found.get("errors", ())))

    return Ask("POST", "/v1/events", read, body=sent["body"], headers=sent["headers"] | {"Idempotency-Key": key})
