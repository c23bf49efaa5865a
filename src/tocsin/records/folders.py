"""Folders that are tables, such as those of Parquet files, and Arrow datasets. Each file is read by its own schema."""

from __future__ import annotations

import glob
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from tocsin.errors import InvalidInput
from tocsin.records.chunks import CHUNK_ROWS, Chunk, ObjectChunk, TableChunk
from tocsin.records.files import is_url
from tocsin.records.formats import ReadOptions
from tocsin.records.json_lines import as_records
from tocsin.records.several import Reader, read_several, refuse_table_formats
from tocsin.records.tables import INT96_UNIT, Chooser, chunks_of_batches, needed, parquet_file, rows_without_columns

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_INTEGER: Final = 15


def read_files(source: Any, files: Sequence[str | Path], read: Reader, how: ReadOptions) -> Iterator[Chunk]:
    """Read the files of a folder, a pattern or a list in order. Folders named `name=value` give a column.

    Such a folder lies below the folder, below the fixed beginning of the pattern, or below what all files of the list
    have in common. Its value replaces one that a record has under the name.
    """
    root = _root_of(source, files)
    columns = None if root is None else FolderColumns.around(root, files, how.schema)

    def with_own(file: str | Path) -> Iterator[Chunk]:
        parts = {} if columns is None else columns.values(file)
        own = {name: value for name, value in parts.items() if how.choose(name)}
        return (with_parts(chunk, own) for chunk in read(file)) if own else read(file)

    return read_several(files, with_own)


def with_parts(chunk: Chunk, parts: Mapping[str, pa.Scalar]) -> Chunk:
    """Give all records of a chunk some values. Lines are parsed for this, one by one."""
    if isinstance(chunk, TableChunk):
        table, misfits = chunk.table, {name: where for name, where in chunk.misfits.items() if name not in parts}
        table = table.select([name for name in table.schema.names if name not in parts])
        for name, value in parts.items():
            table = table.append_column(name, pa.repeat(value, len(chunk)))
        return replace(chunk, table=table, misfits=misfits)
    given = as_records(chunk)
    assert isinstance(given, ObjectChunk)
    values = {name: value.as_py() for name, value in parts.items() if value.is_valid}
    records: list[tuple[int, Mapping[str, Any]]] = [
        (row, {**{name: one for name, one in record.items() if name not in parts}, **values})
        for row, record in given.records
    ]
    return replace(given, records=records)


def _root_of(source: Any, files: Sequence[str | Path]) -> Path | None:
    """The folder above the files' own folders; None if it is not known."""
    if any(map(is_url, files)):
        return None
    if isinstance(source, list | tuple):
        try:
            return Path(os.path.commonpath([Path(file).parent for file in files]))
        except ValueError:  # relative and absolute paths
            return None
    if Path(source).is_dir():
        return Path(source)
    return Path(*takewhile(lambda part: not glob.has_magic(part), Path(source).parts[:-1]))


@dataclass(frozen=True, slots=True)
class FolderColumns:
    """The columns given by the folders named `name=value` between a root and its files."""

    root: Path
    kinds: Mapping[str, pa.DataType]

    @classmethod
    def around(cls, root: Path, files: Sequence[str | Path], typed: Container[str] = ()) -> FolderColumns:
        """The columns of some files. A column is integers if all its values are, unless a schema has typed it."""
        values: dict[str, set[str]] = {}
        for file in files:
            for name, value in _pairs(file, root):
                values.setdefault(name, set()).add(value)
        return cls(root, {name: _kind_of(name, own, typed) for name, own in values.items()})

    def texts(self, file: str | Path) -> dict[str, str | None]:
        """The values of a file as the names of its folders have them; None for that of a null."""
        return {name: None if value == _NO_VALUE else value for name, value in _pairs(file, self.root)}

    def values(self, file: str | Path) -> dict[str, pa.Scalar]:
        """The values of a file. A folder that came later may have a value of another type, which is a string."""
        return {name: self._value(name, text) for name, text in self.texts(file).items()}

    def _value(self, name: str, text: str | None) -> pa.Scalar:
        kind = self.kinds.get(name, pa.string())
        if text is None:
            return pa.scalar(None, kind)
        return pa.scalar(int(text), kind) if kind == pa.int64() and _is_integer(text) else pa.scalar(text)


def _kind_of(name: str, values: Iterable[str], typed: Container[str]) -> pa.DataType:
    return pa.int64() if name not in typed and all(map(_is_integer, values)) else pa.string()


def _pairs(file: str | Path, root: Path) -> Iterator[tuple[str, str]]:
    """The names and values of the folders between a root and a file."""
    path = Path(file)
    for folder in path.relative_to(root).parts[:-1] if path.is_relative_to(root) else ():
        name, equals, value = folder.partition("=")
        if name and equals:
            yield unquote(name), unquote(value)


def _is_integer(value: str) -> bool:
    digits = value.removeprefix("-")
    return value == _NO_VALUE or (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INTEGER)


def read_dataset(dataset: Any, choose: Chooser) -> Iterator[Chunk]:
    """Read the rows of an Arrow dataset, one fragment after another, and only the needed columns.

    Each fragment has the columns and types of its own file, unless the dataset was given a schema. A filtered dataset
    is read by its schema, and rejected if a file differs from that. Raises `InvalidInput`.
    """
    if _is_local(dataset):
        refuse_table_formats([Path(file) for file in dataset.files])
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filtered dataset shows no fragments
        _refuse_other_schemas(dataset)
        return _read_whole(dataset, choose)
    named: list[str | Path] = [str(number) for number, _ in enumerate(fragments)]
    given = None if _has_first_schema(dataset, fragments) else dataset.schema
    files = list(map(_with_far_dates, fragments))
    return read_several(named, lambda name: _read_fragment(files[int(str(name))], choose, given), are_named=False)


def _with_far_dates(fragment: Any) -> Any:
    """A fragment of a Parquet file that reads INT96 in microseconds, unless the user has set another unit."""
    import pyarrow.dataset as ds  # slow to import

    if not isinstance(fragment, ds.ParquetFileFragment) or fragment.format.read_options != ds.ParquetReadOptions():
        return fragment
    options = fragment.format.default_fragment_scan_options
    own = ds.ParquetFileFormat(ds.ParquetReadOptions(coerce_int96_timestamp_unit=INT96_UNIT), options)
    groups = [group.id for group in fragment.row_groups]
    return own.make_fragment(fragment.path, fragment.filesystem, fragment.partition_expression, row_groups=groups)


def _has_first_schema(dataset: Any, fragments: Sequence[Any]) -> bool:
    """Whether a dataset has the schema of its first file, which Arrow uses if the user gives none."""
    if not fragments:
        return True
    partition = _partition_of(fragments[0])
    own = [(field.name, field.type) for field in fragments[0].physical_schema if field.name not in partition]
    return own == [(field.name, field.type) for field in dataset.schema if field.name not in partition]


def _partition_of(fragment: Any) -> Mapping[str, Any]:
    import pyarrow.dataset as ds  # slow to import

    keys: Mapping[str, Any] = ds.get_partition_keys(fragment.partition_expression)
    return keys


def _is_local(dataset: Any) -> bool:
    from pyarrow import fs  # slow to import

    return isinstance(getattr(dataset, "filesystem", None), fs.LocalFileSystem)


def _read_fragment(fragment: Any, choose: Chooser, given: pa.Schema | None) -> Iterator[Chunk]:
    where = getattr(fragment, "path", None) or "a fragment of the dataset"
    try:
        schema = fragment.physical_schema if given is None else given
        for name, value in _partition_of(fragment).items():
            if name not in schema.names:
                schema = schema.append(pa.field(name, pa.scalar(value).type))
        yield from _read_columns(fragment, schema, choose, schema=schema)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{where} cannot be read: {error}") from None


def _read_columns(source: Any, given: pa.Schema, choose: Chooser, **options: Any) -> Iterator[Chunk]:
    """The rows of a fragment, or of a whole dataset, with a given schema."""
    columns, total = needed(given.names, choose), source.count_rows()
    batches = source.to_batches(columns=columns, batch_size=CHUNK_ROWS, **options) if columns else None
    yield from chunks_of_batches(rows_without_columns(total) if batches is None else batches, total)


def _read_whole(dataset: Any, choose: Chooser) -> Iterator[Chunk]:
    try:
        yield from _read_columns(dataset, dataset.schema, choose)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"the dataset cannot be read: {error}") from None


def _has_int96(filesystem: Any, file: str) -> bool:
    with filesystem.open_input_file(file) as source, parquet_file(source) as opened:
        return any(opened.schema.column(number).physical_type == "INT96" for number in range(len(opened.schema)))


def _refuse_other_schemas(dataset: Any) -> None:
    """Raise `InvalidInput` if a file of a dataset has a column that its schema lacks, or has in another type."""
    known: Mapping[str, pa.DataType] = {field.name: field.type for field in dataset.schema}
    for file in getattr(dataset, "files", ()):
        if pa.timestamp("ns") in known.values() and _has_int96(dataset.filesystem, file):
            raise InvalidInput(
                f"{file} has times as INT96, and a filtered dataset makes other dates of those beyond 2262. Give "
                "the dataset without a filter, or with "
                f"format=ParquetFileFormat(coerce_int96_timestamp_unit={INT96_UNIT!r})"
            )
        for field in dataset.format.inspect(file, dataset.filesystem):
            if field.name not in known or known[field.name] != field.type:
                had = "does not have" if field.name not in known else f"has as {known[field.name]}"
                raise InvalidInput(
                    f"{file} has the column {field.name!r} as {field.type}, which the filtered dataset {had}. "
                    "Give the dataset without a filter, or make it with a schema of all its files"
                )
