"""Rows are written to a Kafka topic with a key that is the same when they are written again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tocsin.spark as tocsin_spark
from tests.spark.kafka.conftest import Topic
from tests.spark.kafka.test_source import UNREACHABLE
from tests.spark.test_streams import Files, run, stream
from tocsin.errors import InvalidInput

pytestmark = [pytest.mark.spark, pytest.mark.slow("queries of Spark wait for a broker")]

Make = Callable[..., Topic]
SCHEMA = "event_id string, subscription string, score double, `a.b` int"
ROWS = [("e1", "s1", 1.5, None), ("e1", "s2", 2.0, 1), ("e2", "s1", float("nan"), 2), ("é", "s1", 0.0, 3)]


def name_of(message: Any) -> str:
    (header,) = message.headers()
    assert header[0] == "tocsin-key"
    return str(header[1].decode())


def test_rows_are_written_as_json(spark: Any, topic: Make) -> None:
    """All columns, nulls too; the key is a column; equal keys lie in one partition."""
    sink = topic(2)
    frame = spark.createDataFrame(ROWS, SCHEMA)

    count = tocsin_spark.write_kafka(frame, servers=sink.servers, topic=sink.name, key="event_id")

    messages = sink.all()
    assert count == len(messages) == 4
    found = {(message.key().decode(), json.loads(message.value())["subscription"]): message for message in messages}
    assert json.loads(found["e1", "s1"].value()) == {"event_id": "e1", "subscription": "s1", "score": 1.5, "a.b": None}
    assert found["e1", "s1"].partition() == found["e1", "s2"].partition()
    assert len({name_of(message) for message in messages}) == 4


def test_a_micro_batch_that_is_repeated_has_the_same_names(spark: Any, topic: Make, tmp_path: Path) -> None:
    """Of equal rows each has a name of its own; other micro-batches, and other queries, have others."""
    files, sink = Files(tmp_path / "events"), topic(2)
    files.add([{"key": 1, "s": "a"}, {"key": 1, "s": "a"}, {"key": 2, "s": "b"}])
    files.add([{"key": 1, "s": "a"}])

    def take(batch: Any, number: int) -> None:
        shuffled = batch.select("key", "s").repartition(1 + len(seen))
        seen.append(tocsin_spark.write_kafka(shuffled, servers=sink.servers, topic=sink.name, key="key"))
        if len(seen) == 2:
            raise RuntimeError("the driver is gone")

    seen: list[int] = []
    events = stream(spark, files.folder, "key bigint, s string")
    with pytest.raises(Exception, match="the driver is gone"):
        run(events, tmp_path / "checkpoint", take)
    run(events, tmp_path / "checkpoint", take)
    run(events, tmp_path / "other", take)

    assert seen == [3, 1, 1, 3, 1]
    names = [name_of(message) for message in sink.all()]
    assert len(names) == 9
    assert len(set(names)) == 8
    assert sorted({name.split("/")[1] for name in names}) == ["0", "1"]


def test_columns_that_tell_rows_apart_are_the_name(spark: Any, topic: Make) -> None:
    """Then a row may change, and no shuffle is needed; two rows with the same are refused."""
    sink = topic(1)

    def write(rows: list[Any]) -> int:
        frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
        how = {"servers": sink.servers, "topic": sink.name, "identity": ["event_id", "subscription"], "job": "monday"}
        return tocsin_spark.write_kafka(frame, **how)

    write([("e1", "s1", 1.0, 1)])
    write([("e1", "s1", 2.0, 1)])
    with pytest.raises(Exception, match="which two rows have in common"):
        write([("e1", "s1", 2.0, 1), ("e1", "s1", 3.0, 1)])

    first, second = sink.all(1)[:2]
    assert name_of(first) == name_of(second)
    assert name_of(first).startswith("job monday/")


def test_what_is_not_delivered_is_an_error(spark: Any, topic: Make) -> None:
    """A broker that is away, a message that is too large, an option or a column that there is not."""
    frame, there = spark.createDataFrame(ROWS, SCHEMA), topic(1)
    with pytest.raises(
        Exception, match=f"the topic 'matches' at {UNREACHABLE} did not acknowledge . messages within 1 s"
    ):
        tocsin_spark.write_kafka(frame, servers=UNREACHABLE, topic="matches", timeout_s=1)
    where = {"servers": there.servers, "topic": there.name}
    with pytest.raises(Exception, match=f"{there.name}.*[Mm]essage size too large"):
        tocsin_spark.write_kafka(
            spark.createDataFrame([("x" * 2_000,)], "s string"), **where, options={"message.max.bytes": 1000}
        )
    with pytest.raises(InvalidInput, match=r"No such configuration property: .no.such"):
        tocsin_spark.write_kafka(frame, **where, options={"no.such": "1"})
    with pytest.raises(InvalidInput, match=r"options may not set 'enable.idempotence'"):
        tocsin_spark.write_kafka(frame, **where, options={"enable.idempotence": False})
    with pytest.raises(InvalidInput, match="'nokey' is not a column of the written rows"):
        tocsin_spark.write_kafka(frame, **where, key="nokey")
    with pytest.raises(InvalidInput, match="identity names no column"):
        tocsin_spark.write_kafka(frame, **where, identity=[])
