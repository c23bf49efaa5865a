"""Conversion of integers in nanoseconds since 1970 to instants, before they are read as numbers.

Present-day values exceed 2**53, so float64 cannot hold them exactly, and they would be rejected as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from tocsin.model.values import Instant

NANOSECONDS: Final = "instant(ns)"
"""The schema type of such integers."""

Records = list[tuple[int, Mapping[str, Any]]]


def counted_columns(table: pa.Table | pa.RecordBatch, schema: Mapping[str, Any] | None) -> pa.Table | pa.RecordBatch:
    """Convert such integer columns of a table to timestamps. Cost: nothing if the schema names none."""
    for name in _named(schema):
        place = table.schema.get_field_index(name)
        if place >= 0 and pa.types.is_int64(table.schema.field(place).type):
            column = table.column(place).cast(pa.timestamp("ns", "UTC"))
            table = table.set_column(place, pa.field(name, column.type), column)
    return table


def counted_records(records: Records, schema: Mapping[str, Any] | None) -> Records:
    """Convert such integers in objects, under top-level names."""
    names = _named(schema)
    return [(row, _counted(record, names)) for row, record in records] if names else records


def _named(schema: Mapping[str, Any] | None) -> list[str]:
    return [name for name, kind in (schema or {}).items() if kind == NANOSECONDS]


def _counted(record: Mapping[str, Any], names: list[str]) -> Mapping[str, Any]:
    found = {name: record.get(name) for name in names}
    moments = {name: Instant(value // 1000) for name, value in found.items() if type(value) is int and _fits(value)}
    return {**record, **moments} if moments else record


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**63
