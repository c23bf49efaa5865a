"""Reader of tables: Arrow, Parquet, pandas and Polars, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput
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
        for chunk in chunks_of_batches(batches, total):
            yield replace(chunk, others=others)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} is damaged: {error}") from None


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
        table = pa.RecordBatchReader.from_stream(table)
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
