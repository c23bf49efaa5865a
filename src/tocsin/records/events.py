"""In which forms do events come? Objects, lines, files, tables and data frames, all read into chunks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.model.distinct_keys import DuplicateKey
from tocsin.model.subscription import Reject, shown
from tocsin.records.bulk import SparseEvents
from tocsin.records.chunks import CHUNK_ROWS, Chunk, ObjectChunk
from tocsin.records.csv_files import ColumnType, checked_types, read_csv
from tocsin.records.files import STANDARD, Opened, input_format
from tocsin.records.folders import read_dataset, read_parquet_folder
from tocsin.records.json_documents import HEAD, document_records, is_spread_sequence, may_be_document, one_line_each
from tocsin.records.json_lines import read_json_lines
from tocsin.records.several import files_of, read_several
from tocsin.records.tables import read_arrow_file, read_parquet, read_table


def read_events(
    source: Any,
    choose: Callable[[str], bool] = lambda _: True,
    schema: Mapping[str, ColumnType] | None = None,
    what: str = "events",
    delimiter: str | None = None,
) -> Iterator[Chunk]:
    """Read events from a dict, an iterable of dicts, JSON lines (bytes), a path, a table or a data frame.

    `choose` says which top-level columns are needed; `schema` gives columns of a CSV their type (for other forms it is
    checked alone, and who encodes them goes by it); `delimiter` says what parts the fields of a CSV (recognised where
    None); `what` is the word for messages.
    Raises `InvalidInput` when the source as a whole cannot be read.
    """
    first = next(iter(source), None) if isinstance(source, list | tuple) else source
    files = files_of(source) if isinstance(first, str | Path) else None
    if files is not None:
        return _read_files(source, files, choose, schema or {}, delimiter)
    if isinstance(source, str | Path):
        return _read_path(source, choose, schema or {}, delimiter)
    if schema is not None:
        checked_types(schema)
    _refuse_delimiter("", delimiter)
    if isinstance(source, SparseEvents):
        return source.chunks()
    if isinstance(source, bytes | bytearray | memoryview):
        return _read_json(Opened(source), "the JSON")
    if isinstance(source, Mapping):
        return iter([ObjectChunk([(0, source)], done=1.0)])
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return read_table(source)
    if isinstance(source, list | tuple) and isinstance(first, pa.Table | pa.RecordBatch):
        return read_table(_one_table(source, what))
    if type(source).__module__.startswith("pandas"):
        return _read_pandas(source, choose, what)
    if type(source).__module__.startswith("polars") and hasattr(source, "collect"):
        return read_table(source.collect())  # a lazy frame
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "count_rows"):
        return read_dataset(source, choose)
    if hasattr(source, "__arrow_c_stream__"):
        return read_table(source)
    if isinstance(source, Iterable):
        return _read_objects(source, what)
    raise InvalidInput(
        f"{what} cannot be read from a {type(source).__name__}; give dicts, JSON as bytes, paths, a folder, "
        "an Arrow table or dataset, a DuckDB relation, or a pandas or Polars data frame"
    )


def _one_table(parts: Sequence[Any], what: str) -> pa.Table:
    """Arrow's batches, or tables, one after the other."""
    try:
        return pa.concat_tables([one if isinstance(one, pa.Table) else pa.Table.from_batches([one]) for one in parts])
    except (pa.ArrowException, TypeError, AttributeError) as error:
        reason = f"{what} are a list of Arrow batches that are no table: {error}"
        raise InvalidInput(f"{reason}; give one schema to all") from None


def _refuse_delimiter(path: str, delimiter: str | None) -> None:
    if delimiter is not None:
        raise InvalidInput(f"{path}a delimiter is for CSV files; other sources say themselves where a value ends")


def _read_path(
    path: str | Path, choose: Callable[[str], bool], schema: Mapping[str, ColumnType], delimiter: str | None
) -> Iterator[Chunk]:
    kind = input_format(path)
    if kind == "csv":
        yield from read_csv(path, schema, delimiter=delimiter)
        return
    checked_types(schema)
    _refuse_delimiter(f"{path}: ", delimiter)
    if kind == "parquet":
        yield from read_parquet(path, choose)
    elif kind == "arrow":
        yield from read_arrow_file(path)
    else:
        with Opened(path) as opened:
            yield from read_json_lines(opened) if str(path) == STANDARD else _read_json(opened, str(path))


def _read_json(opened: Opened, name: str) -> Iterator[Chunk]:
    """JSON lines, or a document that is an array, a feature collection or one object."""
    head = opened.peek(HEAD)
    if is_spread_sequence(head):
        return read_json_lines(Opened(one_line_each(opened.rest())))
    records = document_records(opened.rest(), name) if may_be_document(head) else None
    return read_json_lines(opened) if records is None else _read_objects(records, "records")


def _read_files(
    source: Any,
    files: list[str | Path],
    choose: Callable[[str], bool],
    schema: Mapping[str, ColumnType],
    delimiter: str | None,
) -> Iterator[Chunk]:
    is_folder = not isinstance(source, list | tuple) and os.path.isdir(source)  # noqa: PTH112
    if is_folder and {input_format(file) for file in files} == {"parquet"}:
        checked_types(schema)
        _refuse_delimiter(f"{source}: ", delimiter)
        return read_parquet_folder(Path(source), [Path(file) for file in files], choose)
    return read_several(files, lambda file: _read_path(file, choose, schema, delimiter))


def _read_pandas(frame: Any, choose: Callable[[str], bool], what: str) -> Iterator[Chunk]:
    """A data frame as a table where its columns have one type each, else row by row."""
    if type(frame).__name__ != "DataFrame":
        raise InvalidInput(f"{what} cannot be read from a pandas {type(frame).__name__}; give a data frame")
    if not frame.columns.is_unique:
        raise InvalidInput(f"the data frame has the column {frame.columns[frame.columns.duplicated()][0]!r} twice")
    chosen = frame[[name for name in frame.columns if not isinstance(name, str) or choose(name)]]
    try:
        table = pa.Table.from_pandas(chosen, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        plain = chosen.astype(object)
        return _read_objects(plain.where(plain.notna(), None).to_dict("records"), what)
    return read_table(table)


def _refused(row: int, record: object, what: str) -> Reject:
    if isinstance(record, DuplicateKey):
        return Reject(row, None, record.key, str(record))
    return Reject(row, None, "", f"{what} are objects; this is {shown(record)}")


def _read_objects(source: Iterable[Any], what: str) -> Iterator[Chunk]:
    """Dicts, in chunks; anything else among them is a reject."""
    total = len(source) if isinstance(source, Sized) else None
    rows = enumerate(source)
    while part := list(islice(rows, CHUNK_ROWS)):
        records = [(row, record) for row, record in part if isinstance(record, Mapping)]
        rejects = [_refused(row, record, what) for row, record in part if not isinstance(record, Mapping)]
        yield ObjectChunk(records, rejects, (part[-1][0] + 1) / total if total else None)
