"""Settings of a local session that decide how work is divided among its cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("rows", [100_000, 800_000])
def test_a_small_file_is_divided_evenly(spark: Any, tmp_path: Path, rows: int) -> None:
    """Each of two cores reads half of a file of 1 MB or of 8 MB, which has twenty row groups."""
    from pyspark.sql import functions

    numbers = pa.table({"n": np.random.default_rng(1).random(rows)})
    pq.write_table(numbers, tmp_path / "events.parquet", row_group_size=rows // 20)
    events = spark.read.parquet(str(tmp_path / "events.parquet"))
    shares = [row["count"] / rows for row in events.groupBy(functions.spark_partition_id()).count().collect()]

    assert len(shares) == 2
    assert max(shares) <= 0.55
