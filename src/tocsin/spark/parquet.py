"""Matching Parquet files that workers read themselves: they receive the places of row groups, not rows.

Rows that Spark reads pass from its Java process to a worker and back, which takes longer than matching them. Here only
the answer takes that way. Every worker must see the files under the same path.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.encoding import Points
from tocsin.errors import InvalidInput
from tocsin.index import question_of
from tocsin.model.ranking import Ranking
from tocsin.records.csv_files import ColumnType
from tocsin.records.folders import FolderColumns
from tocsin.records.tables import parquet_file
from tocsin.segment import IndexFolder
from tocsin.spark.answering import Given, MatchOptions, at_present, given_slices, refusal
from tocsin.spark.asking import answer_schema, asked_of, with_present
from tocsin.spark.data_files import files_in
from tocsin.spark.file_types import as_type, spark_schema
from tocsin.spark.observing import observed
from tocsin.spark.versions import of_this_batch, opened, published
from tocsin.spark.workers import Batches, Task, settling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

Piece = Mapping[str, Any]
"""A file by its `path`, and the row groups from `first` to before `stop`, or all if these are None."""

PieceReader = Callable[[Piece, pa.Schema, MatchOptions], Iterator[Given]]
"""Reads the wanted columns of a piece's events, with the options of the match."""

_ROWS: Final = 20_000
"""Rows in a batch: enough to make the cost of a call negligible, few enough for the cache."""

_PIECES_A_CORE: Final = 4

_BINARY_FILE: Final = "path string, modificationTime timestamp, length bigint, content binary"
"""The columns that Spark has for files; `content` is not read unless it is selected."""


class DamagedFileError(InvalidInput):
    """A file is not of its format, or is truncated; retrying does not help."""


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
    now: dt.datetime | str | None = None,
) -> DataFrame:
    """Match the events of a Parquet file, or of a folder of such files, which workers read themselves.

    The answer is that of `match` on the same files, read with `mergeSchema`. The events do not pass through Java.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The session.
    path : str or Path
        The file or folder. Every worker must see it under the same path.
    index
        As in `tocsin.spark.match`.
    columns : list of str, optional
        The columns to read and keep. Default: all.
    attributes
        As in `tocsin.spark.match`.
    ranking
        As in `tocsin.spark.match`.
    explode
        As in `tocsin.spark.match`.
    event_id
        As in `tocsin.spark.match`.
    json
        As in `tocsin.spark.match`.
    schema
        As in `tocsin.spark.match`.
    points
        As in `tocsin.spark.match`.
    observe
        As in `tocsin.spark.match`.
    stream : bool
        Whether the result is a streaming DataFrame, which reads each file that arrives in the folder once.
    now
        As in `tocsin.spark.match`.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of all files, and those that `match` adds. A column with several types gets one that holds them all.

    Raises
    ------
    InvalidInput
        For a path without Parquet files, for a table of Delta, Iceberg or Hudi, or if options do not fit the columns.
    SegmentError
        If there is no valid index.

    Notes
    -----
    Each file is matched by its own columns and types. Names of folders (`year=2024/`) are columns.
    """
    events = read_events(session, path, columns)
    asked = asked_of(
        *(events, attributes, ranking),
        event_id=event_id,
        json=json,
        explode=explode,
        schema=schema,
        points=points,
        now=now,
    )
    asked = by_file(asked, all_columns=attributes is None and columns is None)
    asked = replace(asked, tells_work=observe is not None, folders=folders_of(path))
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
    """The tasks' answers for files or row groups: `pieces` has `path`, and `first` and `stop` or nulls.

    `read` reads the events of a piece; the default reads Parquet. If `listed` is given, `pieces` has numbers into it
    (`id`). A damaged file raises an error. With `sets_aside` it counts as one unreadable event instead, and events read
    before the damage are answered.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    folder = published(index)
    question_of(asked.ranking)  # raises an error for an unknown ranking
    types = to_arrow_schema(schema, timezone="UTC")
    task = settling(_reader(folder, asked, types, listed, read or read_piece, sets_aside=sets_aside))
    return with_present(pieces, asked, folder).mapInArrow(task, answer_schema(schema, asked, folder.ids))


def _reader(
    folder: IndexFolder,
    asked: MatchOptions,
    types: pa.Schema,
    listed: Sequence[Piece],
    read: PieceReader,
    *,
    sets_aside: bool,
) -> Task:
    """The task: reads its pieces, and answers each batch of them."""
    wanted = columns_of(types, asked)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        version, of_batch = of_this_batch(folder, asked)
        snapshots = opened(version)
        for rows in batches:
            batch, own = at_present(rows, of_batch)
            for row in batch.to_pylist():
                piece = listed[row["id"]] if listed else row
                try:
                    for given in read(piece, wanted, own):
                        yield from given_slices(given, own, snapshots, version.version)
                except DamagedFileError as error:
                    if not sets_aside:
                        raise
                    yield from refusal([str(error)], wanted, own, snapshots, version.version)

    return run


def columns_of(types: pa.Schema, asked: MatchOptions) -> pa.Schema:
    """The columns to read, in Spark's types."""
    return pa.schema([types.field(name) for name in asked.columns])


def path_of(piece: Piece) -> str:
    """The path of a piece's file. Spark puts `file:` before it, but does not encode it as a URL."""
    path: str = piece["path"]
    return f"/{path.removeprefix('file:').lstrip('/')}" if path.startswith("file:") else path


def by_file(asked: MatchOptions, *, all_columns: bool) -> MatchOptions:
    """The options for matching each file by its own columns and types; with `all_columns` by all of them."""
    return asked if asked.json is not None else replace(asked, by_file=True, all_columns=all_columns)


def read_piece(piece: Piece, wanted: pa.Schema, asked: MatchOptions) -> Iterator[Given]:
    """The batches of a file, or of some of its row groups.

    The rows for the answer have the wanted columns, null if the file does not have them.
    """
    path = path_of(piece)
    parts = {} if asked.folders is None else asked.folders.values(path)
    read = 0
    try:
        with parquet_file(path) as file:
            first, stop = piece["first"], piece["stop"]
            groups = range(file.num_row_groups) if first is None or stop is None else range(first, stop)
            names = [name for name in file.schema_arrow.names if name not in parts]
            there = names if asked.all_columns else [name for name in wanted.names if name in names]
            for batch in file.iter_batches(_ROWS, list(groups), there):
                count = batch.num_rows
                own = {name: pa.repeat(value, count) for name, value in parts.items()}
                given = dict(zip(there, batch.columns, strict=True)) | own
                arrays = [_cast(given.get(one.name), one, count, path) for one in wanted]
                rows = pa.RecordBatch.from_arrays(arrays, schema=wanted)
                yield Given(rows, _with_columns(batch, own) if asked.by_file else rows)
                read += count
    except (OSError, pa.ArrowException) as error:
        kind = DamagedFileError if getattr(error, "errno", None) is None else InvalidInput
        where = f" behind {read:,} events" if read else ""
        raise kind(f"{path} cannot be read as Parquet{where}: {error}") from None


def _with_columns(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    for name, column in columns.items():
        batch = batch.append_column(name, column)
    return batch


def _cast(column: pa.Array | None, wanted: pa.Field, rows: int, path: str) -> pa.Array:
    """A column in Spark's type; null if the file does not have it. Raises `InvalidInput` if it cannot be converted."""
    if column is None or column.type == wanted.type:
        return pa.nulls(rows, wanted.type) if column is None else column
    try:
        return as_type(column, wanted.type)
    except pa.ArrowException as error:
        what = f"column {wanted.name!r} is {column.type}, but was {wanted.type} when the stream or job began"
        raise InvalidInput(f"{path} cannot be read with the others: {what} ({error})") from None


def read_events(session: SparkSession, path: str | Path, columns: list[str] | None) -> DataFrame:
    """No rows, with the columns of a Parquet file or of a folder of such files; raises `InvalidInput`."""
    schema = spark_schema(files_in(Path(path)), folders_of(path))
    if schema is None:
        raise InvalidInput(f"{path} cannot be read as Parquet: it is a folder without files")
    missing = [name for name in columns or () if name not in schema.names]
    if missing:
        raise InvalidInput(f"columns names {missing[0]!r}, which is not a column; the columns are {schema.names}")
    rows = session.createDataFrame([], schema)
    return rows if columns is None else rows.select(*(f"`{name.replace('`', '``')}`" for name in columns))


def folders_of(path: str | Path) -> FolderColumns:
    """The columns that the names of folders below a path give its files."""
    root = Path(path).absolute()
    return FolderColumns.around(root, files_in(root)) if root.is_dir() else FolderColumns(root.parent, {})


def pieces_of(session: SparkSession, path: str | Path) -> tuple[DataFrame, list[Piece]]:
    """The pieces of a file or a folder, and a DataFrame with the number of each in a task of its own.

    This avoids a shuffle, which would put several into one task and cost a stage.
    """
    listed = _pieces(Path(path), session.sparkContext.defaultParallelism)
    return session.range(0, len(listed), 1, max(len(listed), 1)), listed


def _pieces(path: Path, cores: int) -> list[Piece]:
    """The row groups of a file or a folder, grouped so that each core gets a few pieces. At least one piece."""
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


def files_of(reader: DataStreamReader, path: str | Path) -> DataFrame:
    """The files that arrive in a folder, each once, as pieces. Their contents are not read."""
    reader = reader.format("binaryFile").schema(_BINARY_FILE).option("recursiveFileLookup", True)
    return reader.load(str(path)).selectExpr("path", "cast(null as int) first", "cast(null as int) stop")
