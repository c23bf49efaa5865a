"""Events that workers read themselves are matched like those that Spark reads, as a batch and as a stream."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
import tocsin.spark as tocsin_spark
from tocsin.errors import InvalidInput

pytestmark = pytest.mark.spark

SUBSCRIPTIONS = [
    *(
        {"id": f"n{number}", "where": f"n >= {number} AND n < {number + 3}", "score": number % 4.0}
        for number in range(20)
    ),
    {"id": "day", "where": "day = DATE('2024-05-31')"},
    {"id": "in", "where": "weather.temp > 20 OR words IS NULL"},
    {"id": "time", "where": "t > TIMESTAMP('2024-05-31T00:00:00Z') AND price < 3"},
]
ROWS = 250


def table(first: int, count: int) -> pa.Table:
    """Columns of many types, in types that Spark has under other names."""
    numbers = range(first, first + count)
    instant = dt.datetime(2024, 5, 31, tzinfo=dt.UTC)
    return pa.table(
        {
            "key": pa.array(numbers, pa.int32()),
            "n": pa.array([None if k % 11 == 0 else k % 23 for k in numbers], pa.float64()),
            "s": pa.array([f"s{k % 3}" for k in numbers], pa.large_string()).dictionary_encode(),
            "day": pa.array([dt.date(2024, 5, 31 - k % 2) for k in numbers]),
            "t": pa.array([instant + dt.timedelta(seconds=k - 100) for k in numbers], pa.timestamp("us", tz="UTC")),
            "price": pa.array([Decimal(k % 7) / 2 for k in numbers], pa.decimal128(10, 2)),
            "weather": pa.array([{"temp": k * 1.0} if k % 5 else None for k in numbers]),
            "words": pa.array([["a", "b"][: k % 3] or None for k in numbers], pa.list_(pa.large_string())),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of several row groups, one of them in a folder within; and what Spark leaves beside data."""
    events = tmp_path / "events"
    (events / "within").mkdir(parents=True)
    pq.write_table(table(0, ROWS), events / "a b.parquet", row_group_size=60)
    pq.write_table(table(ROWS, ROWS), events / "within" / "c.parquet", row_group_size=100)
    (events / "_SUCCESS").touch()
    return events


def rows_of(frame: Any) -> list[Any]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


@pytest.mark.parametrize("ranking", [None, tocsin.Top(1)])
def test_the_answer_is_that_of_match(spark: Any, compiled: Any, folder: Path, ranking: Any) -> None:
    """Rows, names and types; with all columns, with some, and with a row a match."""
    index, _ = compiled(SUBSCRIPTIONS, partitions=2)
    events = spark.read.option("recursiveFileLookup", True).parquet(str(folder))
    attributes = ["n", "s", "day", "t", "price", "weather", "words"]

    whole = tocsin_spark.match_parquet(spark, folder, index, attributes=attributes, ranking=ranking)
    expected = tocsin_spark.match(events, index, attributes=attributes, ranking=ranking)
    assert whole.schema == expected.schema
    assert rows_of(whole) == rows_of(expected)
    assert whole.count() == 2 * ROWS
    more = {"explode": True, "event_id": "key", "attributes": ["n", "words"], "ranking": ranking}
    few = tocsin_spark.match_parquet(spark, folder, index, columns=["key", "n", "words"], **more)
    assert rows_of(few) == rows_of(tocsin_spark.match(events, index, **more))


def test_a_stream_reads_each_file_once(spark: Any, compiled: Any, folder: Path, tmp_path: Path) -> None:
    """Those that are there, and those that come; started again, only the new ones."""
    index, _ = compiled(SUBSCRIPTIONS)
    seen: list[Any] = []

    def run() -> int:
        before = len(seen)
        matched = tocsin_spark.match_parquet(spark, folder, index, attributes=["n"], columns=["key", "n"], stream=True)
        writer = matched.writeStream.foreachBatch(lambda batch, _: seen.extend(batch.collect()))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return len(seen) - before

    assert run() == 2 * ROWS
    pq.write_table(table(2 * ROWS, 10), tmp_path / "new")
    (tmp_path / "new").replace(folder / "new.parquet")
    assert run() == 10
    events = spark.read.option("recursiveFileLookup", True).parquet(str(folder)).select("key", "n")
    assert sorted(seen) == sorted(tocsin_spark.match(events, index, attributes=["n"]).collect())


def test_a_file_without_a_column_has_none_of_it(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """As Spark reads it: null."""
    index, _ = compiled([{"id": "null", "where": "n IS NULL"}])
    (tmp_path / "events").mkdir()
    pq.write_table(table(0, 5).select(["key", "n"]), tmp_path / "events" / "a.parquet")
    pq.write_table(table(5, 5).select(["key"]), tmp_path / "events" / "b.parquet")

    schema_first = spark.read.option("mergeSchema", True).parquet(str(tmp_path / "events"))
    assert schema_first.columns == ["key", "n"]
    found = tocsin_spark.match_parquet(spark, tmp_path / "events", index, attributes=["n"])

    assert sorted(row["key"] for row in found.collect() if row["matches"]) == [0, 5, 6, 7, 8, 9]


def test_each_file_is_matched_by_its_own_schema(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """Whatever the others have; nanoseconds too, which Spark does not read. The answer has a type for all values."""
    noon = dt.datetime(2024, 5, 1, 12)
    tables = [
        pa.table({"k": ["a"], "v": [1], "s": [{"x": 1}], "d": [dt.date(2024, 5, 1)]}),
        pa.table(
            {
                "k": ["b"],
                "v": ["3"],
                "s": [{"x": 1, "y": 2}],
                "city": ["Oslo"],
                "d": pa.array([noon], pa.timestamp("ns")),
            }
        ),
        pa.table({"k": ["c"], "v": [3.0]}),
    ]
    (tmp_path / "events").mkdir()
    for number, events in enumerate(tables):
        pq.write_table(events, tmp_path / "events" / f"{number}.parquet")
    asked = [
        "v = 1",
        "v = 3",
        "v = '3'",
        "s.y = 2",
        "city = 'Oslo'",
        "d = TIMESTAMP('2024-05-01T12:00:00Z')",
        "d IS NULL",
    ]
    index, _ = compiled([{"id": where, "where": where} for where in asked])
    expected = {"a": ["v = 1"], "b": sorted(asked[2:6]), "c": sorted([asked[1], asked[6]])}

    found = tocsin_spark.match_parquet(spark, tmp_path / "events", index)
    tocsin_spark.match_to_parquet(spark, tmp_path / "events", index, tmp_path / "out")

    assert found.dtypes[:5] == [
        ("k", "string"), ("v", "string"), ("s", "struct<x:bigint,y:bigint>"), ("d", "timestamp"), ("city", "string"),
    ]  # fmt: skip
    for rows in (found.collect(), spark.read.parquet(str(tmp_path / "out")).collect()):
        assert {row.k: sorted(one.subscription for one in row.matches) for row in rows} == expected
    chosen = tocsin_spark.match_parquet(spark, tmp_path / "events", index, columns=["k", "v"]).collect()
    assert {row.k: sorted(one.subscription for one in row.matches) for row in chosen} == {
        "a": ["d IS NULL", "v = 1"], "b": ["d IS NULL", "v = '3'"], "c": ["d IS NULL", "v = 3"],
    }  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
def test_tables_with_a_log_are_refused(spark: Any, compiled: Any, folder: Path, stream: bool) -> None:
    """Their Parquet files also hold rows that were deleted."""
    index, _ = compiled(SUBSCRIPTIONS)
    (folder / "_delta_log").mkdir()

    with pytest.raises(InvalidInput, match="events is a table of Delta"):
        tocsin_spark.match_parquet(spark, folder, index, stream=stream)


def test_what_is_no_parquet_is_refused(spark: Any, compiled: Any, tmp_path: Path) -> None:
    """At once, by its name."""
    index, _ = compiled(SUBSCRIPTIONS)
    (tmp_path / "bad.parquet").write_text("not")

    for path in ("bad.parquet", "nowhere.parquet"):
        with pytest.raises(InvalidInput, match=f"{path} cannot be read as Parquet"):
            tocsin_spark.match_parquet(spark, tmp_path / path, index)
