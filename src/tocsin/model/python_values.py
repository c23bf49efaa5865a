"""Values of Arrow columns as Python's own. pandas, which represents nanoseconds, is never needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

_ERRORS: Final = (ValueError, OverflowError, ArithmeticError, LookupError, OSError, TypeError, pa.ArrowException)
"""Errors of dates and durations that are too large, of unknown time zones, and of types that Python does not have."""
_MOST_ZONES: Final = 1024


class Unreadable:
    """A value that Python does not represent; `flatten` reports it, with the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def python_values(column: pa.Array) -> list[Any]:
    """The values of a column; an `Unreadable` in place of one that Python does not represent, such as a year 12000.

    Nanoseconds are cut to microseconds. Instants of a time zone that is not known are given in UTC.
    """
    kind = _represented(column.type)
    column = column if kind == column.type else column.cast(kind, safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except _ERRORS:
        return list(map(_python_value, column))
    return values


def python_rows(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of a table as dicts, with values as `python_values` gives them."""
    columns = [
        python_values(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
        for column in table.columns
    ]
    names = table.schema.names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if columns else []


def _python_value(scalar: pa.Scalar) -> object:
    try:
        return scalar.as_py()
    except _ERRORS as error:
        return Unreadable(str(error))


def _represented(kind: pa.DataType) -> pa.DataType:
    """The nearest type whose values Python represents."""
    types = pa.types
    if types.is_timestamp(kind):
        return pa.timestamp("us" if kind.unit == "ns" else kind.unit, "UTC" if unknown_zone(kind) else kind.tz)
    if types.is_time64(kind):
        return pa.time64("us")
    if types.is_duration(kind):
        return pa.duration("us" if kind.unit == "ns" else kind.unit)
    if types.is_struct(kind):
        return pa.struct([inner.with_type(_represented(inner.type)) for inner in kind])
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_represented(kind.value_type)))
    if types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_represented(kind.value_type)))
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_represented(kind.value_type)), kind.list_size)
    return kind


def unknown_zone(kind: pa.DataType) -> str | None:
    """A time zone of a type, or of one inside it, that is not known; None if there is none."""
    if pa.types.is_timestamp(kind):
        return None if kind.tz is None or _is_zone(kind.tz) else str(kind.tz)
    zones = (unknown_zone(kind.field(place).type) for place in range(kind.num_fields))
    return next((zone for zone in zones if zone is not None), None)


@lru_cache(_MOST_ZONES)
def _is_zone(name: str) -> bool:
    try:
        pa.scalar(0, pa.timestamp("s", name)).as_py()
    except _ERRORS:
        return False
    return True
