"""Sources of many records as requests that the service takes: cut to its limit, sent one after the other.

A record that cannot be JSON is reported by its row, and the others are sent. The answers are put together.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import pyarrow as pa

from tocsin.client.calls import ARROW, LINES, Ask, Published, json_text, publish_body, subscribe_bulk
from tocsin.client.conversations import Conversation
from tocsin.errors import InvalidInput, ServiceError
from tocsin.model.python_values import python_rows
from tocsin.model.subscription import Reject, Report, SubscriptionId, superseded_notice
from tocsin.progress import Progress, reporting
from tocsin.records.chunks import Chunk, ObjectChunk, TableChunk
from tocsin.records.events import read_events
from tocsin.records.json_lines import as_records
from tocsin.records.subscriptions import NEEDED, chunks_of, from_json

Result = TypeVar("Result")
_MOST_BYTES: Final = 8 << 20
"""Bytes of a request, unless the service says that it takes fewer."""
_JSON_FIELDS: Final = ("weights", "payload", "predicates", "named")
_NUMBERS: Final = ("score", "throttle_s")


class Lines(NamedTuple):
    """Records as JSON, one a line."""

    texts: Sequence[bytes]
    rows: Sequence[int]
    ids: Sequence[Any]

    @property
    def size(self) -> int:
        return sum(map(len, self.texts)) + len(self.texts)

    def body(self) -> dict[str, Any]:
        return {"body": b"\n".join(self.texts) + b"\n", "headers": {"Content-Type": LINES}}

    def part(self, first: int, stop: int) -> Lines:
        return Lines(self.texts[first:stop], self.rows[first:stop], self.ids[first:stop])


class Table(NamedTuple):
    """Records as an Arrow table, which keeps the types of its values."""

    table: pa.Table
    rows: Sequence[int]
    ids: Sequence[Any]

    @property
    def size(self) -> int:
        return int(self.table.nbytes)

    def body(self) -> dict[str, Any]:
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, self.table.schema) as writer:
            writer.write_table(self.table)
        return {"body": stream.getvalue(), "headers": {"Content-Type": ARROW}}

    def part(self, first: int, stop: int) -> Table:
        return Table(self.table.slice(first, stop - first), self.rows[first:stop], self.ids[first:stop])


Part = Lines | Table


@dataclass(slots=True)
class Upload:
    """What is known of a source while it is sent."""

    progress: Progress | None = None
    reads_texts: bool = False  # whether texts of a table may be numbers and JSON, as in a CSV of subscriptions
    limit: int = field(default_factory=lambda: _MOST_BYTES)
    sent: int = 0
    requests: int = 0
    rejects: list[Reject] = field(default_factory=list)

    def run(
        self,
        chunks: Iterable[Chunk],
        ask: Callable[[dict[str, Any], int], Ask[Result]],
        take: Callable[[Result, Part], None],
    ) -> Conversation[Any]:
        """Send all chunks; `ask` makes the request of a body and its number, `take` gets the answer of each part."""
        with reporting(self.progress, "sending") as share:
            for chunk in chunks:
                for part in self._parts(as_records(chunk)):
                    yield from self._sent(part, ask, take)
                if share is not None:
                    share(chunk.done)
        self.rejects.sort(key=lambda reject: reject.row)

    def _parts(self, chunk: ObjectChunk | TableChunk) -> Iterator[Part]:
        """The records of a chunk as they are sent. Those that cannot be JSON are rejects."""
        self.rejects += chunk.rejects
        if isinstance(chunk, TableChunk) and not (self.reads_texts and _has_texts(chunk.table)):
            table = pa.Table.from_batches([chunk.table]) if isinstance(chunk.table, pa.RecordBatch) else chunk.table
            if len(table):
                yield Table(table, chunk.rows.tolist(), _ids(table))
            return
        pairs = _read_texts(chunk) if isinstance(chunk, TableChunk) else chunk.records
        texts, rows, ids = list[bytes](), list[int](), list[Any]()
        for row, record in pairs:
            try:
                texts.append(json_text(record))
            except InvalidInput as error:
                self.rejects.append(Reject(row, id_of(record), _wrong_field(record), str(error)))
                continue
            rows.append(row)
            ids.append(record.get("id"))
        if texts:
            yield Lines(texts, rows, ids)

    def _sent(
        self,
        whole: Part,
        ask: Callable[[dict[str, Any], int], Ask[Result]],
        take: Callable[[Result, Part], None],
    ) -> Conversation[Any]:
        """Send a part, or cut it if the service takes fewer bytes."""
        waiting = [whole]
        while waiting:
            part = waiting.pop()
            if part.size > self.limit and len(part.rows) > 1:
                waiting += reversed(_cut(part, self.limit))
                continue
            try:
                result = yield ask(part.body(), self.requests)
            except ServiceError as error:
                if error.status != 413:
                    raise self._told(error) from None
                self._refuse(part, error, waiting)
                continue
            self.requests += 1
            self.sent += len(part.rows)
            take(result, part)

    def _refuse(self, part: Part, error: ServiceError, waiting: list[Part]) -> None:
        """Cut a part that is too large for the service; a single record becomes a reject."""
        if len(part.rows) == 1:
            reason = f"the record has {part.size:,} bytes; {error.detail}"
            self.rejects.append(Reject(part.rows[0], part.ids[0], "", reason))
            return
        self.limit = min(int(error.more.get("limit", self.limit)), max(part.size // 2, 1))
        waiting.append(part)

    def _told(self, error: ServiceError) -> ServiceError:
        """The error of a request, with how many records were sent before it."""
        if not self.sent:
            return error
        before = "1 record was" if self.sent == 1 else f"{self.sent:,} records were"
        detail = f"{error.detail}; before it, {before} sent"
        return ServiceError(error.status, error.kind, detail, error.more | {"sent": self.sent})


def _cut(part: Part, limit: int) -> list[Part]:
    """Parts of at most so many bytes, but of one record at least."""
    count = len(part.rows)
    if isinstance(part, Table):
        step = max(1, count * limit // max(part.size, 1))
        return [part.part(first, min(first + step, count)) for first in range(0, count, step)]
    parts, first, size = list[Part](), 0, 0
    for place, text in enumerate(part.texts):
        if place > first and size + len(text) + 1 > limit:
            parts.append(part.part(first, place))
            first, size = place, 0
        size += len(text) + 1
    return [*parts, part.part(first, count)]


def _ids(table: pa.Table) -> Sequence[Any]:
    return table["id"].to_pylist() if "id" in table.column_names else [None] * len(table)


def id_of(record: Mapping[str, Any]) -> SubscriptionId | None:
    """The id of a record that has another fault."""
    raw = record.get("id")
    return raw if isinstance(raw, str | int) and not isinstance(raw, bool) else None


def _wrong_field(record: Mapping[str, Any]) -> str:
    """The first field of a record that JSON does not have; empty if it is the record itself."""
    for name, value in record.items():
        try:
            json_text({str(name): value})
        except InvalidInput:
            return str(name)
    return ""


def _has_texts(table: pa.Table | pa.RecordBatch) -> bool:
    """Whether a table of subscriptions has numbers or JSON as texts, as a CSV has them."""
    fields = (table.schema.field(name).type for name in (*_JSON_FIELDS, *_NUMBERS) if name in table.schema.names)
    return any(pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in fields)


def _read_texts(chunk: TableChunk) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table of subscriptions, with the numbers and the JSON of texts read."""
    for row, record in zip(chunk.rows.tolist(), python_rows(chunk.table), strict=True):
        for name in (*_JSON_FIELDS, *_NUMBERS):
            if isinstance(record.get(name), str):
                record[name] = from_json(record[name])
        yield row, {name: _plain(value) for name, value in record.items() if value is not None}


def _plain(value: Any) -> Any:
    """A time as JSON has it: a text, in UTC if it has no zone."""
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).isoformat()
    return value


def _at_rows(rejects: Iterable[Reject], part: Part) -> list[Reject]:
    """Rejects of a request by the rows of the source, with the ids of their records."""
    return [one._replace(row=part.rows[one.row], id=part.ids[one.row] if one.id is None else one.id) for one in rejects]


def subscriptions(
    source: Any, path: str, *, replace: bool | None = None, progress: Progress | None = None
) -> Conversation[Report]:
    """Send subscriptions from any source; with `replace`, a later one of the same id counts."""
    upload, accepted = Upload(progress, reads_texts=True), 0
    seen, doubled = set[int](), list[Any]()

    def take(report: Report, part: Part) -> None:
        nonlocal accepted
        upload.rejects += _at_rows(report.errors, part)
        refused = {one.row for one in report.errors}
        ids = [id for place, id in enumerate(part.ids) if place not in refused]
        new = set(map(hash, ids))
        accepted += report.accepted - len(new & seen)  # those of earlier requests were replaced
        for id in ids:
            if (key := hash(id)) in seen:
                doubled.append(id)
            seen.add(key)

    chunks = chunks_of(source, lambda _: True, NEEDED[:1], "subscriptions")
    yield from upload.run(chunks, lambda body, _: subscribe_bulk(body, path, replace=replace), take)
    notices = [superseded_notice(len(doubled), doubled[0])] if doubled and replace is not False else []
    yield Report(accepted, upload.rejects, notices)


def events(source: Any, key: str, progress: Progress | None = None) -> Conversation[Published]:
    """Publish events from any source. Each request has an idempotency key, the first one `key` itself."""
    upload, total = Upload(progress), Published(0, 0, 0, [])

    def take(published: Published, part: Part) -> None:
        nonlocal total
        upload.rejects += _at_rows(published.errors, part)
        counts = (total.matches + published.matches, total.deliveries + published.deliveries)
        total = Published(max(total.sequence, published.sequence), *counts, [])

    def ask(body: dict[str, Any], number: int) -> Ask[Published]:
        return publish_body(body, f"{key}.{number}" if number else key)

    yield from upload.run(read_events(source), ask, take)
    yield total._replace(errors=[one._replace(id=None) for one in upload.rejects])
