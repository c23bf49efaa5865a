"""How are tables read? Arrow, Parquet, pandas and Polars, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput
from tocsin.records.chunks import CHUNK_ROWS, TableChunk
from tocsin.records.files import is_url, opened_file, readable

Chooser = Callable[[str], bool]
"""Whether a top-level column is needed."""


def read_parquet(path: str | Path, choose: Chooser) -> Iterator[TableChunk]:
    """Only the columns that are needed are read from the file."""
    try:
        file = pq.ParquetFile(opened_file(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} is no readable Parquet file: {error}") from None
    columns = [name for name in file.schema_arrow.names if choose(name)]
    if any("." in name for name in file.schema_arrow.names):
        columns = file.schema_arrow.names  # a dotted column may clash with a nested one that nobody asks for
    total = file.metadata.num_rows
    if not columns:
        yield from _without_columns(total)
        return
    try:
        yield from _chunks(file.iter_batches(CHUNK_ROWS, columns=columns), total)
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} is damaged: {error}") from None


def parquet_columns(path: str | Path) -> list[str]:
    """The names of a Parquet file's columns."""
    try:
        names: list[str] = pq.read_schema(opened_file(path)).names
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path} is no readable Parquet file: {error}") from None
    return names


def _without_columns(total: int) -> Iterator[TableChunk]:
    """Rows of which no column is needed still count: `x IS NULL` is TRUE of them."""
    for first in range(0, total, CHUNK_ROWS):
        count = min(CHUNK_ROWS, total - first)
        table = pa.table({"": pa.nulls(count)})
        yield TableChunk(table, np.arange(first, first + count), done=(first + count) / total)


def read_arrow_file(path: str | Path) -> Iterator[TableChunk]:
    """An Arrow IPC file or stream."""
    source = opened_file(path) if is_url(path) else pa.memory_map(str(readable(path)))
    try:
        try:
            file = pa.ipc.open_file(source)
            batches: Iterable[pa.RecordBatch] = (file.get_batch(i) for i in range(file.num_record_batches))
        except pa.ArrowInvalid:
            source.seek(0)
            batches = pa.ipc.open_stream(source)
        yield from _chunks(map(_validated, batches), None)
    except (pa.ArrowException, OSError, OverflowError) as error:
        raise InvalidInput(f"{path} is no readable Arrow file: {error}") from None


def _validated(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, once it is seen that its offsets lie within it: Arrow believes what a file says."""
    batch.validate(full=True)
    return batch


def read_dataset(dataset: Any, choose: Chooser) -> Iterator[TableChunk]:
    """The rows of an Arrow dataset, a fragment after another; only the columns that are needed are read."""
    names = dataset.schema.names
    columns = names if any("." in name for name in names) else [name for name in names if choose(name)]
    try:
        total = dataset.count_rows()
        if columns:
            yield from _chunks(dataset.to_batches(columns=columns, batch_size=CHUNK_ROWS), total)
        else:
            yield from _without_columns(total)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"the dataset cannot be read: {error}") from None


def read_parquet_folder(folder: Path, files: list[Path], choose: Chooser) -> Iterator[TableChunk]:
    """The Parquet files of a folder; folders called `name=value` in it give a column."""
    import pyarrow.dataset as ds  # which takes a while to import

    try:
        paths = [str(file) for file in files]
        hive = ds.partitioning(flavor="hive")
        dataset = ds.dataset(paths, format="parquet", partitioning=hive, partition_base_dir=str(folder))
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{folder} cannot be read: {error}") from None
    yield from read_dataset(dataset, choose)


def read_table(table: Any) -> Iterator[TableChunk]:
    """A table, record batch or reader, or anything that exports an Arrow stream."""
    if isinstance(table, pa.RecordBatch):
        table = pa.table(table)
    if not isinstance(table, pa.Table):
        table = pa.RecordBatchReader.from_stream(table)
        yield from _chunks(table, None)
        return
    yield from _chunks(table.to_batches(CHUNK_ROWS), table.num_rows, table.slice(0, 0))


def _chunks(
    batches: Iterable[pa.RecordBatch], total: int | None, empty: pa.Table | None = None
) -> Iterator[TableChunk]:
    """Batches cut into chunks; `empty` stands for them when they hold no row."""
    first = 0
    for batch in batches:
        for at in range(0, batch.num_rows, CHUNK_ROWS):
            part = batch.slice(at, CHUNK_ROWS)
            rows = np.arange(first, first + part.num_rows)
            first += part.num_rows
            yield TableChunk(part, rows, done=first / total if total else None)
    if first == 0 and empty is not None:
        yield TableChunk(empty, np.arange(0), done=1.0)
