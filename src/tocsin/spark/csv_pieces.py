"""Reading files of texts such as CSV in the workers, as `tocsin match` does, in the types of a Spark schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.errors import InvalidInput, in_field
from tocsin.model.subscription import Reject
from tocsin.records.chunks import Chunk, TableChunk
from tocsin.records.csv_values import convert_column, without_null_words
from tocsin.records.folders import with_parts
from tocsin.records.formats import ReadOptions
from tocsin.spark.answering import Given, MatchOptions
from tocsin.spark.parquet import DamagedFileError, Piece, path_of
from tocsin.spark.workers import Batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_BROKEN: Final = "not valid UTF-8"


@dataclass(frozen=True, slots=True)
class TextsReader:
    """Reads the events of files with columns of texts. The header's names select the wanted columns.

    Without a header, the columns are those of the schema, in its order.
    """

    read: Callable[[str | Path, ReadOptions], Iterator[Chunk]]  # of a format
    delimiter: str | None = None
    has_header: bool = True

    def __call__(self, piece: Piece, wanted: pa.Schema, asked: MatchOptions | None = None) -> Iterator[Given]:
        """The events of a file; raises `DamagedFileError` if its format or columns are wrong."""
        path = path_of(piece)
        parts = {} if asked is None or asked.folders is None else asked.folders.texts(path)
        texts = {name: pa.scalar(value, pa.string()) for name, value in parts.items() if name in wanted.names}
        names = None if self.has_header else [name for name in wanted.names if name not in texts]
        try:
            for chunk in self.read(path, ReadOptions(delimiter=self.delimiter, as_text=True, names=names)):
                chunk = with_parts(chunk, texts) if texts else chunk
                assert isinstance(chunk, TableChunk)  # these formats have columns
                self._check(path, chunk.table.column_names, wanted)
                yield _given(chunk, wanted, path)
        except InvalidInput as error:
            raise error if isinstance(error, DamagedFileError) else DamagedFileError(str(error)) from None

    def _check(self, path: str, names: list[str], wanted: pa.Schema) -> None:
        missing = [name for name in wanted.names if name not in names]
        if missing:
            raise DamagedFileError(
                f"{path} has no column {missing[0]!r}, which the schema names; its header is {names}. "
                "If the first line is not a header, set header = false"
            )


def _given(chunk: TableChunk, wanted: pa.Schema, path: str) -> Given:
    """A chunk of texts in the wanted types. Values of another type become misfits, and null in the answer."""
    own: list[pa.Array] = []
    rows: list[pa.Array] = []
    misfits: dict[str, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    rejects: list[Reject] = []
    for field in wanted:
        texts = pc.cast(_one(chunk.table[field.name]), pa.binary())
        matched, written, problems = converted(texts, field.type)
        problems += [(place, _BROKEN) for place in np.flatnonzero(chunk.misfits.get(field.name, [])).tolist()]
        own.append(matched)
        rows.append(written)
        if problems:
            misfits[field.name] = np.zeros(len(texts), bool)
            misfits[field.name][[place for place, _ in problems]] = True
            rejects += [Reject(place, None, field.name, reason) for place, reason in problems]
    refused = [f"{path}: {reject.reason}" for reject in chunk.rejects if not reject.field]
    batch = pa.RecordBatch.from_arrays(rows, schema=wanted)
    rejects.sort(key=lambda reject: reject.row)
    return Given(batch, pa.RecordBatch.from_arrays(own, names=wanted.names), misfits, rejects, refused)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def converted(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array, list[tuple[int, str]]]:
    """Fields (bytes, null if empty) as matched, as in the answer, and the errors of those with another type."""
    name = _named(kind)
    if name is None:
        return _each(texts, kind, json.loads, f"JSON of {kind}")
    matched, problems = convert_column(texts, name)
    if matched.type == kind:
        return matched, matched, problems
    if name != "number":
        return matched, matched.cast(kind, safe=False), problems
    plain = without_null_words(pc.utf8_trim_whitespace(pc.if_else(pc.is_valid(matched), texts, None).cast(pa.string())))
    try:
        return matched, plain.cast(kind), problems
    except pa.ArrowException:
        _, written, others = _each(plain, kind, _number_as(kind), str(kind))
    misfit = np.zeros(len(texts), bool)
    misfit[[place for place, _ in others]] = True
    return pc.if_else(pa.array(misfit), None, matched), written, problems + others


def _named(kind: pa.DataType) -> str | None:
    """The CSV type for a Spark type; None for a type written as JSON."""
    if pa.types.is_string(kind):
        return "string"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "instant"
    return None if pa.types.is_nested(kind) or pa.types.is_binary(kind) else "number"


def _number_as(kind: pa.DataType) -> Callable[[str], Any]:
    """Parses one number for a column with a narrow type; raises `ArrowInvalid` if it does not fit."""

    def read(text: str) -> Any:
        value = pa.scalar(text)
        try:
            return value.cast(kind).as_py()
        except pa.ArrowException:
            return value.cast(pa.float64()).cast(kind).as_py()

    return read


def _each(
    texts: pa.Array, kind: pa.DataType, read: Callable[[str], Any], what: str
) -> tuple[pa.Array, pa.Array, list[tuple[int, str]]]:
    """Convert fields one by one."""
    values: list[Any] = []
    problems: list[tuple[int, str]] = []
    for place, field in enumerate(texts.to_pylist()):
        text = field.decode(errors="backslashreplace") if isinstance(field, bytes) else field
        try:
            values.append(None if text is None else pa.scalar(read(text), kind).as_py())
        except (pa.ArrowException, ValueError, TypeError, RecursionError):
            values.append(None)
            problems.append((place, f"{text!r:.60} is not a value of {what}, the type in the schema"))
    array = pa.array(values, kind)
    return array, array, problems


def rows_of_texts(files: DataFrame, schema: StructType, reader: TextsReader, corrupt: str) -> DataFrame:
    """The rows of such files. An additional column `corrupt` has the errors of a row, or null."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    wanted = to_arrow_schema(schema, timezone="UTC")
    told = StructType([*schema.fields, StructField(corrupt, StringType())])

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for piece in batch.to_pylist():
                for given in reader(piece, wanted):
                    yield from _with_corrupt(given, corrupt)

    return files.mapInArrow(run, told)


def _with_corrupt(given: Given, corrupt: str) -> Iterator[pa.RecordBatch]:
    reasons: dict[int, list[str]] = {}
    for reject in given.rejects:
        reasons.setdefault(reject.row, []).append(in_field(reject.field, reject.reason))
    told = [("; ".join(reasons[row]) if row in reasons else None) for row in range(given.rows.num_rows)]
    yield given.rows.append_column(corrupt, pa.array(told, pa.string()))
    if given.refused:
        nulls = [pa.nulls(len(given.refused), field.type) for field in given.rows.schema]
        rows = pa.RecordBatch.from_arrays(nulls, schema=given.rows.schema)
        yield rows.append_column(corrupt, pa.array(given.refused, pa.string()))
