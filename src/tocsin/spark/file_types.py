"""The common column types of several Parquet files, for Spark's answer.

Each file is matched by its own schema. The common types are for the columns that an answer keeps beside the matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.errors import InvalidInput
from tocsin.records.folders import FolderColumns
from tocsin.records.tables import parquet_file

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_INT96: Final = "INT96"
_UTC: Final = pa.timestamp("us", "UTC")
_UNSIGNED: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}


def spark_schema(
    files: Iterable[Path], folders: FolderColumns | None = None, *, skips_damaged: bool = False
) -> StructType | None:
    """The Spark schema of files and of their folders; None if there are no files.

    Columns come in the order of the files, then those of folders. A column with several types gets a type that holds
    all their values. Raises `InvalidInput` for a file that cannot be read (unless those are skipped), and for a column
    without a common type.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_schema

    merged: dict[str, pa.DataType] = {}
    count = 0
    for file in files:
        try:
            fields = list(_fields_of(file))
        except (OSError, pa.ArrowException) as error:
            if skips_damaged:
                continue
            raise InvalidInput(f"{file} cannot be read as Parquet: {error}") from None
        count += 1
        for name, kind in fields:
            if folders is not None and name in folders.kinds:
                kind = folders.kinds[name]
            try:
                merged[name] = merged_type(merged.get(name, kind), kind)
            except pa.ArrowException:
                reason = f"its column {name!r} is {kind}, but {merged[name]} in files before it"
                raise InvalidInput(f"{file} cannot be read with the others: {reason}") from None
    merged |= {} if folders is None else folders.kinds
    try:
        return from_arrow_schema(pa.schema(list(merged.items()))) if count else None
    except PySparkException as error:
        raise InvalidInput(f"a column of {file} has a type that Spark does not have: {error}") from None


def _fields_of(path: Path) -> Iterator[tuple[str, pa.DataType]]:
    """The columns of a file, in types that Spark has."""
    with parquet_file(path) as file:
        leaves = (file.schema.column(number) for number in range(len(file.schema)))
        of_spark = {leaf.path for leaf in leaves if leaf.physical_type == _INT96}
        for field in file.schema_arrow:
            yield field.name, _UTC if field.name in of_spark else plain_type(field.type)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The Spark type for values of an Arrow type."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_binary_view(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(inner.name, plain_type(inner.type)) for inner in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type))
    return _UNSIGNED.get(kind, kind)


def merged_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """A type that holds the values of two plain types; raises `ArrowInvalid` if there is none.

    >>> merged_type(pa.date32(), pa.timestamp("us")), merged_type(pa.int64(), pa.string())
    (TimestampType(timestamp[us, tz=UTC]), DataType(string))
    """
    if one == other:
        return one
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        names = dict.fromkeys(field.name for kind in (one, other) for field in kind)
        return pa.struct([(name, _merged_field(one, other, name)) for name in names])
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(merged_type(one.value_type, other.value_type))
    if _is_moment(one) and _is_moment(other):
        return _UTC
    try:
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive")[0].type
    except pa.ArrowException:
        if not (_is_scalar(one) and _is_scalar(other)):
            raise
    return pa.string()


def _merged_field(one: pa.StructType, other: pa.StructType, name: str) -> pa.DataType:
    kinds = [kind.field(name).type for kind in (one, other) if kind.get_field_index(name) >= 0]
    return merged_type(kinds[0], kinds[-1])


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _is_scalar(kind: pa.DataType) -> bool:
    return not pa.types.is_nested(kind) and not pa.types.is_binary(kind)


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column in a wider type, with nanoseconds cut to microseconds. Raises `ArrowInvalid` if it does not fit."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = pc.floor_temporal(column, unit="microsecond").cast(pa.timestamp("us", column.type.tz))
    if pa.types.is_integer(column.type) and pa.types.is_floating(kind):
        return column.cast(kind, safe=False)
    return column.cast(kind)
