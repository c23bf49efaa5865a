"""What did a job do, beside its rows? Events, matches, rejects, candidates, the index's version, as Spark observes.

Each batch of a task carries one struct of counts; Spark's observation adds them up on their way, and the column goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tocsin.spark.schemas import WORK, WORK_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation
    from pyspark.sql.types import StructType

Counts = tuple[int, int, int, int, int, int]
"""The counts of `WORK_FIELDS`."""

Work = tuple[int, int, int, int, int, int, str]
"""These, and the version of the index."""

_TYPE = pa.struct([*((name, pa.int64()) for name in WORK_FIELDS), ("index_version", pa.string())])


def with_work(schema: StructType) -> StructType:
    """A schema with the column of counts."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    counts = [StructField(name, LongType()) for name in WORK_FIELDS]
    work = StructType([*counts, StructField("index_version", StringType())])
    return StructType([*schema.fields, StructField(WORK, work)])


def work_column(work: Work, rows: int) -> pa.Array:
    """The column of a batch: the counts in its first row, if it has one, and null in all others."""
    first = [dict(zip((*WORK_FIELDS, "index_version"), work, strict=True))] if rows else []
    return pa.concat_arrays([pa.array(first, _TYPE), pa.nulls(max(rows - 1, 0), _TYPE)])


def observed(matched: DataFrame, name: str | Observation, *, explode: bool) -> DataFrame:
    """The answer without its counts, which an observation of this name adds up."""
    from pyspark.sql import functions

    sums = [functions.coalesce(functions.sum(f"{WORK}.{one}"), functions.lit(0)).alias(one) for one in WORK_FIELDS]
    version = functions.max(f"{WORK}.index_version").alias("index_version")
    told = matched.observe(name, *sums, version)
    return (told.where(functions.col(WORK).isNull()) if explode else told).drop(WORK)
