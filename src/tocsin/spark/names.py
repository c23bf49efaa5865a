"""Column names of Spark jobs, and the columns that tasks write, for workers without PySpark."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tocsin.records.changes import CORRUPT

SUBSCRIPTION_FIELDS: Final = ("id", "where", "language", "named", "predicates", "score", "weights")
PARTITION: Final = "tocsin_partition"
KEYS: Final = "tocsin_keys"
COPY: Final = "tocsin_copy"
FIELD: Final = "tocsin_field"
REASON: Final = "tocsin_reason"
PLACED_NAMES: Final = [PARTITION, KEYS, COPY, FIELD, REASON]
MATCHES: Final = "matches"
ERROR: Final = "error"

WORK: Final = "tocsin_work"

NOW: Final = "tocsin_now"
"""The column with the present, which Spark computes once for a query."""

FILE: Final = "tocsin_file"
"""The column with the file of each event, if the names of its folders are attributes."""

EVENT: Final = "tocsin_event"
PART: Final = "tocsin_part"
TO: Final = "tocsin_to"
ROWS: Final = "tocsin_rows"
SERVED: Final = "tocsin_served"
CANDIDATES: Final = "tocsin_candidates"
VERIFIED: Final = "tocsin_verified"
"""Columns of events on their way to the parts of an index and back: `spark.visits`."""

WORK_FIELDS: Final = ("events", "matches", "rejected", "reported", "candidates", "verified")
"""`rejected` counts events rejected whole, `reported` those with an error, whole or in a field."""

CHANGE_FIELDS: Final = ("id", "change", "version", *SUBSCRIPTION_FIELDS[1:], CORRUPT)

CHANGE_SCHEMA: Final = (
    "id string, change string, version bigint, where string, score double, weights map<string, double>"
)
"""The schema of changes if none is given."""

Counts = tuple[int, int, int, int, int, int]
"""The counts of `WORK_FIELDS`."""

Work = tuple[int, int, int, int, int, int, str]
"""The counts, and the version of the index."""

_TYPE = pa.struct([*((name, pa.int64()) for name in WORK_FIELDS), ("index_version", pa.string())])


def work_column(work: Work, rows: int) -> pa.Array:
    """A column with the work of a batch: the counts in the first row, if there is one, null in all others."""
    first = [dict(zip((*WORK_FIELDS, "index_version"), work, strict=True))] if rows else []
    return pa.concat_arrays([pa.array(first, _TYPE), pa.nulls(max(rows - 1, 0), _TYPE)])


def matches_type(ids: str) -> pa.DataType:
    """The type of an event's matches, as tasks write it."""
    kind = pa.string() if ids == "string" else pa.int64()
    return pa.list_(pa.struct([("subscription", kind), ("score", pa.float64())]))
