"""Reader of tables: Arrow, Parquet, pandas and Polars, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput
from tocsin.model.values import class_of
from tocsin.records.chunks import CHUNK_ROWS, TableChunk
from tocsin.records.files import STANDARD, is_url, opened_file, readable

Chooser = Callable[[str], bool]
"""Whether a top-level column is needed."""


def read_parquet(path: str | Path, choose: Chooser) -> Iterator[TableChunk]:
    """Read the needed columns of a Parquet file."""
    try:
        file = parquet_file(opened_file(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} is not a readable Parquet file: {error}") from None
    columns = needed(file.schema_arrow.names, choose)
    total = file.metadata.num_rows
    try:
        batches = file.iter_batches(CHUNK_ROWS, columns=columns) if columns else rows_without_columns(total)
        others = tuple(set(file.schema_arrow.names).difference(columns))
        for chunk in chunks_of_batches(_with_geometry_types(file, batches), total):
            yield replace(chunk, others=others)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} is damaged: {error}") from None


def _with_geometry_types(file: pq.ParquetFile, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """Batches in which columns of Parquet's types GEOMETRY and GEOGRAPHY say, as GeoArrow does, how they are meant."""
    leaves = (file.schema.column(number) for number in range(len(file.schema)))
    types = {leaf.path: leaf.logical_type for leaf in leaves if leaf.logical_type.type in _GEOMETRY_TYPES}
    if not types:
        return batches
    about = {name: _GEOMETRY | {_METADATA: _meaning_of(kind)} for name, kind in types.items()}
    return (_with_metadata(batch, about) for batch in batches)


_GEOMETRY_TYPES: Final = ("GEOMETRY", "GEOGRAPHY")
_GEOMETRY: Final = {"ARROW:extension:name": "geoarrow.wkb"}
_METADATA: Final = "ARROW:extension:metadata"


def _meaning_of(kind: pq.ParquetLogicalType) -> str:
    """The reference system and the edges of a type, as GeoArrow writes them."""
    said = json.loads(kind.to_json())
    edges = {"edges": said.get("algorithm", "spherical")} if kind.type == "GEOGRAPHY" else {}
    return json.dumps({"crs": said.get("crs") or None} | edges)


def _with_metadata(batch: pa.RecordBatch, about: Mapping[str, Mapping[str, str]]) -> pa.RecordBatch:
    fields = [field.with_metadata(about[field.name]) if field.name in about else field for field in batch.schema]
    return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields, batch.schema.metadata))


def parquet_file(source: Any) -> pq.ParquetFile:
    """Open a Parquet file. INT96 is read in microseconds, since in nanoseconds dates beyond 2262 become others."""
    return pq.ParquetFile(source, coerce_int96_timestamp_unit=INT96_UNIT)


INT96_UNIT: Final = "us"


def needed(names: list[str], choose: Chooser) -> list[str]:
    """The columns to read: all of them if a dotted name occurs, which may clash with an unneeded nested column."""
    return names if any("." in name for name in names) else [name for name in names if choose(name)]


def parquet_columns(path: str | Path) -> list[str]:
    """The names of a Parquet file's columns."""
    try:
        names: list[str] = pq.read_schema(opened_file(path)).names
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} is not a readable Parquet file: {error}") from None
    return names


def rows_without_columns(total: int) -> Iterator[pa.RecordBatch]:
    """Rows count even if no column is needed: `x IS NULL` is TRUE for them."""
    for first in range(0, total, CHUNK_ROWS):
        yield pa.record_batch({"": pa.nulls(min(CHUNK_ROWS, total - first))})


def read_arrow_file(path: str | Path) -> Iterator[TableChunk]:
    """Read an Arrow IPC file or stream."""
    is_mapped = not is_url(path) and str(path) != STANDARD
    source = pa.memory_map(str(readable(path))) if is_mapped else opened_file(path)
    try:
        try:
            file = pa.ipc.open_file(source)
            batches: Iterable[pa.RecordBatch] = (file.get_batch(i) for i in range(file.num_record_batches))
        except pa.ArrowInvalid:
            source.seek(0)
            batches = pa.ipc.open_stream(source)
        yield from chunks_of_batches(map(_validated, batches), None)
    except (pa.ArrowException, OSError, OverflowError) as error:
        raise InvalidInput(f"{path} is not a readable Arrow file: {error}") from None


def _validated(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Validate a batch's offsets, since Arrow trusts the file."""
    batch.validate(full=True)
    return batch


def read_table(table: Any) -> Iterator[TableChunk]:
    """Read a table, a record batch, a reader, or anything that exports an Arrow stream."""
    if isinstance(table, pa.RecordBatch):
        table = pa.table(table)
    if not isinstance(table, pa.Table):
        try:
            table = pa.RecordBatchReader.from_stream(table)
        except (pa.ArrowException, TypeError) as error:
            raise InvalidInput(f"{class_of(table)} cannot be read as a table: {error}") from None
        yield from chunks_of_batches(table, None)
        return
    yield from chunks_of_batches(table.to_batches(CHUNK_ROWS), table.num_rows, table.slice(0, 0))


def chunks_of_batches(
    batches: Iterable[pa.RecordBatch], total: int | None, empty: pa.Table | None = None
) -> Iterator[TableChunk]:
    """Cut batches into chunks; `empty` replaces them if they hold no row."""
    first = 0
    for batch in batches:
        for at in range(0, batch.num_rows, CHUNK_ROWS):
            part = batch.slice(at, CHUNK_ROWS)
            rows = np.arange(first, first + part.num_rows)
            first += part.num_rows
            yield TableChunk(part, rows, done=first / total if total else None)
    if first == 0 and empty is not None:
        yield TableChunk(empty, np.arange(0), done=1.0)
