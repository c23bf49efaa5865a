"""Encoding of a chunk of any kind to batches of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.events.forms import encode_one
from tocsin.columns.events.json_lines import encode_lines
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.sparse import encode_sparse
from tocsin.columns.events.tables import encode_table
from tocsin.columns.events.wanted import Wanted
from tocsin.encoding.converting import converted_columns, converted_records
from tocsin.encoding.points import Points, with_points
from tocsin.model.subscription import Reject
from tocsin.records import Chunk, ObjectChunk, SparseChunk, TableChunk, parse_lines
from tocsin.schemas import typed


def encode_chunk(
    chunk: Chunk, wanted: Wanted, schema: Mapping[str, Any] | None = None, points: Points | None = None
) -> tuple[list[EventBatch], list[Reject]]:
    """Encode a chunk of records to batches with distinct rows. Also returns the records that could not be read."""
    batches, rejects = _encoded(chunk, wanted, schema)
    if schema:
        batches = [typed(batch, wanted, schema) for batch in batches]
    if points:
        batches = [with_points(batch, wanted, points) for batch in batches]
    return batches, rejects


def _encoded(chunk: Chunk, wanted: Wanted, schema: Mapping[str, Any] | None) -> tuple[list[EventBatch], list[Reject]]:
    if isinstance(chunk, TableChunk):
        table = converted_columns(chunk.table, schema) if schema else chunk.table
        return [encode_table(table, wanted, chunk.rows, chunk.misfits)], chunk.rejects
    if isinstance(chunk, SparseChunk):
        return [encode_sparse(chunk.names, chunk.values, chunk.rows, wanted)], []
    if isinstance(chunk, ObjectChunk):
        records = converted_records(chunk.records, schema) if schema else chunk.records
        return [_objects(records, wanted)], chunk.rejects
    plain, left = encode_lines(chunk.text, chunk.starts, chunk.stops, chunk.rows, wanted)
    parsed = parse_lines(chunk, left.tolist())
    records = converted_records(parsed.records, schema) if schema else parsed.records
    batches = [plain, _objects(records, wanted)] if records else [plain]
    return batches, parsed.rejects


def _objects(records: list[tuple[int, Any]], wanted: Wanted) -> EventBatch:
    return encode_one(*records[0], wanted) if len(records) == 1 else encode_objects(records, wanted)
