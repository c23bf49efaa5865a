"""The columns of Parquet files: what each file has, and what Spark has where files differ."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.errors import InvalidInput
from tocsin.spark.answering import Asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Own:
    """Which columns of a file are attributes in the types that the file itself has for them."""

    names: tuple[str, ...] | None = None  # None: all of them


ALL: Final = Own()
NONE: Final = Own(())


def own_of(asked: Asked, named: Sequence[str] | None) -> Own:
    """Those that are asked: all where nobody names some; none where the events are JSON in a column."""
    if asked.json is not None:
        return NONE
    return ALL if named is None else Own(asked.attributes)


def own_attributes(names: Sequence[str], own: Own, inside: Callable[[str], bool]) -> Collection[str]:
    """Which columns of a file are read as its attributes: those of which a subscription asks."""
    chosen = [name for name in names if own.names is None or name in own.names]
    has_dots = any("." in name for name in chosen)  # such a column may clash with a nested one that nobody asks for
    return {name for name in chosen if has_dots or inside(name)}


def as_spark_has_it(column: pa.Array | None, wanted: pa.Field, rows: int, path: str) -> pa.Array:
    """A column as Spark has it; null where a file has it not. Raises `InvalidInput` for one of another type."""
    if column is None or column.type == wanted.type:
        return pa.nulls(rows, wanted.type) if column is None else column
    try:
        return column.cast(wanted.type, safe=not pa.types.is_timestamp(wanted.type))
    except pa.ArrowException as error:
        what = f"column {wanted.name!r} is {column.type}, and was {wanted.type} when the stream or job began"
        raise InvalidInput(f"{path} cannot be read with the others: {what} ({error})") from None


def columns_of_files(session: SparkSession, path: str | Path, names: Collection[str] | None = None) -> StructType:
    """The columns (or some) of a Parquet file, or of a folder of files, as Spark has them; of all where they differ."""
    from pyspark.sql.pandas.types import from_arrow_schema

    folder = Path(local_path(str(path)))
    schemas = {str(file): pq.read_schema(file) for file in data_files(folder)} if folder.exists() else {}
    if len({tuple((field.name, field.type) for field in one) for one in schemas.values()}) <= 1 and not any(
        _is_unknown_to_spark(field.type) for one in schemas.values() for field in one
    ):
        return session.read.option("recursiveFileLookup", True).parquet(str(path)).schema
    return from_arrow_schema(merged(schemas, names))


def merged(schemas: Mapping[str, pa.Schema], names: Collection[str] | None = None) -> pa.Schema:
    """The columns of all files, each in a type that holds the values of all; raises `InvalidInput` for one without."""
    kinds: dict[str, pa.DataType] = {}
    for file, schema in schemas.items():
        for field in schema:
            if names is not None and field.name not in names:
                continue
            kind = _spark_type(field.type)
            common = _common(kinds.get(field.name, kind), kind)
            if common is None:
                raise InvalidInput(
                    f"column {field.name!r} of {file} is {field.type}, and {kinds[field.name]} in a file before; no "
                    "column of the answer holds both: leave it out by columns="
                )
            kinds[field.name] = common
    return pa.schema(list(kinds.items()))


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of two, None where there is none."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return _common_struct(one, other)
    if pa.types.is_list(one) and pa.types.is_list(other):
        inner = _common(one.value_type, other.value_type)
        return None if inner is None else pa.list_(inner)
    if any(map(pa.types.is_nested, (one, other))) or any(map(pa.types.is_binary, (one, other))):
        return None
    return _common_scalar(one, other)


def _common_struct(one: pa.StructType, other: pa.StructType) -> pa.DataType | None:
    kinds = {field.name: field.type for field in one}
    for field in other:
        common = _common(kinds.get(field.name, field.type), field.type)
        if common is None:
            return None
        kinds[field.name] = common
    return pa.struct(list(kinds.items()))


def _common_scalar(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Of numbers the wider one, of dates and times an instant, else text."""
    pair = (one, other)
    if all(map(pa.types.is_integer, pair)):
        return max(pair, key=lambda kind: kind.bit_width)
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in pair):
        return pa.float64()
    if all(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in pair):
        has_zone = any(pa.types.is_timestamp(kind) and kind.tz is not None for kind in pair)
        return pa.timestamp("us", "UTC" if has_zone else None)
    return pa.string()


def _spark_type(kind: pa.DataType) -> pa.DataType:
    """The nearest type that Spark has."""
    if isinstance(kind, pa.ExtensionType):
        return _spark_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _spark_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_spark_type(kind.key_type), _spark_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    return next((own for others, own in _SPARK_TYPES if kind in others), kind)


_SPARK_TYPES: Final = (
    ((pa.large_string(), pa.string_view(), pa.null()), pa.string()),
    ((pa.large_binary(), pa.binary_view()), pa.binary()),
    ((pa.uint8(),), pa.int16()),
    ((pa.uint16(),), pa.int32()),
    ((pa.uint32(),), pa.int64()),
    ((pa.uint64(),), pa.decimal128(20, 0)),
    ((pa.float16(),), pa.float32()),
    ((pa.date64(),), pa.date32()),
)


def _is_unknown_to_spark(kind: pa.DataType) -> bool:
    """Whether Spark refuses files with a column of this type: times in nanoseconds."""
    if kind.num_fields:
        return any(_is_unknown_to_spark(kind.field(place).type) for place in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def data_files(path: Path) -> list[Path]:
    """The files below a folder that Spark would read, or the one file itself."""
    return sorted(one for one in path.rglob("*") if _is_data(one, path)) if path.is_dir() else [path]


def _is_data(file: Path, folder: Path) -> bool:
    """Whether a file below a folder is one that Spark would read."""
    parts = file.relative_to(folder).parts
    return file.is_file() and not any(part.startswith(("_", ".")) for part in parts)


def local_path(path: str) -> str:
    """A path of this machine, of a URL too."""
    return unquote(urlparse(path).path) if path.startswith("file:") else path
