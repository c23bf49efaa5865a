"""Sources of a pipeline as streams: rows with attributes in columns, or with JSON in one. No row is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tocsin.errors import InvalidInput
from tocsin.pipeline.description import End, format_at, holds_json
from tocsin.pipeline.inputs import fault_of_folder, without_columns
from tocsin.records.changes import CORRUPT
from tocsin.records.folders import FolderColumns
from tocsin.records.formats import PARQUET
from tocsin.spark.csv_pieces import TextsReader, rows_of_texts
from tocsin.spark.data_files import files_in
from tocsin.spark.file_types import spark_schema
from tocsin.spark.names import CHANGE_SCHEMA, FILE
from tocsin.spark.parquet import PieceReader, files_of, folders_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

VALUE: Final = "value"
BAD: Final = "bad"
"""The column of Kafka messages that are not valid text."""


class Stream(NamedTuple):
    """A stream of rows, and its columns that are not attributes."""

    rows: DataFrame  # no rows for Parquet and CSV: workers read the `files` themselves
    json: str | None = None  # the column of events as JSON objects
    corrupt: str | None = None  # the column with the text of unreadable records
    files: DataFrame | None = None
    read: PieceReader | None = None  # how workers read the files; None: as Parquet
    folders: FolderColumns | None = None  # the columns that the names of folders give the `files`
    by_file: bool = False  # whether each file has its own columns and types, without a given schema


def events_of(session: SparkSession, source: End) -> Stream:
    """The stream of a source of events; raises `InvalidInput` if it cannot be read."""
    if source.kind == "rate":
        rows = session.readStream.format("rate").option("rowsPerSecond", source.get("rows_per_second", 1000)).load()
        return Stream(rows)
    if source.kind == "kafka":
        return Stream(_kafka(session, source), VALUE, BAD)
    path = _folder(source)
    if holds_json(source):
        return _json_lines(_reader(session, source), path)
    if format_at(source) is PARQUET:
        folders = folders_of(path)
        rows = session.createDataFrame([], source.get("schema") or _schema_of(path, folders))
        files, is_by_file = files_of(_reader(session, source), path), "schema" not in source.says
        return Stream(rows, files=files, folders=folders, by_file=is_by_file)
    if (read := _reader_of_texts(source)) is not None:
        rows = session.createDataFrame([], source["schema"])
        return Stream(rows, files=files_of(_reader(session, source), path), read=read, folders=folders_of(path))
    return Stream(_typed(session, source, source["schema"]), corrupt=CORRUPT)


def _json_lines(reader: DataStreamReader, path: str) -> Stream:
    """The stream of lines of JSON. If names of folders give columns, a line comes with its file."""
    from pyspark.sql import functions

    folders = folders_of(path)
    lines = reader.format("text").option("recursiveFileLookup", True).load(path)
    if folders.kinds:
        lines = lines.select(VALUE, functions.col("_metadata.file_path").alias(FILE))
    return Stream(lines.where(f"trim({VALUE}) <> ''"), VALUE, folders=folders)


def changes_of(session: SparkSession, source: End) -> DataFrame:
    """The stream of a source of changes, with the columns for `spark.follow`."""
    if source.kind == "kafka":
        return _parsed(_kafka(session, source), CHANGE_SCHEMA)
    if format_at(source) is PARQUET:
        return _reader(session, source).schema(source.get("schema") or CHANGE_SCHEMA).parquet(_folder(source))
    if (read := _reader_of_texts(source)) is not None:
        files = files_of(_reader(session, source), _folder(source))
        return rows_of_texts(files, session.createDataFrame([], source["schema"]).schema, read, CORRUPT)
    return _typed(session, source, source.get("schema") or CHANGE_SCHEMA)


def typed_rows(session: SparkSession, source: End) -> DataFrame:
    """The stream of a source in the columns of its schema. A message of Kafka also has `partition` and `offset`."""
    if source.kind == "kafka":
        return _parsed(_kafka(session, source), source["schema"], ("partition", "offset", "timestamp"))
    if format_at(source) is PARQUET:
        return _reader(session, source).schema(source["schema"]).parquet(_folder(source))
    return _typed(session, source, source["schema"])


def _parsed(messages: DataFrame, schema: str, others: Sequence[str] = ()) -> DataFrame:
    """Messages of Kafka that are JSON in columns, with the text of those that are not, and with other columns."""
    from pyspark.sql import functions

    parsed = functions.from_json(VALUE, f"{schema}, {CORRUPT} string", {"columnNameOfCorruptRecord": CORRUPT})
    names = set(messages.sparkSession.createDataFrame([], schema).columns)
    others = [name for name in others if name not in names]
    found = messages.select(parsed.alias("record"), BAD, *others).select("record.*", BAD, *others)
    return found.withColumn(CORRUPT, functions.coalesce(CORRUPT, BAD)).drop(BAD)


def _schema_of(folder: str, folders: FolderColumns) -> StructType:
    """The columns of the existing Parquet files; damaged ones are reported when they are read."""
    schema = spark_schema(files_in(Path(folder)), folders, skips_damaged=True)
    if schema is None:
        raise InvalidInput(without_columns(Path(folder)))
    return schema


def _typed(session: SparkSession, source: End, schema: str) -> DataFrame:
    """Files in columns, read by Spark; an extra column has the text of unreadable records."""
    reader = _reader(session, source).schema(f"{schema}, {CORRUPT} string")
    return reader.option("columnNameOfCorruptRecord", CORRUPT).format(source["format"]).load(_folder(source))


def _reader_of_texts(source: End) -> TextsReader | None:
    """The reader of files with columns of texts, such as CSV; None for other files."""
    form = format_at(source)
    if form is None or not form.is_untyped:
        return None
    return TextsReader(form.read, source.get("delimiter"), has_header=source.get("header", True))


def _reader(session: SparkSession, source: End) -> DataStreamReader:
    reader = session.readStream
    most = source.get("files_per_batch")
    return reader if most is None else reader.option("maxFilesPerTrigger", most)


def _folder(source: End) -> str:
    """The folder of a source of files."""
    path = Path(source["path"])
    if (fault := fault_of_folder(path)) is not None:
        raise InvalidInput(fault)
    return str(path)


def _kafka(session: SparkSession, source: End) -> DataFrame:
    from tocsin.spark import read_kafka

    return read_kafka(
        session,
        servers=source["servers"],
        topic=source["topic"],
        starting=source.get("starting", "earliest"),
        most_per_batch=source.get("events_per_batch"),
        options=source.get("options", {}),
    )
