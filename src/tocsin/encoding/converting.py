"""Conversion of values by the schema before they are read: integers in nanoseconds, and bytes that are texts.

Present-day times in nanoseconds since 1970 exceed 2**53, so float64 cannot hold them exactly. Hive and Impala write
texts as bytes, which are otherwise read as geometries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.columns.events.geometries import is_binary
from tocsin.columns.events.vectors import is_list
from tocsin.model.values import Instant

_NANOSECONDS: Final = "instant(ns)"
_GEOMETRY: Final = "geometry"

Records = list[tuple[int, Mapping[str, Any]]]


def converted_columns(table: pa.Table | pa.RecordBatch, schema: Mapping[str, Any]) -> pa.Table | pa.RecordBatch:
    """Convert such columns of a table, and those inside objects. Cost: nothing for columns of other types."""
    for name, kind in schema.items():
        place, steps = _column_of(table.schema, name)
        if place < 0:
            continue
        column = table.column(place)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        changed = [_converted(chunk, steps, kind) for chunk in chunks]
        if any(new is not old for new, old in zip(changed, chunks, strict=True)):
            whole = pa.chunked_array(changed) if isinstance(column, pa.ChunkedArray) else changed[0]
            table = table.set_column(place, pa.field(table.schema.field(place).name, whole.type), whole)
    return table


def _column_of(schema: pa.Schema, name: str) -> tuple[int, list[str]]:
    """The place of the column with an attribute, and the names inside of it; -1 if there is none."""
    steps = name.split(".")
    for count in range(len(steps), 0, -1):
        place = schema.get_field_index(".".join(steps[:count]))
        if place >= 0:
            return place, steps[count:]
    return -1, []


def _converted(column: pa.Array, steps: list[str], kind: Any) -> pa.Array:
    """A column, or the one inside its objects and lists, converted; itself if nothing is to be converted."""
    if pa.types.is_struct(column.type):
        return _with_member(column, steps, kind)
    if is_list(column.type):
        return _with_elements(column, _converted(column.flatten(), steps, kind))
    if steps:
        return column
    if pa.types.is_dictionary(column.type) and is_binary(column.type.value_type) and kind != _GEOMETRY:
        column = column.dictionary_decode()
    if pa.types.is_int64(column.type) and kind == _NANOSECONDS:
        return column.cast(pa.timestamp("ns", "UTC"))
    if is_binary(column.type) and kind != _GEOMETRY:
        return column.cast(pa.large_binary()).view(pa.large_string())  # checked when encoded
    return column


def _with_member(column: pa.StructArray, steps: list[str], kind: Any) -> pa.Array:
    place = column.type.get_field_index(steps[0]) if steps else -1
    if place < 0:
        return column
    members = column.flatten()
    changed = _converted(members[place], steps[1:], kind)
    if changed is members[place]:
        return column
    members[place] = changed
    names = [field.name for field in column.type]
    return pa.StructArray.from_arrays(members, names, mask=column.is_null())


def _with_elements(column: pa.Array, elements: pa.Array) -> pa.Array:
    """A list column with other elements; itself if they are of the same type."""
    if elements.type == column.type.value_type:
        return column
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    return pa.LargeListArray.from_arrays(offsets, elements, mask=column.is_null())


def converted_records(records: Records, schema: Mapping[str, Any]) -> Records:
    """Convert such values of objects, and those inside objects and lists."""
    return [(row, _converted_record(record, schema)) for row, record in records]


def _converted_record(record: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, kind in schema.items():
        if name in record or "." in name:
            record = _with_converted(record, name, kind)
    return record


def _with_converted(record: Mapping[str, Any], name: str, kind: Any) -> Mapping[str, Any]:
    outer, dot, inner = (name, "", "") if name in record else name.partition(".")
    if outer not in record:
        return record
    value = record[outer]
    changed = _converted_value(value, kind) if not dot else _inside(value, inner, kind)
    return record if changed is value else {**record, outer: changed}


def _inside(value: Any, name: str, kind: Any) -> Any:
    """A value with what has a name inside it converted."""
    if isinstance(value, Mapping):
        return _with_converted(value, name, kind)
    if not isinstance(value, list):
        return value
    changed = [_inside(item, name, kind) for item in value]
    return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value


def _converted_value(value: Any, kind: Any) -> Any:
    if type(value) is int and kind == _NANOSECONDS and -(2**63) <= value < 2**63:
        return Instant(value // 1000)
    if isinstance(value, bytes) and kind != _GEOMETRY:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if isinstance(value, list):
        changed = [_converted_value(item, kind) for item in value]
        return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value
    return value
