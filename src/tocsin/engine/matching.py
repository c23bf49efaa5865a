"""How is a source of events matched? Chunk by chunk: read, encode, match, so that memory stays bounded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.batch import EventBatch, Wanted
from tocsin.columns.objects import encode_objects
from tocsin.columns.tables import encode_table
from tocsin.engine.answer import Answer, Stats
from tocsin.engine.loading import load_segments, raise_first
from tocsin.model.ranking import Ranking
from tocsin.model.subscription import Reject
from tocsin.records import Chunk, ObjectChunk, read_events
from tocsin.segment import SegmentSet


@dataclass(frozen=True, slots=True)
class Matched:
    """What one chunk of events gave. `rows` are all its event rows, in order, the rejected ones included."""

    table: pa.Table
    rows: NDArray[np.int64]
    rejects: list[Reject]
    done: float | None  # share of the source read so far


def match(
    subscriptions: Any,
    events: Any,
    *,
    ranking: Ranking | None = None,
    index: str = "auto",
    lists: bool = False,
    strict: bool = False,
    schema: Mapping[str, Any] | None = None,
) -> Answer:
    """Match events against subscriptions in one call, nothing kept.

    Both come as dicts, JSON lines (bytes, or a path), Arrow tables, pandas or Polars frames, CSV or Parquet paths;
    subscriptions also as a folder that `compile` made. A bad record is reported in `.errors` and the rest served;
    `strict` raises `RecordError` at the first one. `schema` types the columns of a CSV of events.

    >>> answer = match([{"id": "cheap", "where": "price <= 580"}], [{"price": 550}, {"price": 600}])
    >>> answer.table.to_pylist()
    [{'event': 0, 'subscription': 'cheap'}]
    """
    stats = Stats()
    begun = time.perf_counter()
    segments, rejects = load_segments(subscriptions, index, strict=strict)
    stats.add_time("compile", time.perf_counter() - begun)
    parts = list(match_chunks(segments, events, stats, ranking=ranking, lists=lists, strict=strict, schema=schema))
    table = pa.concat_tables([_schema(segments, ranking, lists).empty_table(), *(part.table for part in parts)])
    return Answer(table, [r for part in parts for r in part.rejects], rejects, stats)


def match_chunks(
    segments: SegmentSet,
    events: Any,
    stats: Stats,
    *,
    ranking: Ranking | None = None,
    lists: bool = False,
    strict: bool = False,
    schema: Mapping[str, Any] | None = None,
) -> Iterator[Matched]:
    """Match a source chunk by chunk, adding to `stats` as it goes."""
    stats.subscriptions = len(segments)
    clock = time.perf_counter()
    for chunk in read_events(events, segments.wanted.inside, schema):
        clock = _lap(stats, "read", clock)
        batch = encode_chunk(chunk, segments.wanted)
        rejects = sorted(chunk.rejects + batch.rejects, key=lambda reject: reject.row)
        if strict and rejects:
            raise_first(rejects, "event")
        clock = _lap(stats, "encode", clock)
        found = segments.match(batch, ranking)
        rows = _all_rows(chunk, batch)
        stats.events += len(rows)
        stats.matches += len(found.events)
        stats.candidates_examined += found.candidates_examined
        stats.verified += found.verified
        columns = [batch.rows[found.events], segments.ids.take(pa.array(found.numbers))]
        if ranking is not None:
            columns.append(segments.scores[found.numbers])
        table = pa.Table.from_arrays([pa.array(c) for c in columns], schema=_schema(segments, ranking, lists=False))
        if lists:
            table = _as_lists(table, rows, batch.rows)
        clock = _lap(stats, "match", clock)
        yield Matched(table, rows, rejects, chunk.done)
        clock = time.perf_counter()


def encode_chunk(chunk: Chunk, wanted: Wanted) -> EventBatch:
    """A chunk of records as a batch."""
    if isinstance(chunk, ObjectChunk):
        return encode_objects(chunk.records, wanted)
    return encode_table(chunk.table, wanted, chunk.rows, chunk.misfits)


def _lap(stats: Stats, phase: str, since: float) -> float:
    now = time.perf_counter()
    stats.add_time(phase, now - since)
    return now


def _all_rows(chunk: Chunk, batch: EventBatch) -> NDArray[np.int64]:
    """The rows of every event of a chunk, the rejected ones included."""
    given = [row for row, _ in chunk.records] if isinstance(chunk, ObjectChunk) else chunk.rows
    refused = [reject.row for reject in chunk.rejects]
    return np.unique(np.concatenate([batch.rows, np.asarray(given, np.int64), np.asarray(refused, np.int64)]))


def _schema(segments: SegmentSet, ranking: Ranking | None, lists: bool) -> pa.Schema:
    def column(kind: pa.DataType) -> pa.DataType:
        return pa.list_(kind) if lists else kind

    fields = [("event", pa.int64()), ("subscription", column(segments.ids.type))]
    if ranking is not None:
        fields.append(("score", column(pa.float64())))
    return pa.schema(fields)


def _as_lists(table: pa.Table, rows: NDArray[np.int64], served: NDArray[np.int64]) -> pa.Table:
    """One row an event: its matches as lists, null for an event that was rejected."""
    events = table["event"].to_numpy()
    bounds = np.searchsorted(events, np.append(rows, np.iinfo(np.int64).max))
    missing = pa.array(~np.isin(rows, served))
    offsets = pa.array(bounds, pa.int32())
    columns: dict[str, pa.Array] = {"event": pa.array(rows)}
    for name in table.column_names[1:]:
        values = table[name].combine_chunks()
        columns[name] = pa.ListArray.from_arrays(offsets, values, mask=missing)
    return pa.table(columns)
