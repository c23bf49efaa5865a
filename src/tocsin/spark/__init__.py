"""Matching on Spark: compile DataFrames of subscriptions into an index, and match DataFrames of events in the workers.

    from tocsin import spark
    spark.compile(subscriptions_df, "index/", partitions=8)
    matched_df = spark.match(events_df, "index/")

The public names are imported on first use, so that tasks can import modules from here without PySpark.
"""

from typing import TYPE_CHECKING

from tocsin.lazy import lazy_names

if TYPE_CHECKING:
    from tocsin.spark.public import *  # noqa: F403

__getattr__, __dir__ = lazy_names(__name__, globals(), extra="spark")
