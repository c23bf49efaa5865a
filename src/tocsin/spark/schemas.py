"""Schemas of the columns that go in and out of Spark jobs."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from tocsin.spark.names import (
    CANDIDATES,
    COPY,
    ERROR,
    EVENT,
    FIELD,
    KEYS,
    MATCHES,
    NOW,
    PART,
    PARTITION,
    REASON,
    ROWS,
    SERVED,
    TO,
    VERIFIED,
)

COMPILED: Final = StructType(
    [
        StructField("part", IntegerType()),
        StructField("accepted", LongType()),
        StructField("rejected", LongType()),
        StructField("copies", LongType()),
        StructField("ids", StringType()),
    ]
)
"""`accepted` includes copies."""

PLACED_FIELDS: Final = (
    StructField(PARTITION, IntegerType()),
    StructField(KEYS, ArrayType(LongType())),
    StructField(COPY, BooleanType()),
    StructField(FIELD, StringType()),
    StructField(REASON, StringType()),
)
"""The partition of a copy, the keys that route events there, and whether it is not the first copy; or a reject."""


AMENDED: Final = StructType(
    [
        StructField("version", StringType()),
        *(
            StructField(name, LongType())
            for name in ("inserted", "updated", "deleted", "rescored", "superseded", "rejected")
        ),
        StructField("rejects", StringType()),
        StructField("merge_due", BooleanType()),
    ]
)


def id_type(ids: str) -> DataType:
    """The Spark type of an index's ids: "string" or "int64"."""
    return StringType() if ids == "string" else LongType()


def matched_schema(events: StructType, ids: str) -> StructType:
    """Every input column, the matches, and the errors of the event."""
    match = StructType([StructField("subscription", id_type(ids)), StructField("score", DoubleType())])
    return StructType([*events.fields, StructField(MATCHES, ArrayType(match)), StructField(ERROR, StringType())])


def shuffled_schemas(columns: list[StructField], ids: str) -> tuple[StructType, StructType]:
    """Events on their way to the parts of an index, and on their way back with the answers: `spark.visits`."""
    events = [StructField(f"c{number}", column.dataType) for number, column in enumerate(columns)]
    match = StructType([StructField("subscription", id_type(ids)), StructField("score", DoubleType())])
    kinds: dict[str, DataType] = {
        EVENT: LongType(),
        PART: IntegerType(),
        TO: IntegerType(),
        ROWS: IntegerType(),
        SERVED: BooleanType(),
        NOW: LongType(),
        ERROR: StringType(),
        MATCHES: ArrayType(match),
        CANDIDATES: LongType(),
        VERIFIED: LongType(),
    }
    sent = [StructField(name, kinds[name]) for name in (EVENT, PART, TO, ROWS, SERVED, NOW, ERROR)]
    answered = [StructField(name, kind) for name, kind in kinds.items() if name not in (PART, TO, NOW)]
    return StructType(events + sent), StructType(events + answered)


def exploded_schema(event_id: StructField, ids: str) -> StructType:
    """One row per match."""
    return StructType(
        [
            StructField("event_id", event_id.dataType),
            StructField("subscription", id_type(ids)),
            StructField("score", DoubleType()),
        ]
    )
