"""How are tables read? Arrow, Parquet, pandas and Polars, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput
from tocsin.records.chunks import CHUNK_ROWS, TableChunk
from tocsin.records.files import STANDARD, is_url, opened_file, readable
from tocsin.records.partitions import partitions_of
from tocsin.records.several import read_several

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
    is_mapped = not is_url(path) and str(path) != STANDARD
    source = pa.memory_map(str(readable(path))) if is_mapped else opened_file(path)
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
    """The rows of an Arrow dataset, a fragment after another; only the columns that are needed are read.

    A dataset takes the schema of its first file unless it is given one. Then each fragment is read by its own schema.
    """
    try:
        total = dataset.count_rows()
        first = 0
        fragments = _fragments(dataset)
        is_own = _takes_first_schema(dataset, fragments)
        for fragment in fragments:
            schema = _schema_of_fragment(dataset, fragment) if is_own else dataset.schema
            dotted = any("." in name for name in schema.names)
            columns = [name for name in schema.names if dotted or choose(name)]
            if columns:
                how = {} if fragment is dataset else {"schema": schema}
                batches = fragment.to_batches(columns=columns, batch_size=CHUNK_ROWS, **how)
                chunks = _chunks(batches, None)
            else:
                chunks = _without_columns(fragment.count_rows())
            rows = first
            for chunk in chunks:
                rows = first + int(chunk.rows[-1]) + 1 if len(chunk) else rows
                yield replace(chunk, rows=chunk.rows + first, done=rows / total if total else None)
            first = rows
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"the dataset cannot be read: {error}") from None


def _fragments(dataset: Any) -> Sequence[Any]:
    """The files of a dataset, or the dataset itself where it has a filter, which Arrow applies as it reads.

    Raises `InvalidInput` for a filter over files of which one has columns that the dataset's schema leaves out.
    """
    try:
        return list(dataset.get_fragments())
    except ValueError:  # the dataset has a filter
        pass
    kind = type(getattr(dataset, "format", None)).__name__
    for file in dataset.files if kind == "ParquetFileFormat" else ():
        own = pq.read_schema(file, filesystem=dataset.filesystem)
        for field in own:
            place = dataset.schema.get_field_index(field.name)
            if place < 0 or dataset.schema.field(place).type != field.type:
                raise InvalidInput(
                    f"{file} has the column {field.name!r} ({field.type}), which the schema of the filtered dataset "
                    "has not; give the dataset a schema, or match it without a filter"
                )
    return [dataset]


def _schema_of_fragment(dataset: Any, fragment: Any) -> pa.Schema:
    """The schema of a fragment, and the columns that its folders stand for."""
    partition = _partition_of(fragment)
    own = [field for field in fragment.physical_schema if field.name not in partition]
    return pa.schema([*own, *(field for field in dataset.schema if field.name in partition)])


def _takes_first_schema(dataset: Any, fragments: Sequence[Any]) -> bool:
    """Whether the schema of a dataset is that of its first file, which it takes where it is not given one."""
    if not fragments or not hasattr(fragments[0], "physical_schema"):
        return False
    partition = _partition_of(fragments[0])
    taken = [(field.name, field.type) for field in dataset.schema if field.name not in partition]
    return taken == [(one.name, one.type) for one in fragments[0].physical_schema if one.name not in partition]


def _partition_of(fragment: Any) -> Collection[str]:
    """The names of the columns that the folders of a fragment stand for."""
    import pyarrow.dataset as ds  # which takes a while to import

    names: Collection[str] = ds.get_partition_keys(fragment.partition_expression)
    return names


def read_parquet_folder(folder: Path, files: list[Path], choose: Chooser) -> Iterator[TableChunk]:
    """The Parquet files of a folder, each by its own schema; folders called `name=value` in it give a column."""
    partitions = partitions_of(folder, files)

    def read(file: str | Path) -> Iterator[TableChunk]:
        values = partitions[Path(file)]
        for chunk in read_parquet(file, lambda name: name not in values and choose(name)):
            yield _with_columns(chunk, {name: value for name, value in values.items() if choose(name)})

    yield from cast(Iterator[TableChunk], read_several(files, read))


def _with_columns(chunk: TableChunk, values: Mapping[str, pa.Scalar]) -> TableChunk:
    """A chunk with more columns, of one value each."""
    table = pa.table(chunk.table) if isinstance(chunk.table, pa.RecordBatch) else chunk.table
    for name, value in values.items():
        table = table.append_column(name, pa.repeat(value, len(chunk)))
    return replace(chunk, table=table)


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
