"""Answering a batch of rows in a task: events in columns, or as JSON in one column. Does not depend on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding import Points, encode_chunk, with_coordinates
from tocsin.errors import in_field
from tocsin.index import at_moment
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Reject
from tocsin.model.values import Instant
from tocsin.records import Chunk, LinesChunk, TableChunk
from tocsin.records.folders import FolderColumns, with_parts
from tocsin.segment import Snapshots
from tocsin.spark.data_files import path_of_url
from tocsin.spark.names import ERROR, FILE, MATCHES, NOW, WORK, Counts, work_column

AT_ONCE: Final = 200_000
"""Matches in one batch to Spark: enough to make the cost of a batch negligible, few enough for a heap of 1 GB."""


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The options for each batch: its columns, which of them are attributes, and the form of the answer."""

    columns: tuple[str, ...]
    attributes: tuple[str, ...]
    ranking: Ranking | None = None
    event_id: str | None = None  # one row per match, with this column
    json: str | None = None  # a column of events as JSON objects, instead of attributes
    corrupt: str | None = None  # a column with the records that a reader could not parse
    tells_work: bool = False  # adds a column with the counts of the work
    schema: Mapping[str, Any] = field(default_factory=dict)  # types of some attributes
    points: Points = field(default_factory=dict)  # attributes that combine two others
    untyped: Mapping[str, str] = field(default_factory=dict)  # columns with values that have no type here, and why
    by_file: bool = False  # match each file by its own columns; some may be missing
    all_columns: bool = False  # all columns of a file are attributes
    folders: FolderColumns | None = None  # the columns that the names of folders give, if workers read files
    now: Instant | None = None  # the present; None for that of the micro-batch or query


class RowMatches(NamedTuple):
    """The matches of a batch of rows. M matches, by row."""

    owners: NDArray[np.int64]  # (M,) the row of each
    places: NDArray[Any]  # (M,)
    scores: NDArray[np.float64]  # (M,)
    is_served: NDArray[np.bool_]  # (rows,) whether a row could be read as an event
    rejects: list[Reject]
    candidates: int
    verified: int


class Given(NamedTuple):
    """A batch of events that a task read from a file."""

    rows: pa.RecordBatch  # the columns of the answer
    own: pa.RecordBatch  # the columns to match
    misfits: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})  # values that are present but do not fit their type
    rejects: Sequence[Reject] = ()  # errors of values, by row
    refused: Sequence[str] = ()  # errors of further records that are not events


def at_present(batch: pa.RecordBatch, asked: MatchOptions) -> tuple[pa.RecordBatch, MatchOptions]:
    """A batch without the column of the present, and the options with what it says unless they have a present."""
    if NOW not in batch.schema.names:
        return batch, asked
    rows, moments = batch.drop_columns([NOW]), batch.column(NOW)
    if asked.now is not None or not len(moments):
        return rows, asked
    now = moments[:1].cast(pa.timestamp("us", "UTC")).cast(pa.int64())[0].as_py()
    return rows, replace(asked, now=Instant(now))


def given_slices(
    given: Given, asked: MatchOptions, snapshots: Snapshots, version: str = ""
) -> Iterator[pa.RecordBatch]:
    """The answer, in slices, to a batch that a task read itself."""
    found = find_given(given, asked, snapshots)
    yield from in_slices(_answered(given.rows, found, asked, snapshots, version), asked)
    if given.refused:
        yield from refusal(given.refused, given.rows.schema, asked, snapshots, version)


def slices(
    batch: pa.RecordBatch, asked: MatchOptions, snapshots: Snapshots, version: str = "", most: int = AT_ONCE
) -> Iterator[pa.RecordBatch]:
    """The answer to a batch, in slices with few enough matches for Spark's Java process."""
    yield from in_slices(answer(batch, asked, snapshots, version), asked, most)


def in_slices(whole: pa.RecordBatch, asked: MatchOptions, most: int = AT_ONCE) -> Iterator[pa.RecordBatch]:
    """An answer in batches of at most `most` matches, unless a single row has more."""
    matches = whole.num_rows if asked.event_id is not None else len(whole.column(MATCHES).values)
    rows = max(whole.num_rows * most // max(matches, most), 1)
    yield from (whole.slice(at, rows) for at in range(0, max(whole.num_rows, 1), rows))


def answer(batch: pa.RecordBatch, asked: MatchOptions, snapshots: Snapshots, version: str = "") -> pa.RecordBatch:
    """A batch of events with its matches and errors, or one row per match."""
    return _answered(batch, find(batch, asked, snapshots), asked, snapshots, version)


def refusal(
    reasons: Sequence[str], columns: pa.Schema, asked: MatchOptions, snapshots: Snapshots, version: str
) -> Iterator[pa.RecordBatch]:
    """The answer, in slices, for events that could not be read; one reason for each."""
    count = len(reasons)
    rows = pa.RecordBatch.from_arrays([pa.nulls(count, one.type) for one in columns], schema=columns)
    nothing = np.zeros(0, np.int64)
    rejects = [Reject(row, None, "", reason) for row, reason in enumerate(reasons)]
    found = RowMatches(nothing, nothing, np.zeros(0), np.zeros(count, bool), rejects, 0, 0)
    yield _answered(rows, found, asked, snapshots, version)


def _answered(
    batch: pa.RecordBatch, found: RowMatches, asked: MatchOptions, snapshots: Snapshots, version: str
) -> pa.RecordBatch:
    """The answer, with a column of counts if the options ask for it."""
    answered, counts = _told(batch, found, asked, snapshots)
    if not asked.tells_work:
        return answered
    columns = dict(zip(answered.schema.names, answered.columns, strict=True))
    columns = with_row(columns) if asked.event_id is not None else columns
    columns[WORK] = work_column((*counts, version), len(next(iter(columns.values()))))
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def counted_answer(given: Given, asked: MatchOptions, snapshots: Snapshots) -> tuple[pa.RecordBatch, Counts]:
    """The answer to a batch that a task read itself, without a column of counts, and the counts."""
    return _told(given.rows, find_given(given, asked, snapshots), asked, snapshots)


def _told(
    batch: pa.RecordBatch, found: RowMatches, asked: MatchOptions, snapshots: Snapshots
) -> tuple[pa.RecordBatch, Counts]:
    columns = _matched(batch, snapshots, found) if asked.event_id is None else _exploded(batch, asked, snapshots, found)
    refused = int((~found.is_served).sum())
    reported = len({reject.row for reject in found.rejects})
    counts = (batch.num_rows, len(found.places), refused, reported, found.candidates, found.verified)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)), counts


class Events(NamedTuple):
    """The events of a batch of rows, in one or more encoded batches. Rows are those of the whole batch."""

    encoded: list[EventBatch]
    rows: list[NDArray[np.int64]]  # per encoded batch, the rows of its events
    is_served: NDArray[np.bool_]  # (rows,) whether a row could be read as an event
    rejects: list[Reject]


def find_given(given: Given, asked: MatchOptions, snapshots: Snapshots) -> RowMatches:
    """Match the events of a batch that a task read itself."""
    found = find(given.own, asked, snapshots, given.misfits)
    return found._replace(rejects=[*given.rejects, *found.rejects])


def find(
    batch: pa.RecordBatch,
    asked: MatchOptions,
    snapshots: Snapshots,
    misfits: Mapping[str, NDArray[np.bool_]] | None = None,
) -> RowMatches:
    """Match the events of a batch, except those that the reader could not parse."""
    events = events_of(batch, asked, snapshots.wanted, misfits)
    found = [snapshots.find(one, asked.ranking) for one in events.encoded]
    owners = np.concatenate([rows[own.events] for rows, own in zip(events.rows, found, strict=True)])
    order = np.argsort(owners, kind="stable") if len(found) > 1 else slice(None)
    scores = [snapshots.scores_of(own.subscriptions) if own.scores is None else own.scores for own in found]
    return RowMatches(
        owners[order],
        np.concatenate([own.subscriptions for own in found])[order],
        np.concatenate(scores)[order],
        events.is_served,
        events.rejects,
        sum(own.candidates_examined for own in found),
        sum(own.verified for own in found),
    )


def events_of(
    batch: pa.RecordBatch, asked: MatchOptions, wanted: Wanted, misfits: Mapping[str, NDArray[np.bool_]] | None = None
) -> Events:
    """The rows of a batch that can be read as events."""
    rows = np.arange(batch.num_rows)
    rejects = []
    if asked.corrupt is not None:
        texts = batch.column(asked.corrupt)
        is_sound = texts.is_null().to_numpy(zero_copy_only=False)
        rejects = [
            Reject(row, None, "", f"the record cannot be read: {texts[row].as_py():.200}")
            for row in np.flatnonzero(~is_sound).tolist()
        ]
        rows = rows[is_sound]
        batch = batch if len(rows) == batch.num_rows else batch.filter(pa.array(is_sound))
    encoded, refused = encoded_events(batch, asked, wanted, misfits)
    if wanted.clock and asked.now is not None:
        encoded = [at_moment(one, asked.now) for one in encoded]
    served = np.zeros(len(rows) + len(rejects), bool)
    for one in encoded:
        served[rows[one.rows]] = True
    refused += [reject for one in encoded for reject in one.rejects]
    rejects += [reject._replace(row=int(rows[reject.row])) for reject in refused]
    return Events(encoded, [rows[one.rows] for one in encoded], served, rejects)


def encoded_events(
    batch: pa.RecordBatch, asked: MatchOptions, wanted: Wanted, misfits: Mapping[str, NDArray[np.bool_]] | None = None
) -> tuple[list[EventBatch], list[Reject]]:
    """The events of a batch, each in one of the encoded batches, and rejects for rows that are not events."""
    wanted = with_coordinates(wanted, asked.points) if asked.points else wanted
    if asked.json is None:
        return encode_chunk(_table_of(batch, asked, misfits or {}), wanted, asked.schema, asked.points)
    lines = _lines(batch.column(asked.json))
    encoded: list[EventBatch] = []
    refused: list[Reject] = []
    for chunk in _with_folders(lines, batch, asked, wanted):
        batches, rejects = encode_chunk(chunk, wanted, asked.schema, asked.points)
        encoded += batches
        refused += (reject._replace(reason=reject.reason.partition(": ")[2]) for reject in rejects)
    return encoded, refused


def _with_folders(lines: LinesChunk, batch: pa.RecordBatch, asked: MatchOptions, wanted: Wanted) -> Iterator[Chunk]:
    """The lines of each file of a batch, with the columns that the names of its folders give."""
    if asked.folders is None or FILE not in batch.schema.names:
        yield lines
        return
    files = batch.column(FILE).dictionary_encode()
    numbers = files.indices.to_numpy()
    for number, file in enumerate(files.dictionary.to_pylist()):
        rows = np.flatnonzero(numbers == number)
        own = LinesChunk(lines.text, lines.starts[rows], lines.stops[rows], lines.rows[rows], lines.numbers[rows])
        parts = asked.folders.values(path_of_url(file))
        parts = {name: value for name, value in parts.items() if wanted.inside(name)}
        yield with_parts(own, parts) if parts else own


def _table_of(batch: pa.RecordBatch, asked: MatchOptions, misfits: Mapping[str, NDArray[np.bool_]]) -> TableChunk:
    """The attributes of a batch. Values in columns that have no type here become misfits, and are reported."""
    told: list[Reject] = []
    attributes = batch.select(_attributes_of(batch, asked))
    for name in set(asked.untyped) & set(attributes.schema.names):
        there = attributes.column(name).is_valid().to_numpy(zero_copy_only=False)
        misfits = {**misfits, name: there}
        told += [Reject(row, None, name, asked.untyped[name]) for row in np.flatnonzero(there).tolist()]
        number = attributes.schema.get_field_index(name)
        attributes = attributes.set_column(number, name, pa.nulls(batch.num_rows))
    return TableChunk(attributes, np.arange(batch.num_rows), misfits, told)


def _attributes_of(batch: pa.RecordBatch, asked: MatchOptions) -> list[str]:
    """The columns of a batch that are attributes."""
    names: list[str] = batch.schema.names
    if asked.all_columns or not asked.by_file:
        return names if asked.all_columns else list(asked.attributes)
    return [name for name in asked.attributes if name in names]


def _lines(column: pa.Array) -> LinesChunk:
    """A column of JSON objects as lines over the same memory. Objects may contain line breaks; null is empty."""
    texts = pc.fill_null(column.cast(pa.large_binary()), b"")
    offsets, data = (
        np.frombuffer(buffer, kind) for buffer, kind in zip(texts.buffers()[1:], ("i8", "u1"), strict=True)
    )
    offsets = offsets[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    text = data[offsets[0] : offsets[-1]].tobytes() if len(offsets) else b""
    rows = np.arange(len(texts))
    starts = offsets - (offsets[0] if len(offsets) else 0)
    return LinesChunk(text, starts[:-1], starts[1:], rows, rows)


def _matched(batch: pa.RecordBatch, snapshots: Snapshots, found: RowMatches) -> dict[str, pa.Array]:
    """The batch with its matches and errors."""
    matches = lists_of(found.owners, ids_and_scores(snapshots, found), found.is_served)
    given = dict(zip(batch.schema.names, batch.columns, strict=True))
    return {**given, MATCHES: matches, ERROR: errors_of(found.rejects, batch.num_rows)}


def lists_of(owners: NDArray[np.int64], columns: list[pa.Array], is_served: NDArray[np.bool_]) -> pa.Array:
    """The matches of each row as a list, null for a rejected row; `owners` must ascend."""
    offsets = np.searchsorted(owners, np.arange(len(is_served) + 1))
    values = pa.StructArray.from_arrays(columns, names=["subscription", "score"])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=pa.array(~is_served))


def _exploded(
    batch: pa.RecordBatch, asked: MatchOptions, snapshots: Snapshots, found: RowMatches
) -> dict[str, pa.Array]:
    """One row for each match of the batch."""
    ids, scores = ids_and_scores(snapshots, found)
    return {"event_id": batch.column(asked.event_id).take(pa.array(found.owners)), "subscription": ids, "score": scores}


def with_row(columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Prepends a row of nulls, so that the result is never empty."""
    return {name: pa.concat_arrays([pa.nulls(1, one.type), one]) for name, one in columns.items()}


def ids_and_scores(snapshots: Snapshots, found: RowMatches) -> list[pa.Array]:
    """The ids and scores of the matches, in Spark's types."""
    kind = pa.int64() if pa.types.is_integer(snapshots.id_type) else pa.string()
    return [snapshots.ids_of(found.places).cast(kind), pa.array(found.scores)]


def errors_of(rejects: list[Reject], count: int) -> pa.Array:
    """The errors of each event, null if it has none."""
    reasons: dict[int, list[str]] = {}
    for reject in rejects:
        reasons.setdefault(reject.row, []).append(in_field(reject.field, reject.reason))
    return pa.array(["; ".join(reasons[row]) if row in reasons else None for row in range(count)], pa.string())
