"""Conversion of values by the schema before they are read: integers in nanoseconds, and bytes that are texts.

Present-day times in nanoseconds since 1970 exceed 2**53, so float64 cannot hold them exactly. Hive and Impala write
texts as bytes, which are otherwise read as geometries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from tocsin.columns.events.geometries import is_binary
from tocsin.model.values import Instant

_NANOSECONDS: Final = "instant(ns)"
_GEOMETRY: Final = "geometry"

Records = list[tuple[int, Mapping[str, Any]]]


def converted_columns(table: pa.Table | pa.RecordBatch, schema: Mapping[str, Any]) -> pa.Table | pa.RecordBatch:
    """Convert such columns of a table. Cost: nothing for columns of other types."""
    for name, kind in schema.items():
        place = table.schema.get_field_index(name)
        if place < 0:
            continue
        column = _converted(table.column(place), kind)
        if column.type != table.schema.field(place).type:
            table = table.set_column(place, pa.field(name, column.type), column)
    return table


def _converted(column: Any, kind: Any) -> Any:
    if pa.types.is_int64(column.type) and kind == _NANOSECONDS:
        return column.cast(pa.timestamp("ns", "UTC"))
    if is_binary(column.type) and kind != _GEOMETRY:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        texts = [chunk.cast(pa.large_binary()).view(pa.large_string()) for chunk in chunks]  # checked when encoded
        return pa.chunked_array(texts, pa.large_string()) if isinstance(column, pa.ChunkedArray) else texts[0]
    return column


def converted_records(records: Records, schema: Mapping[str, Any]) -> Records:
    """Convert such values of objects, under top-level names."""
    return [(row, _converted_record(record, schema)) for row, record in records]


def _converted_record(record: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    changed = {
        name: value
        for name, kind in schema.items()
        if name in record and (value := _converted_value(record[name], kind)) is not record[name]
    }
    return {**record, **changed} if changed else record


def _converted_value(value: Any, kind: Any) -> Any:
    if type(value) is int and kind == _NANOSECONDS and -(2**63) <= value < 2**63:
        return Instant(value // 1000)
    if isinstance(value, bytes) and kind != _GEOMETRY:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value
