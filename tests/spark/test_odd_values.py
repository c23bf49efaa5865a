"""Values that Spark's files hold and others do not: curves, and dates far ahead in INT96."""

from __future__ import annotations

import datetime as dt
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import tocsin.spark as tocsin_spark

pytestmark = pytest.mark.spark

INSIDE = "S_INTERSECTS(g, BBOX(0, 0, 5, 5))"
CIRCLE = struct.pack("<BII6d", 1, 8, 3, 0, 0, 1, 1, 2, 0)


def matched(frame: Any) -> dict[int, tuple[list[str], bool]]:
    """By the key of a row: its matches, and whether it has an error."""
    return {row.k: (sorted(match.subscription for match in row.matches), bool(row.error)) for row in frame.collect()}


def test_a_curve_is_an_error_of_its_row(spark: Any, compiled: Any) -> None:
    """As bytes and as text; the other rows and the other values of its row are served."""
    index, _ = compiled([{"id": "in", "where": INSIDE}, {"id": "one", "where": "k = 1"}])
    expected = {1: (["one"], True), 2: (["in"], False)}
    point = shapely.to_wkb(shapely.Point(1, 1))
    data = spark.createDataFrame([(bytearray(CIRCLE), 1), (bytearray(point), 2)], "g binary, k int")
    assert matched(tocsin_spark.match(data, index)) == expected
    texts = spark.createDataFrame([("CIRCULARSTRING(0 0, 1 1, 2 0)", 1), ("POINT(1 1)", 2)], "g string, k int")
    assert matched(tocsin_spark.match(texts, index, schema={"g": "geometry"})) == expected


def test_far_dates_in_int96_are_those_dates(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """Whoever reads the file: Spark, the workers, or what they write."""
    index, _ = compiled(
        [{"id": "far", "where": "t > DATE('2300-01-01')"}, {"id": "old", "where": "t < DATE('2000-01-01')"}]
    )
    times = pa.array([dt.datetime(9999, 12, 31), dt.datetime(1999, 5, 1)], pa.timestamp("us"))
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "t.parquet"
    pq.write_table(
        pa.table({"k": pa.array([1, 2], pa.int32()), "t": times}), path, use_deprecated_int96_timestamps=True
    )
    expected = {1: (["far"], False), 2: (["old"], False)}
    assert matched(tocsin_spark.match(spark.read.parquet(str(tmp_path / "in")), index)) == expected
    assert matched(tocsin_spark.match_parquet(spark, tmp_path / "in", index)) == expected
    tocsin_spark.match_to_parquet(spark, tmp_path / "in", index, tmp_path / "out")
    written = pq.read_table(tmp_path / "out").to_pylist()
    assert [row["t"].year for row in sorted(written, key=lambda row: row["k"])] == [9999, 1999]
