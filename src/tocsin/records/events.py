"""Reading of events from all supported sources (objects, lines, files, tables, data frames) into chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.model.values import class_of
from tocsin.records.bulk import SparseEvents
from tocsin.records.chunks import Chunk, ObjectChunk, read_objects
from tocsin.records.csv_files import ColumnType, checked_types
from tocsin.records.files import Opened
from tocsin.records.folders import read_dataset, read_files
from tocsin.records.formats import Format, ReadOptions, input_format
from tocsin.records.json_documents import read_json
from tocsin.records.several import files_of
from tocsin.records.tables import chunks_of_batches, read_table, rows_without_columns


class ArrowStream(Protocol):
    """Tables of Arrow, pandas, Polars and DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class LazyFrame(Protocol):
    """A Polars data frame that is not computed yet."""

    def collect(self) -> Any: ...


class Dataset(Protocol):
    """An Arrow dataset."""

    def count_rows(self) -> int: ...


AnyPath: TypeAlias = str | PathLike[str]
Anything: TypeAlias = (
    bytes | bytearray | memoryview | AnyPath | Sequence[AnyPath] | ArrowStream | LazyFrame | Dataset | Mapping[str, Any]
)
"""JSON, files, tables, or one record."""
Events: TypeAlias = Iterable[Mapping[str, Any]] | Anything | SparseEvents
"""The accepted sources of events. `records.subscriptions` has the counterpart for subscriptions."""


def read_events(
    source: Any,
    choose: Callable[[str], bool] = lambda _: True,
    schema: Mapping[str, ColumnType] | None = None,
    what: str = "events",
    delimiter: str | None = None,
) -> Iterator[Chunk]:
    """Read events from a dict, an iterable of dicts, JSON lines (bytes), a path, a table, a data frame or a chunk.

    `choose` says which top-level columns are needed. `schema` gives the types of CSV columns; for other forms it is
    only checked here, and applied by the encoder. `delimiter` is that of a CSV, recognised if None. `what` is the word
    for messages. Raises `InvalidInput` when the source as a whole cannot be read.
    """
    first = next(iter(source), None) if isinstance(source, list | tuple) else source
    if isinstance(source, Chunk):
        return iter([source])
    files = files_of(source) if isinstance(first, str | Path) else None
    if files is not None:
        how = ReadOptions(choose, schema or {}, delimiter)
        return read_files(source, files, lambda file: _read_path(file, how), how)
    if isinstance(source, str | Path):
        return _read_path(source, ReadOptions(choose, schema or {}, delimiter))
    if schema is not None:
        checked_types(schema)
    _refuse_delimiter("", delimiter)
    if isinstance(source, SparseEvents):
        return source.chunks()
    if isinstance(source, bytes | bytearray | memoryview):
        return read_json(Opened(source), "the JSON")
    if isinstance(source, Mapping):
        return iter([ObjectChunk([(0, source)], done=1.0)])
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return read_table(source)
    if isinstance(source, list | tuple) and isinstance(first, pa.Table | pa.RecordBatch):
        return read_table(_one_table(source, what))
    if (frame := _read_frame(source, choose, what)) is not None:
        return frame
    if isinstance(source, Iterable):
        return read_objects(source, what)
    raise InvalidInput(
        f"{what} cannot be read from {class_of(source)}; give dicts, JSON as bytes, paths, a folder, "
        "an Arrow table or dataset, a DuckDB relation, or a pandas or Polars data frame"
    )


def _read_frame(source: Any, choose: Callable[[str], bool], what: str) -> Iterator[Chunk] | None:
    """Read a data frame, a dataset or another kind of table; None for anything else."""
    module = type(source).__module__
    if any(base.__module__.startswith("pandas") for base in type(source).__mro__):  # GeoPandas derives its frames
        return _read_pandas(source, choose, what)
    if module.startswith("polars"):
        return _read_polars(source.collect() if hasattr(source, "collect") else source, choose, what)
    if module.startswith("pyarrow") and hasattr(source, "count_rows"):
        return read_dataset(source, choose)
    return read_table(source) if hasattr(source, "__arrow_c_stream__") else None


def _one_table(parts: Sequence[Any], what: str) -> pa.Table:
    """Concatenate Arrow batches or tables."""
    try:
        return pa.concat_tables([one if isinstance(one, pa.Table) else pa.Table.from_batches([one]) for one in parts])
    except (pa.ArrowException, TypeError, AttributeError) as error:
        reason = f"{what} are a list of Arrow batches that do not make one table: {error}"
        raise InvalidInput(f"{reason}; give all of them one schema") from None


def _refuse_delimiter(path: str, delimiter: str | None) -> None:
    if delimiter is not None:
        raise InvalidInput(f"{path}a delimiter is for CSV files only; leave it out")


def _read_path(path: str | Path, how: ReadOptions) -> Iterator[Chunk]:
    form = input_format(path)
    _check(form, how, path)
    yield from form.read(path, how)


def _check(form: Format, how: ReadOptions, path: str | Path) -> None:
    """Reject options that a file's format does not take. Untyped columns are checked when they are read."""
    if not form.is_untyped:
        checked_types(how.schema)
        _refuse_delimiter(f"{path}: ", how.delimiter)


def _read_polars(frame: Any, choose: Callable[[str], bool], what: str) -> Iterator[Chunk]:
    """Read a data frame, or a series of structs, as a table; row by row if Arrow lacks a type, such as Int128."""
    if type(frame).__name__ == "Series":
        if not hasattr(frame.dtype, "fields"):
            raise InvalidInput(f"{what} cannot be read from a polars Series; give a data frame")
        frame = frame.struct.unnest()
    try:
        return read_table(pa.RecordBatchReader.from_stream(frame))
    except pa.ArrowException:
        names = [name for name in frame.columns if choose(name)]
        rows = frame.select(names).iter_rows(named=True) if names else ({} for _ in range(len(frame)))
        return read_objects(rows, what)


def _read_pandas(frame: Any, choose: Callable[[str], bool], what: str) -> Iterator[Chunk]:
    """Read a data frame as a table if each column has one type, else row by row."""
    if not any(base.__name__ == "DataFrame" for base in type(frame).__mro__):
        raise InvalidInput(f"{what} cannot be read from a pandas {type(frame).__name__}; give a data frame")
    if not frame.columns.is_unique:
        raise InvalidInput(f"the data frame has the column {frame.columns[frame.columns.duplicated()][0]!r} twice")
    chosen = frame[[name for name in frame.columns if not isinstance(name, str) or choose(name)]]
    if not len(chosen.columns):
        return chunks_of_batches(rows_without_columns(len(frame)), len(frame))
    try:
        if hasattr(chosen, "to_arrow"):  # of GeoPandas, with the reference system
            table = pa.table(chosen.to_arrow(index=False))
        else:
            table = pa.Table.from_pandas(chosen, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        plain = chosen.astype(object)
        return read_objects(plain.where(plain.notna(), None).to_dict("records"), what)
    return read_table(table)
