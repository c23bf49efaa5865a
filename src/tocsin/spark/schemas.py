"""Which columns go in and out of Spark jobs?"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
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

from tocsin.records.changes import CORRUPT

SUBSCRIPTION_FIELDS: Final = ("id", "where", "predicates", "score", "weights")
PARTITION: Final = "tocsin_partition"
KEYS: Final = "tocsin_keys"
COPY: Final = "tocsin_copy"
FIELD: Final = "tocsin_field"
REASON: Final = "tocsin_reason"
PLACED_NAMES: Final = [PARTITION, KEYS, COPY, FIELD, REASON]
MATCHES: Final = "matches"
ERROR: Final = "error"

WORK: Final = "tocsin_work"

EVENT: Final = "tocsin_event"
PART: Final = "tocsin_part"
TO: Final = "tocsin_to"
ROWS: Final = "tocsin_rows"
SERVED: Final = "tocsin_served"
CANDIDATES: Final = "tocsin_candidates"
VERIFIED: Final = "tocsin_verified"
"""Of events on their way to the parts of an index, and back: `spark.visits`."""

WORK_FIELDS: Final = ("events", "matches", "rejected", "reported", "candidates", "verified")
"""`rejected` are events that were refused whole, `reported` those with an error, whole or of a field."""

COMPILED: Final = StructType(
    [
        StructField("part", IntegerType()),
        StructField("accepted", LongType()),
        StructField("rejected", LongType()),
        StructField("copies", LongType()),
        StructField("ids", StringType()),
    ]
)
"""`accepted` has the copies in it."""

PLACED_FIELDS: Final = (
    StructField(PARTITION, IntegerType()),
    StructField(KEYS, ArrayType(LongType())),
    StructField(COPY, BooleanType()),
    StructField(FIELD, StringType()),
    StructField(REASON, StringType()),
)
"""Where a copy of a subscription lies, by which keys events come there, whether it is not the first one; or why not."""


CHANGE_FIELDS: Final = ("id", "change", "version", *SUBSCRIPTION_FIELDS[1:], CORRUPT)

CHANGE_SCHEMA: Final = (
    "id string, change string, version bigint, where string, score double, weights map<string, double>"
)
"""What changes are read as where nothing else is said."""

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
    """Every input column, the matches, and what was wrong with the event."""
    match = StructType([StructField("subscription", id_type(ids)), StructField("score", DoubleType())])
    return StructType([*events.fields, StructField(MATCHES, ArrayType(match)), StructField(ERROR, StringType())])


def matches_type(ids: str) -> pa.DataType:
    """The type of an event's matches, as tasks write it."""
    kind = pa.string() if ids == "string" else pa.int64()
    return pa.list_(pa.struct([("subscription", kind), ("score", pa.float64())]))


def shuffled_schemas(columns: list[StructField], ids: str) -> tuple[StructType, StructType]:
    """Events on their way to the parts of an index, and with what these answered: `spark.visits`."""
    events = [StructField(f"c{number}", column.dataType) for number, column in enumerate(columns)]
    match = StructType([StructField("subscription", id_type(ids)), StructField("score", DoubleType())])
    kinds: dict[str, DataType] = {
        EVENT: LongType(),
        PART: IntegerType(),
        TO: IntegerType(),
        ROWS: IntegerType(),
        SERVED: BooleanType(),
        ERROR: StringType(),
        MATCHES: ArrayType(match),
        CANDIDATES: LongType(),
        VERIFIED: LongType(),
    }
    sent = [StructField(name, kinds[name]) for name in (EVENT, PART, TO, ROWS, SERVED, ERROR)]
    answered = [StructField(name, kind) for name, kind in kinds.items() if name not in (PART, TO)]
    return StructType(events + sent), StructType(events + answered)


def exploded_schema(event_id: StructField, ids: str) -> StructType:
    """One row a match."""
    return StructType(
        [
            StructField("event_id", event_id.dataType),
            StructField("subscription", id_type(ids)),
            StructField("score", DoubleType()),
        ]
    )
