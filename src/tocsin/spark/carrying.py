"""Columns that Spark cannot pass to Python workers: intervals, and rows of a DataFrame without columns.

Intervals are passed as texts and converted back. A DataFrame without columns gets one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

ROW: Final = "tocsin_row"
"""The column of events that have no columns."""


def carried(events: DataFrame) -> DataFrame:
    """The events in columns that workers can receive; unchanged if all can be."""
    from pyspark.sql import functions

    if not events.columns:
        return events.select(functions.lit(None).cast("boolean").alias(ROW))
    kinds = [carried_type(field.dataType) for field in events.schema]
    if all(kind == field.dataType for kind, field in zip(kinds, events.schema, strict=True)):
        return events
    return events.select(*(_cast(f.name, f.dataType, kind) for f, kind in zip(events.schema, kinds, strict=True)))


def given_back(answered: DataFrame, events: StructType, event_id: str | None) -> DataFrame:
    """An answer with the original columns of the events."""
    if not events.names:
        return answered.drop(ROW)
    before = {"event_id": events[event_id].dataType} if event_id is not None else {f.name: f.dataType for f in events}
    types = {field.name: before.get(field.name, field.dataType) for field in answered.schema}
    if all(types[field.name] == field.dataType for field in answered.schema):
        return answered
    return answered.select(*(_cast(field.name, field.dataType, types[field.name]) for field in answered.schema))


def intervals(events: StructType) -> dict[str, str]:
    """The columns of intervals that workers receive as texts, and the error for their values."""
    from pyspark.sql.types import StringType

    return {
        field.name: f"values of the type {field.dataType.simpleString()} have no type here"
        for field in events
        if isinstance(carried_type(field.dataType), StringType) and not isinstance(field.dataType, StringType)
    }


def carried_type(kind: DataType) -> DataType:
    """The type in which workers receive values of a type."""
    from pyspark.sql.types import (
        ArrayType,
        CalendarIntervalType,
        MapType,
        StringType,
        StructField,
        StructType,
        YearMonthIntervalType,
    )

    if isinstance(kind, CalendarIntervalType | YearMonthIntervalType):
        return StringType()
    if isinstance(kind, ArrayType):
        return ArrayType(carried_type(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(carried_type(kind.keyType), carried_type(kind.valueType), kind.valueContainsNull)
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, carried_type(f.dataType), f.nullable, f.metadata) for f in kind])
    return kind


def _cast(name: str, given: DataType, kind: DataType) -> Column:
    from pyspark.sql import functions

    column = functions.col(f"`{name.replace('`', '``')}`")
    return column if given == kind else column.cast(kind).alias(name)
