"""Counts of a job's work (events, matches, rejects, candidates, index version) as a Spark observation.

Each batch of a task carries one struct of counts. Spark's observation adds them up, and the column is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tocsin.spark.names import WORK, WORK_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation
    from pyspark.sql.types import StructType


def with_work(schema: StructType) -> StructType:
    """A schema with the column of counts added."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    counts = [StructField(name, LongType()) for name in WORK_FIELDS]
    work = StructType([*counts, StructField("index_version", StringType())])
    return StructType([*schema.fields, StructField(WORK, work)])


def observed(matched: DataFrame, name: str | Observation, *, explode: bool) -> DataFrame:
    """The answer without its counts, which are added up by an observation of this name."""
    from pyspark.sql import functions

    sums = [functions.coalesce(functions.sum(f"{WORK}.{one}"), functions.lit(0)).alias(one) for one in WORK_FIELDS]
    version = functions.max(f"{WORK}.index_version").alias("index_version")
    told = matched.observe(name, *sums, version)
    return (told.where(functions.col(WORK).isNull()) if explode else told).drop(WORK)
