"""NOW() on Spark: one present for a query; in a stream one for a micro-batch, which its replay has, too.

Run as a script, this file is a query that is killed after its first micro-batch is written, and before Spark notes it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tocsin
from tests.waiting import HANG_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NOW = "2024-05-31T08:15:00Z"
TIMES = [f"2024-05-31T08:{minute:02}:30Z" for minute in range(16)]


def saved(folder: Path, conditions: dict[int, str]) -> tocsin.Engine:
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": number, "where": where} for number, where in conditions.items()])
    engine.save(folder)
    return engine


def test_every_way_agrees(spark: SparkSession, tmp_path: Path) -> None:
    """`match` without and with a shuffle, files that workers read, and files that they write."""
    from tocsin import spark as on_spark

    engine = saved(tmp_path / "index", {n: f"t > NOW() - {60 * n}" for n in range(20)})
    pq.write_table(pa.table({"key": range(16), "t": TIMES}), tmp_path / "events.parquet")
    answer = engine.match_batch(pa.table({"t": TIMES}), lists=True, now=NOW)
    expected = dict(enumerate(answer.table["subscription"].to_pylist()))
    events = spark.read.parquet(str(tmp_path / "events.parquet"))
    index = tmp_path / "index"

    answers = [
        on_spark.match(events, index, now=NOW),
        on_spark.match(events, index, now=NOW, routing="shuffle"),
        on_spark.match_parquet(spark, tmp_path / "events.parquet", index, now=NOW),
    ]
    on_spark.match_to_parquet(spark, tmp_path / "events.parquet", index, tmp_path / "out", now=NOW)
    answers.append(spark.read.parquet(str(tmp_path / "out")))

    for one in answers:
        found = {row["key"]: [match["subscription"] for match in row["matches"]] for row in one.collect()}
        assert found == expected


def test_one_present_for_a_query(spark: SparkSession, tmp_path: Path) -> None:
    """All tasks of a query have the same present, which is the clock's; an index that asks for none gets no column."""
    from tocsin import spark as on_spark

    saved(tmp_path / "index", {n: f"NOW() - t > {n / 100}" for n in range(3_000)})
    began = time.time()
    moment = spark.range(0, 40, 1, 8).selectExpr("id key", f"timestamp_micros({int(began * 1e6)}) t")
    for routing in ("local", "shuffle"):
        rows = on_spark.match(moment, tmp_path / "index", routing=routing).collect()
        assert len({len(row["matches"]) for row in rows}) == 1
        assert len(rows[0]["matches"]) <= (time.time() - began) * 100 + 1

    saved(tmp_path / "plain", {1: "key > 3"})
    plan = on_spark.match(moment, tmp_path / "plain")._jdf.queryExecution().toString()
    assert "current_timestamp" not in plan


def query(spark: SparkSession, folder: Path, fail: Callable[[], None]) -> None:
    """Match a stream of files, also within `foreachBatch`; write each micro-batch as JSON, and fail at the first."""
    from tocsin import spark as on_spark

    stream = spark.readStream.schema("key long, t string").json(str(folder / "events"))

    def take(batch: DataFrame, number: int) -> None:
        again = on_spark.match(batch.select("key", "t"), folder / "index")
        rows = sorted(
            (row["key"], [match["subscription"] for match in row["matches"]])
            for answer in (batch, again)
            for row in answer.collect()
        )
        attempt = len(list(folder.glob(f"batch-{number}-*")))
        (folder / f"batch-{number}-{attempt}").write_text(json.dumps(rows))
        if attempt == 0:
            fail()

    writer = on_spark.match(stream, folder / "index").writeStream.foreachBatch(take)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()


def laid_out(folder: Path) -> None:
    """Thousands of subscriptions, one of which more holds with each second, and three events of now."""
    began = time.time()
    saved(folder / "index", {n: f"NOW() - t > {n}" for n in range(4_000)})
    (folder / "events").mkdir()
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began))
    lines = "".join(json.dumps({"key": key, "t": moment}) + "\n" for key in range(3))
    (folder / "events" / "a.json").write_text(lines)


def assert_same_present(folder: Path) -> None:
    """Rows of a micro-batch, and of its replay."""
    first, again = (json.loads((folder / f"batch-0-{attempt}").read_text()) for attempt in range(2))
    assert first == again
    assert first[::2] == first[1::2]
    assert all(0 < len(matches) < 4_000 for _, matches in first)


def test_a_replay_has_the_same_present(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of a micro-batch, written before the query failed and again when it is replayed, are the same."""
    from pyspark.errors import StreamingQueryException

    def fail() -> None:
        raise RuntimeError("before Spark notes the micro-batch")

    laid_out(tmp_path)
    with pytest.raises(StreamingQueryException, match="before Spark notes"):
        query(spark, tmp_path, fail)
    time.sleep(1)  # the clock's present would be another
    query(spark, tmp_path, fail)

    assert_same_present(tmp_path)


@pytest.mark.long
@pytest.mark.slow("it starts Spark twice, in processes of its own")
def test_a_replay_after_a_kill_has_the_same_present(tmp_path: Path) -> None:
    """In another process, which remembers nothing."""
    laid_out(tmp_path)

    arguments = [sys.executable, "-m", __name__, str(tmp_path)]
    ended: list[Any] = [subprocess.run(arguments, capture_output=True, timeout=HANG_S, check=False) for _ in range(2)]

    assert [one.returncode for one in ended] == [-signal.SIGKILL, 0], ended[1].stderr[-3000:]
    assert_same_present(tmp_path)


def job(folder: Path) -> None:
    from tocsin.spark.session import local_session

    spark = local_session("local[1]")
    query(spark, folder, lambda: os.kill(os.getpid(), signal.SIGKILL))
    spark.stop()


if __name__ == "__main__":
    job(Path(sys.argv[1]))
