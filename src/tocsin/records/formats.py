"""The table of file formats. Readers, writers, commands and pipelines take everything about a format from its row.

A new format needs a row in `FORMATS` and the module that reads it. The module imports libraries other than Arrow only
when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Protocol

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput
from tocsin.records.chunks import Chunk
from tocsin.records.csv_files import ColumnType, read_csv
from tocsin.records.files import PACKED, STANDARD, is_url, readable, require_existing
from tocsin.records.json_documents import read_json_file
from tocsin.records.json_lines import JsonLinesSink
from tocsin.records.tables import Chooser, parquet_columns, read_arrow_file, read_parquet


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading a file. A format uses those that apply to it."""

    choose: Chooser = lambda _: True  # which top-level columns are needed
    schema: Mapping[str, ColumnType] = field(default_factory=dict)  # the types of untyped columns
    delimiter: str | None = None  # recognised if None
    as_text: bool = False  # whether untyped columns stay texts
    names: list[str] | None = None  # names of untyped columns, if the file has no header


class Sink(Protocol):
    """Writes tables of one schema to a stream."""

    def write(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """Everything that tocsin knows about a file format."""

    word: str  # the word in options: --format csv
    name: str  # the name in messages
    endings: tuple[str, ...]
    read: Callable[[str | Path, ReadOptions], Iterator[Chunk]]
    sink: Callable[[IO[bytes], pa.Schema], Sink] | None = None  # None if the format is only read
    is_untyped: bool = False  # whether columns are texts without types, as in CSV
    columns_of: Callable[[str | Path], list[str]] | None = (
        None  # the names of a file's columns, without reading its rows
    )
    is_packed_outside: bool = False  # whether files may have another ending of `PACKED`
    is_table: bool = False  # whether a folder of files is a table, and no compiled index
    in_spark: bool = False  # whether Spark has it under this word; pipelines then read and write it by Spark

    @property
    def is_streamed(self) -> bool:
        """Whether pipelines read it. Workers read untyped formats themselves."""
        return self.in_spark or self.is_untyped


def _csv(path: str | Path, how: ReadOptions) -> Iterator[Chunk]:
    return read_csv(path, how.schema, delimiter=how.delimiter, as_text=how.as_text, names=how.names, choose=how.choose)


_ROWS: Final = (
    Format(
        "json",
        "JSON lines",
        (".jsonl", ".ndjson", ".json", ".geojson", ".geojsonl", ".geojsons", ".geojsonseq"),
        lambda path, _: read_json_file(path),
        JsonLinesSink,
        is_packed_outside=True,
        in_spark=True,
    ),
    Format("csv", "CSV", (".csv",), _csv, arrow_csv.CSVWriter, is_untyped=True, is_packed_outside=True, in_spark=True),
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        lambda path, how: read_parquet(path, how.choose),
        lambda stream, schema: pq.ParquetWriter(stream, schema, compression="zstd"),
        columns_of=parquet_columns,
        is_table=True,
        in_spark=True,
    ),
    Format(
        "arrow",
        "Arrow",
        (".arrow", ".arrows", ".feather", ".ipc"),
        lambda path, _: read_arrow_file(path),
        pa.ipc.new_file,
    ),
)

FORMATS: Final[dict[str, Format]] = {row.word: row for row in _ROWS}
"""Formats by their words in options."""

JSON: Final = FORMATS["json"]
"""The default of standard input and output. Each line is a record."""

PARQUET: Final = FORMATS["parquet"]
"""Its files hold their column names, and Spark's workers read parts of them."""


def words_of(wanted: Callable[[Format], bool]) -> tuple[str, ...]:
    """The words of the formats for which `wanted` holds."""
    return tuple(word for word, row in FORMATS.items() if wanted(row))


def either(words: tuple[str, ...], joint: str = "or") -> str:
    """`a, b or c`."""
    return f" {joint} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def is_stream(source: object) -> bool:
    """Whether a source is standard input as JSON lines, which are read as they arrive."""
    return isinstance(source, str) and source == STANDARD and format_of(source) is JSON


class Formatted(str):
    """A path with a given format, which applies if its ending names none, and to `-`."""

    __slots__ = ("format_said",)

    format_said: Format

    def __new__(cls, path: str, word: str) -> Formatted:
        """Raises `InvalidInput` for an unknown format."""
        if word not in FORMATS:
            raise InvalidInput(f"the format is {word!r:.40}; it is one of {', '.join(FORMATS)}")
        whole = super().__new__(cls, path)
        whole.format_said = FORMATS[word]
        return whole

    def alike(self, path: str) -> Formatted:
        """Another path of the same format."""
        return Formatted(path, self.format_said.word)


def endings() -> list[str]:
    """Every ending that names a format."""
    return [ending for row in FORMATS.values() for ending in row.endings]


def by_ending(path: str | Path) -> Format | None:
    """The format that a file's ending names; None if it names none."""
    ending = Path(path).suffix.lower()
    return next((row for row in FORMATS.values() if ending in row.endings), None)


def by_endings(path: Path) -> Format | None:
    """Like `by_ending`, for a file that may be compressed."""
    return by_ending(path.with_suffix("") if path.suffix.lower() in PACKED else path)


def format_of(path: str | Path, named_by: str = "--format") -> Format:
    """The format that a file's ending names, else the given one; JSON lines for `-` without a given one.

    `named_by` is the option of commands that gives one.
    """
    named = by_ending(path)
    if isinstance(path, Formatted) and named is None:
        return path.format_said
    if str(path) == STANDARD:
        return JSON
    if str(path).lstrip().startswith(("{", "[")):
        readable(path)
    if named is None:
        raise InvalidInput(
            f"{str(path) or repr('')}: the ending {Path(path).suffix.lower()!r} is not that of a known format; "
            "use one of "
            f"{', '.join(endings())}, or - for {JSON.name}; "
            f"on the command line, {named_by} {'|'.join(FORMATS)} names the format of other files"
        )
    return named


def input_format(path: str | Path) -> Format:
    """Like `format_of`, for an input file, which may be compressed. Raises `InvalidInput` if it does not exist."""
    whole = Path(path)
    is_elsewhere = str(path) == STANDARD or is_url(path) or isinstance(path, Formatted)
    if not is_elsewhere and by_endings(whole) is None:
        require_existing(path, "file or folder")
    if whole.suffix.lower() not in PACKED:
        return format_of(path)
    inner = str(whole.with_suffix(""))
    found = format_of(path.alike(inner) if isinstance(path, Formatted) else inner)
    if found.is_packed_outside:
        return found
    may_be = either(tuple(row.name for row in FORMATS.values() if row.is_packed_outside), "and")
    raise InvalidInput(
        f"{path}: {may_be} may be compressed from outside; {found.word} files compress themselves. Decompress it"
    )
