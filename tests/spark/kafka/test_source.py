"""Events of a Kafka topic are read once each, micro-batch after micro-batch, and what cannot be read is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tocsin.spark as tocsin_spark
from tests.spark.kafka.conftest import Topic
from tests.spark.test_streams import expected
from tests.spark.test_streams import run as run_once
from tocsin.errors import InvalidInput

pytestmark = [pytest.mark.spark, pytest.mark.slow("queries of Spark wait for a broker")]

Make = Callable[..., Topic]
SUBSCRIPTIONS = [{"id": f"n{number}", "where": f"n >= {number} AND n < {number + 3}"} for number in range(20)]
UNREACHABLE = "127.0.0.1:1"


def run(frame: Any, checkpoint: Path, take: Callable[[Any, int], None]) -> None:
    """Run a stream over all that is there; anew where its source's process was given up before it began.

    Spark waits ten seconds for such a process, however busy a machine is.
    """
    for _ in range(3):
        try:
            return run_once(frame, checkpoint, take)
        except Exception as error:
            if "Python worker failed to connect back" not in str(error):
                raise
    return run_once(frame, checkpoint, take)


def collected(frame: Any, checkpoint: Path) -> list[list[Any]]:
    """The rows of each micro-batch, over all that is there."""
    batches: list[list[Any]] = []
    run(frame, checkpoint, lambda batch, _: batches.append(batch.collect()))
    return batches


def read(spark: Any, topic: Topic, **options: Any) -> Any:
    return tocsin_spark.read_kafka(spark, servers=topic.servers, topic=topic.name, timeout_s=20, **options)


def places(rows: list[Any]) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in rows]


def test_events_are_matched_and_poison_is_set_aside(spark: Any, compiled: Any, topic: Make) -> None:
    """Of two partitions, as one process answers; what is no JSON, no text or nothing keeps its row and a reason."""
    source, (folder, _) = topic(2), compiled(SUBSCRIPTIONS)
    for partition in (0, 1):
        source.put(partition, [json.dumps({"n": n}) for n in range(partition, 20, 2)], key=b"k")
    source.put(1, ["{", b'{"n": 1, "s": "\xff"}', None, "[1]"])
    batches: list[list[Any]] = []
    matched = tocsin_spark.match(read(spark, source), folder, json="value", corrupt="bad")
    run(matched, folder / "checkpoint", lambda batch, _: batches.append(batch.collect()))

    rows = [row for batch in batches for row in batch]
    good = {json.loads(row["value"])["n"]: [tuple(one) for one in row["matches"]] for row in rows if row["key"]}
    assert good == expected(SUBSCRIPTIONS, [{"key": n, "n": n} for n in range(20)])
    poison = {row["offset"]: row for row in rows if not row["key"]}
    assert sorted(poison) == [10, 11, 12, 13]
    assert all(row["matches"] is None and row["error"] for row in poison.values())
    assert poison[11]["bad"].encode("latin-1") == b'{"n": 1, "s": "\xff"}'
    assert "cannot be read" in poison[11]["error"]
    assert all(row["timestamp"] is not None for row in rows)


def test_a_restart_neither_loses_nor_repeats(spark: Any, topic: Make, tmp_path: Path) -> None:
    """Also after a micro-batch that failed, whose events are the same in the second attempt although more have come."""
    source, seen = topic(2), {}
    frame = read(spark, source, most_per_batch=7, most_per_task=2)
    source.put(0, list("abcdefgh"))
    source.put(1, list("ABCD"))

    def take(batch: Any, number: int) -> None:
        seen.setdefault(number, []).append(batch.collect())
        if number == 1 and len(seen[1]) == 1:
            raise RuntimeError("the sink is gone")

    with pytest.raises(Exception, match="the sink is gone"):
        run(frame, tmp_path, take)
    source.put(1, list("EF"))
    run(frame, tmp_path, take)
    source.put(0, ["i"])
    run(frame, tmp_path, take)

    assert sorted(places(seen[1][0])) == sorted(places(seen[1][1]))
    batches = [attempts[-1] for _, attempts in sorted(seen.items())]
    assert all(len(batch) <= 7 for batch in batches)
    assert sorted(places([row for batch in batches for row in batch])) == [
        *((0, offset) for offset in range(9)),
        *((1, offset) for offset in range(6)),
    ]
    values = {(row["partition"], row["offset"]): row["value"] for batch in batches for row in batch}
    assert "".join(values[place] for place in sorted(values)) == "abcdefghiABCDEF"


def test_a_topic_that_was_made_anew_is_told(spark: Any, topic: Make, tmp_path: Path) -> None:
    """What the checkpoint speaks of is not there; gone="skip" goes on, new partitions from their first event."""
    source = topic(1)
    source.put(0, list("abc"))
    frame = read(spark, source)
    assert places([row for rows in collected(frame, tmp_path) for row in rows]) == [(0, 0), (0, 1), (0, 2)]
    source.remade(2)
    source.put(1, list("yz"))

    with pytest.raises(Exception, match=r"partition 0 of the topic .* ends at offset 0, but was read up to 3"):
        collected(frame, tmp_path)

    (rows,) = collected(read(spark, source, gone="skip", starting="latest"), tmp_path)
    assert places(rows) == [(1, 0), (1, 1)]


def test_a_transaction_has_numbers_without_events(spark: Any, topic: Make) -> None:
    """A range that ends with one is read up to its end, in whatever pieces."""
    from confluent_kafka import Producer

    source = topic(1)
    producer = Producer({"bootstrap.servers": source.servers, "transactional.id": source.name})
    producer.init_transactions(20)
    for value in "ab":
        producer.begin_transaction()
        producer.produce(source.name, value, partition=0)
        producer.commit_transaction(20)

    for most in (1, 100):
        rows = read(spark, source, batch=True, most_per_task=most).collect()

        assert [(row["offset"], row["value"]) for row in rows] == [(0, "a"), (2, "b")]


def test_a_topic_is_a_table_too(spark: Any, topic: Make) -> None:
    """All that is there when the query is planned; of nothing there is nothing."""
    source, empty = topic(2), topic(1)
    source.put(0, list("abc"))
    source.put(1, list("de"))

    assert sorted(row["value"] for row in read(spark, source, batch=True, most_per_task=2).collect()) == list("abcde")
    assert read(spark, empty, batch=True).count() == 0


def test_what_is_not_there_is_told_at_once(spark: Any, topic: Make) -> None:
    """A topic, a broker, an option: one line that names servers and topic."""
    source = topic(1)
    with pytest.raises(InvalidInput, match=f"there is no topic 'nowhere' at {source.servers}") as told:
        tocsin_spark.read_kafka(spark, servers=source.servers, topic="nowhere")
    assert "\n" not in str(told.value)
    with pytest.raises(InvalidInput, match=f"no broker answers at {UNREACHABLE} within 0.5 s .topic 'events'.") as told:
        tocsin_spark.read_kafka(spark, servers=UNREACHABLE, topic="events", timeout_s=0.5)
    assert "\n" not in str(told.value)
    with pytest.raises(InvalidInput, match=r"options for Kafka: No such configuration property: .no.such"):
        read(spark, source, options={"no.such": 1})
    with pytest.raises(InvalidInput, match=r"options may not set 'auto.offset.reset'"):
        read(spark, source, options={"auto.offset.reset": "latest"})
    with pytest.raises(InvalidInput, match="most_per_batch is for streams"):
        read(spark, source, most_per_batch=5, batch=True)


def test_a_topic_that_vanishes_ends_the_query(spark: Any, topic: Make, tmp_path: Path) -> None:
    """With the same words as at the start; and so does an option that came by Spark's own way."""
    from confluent_kafka.admin import AdminClient

    source = topic(1)
    frame = read(spark, source)
    admin = AdminClient({"bootstrap.servers": source.servers})
    admin.delete_topics([source.name])[source.name].result(20)

    with pytest.raises(Exception, match=f"there is no topic '{source.name}' at {source.servers}"):
        collected(frame, tmp_path)
    with pytest.raises(Exception, match="'topc' is not an option of this source"):
        spark.read.format("tocsin-kafka").option("topc", "x").load().count()
