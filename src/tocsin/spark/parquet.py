"""How do workers read events themselves? They are sent the places of Parquet row groups, not rows.

Rows that Spark reads go from its Java process to a worker and back, which takes longer than to match them. Here only
the answer goes that way. It is for files that every worker sees under the same path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.encoding import Points
from tocsin.errors import InvalidInput
from tocsin.index import question_of
from tocsin.model.ranking import Ranking
from tocsin.records.csv_files import ColumnType
from tocsin.records.several import refuse_table_formats
from tocsin.segment import IndexFolder
from tocsin.spark.answering import Given, MatchOptions, given_slices, refusal
from tocsin.spark.asking import answer_schema, asked_of
from tocsin.spark.file_types import as_type, spark_schema
from tocsin.spark.observing import observed
from tocsin.spark.versions import of_this_batch, opened
from tocsin.spark.workers import Batches, Task, settling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession
    from pyspark.sql.streaming import DataStreamReader
    from pyspark.sql.types import StructType

Piece = Mapping[str, Any]
"""A file by its `path`, and the row groups from `first` up to `stop`, or all where they are None."""

PieceReader = Callable[[Piece, pa.Schema, MatchOptions], Iterator[Given]]
"""Reads the events of a piece: the columns that are wanted, of what is asked."""

_ROWS: Final = 20_000
"""Rows of a batch: enough that the cost of a call vanishes, few enough for the cache."""

_PIECES_A_CORE: Final = 4

_BINARY_FILE: Final = "path string, modificationTime timestamp, length bigint, content binary"
"""What Spark tells of files; `content` is not read where it is not asked for."""


class DamagedFileError(InvalidInput):
    """A file is not of its format, or not to its end: it will not be another time."""


def match_parquet(
    session: SparkSession,
    path: str | Path,
    index: str | Path,
    *,
    columns: list[str] | None = None,
    attributes: list[str] | None = None,
    ranking: Ranking | None = None,
    explode: bool = False,
    event_id: str | None = None,
    json: str | None = None,
    schema: Mapping[str, ColumnType] | None = None,
    points: Points | None = None,
    observe: str | Observation | None = None,
    stream: bool = False,
) -> DataFrame:
    """Match the events of a Parquet file, or of the folder of some, which workers read themselves.

    The answer is that of `match(session.read.option("mergeSchema", True).parquet(path), index, ...)`, and what is read
    does not go through Java. Each file is matched by its own columns and types. The answer has the columns of all
    files; one that has several types gets a type that holds them all. `columns` are those that are read and kept
    (default: all). With `stream=True` it is a streaming DataFrame, and each file that comes into the folder is read
    once. Names of folders are not columns (`year=2024/`). Raises `InvalidInput` for a path without Parquet files, for
    a table of Delta, Iceberg or Hudi, and as `match` does.
    """
    events = read_events(session, path, columns)
    asked = asked_of(
        events, attributes, ranking, event_id=event_id, json=json, explode=explode, schema=schema, points=points
    )
    asked = replace(by_file(asked, all_columns=attributes is None and columns is None), tells_work=observe is not None)
    if stream:
        answered = answers_of_pieces(files_of(session.readStream, path), (), events.schema, index, asked)
    else:
        answered = answers_of_pieces(*pieces_of(session, path), events.schema, index, asked)
    return answered if observe is None else observed(answered, observe, explode=explode)


def answers_of_pieces(
    pieces: DataFrame,
    listed: Sequence[Piece],
    schema: StructType,
    index: str | Path,
    asked: MatchOptions,
    *,
    sets_aside: bool = False,
    read: PieceReader | None = None,
) -> DataFrame:
    """What tasks answer of the files, or row groups, that `pieces` names: `path`, and `first` and `stop` or nulls.

    `read` gives the events of a piece; by default files are Parquet. Where some are `listed`, `pieces` has their
    numbers there (`id`). A file that is damaged is refused; or set aside, as one event that could not be read, and what
    was read of it before is answered.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    folder = IndexFolder.read(Path(index).absolute())
    question_of(asked.ranking)  # which refuses what is none
    types = to_arrow_schema(schema, timezone="UTC")
    task = settling(_reader(folder, asked, types, listed, read or read_piece, sets_aside=sets_aside))
    return pieces.mapInArrow(task, answer_schema(schema, asked, folder.ids))


def _reader(
    folder: IndexFolder,
    asked: MatchOptions,
    types: pa.Schema,
    listed: Sequence[Piece],
    read: PieceReader,
    *,
    sets_aside: bool,
) -> Task:
    """What a task runs: reads its pieces, and answers each batch of them."""
    wanted = columns_of(types, asked)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version = of_this_batch(folder)
        snapshots = opened(version)
        for batch in batches:
            for row in batch.to_pylist():
                piece = listed[row["id"]] if listed else row
                try:
                    for given in read(piece, wanted, asked):
                        yield from given_slices(given, asked, snapshots, version.version)
                except DamagedFileError as error:
                    if not sets_aside:
                        raise
                    yield from refusal([str(error)], wanted, asked, snapshots, version.version)

    return run


def columns_of(types: pa.Schema, asked: MatchOptions) -> pa.Schema:
    """Those that are read, in the types that Spark has for them."""
    return pa.schema([types.field(name) for name in asked.columns])


def path_of(piece: Piece) -> str:
    """The path of a piece's file, which Spark may give as a URL."""
    path: str = piece["path"]
    return unquote(urlparse(path).path) if path.startswith("file:") else path


def by_file(asked: MatchOptions, *, all_columns: bool) -> MatchOptions:
    """What is asked, of each file by its own columns and types; of all its columns, where no names were given."""
    return asked if asked.json is not None else replace(asked, by_file=True, all_columns=all_columns)


def read_piece(piece: Piece, wanted: pa.Schema, asked: MatchOptions) -> Iterator[Given]:
    """The batches of a file, or of some of its row groups.

    As they are answered they have the columns that are wanted, null where the file does not have them.
    """
    path = path_of(piece)
    read = 0
    try:
        with pq.ParquetFile(path) as file:
            first, stop = piece["first"], piece["stop"]
            groups = range(file.num_row_groups) if first is None or stop is None else range(first, stop)
            names = file.schema_arrow.names
            there = names if asked.all_columns else [name for name in wanted.names if name in names]
            for batch in file.iter_batches(_ROWS, list(groups), there):
                given = dict(zip(there, batch.columns, strict=True))
                arrays = [_cast(given.get(one.name), one, batch.num_rows, path) for one in wanted]
                rows = pa.RecordBatch.from_arrays(arrays, schema=wanted)
                yield Given(rows, batch if asked.by_file else rows)
                read += batch.num_rows
    except (OSError, pa.ArrowException) as error:
        kind = DamagedFileError if getattr(error, "errno", None) is None else InvalidInput
        where = f" behind {read:,} events" if read else ""
        raise kind(f"{path} cannot be read as Parquet{where}: {error}") from None


def _cast(column: pa.Array | None, wanted: pa.Field, rows: int, path: str) -> pa.Array:
    """A column as Spark has it; null where a file has it not. Raises `InvalidInput` for one of another type."""
    if column is None or column.type == wanted.type:
        return pa.nulls(rows, wanted.type) if column is None else column
    try:
        return as_type(column, wanted.type)
    except pa.ArrowException as error:
        what = f"column {wanted.name!r} is {column.type}, and was {wanted.type} when the stream or job began"
        raise InvalidInput(f"{path} cannot be read with the others: {what} ({error})") from None


def read_events(session: SparkSession, path: str | Path, columns: list[str] | None) -> DataFrame:
    """No rows, in the columns of a Parquet file or of a folder of some; raises `InvalidInput`."""
    schema = spark_schema(files_in(Path(path)))
    if schema is None:
        raise InvalidInput(f"{path} cannot be read as Parquet: it is a folder without files")
    missing = [name for name in columns or () if name not in schema.names]
    if missing:
        raise InvalidInput(f"columns names {missing[0]!r}, which is not a column; there are {schema.names}")
    rows = session.createDataFrame([], schema)
    return rows if columns is None else rows.select(*(f"`{name.replace('`', '``')}`" for name in columns))


def files_in(path: Path) -> list[Path]:
    """The files of a path that Spark would read; raises `InvalidInput` for those of a Delta table and the like."""
    files = sorted(one for one in path.rglob("*") if is_data(one, path)) if path.is_dir() else [path]
    refuse_table_formats(files)
    return files


def pieces_of(session: SparkSession, path: str | Path) -> tuple[DataFrame, list[Piece]]:
    """The pieces of a file or a folder, and a row with the number of each, in a task of its own.

    So there is no shuffle, which would put some together and cost a stage.
    """
    listed = _pieces(Path(path), session.sparkContext.defaultParallelism)
    return session.range(0, len(listed), 1, max(len(listed), 1)), listed


def _pieces(path: Path, cores: int) -> list[Piece]:
    """The row groups of a file or a folder, some together, so that each core has a few pieces. At least one."""
    files = files_in(path)
    groups = [(str(one.absolute()), number) for one in files for number in range(pq.read_metadata(one).num_row_groups)]
    size = max(len(groups) // (cores * _PIECES_A_CORE), 1)
    pieces: list[Piece] = []
    for at in range(0, len(groups), size):
        own = groups[at : at + size]
        for name in dict.fromkeys(name for name, _ in own):
            numbers = [number for other, number in own if other == name]
            pieces.append({"path": name, "first": numbers[0], "stop": numbers[-1] + 1})
    return pieces or [{"path": str(one.absolute()), "first": 0, "stop": 0} for one in files[:1]]


def is_data(file: Path, folder: Path) -> bool:
    """Whether a file below a folder is one that Spark would read."""
    parts = file.relative_to(folder).parts
    return file.is_file() and not any(part.startswith(("_", ".")) for part in parts)


def files_of(reader: DataStreamReader, path: str | Path) -> DataFrame:
    """The files that come into a folder, each once, as pieces; their bytes are not looked at."""
    reader = reader.format("binaryFile").schema(_BINARY_FILE).option("recursiveFileLookup", True)
    return reader.load(str(path)).selectExpr("path", "cast(null as int) first", "cast(null as int) stop")
