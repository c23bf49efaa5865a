"""What an alert means, told by Spark's own SQL: it has the same three truth values, and another
implementation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

_BOX = re.compile(r"S_INTERSECTS\(dest_location, BBOX\((\S+), (\S+), (\S+), (\S+)\)\)")


def condition(where: str) -> str:
    """The CQL2 text of an alert as a condition of Spark SQL."""
    inside = r"(dest_location[0] BETWEEN \1 AND \3 AND dest_location[1] BETWEEN \2 AND \4)"
    return _BOX.sub(inside, where)


def match(events: DataFrame, alerts: Sequence[Any]) -> DataFrame:
    """Add `matches`, ordered by id, and `error`, as `tocsin.spark.match` does."""
    ordered = sorted(alerts, key=lambda alert: alert["id"])
    each = [
        sql.when(
            sql.expr(condition(alert["where"])),
            sql.struct(sql.lit(alert["id"]).alias("subscription"), sql.lit(alert["score"]).alias("score")),
        )
        for alert in ordered
    ]
    matches = sql.filter(sql.array(*each), lambda found: found.isNotNull())
    return events.withColumn("matches", matches).withColumn("error", sql.lit(None).cast("string"))
