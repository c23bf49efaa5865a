"""Matching a source of events chunk by chunk (read, encode, match), which bounds memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import Points, checked_points, encode_chunk, with_coordinates, without_places
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.loading import raise_first, require_some
from tocsin.engine.misnamed import misnamed, no_degrees
from tocsin.engine.named import NAMED_TYPE, NamedParts
from tocsin.engine.notices import notices_of
from tocsin.engine.notices.exchanged import latitude_first
from tocsin.engine.notices.texts import texts_of_all
from tocsin.engine.rooms import Room
from tocsin.engine.seen import Seen
from tocsin.errors import InvalidInput
from tocsin.index import at_moment, question_of
from tocsin.kernels.answers.columns import repeated
from tocsin.model.instants import present
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Notice, Reject
from tocsin.model.texts import Text, texts_in
from tocsin.model.values import Instant
from tocsin.records import Chunk, read_events
from tocsin.records.chunks import CHUNK_ROWS, pieces
from tocsin.records.csv_files import ColumnType
from tocsin.records.events import Events
from tocsin.records.keys import joined_keys, key_values, keys_at, with_keys
from tocsin.schemas import require_asked
from tocsin.segment import Snapshots
from tocsin.threads import in_order, workers

EVENT_KEY: Final = "event_key"
PASSED: Final = "passed"


class Observer(Protocol):
    """Follows the events of a source while they are matched, in order. Its key is the `event_key` of the request."""

    key_option: str
    """The option that names the key, for warnings."""

    has_lines: bool
    """Whether the answer has a column `passed`, with the matches of `lines`."""

    def see(self, batches: Sequence[EventBatch]) -> None:
        """Take note of encoded events, before they are matched."""

    def lines(self, batches: Sequence[EventBatch], keys: Mapping[int, Any]) -> tuple[list[EventBatch], list[int]]:
        """Events to match besides, and their rows, from encoded events and the key of each row."""

    def notices(self, wanted: Wanted, seen: Seen) -> Iterable[Notice]:
        """Further warnings about the events."""


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a match, as in `match`. Pieces of at most about `piece_matches` matches bound memory."""

    ranking: Ranking | None = None
    lists: bool = False
    strict: bool = False
    schema: Mapping[str, ColumnType] | None = None  # types of attributes
    threads: int | None = None  # None: one per core
    delimiter: str | None = None  # delimiter of a CSV file; None: detected
    points: Points = field(default_factory=dict)  # attributes that combine two others
    event_key: str | None = None  # an attribute; its value becomes a column of the answer
    payload: bool = False  # whether matches have payloads
    named: bool = False  # whether matches tell which named parts held
    also: tuple[str, ...] = ()  # further attributes, with their values in columns `also_0`, `also_1`, ..
    piece_matches: int = 4_000_000
    texts: Mapping[str, Text] = field(default_factory=dict)  # further attributes that are texts
    no_places: tuple[tuple[float, float], ...] = ()  # points that mean "position not known"
    now: Instant | NDArray[np.int64] | None = None  # the present, or that of each row; None: when a piece is matched
    room: Room | None = None  # the bytes that the matches may take
    observer: Observer | None = None  # sees the events one piece after the other, and adds to answers and warnings

    def __post_init__(self) -> None:
        question_of(self.ranking)  # raises an error for an unknown ranking
        workers(self.threads)
        if self.points:
            checked_points(self.points)
        if self.event_key is not None and not isinstance(self.event_key, str):
            raise InvalidInput(f"event_key is {self.event_key!r:.40}; it names an attribute of the events")

    @property
    def beside(self) -> dict[str, str]:
        """The columns after the row of an event, with the attributes that they show."""
        own = {} if self.event_key is None else {EVENT_KEY: self.event_key}
        return own | {f"also_{number}": name for number, name in enumerate(self.also)}


@dataclass(frozen=True, slots=True)
class Matched:
    """The part of an `Answer` that one piece of the events gave."""

    table: pa.Table
    rejects: list[Reject]
    done: float | None  # share of the source read so far
    stats: Stats
    served: int  # events that were answered
    lost: frozenset[int] = frozenset()  # rows of the events that were not answered; each has a reject


def answer_of(
    snapshots: Snapshots,
    events: Events,
    request: Request,
    stats: Stats,
    rejects: list[Reject],
    progress: Callable[[float | None], None] | None = None,
    require_one: bool = False,
    seen: Seen | None = None,
) -> Answer:
    """The complete answer for a source of events; `rejects` are those of the subscriptions.

    `require_one` raises `RecordError` if no event could be read. `seen` is that of earlier events, for the warnings.
    """
    parts, seen = [], Seen() if seen is None else seen
    if request.now is None and snapshots.wanted.clock:
        request = replace(request, now=present())  # one for all pieces
    for part in match_chunks(snapshots, events, request, stats, seen):
        parts.append(part)
        if progress is not None:
            progress(part.done)
    refused = [reject for part in parts for reject in part.rejects]
    if require_one:
        require_some(sum(part.served for part in parts), refused, "event")
    table = _whole(snapshots, request, [part.table for part in parts])
    lost = frozenset[int]().union(*(part.lost for part in parts))
    return Answer(table, refused, rejects, stats, noticing=partial(warnings_of, snapshots, request, seen), lost=lost)


def answers_of(snapshots: Snapshots, events: Events, request: Request) -> Iterator[Answer]:
    """An answer for each piece of a source, with the warnings about all events so far."""
    whole, seen = Stats(), Seen()
    seconds = read = 0.0
    for part in match_chunks(snapshots, events, request, whole, seen):
        part.stats.subscriptions = len(snapshots)
        part.stats.seconds, seconds = whole.seconds - seconds, whole.seconds
        part.stats.add_time("read", whole.phases["read"] - read)
        read = whole.phases["read"]
        noticing = partial(warnings_of, snapshots, request, seen)
        yield Answer(part.table, part.rejects, [], part.stats, noticing=noticing)


def warnings_of(snapshots: Snapshots, request: Request, seen: Seen, *, of_options: bool = False) -> list[Notice]:
    """Warnings about misspelt options, coordinates that are not degrees and, unless `of_options`, the conditions."""
    seen.finish()
    options = misnamed(
        snapshots.wanted,
        seen,
        schema=request.schema,
        points=request.points,
        event_key=request.event_key,
        key_option="event_key" if request.observer is None else request.observer.key_option,
        ranking=request.ranking,
    )
    others = [*latitude_first(texts_of_all(snapshots), request.points, seen), *no_degrees(seen, snapshots.wanted)]
    observed = [] if request.observer is None else request.observer.notices(snapshots.wanted, seen)
    return [*options, *observed, *others, *(() if of_options else notices_of(snapshots, seen))]


def _whole(snapshots: Snapshots, request: Request, tables: list[pa.Table]) -> pa.Table:
    """The tables of all pieces as one, with the keys converted to one type."""
    for place, name in enumerate(request.beside, 1):
        keys = joined_keys([part[name].combine_chunks() for part in tables], exact=request.observer is not None)
        tables = [part.set_column(place, name, key) for part, key in zip(tables, keys, strict=True)]
    if request.beside:
        return pa.concat_tables(tables) if tables else empty_table(snapshots, request)
    return pa.concat_tables([empty_table(snapshots, request), *tables])


def match_chunks(
    snapshots: Snapshots,
    events: Events,
    request: Request,
    stats: Stats,
    seen: Seen | None = None,
    newest: Callable[[], Snapshots] | None = None,
    until: Callable[[Iterator[Chunk]], Iterator[Chunk]] | None = None,
) -> Iterator[Matched]:
    """Match a source piece by piece, adding to `stats` and to `seen` along the way.

    `newest` returns the subscriptions for each piece, if they change while the source is read. `until` may end the
    reading early; everything that was read is answered.
    """
    stats.subscriptions = len(snapshots)
    wanted = snapshots.wanted
    if request.schema:
        require_asked(wanted, texts_in(request.schema))
    if request.points:
        wanted = with_coordinates(wanted, request.points)
    begun = time.perf_counter()
    choice = choice_of(wanted, request.beside.values()) if newest is None else lambda _: True
    chunks = read_events(events, choice, request.schema, delimiter=request.delimiter)
    chunks = chunks if until is None else until(chunks)
    cut = _timed(pieces(chunks, lambda: _piece_size(request, stats)), stats)

    def answered(chunk: Chunk) -> Matched:
        now = snapshots if newest is None else newest()
        if now is snapshots:
            return _match_piece(now, chunk, request, wanted, seen)
        wants = with_coordinates(now.wanted, request.points) if request.points else now.wanted
        return _match_piece(now, chunk, request, wants, seen)

    threads = workers(request.threads) if request.observer is None else 1  # one piece after the other
    for part in in_order(cut, answered, threads, lambda chunk: chunk.done is None):
        if request.strict and part.rejects:
            raise_first(part.rejects, "event")
        stats.add(part.stats)
        stats.seconds += time.perf_counter() - begun
        yield part
        begun = time.perf_counter()
    stats.seconds += time.perf_counter() - begun


def choice_of(wanted: Wanted, others: Collection[str]) -> Callable[[str], bool]:
    """A predicate for the columns to read: attributes in the subscriptions, and `others`."""
    if not others:
        return wanted.inside
    return lambda name: wanted.inside(name) or any(name == one or one.startswith(f"{name}.") for one in others)


def _timed(chunks: Iterator[Chunk], stats: Stats) -> Iterator[Chunk]:
    """The same chunks; the time to produce them counts as reading."""
    while True:
        begun = time.perf_counter()
        chunk = next(chunks, None)
        stats.add_time("read", time.perf_counter() - begun)
        if chunk is None:
            return
        yield chunk


def _match_piece(snapshots: Snapshots, chunk: Chunk, request: Request, wanted: Wanted, seen: Seen | None) -> Matched:
    """Encode and match one piece of the events. Thread-safe."""
    stats = Stats()
    clock = time.perf_counter()
    schema = {**request.texts, **(request.schema or {})}
    batches, refused = encode_chunk(chunk, wanted, schema, request.points)
    if request.no_places:
        batches = [without_places(batch, request.no_places) for batch in batches]
    if wanted.clock:
        batches = _at_moments(batches, request.now)
    if request.observer is not None:
        request.observer.see(batches)
    rejects = sorted([*refused, *(r for batch in batches for r in batch.rejects)], key=lambda reject: reject.row)
    if request.event_key is not None and rejects:
        rejects = with_keys(rejects, chunk, request.event_key)
    if seen is not None:
        seen.add(chunk, batches)
    clock = _lap(stats, "encode", clock)
    table = _match_batches(snapshots, batches, request, stats)
    served = np.concatenate([batch.rows for batch in batches])
    rows = served
    if len(batches) > 1 or rejects:
        rows = np.unique(np.concatenate([served, np.array([r.row for r in rejects], np.int64)]))
    stats.events = len(rows)
    if request.lists:
        table = _as_lists(table, rows, served)
    if request.observer is not None and request.observer.has_lines:
        passed = _passed(snapshots, chunk, batches, request, request.observer, rows)
        table = table.append_column(PASSED, passed)
    if request.beside:
        distinct, which = np.unique(table["event"].to_numpy(), return_inverse=True)
        for place, (name, attribute) in enumerate(request.beside.items(), 1):
            keys = keys_at(chunk, distinct, attribute)
            if seen is not None and name == EVENT_KEY:
                seen.add_keys(len(keys) - keys.null_count, keys.null_count)
            table = table.add_column(place, name, keys.take(pa.array(which)))
    _lap(stats, "match", clock)
    lost = frozenset(np.setdiff1d(rows, served).tolist()) if rejects else frozenset()
    return Matched(table, rejects, chunk.done, stats, len(served), lost)


def _at_moments(batches: list[EventBatch], now: Instant | NDArray[np.int64] | None) -> list[EventBatch]:
    """The batches at a present, at those of their rows, or at the clock's."""
    if not isinstance(now, np.ndarray):
        now = now or present()
        return [at_moment(batch, now) for batch in batches]
    if any(len(batch) and int(batch.rows[-1]) >= len(now) for batch in batches):
        raise InvalidInput(f"now has {len(now):,} instants, but there are more events; give one for each")
    return [at_moment(batch, now[batch.rows]) for batch in batches]


def _passed(
    snapshots: Snapshots,
    chunk: Chunk,
    batches: list[EventBatch],
    request: Request,
    observer: Observer,
    rows: NDArray[np.int64],
) -> pa.Array:
    """The matches of the observer's further events, as a list for each row."""
    keys = key_values(keys_at(chunk, rows, request.event_key or ""))
    lines, moved = observer.lines(batches, dict(zip(rows.tolist(), keys, strict=True)))
    if not lines:
        return pa.nulls(len(rows), _schema(snapshots, request, lists=True).field("subscription").type)
    table = _match_batches(snapshots, lines, request, Stats())
    table = table.filter(pa.array(np.isin(table["event"].to_numpy(), moved)))
    return _as_lists(table, rows, np.array(moved, np.int64))["subscription"].combine_chunks()


def _piece_size(request: Request, stats: Stats) -> int:
    """The number of events in the next piece, estimated from the matches per event so far."""
    if not stats.events:
        return _FIRST_PIECE
    most = CHUNK_ROWS if workers(request.threads) == 1 else _SHARED_PIECE
    return max(_SMALLEST_PIECE, min(int(request.piece_matches / (stats.matches / stats.events + 1)), most))


_FIRST_PIECE: Final = 256
_SMALLEST_PIECE: Final = 64
_SHARED_PIECE: Final = 4096
"""With several threads: few enough events that even a short source keeps all threads busy."""


def _match_batches(snapshots: Snapshots, batches: list[EventBatch], request: Request, stats: Stats) -> pa.Table:
    """The matches of a chunk's batches as one table, by event."""
    schema = _schema(snapshots, request, lists=False)
    if request.room is not None and request.room.end is not None:
        return schema.empty_table()
    tables, answers = [], [snapshots.find(batch, request.ranking) for batch in batches]
    if request.room is not None:
        answers = request.room.cut(snapshots, batches, answers)
    for batch, found in zip(batches, answers, strict=True):
        columns = [pa.array(repeated(batch.rows, found.starts)), snapshots.ids_column(found.subscriptions)]
        if found.scores is not None:
            columns.append(pa.array(found.scores))
        if request.payload:
            columns.append(snapshots.payloads_of(found.subscriptions))
        if request.named:
            columns.append(NamedParts.kept_with(snapshots, found).column(batch, found))
        tables.append(pa.Table.from_arrays(columns, schema=schema))
        stats.matches += len(found.subscriptions)
        stats.candidates_examined += found.candidates_examined
        stats.unanswered = max(stats.unanswered, found.unanswered)
        stats.verified += found.verified
    if len(tables) == 1:
        return tables[0]
    table = pa.concat_tables(tables)
    return table.take(pa.array(np.argsort(table["event"].to_numpy(), kind="stable")))


def _lap(stats: Stats, phase: str, since: float) -> float:
    now = time.perf_counter()
    stats.add_time(phase, now - since)
    return now


def _schema(snapshots: Snapshots, request: Request, lists: bool) -> pa.Schema:
    def column(kind: pa.DataType) -> pa.DataType:
        return pa.list_(kind) if lists else kind

    fields = [("event", pa.int64()), ("subscription", column(snapshots.ids_column_type))]
    if request.ranking is not None:
        fields.append(("score", column(pa.float64())))
    if request.payload:
        fields.append(("payload", column(pa.large_string())))
    if request.named:
        fields.append(("named", column(NAMED_TYPE)))
    return pa.schema(fields)


def empty_table(snapshots: Snapshots, request: Request) -> pa.Table:
    """The table of an answer without events."""
    table = _schema(snapshots, request, request.lists).empty_table()
    for place, name in enumerate(request.beside, 1):
        table = table.add_column(place, name, pa.array([], pa.large_string()))
    if request.observer is not None and request.observer.has_lines:
        table = table.append_column(PASSED, table["subscription"])
    return table


def _as_lists(table: pa.Table, rows: NDArray[np.int64], served: NDArray[np.int64]) -> pa.Table:
    """One row per event, with its matches as lists; null for a rejected event."""
    events = table["event"].to_numpy()
    bounds = np.searchsorted(events, np.append(rows, np.iinfo(np.int64).max))
    missing = pa.array(~np.isin(rows, served))
    offsets = pa.array(bounds, pa.int32())
    columns: dict[str, pa.Array] = {"event": pa.array(rows)}
    for name in table.column_names[1:]:
        values = table[name].combine_chunks()
        columns[name] = pa.ListArray.from_arrays(offsets, values, mask=missing)
    return pa.table(columns)
