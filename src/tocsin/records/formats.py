"""The formats of files: one row each. What readers, writers, commands and pipelines ask of a format stands in its row.

A format is added by a row of `FORMATS`, and the module that reads it. What that imports beside Arrow it imports when
it is first called.
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
from tocsin.records.files import PACKED, STANDARD, readable
from tocsin.records.json_documents import read_json_file
from tocsin.records.json_lines import JsonLinesSink
from tocsin.records.tables import Chooser, parquet_columns, read_arrow_file, read_parquet


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is to be read. A format takes of it what concerns it."""

    choose: Chooser = lambda _: True  # which top-level columns are needed
    schema: Mapping[str, ColumnType] = field(default_factory=dict)  # the types of columns of texts
    delimiter: str | None = None  # recognised where None
    as_text: bool = False  # whether columns of texts stay texts
    names: list[str] | None = None  # of columns of texts, where the file has no header
    parts: Mapping[str, pa.Scalar] = field(default_factory=dict)  # columns of one value each, by the file's folders


class Sink(Protocol):
    """Writes tables of one schema to a stream."""

    def write(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """All that tocsin knows of a format of files."""

    word: str  # what users say: --format csv
    name: str  # what messages say
    endings: tuple[str, ...]
    read: Callable[[str | Path, ReadOptions], Iterator[Chunk]]
    sink: Callable[[IO[bytes], pa.Schema], Sink] | None = None  # None where it is only read
    is_untyped: bool = False  # whether it has columns of texts, of whose types a file says nothing
    columns_of: Callable[[str | Path], list[str]] | None = None  # the names of a file's columns, before it is read
    is_packed_outside: bool = False  # whether a file may have an ending of `PACKED` behind its own
    is_partitioned: bool = False  # whether a folder of such files is one table, which folders in it part (day=2/)
    in_spark: bool = False  # whether Spark has it under this word, and so reads and writes it in pipelines

    @property
    def is_streamed(self) -> bool:
        """Whether pipelines read it: workers read columns of texts themselves."""
        return self.in_spark or self.is_untyped


def _csv(path: str | Path, how: ReadOptions) -> Iterator[Chunk]:
    return read_csv(path, how.schema, delimiter=how.delimiter, as_text=how.as_text, names=how.names)


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
        lambda path, how: read_parquet(path, how.choose, how.parts),
        lambda stream, schema: pq.ParquetWriter(stream, schema, compression="zstd"),
        columns_of=parquet_columns,
        is_partitioned=True,
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
"""Formats by the words that users say."""

JSON: Final = FORMATS["json"]
"""What standard input and output are where nothing is said. Its lines are records by themselves."""

PARQUET: Final = FORMATS["parquet"]
"""Its files say what columns they have, and Spark's workers read parts of them."""


def words_of(wanted: Callable[[Format], bool]) -> tuple[str, ...]:
    """The words of some formats."""
    return tuple(word for word, row in FORMATS.items() if wanted(row))


def either(words: tuple[str, ...], joint: str = "or") -> str:
    """`a, b or c`."""
    return f" {joint} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class Formatted(str):
    """A path of which a format is said, which counts where its ending names none, and for `-`."""

    __slots__ = ("format_said",)

    format_said: Format

    def __new__(cls, path: str, word: str) -> Formatted:
        """Raises `InvalidInput` for a word that stands for no format."""
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
    """The format that a file's ending names; None where it names none."""
    ending = Path(path).suffix.lower()
    return next((row for row in FORMATS.values() if ending in row.endings), None)


def by_endings(path: Path) -> Format | None:
    """The same for a file that may be packed."""
    return by_ending(path.with_suffix("") if path.suffix.lower() in PACKED else path)


def format_of(path: str | Path) -> Format:
    """The format that a file ending stands for, else the one that is said; `-` is JSON lines where nothing is."""
    named = by_ending(path)
    if isinstance(path, Formatted) and named is None:
        return path.format_said
    if str(path) == STANDARD:
        return JSON
    if str(path).lstrip().startswith(("{", "[")):
        readable(path)
    if named is None:
        raise InvalidInput(
            f"{str(path) or repr('')}: the ending {Path(path).suffix.lower()!r} names no format; use one of "
            f"{', '.join(endings())}, or - for {JSON.name}; "
            f"the command line says others by --format {'|'.join(FORMATS)}"
        )
    return named


def input_format(path: str | Path) -> Format:
    """The same for a file that is read, and may be packed."""
    whole = Path(path)
    if whole.suffix.lower() not in PACKED:
        return format_of(path)
    inner = str(whole.with_suffix(""))
    found = format_of(path.alike(inner) if isinstance(path, Formatted) else inner)
    if found.is_packed_outside:
        return found
    may_be = either(tuple(row.name for row in FORMATS.values() if row.is_packed_outside), "and")
    raise InvalidInput(f"{path}: {may_be} may be packed; {found.word} files pack themselves: unpack it")
