"""A pipeline from Kafka to Kafka, with changes from Kafka: all of it from one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.spark.kafka.conftest import Topic
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.running import run

pytestmark = [pytest.mark.spark, pytest.mark.slow("a pipeline of Spark waits for a broker")]

TEXT = """
[events]
kind = "kafka"
servers = "SERVERS"
topic = "EVENTS"

[subscriptions]
index = "index"

[subscriptions.changes]
kind = "kafka"
servers = "SERVERS"
topic = "CHANGES"

[match]
explode = true
event_id = "key"

[sink]
kind = "kafka"
servers = "SERVERS"
topic = "MATCHES"
key = "event_id"

[rejects]
path = "rejects"

[run]
checkpoint = "checkpoint"
"""


def test_events_changes_and_matches_on_kafka(spark: Any, topic: Callable[..., Topic], tmp_path: Path) -> None:
    """What comes between two runs is taken by the second alone; what is no text, no JSON or no change is set aside."""
    events, changes, matches = topic(2), topic(1), topic(1)
    text = TEXT.replace("SERVERS", events.servers).replace("EVENTS", events.name)
    text = text.replace("CHANGES", changes.name).replace("MATCHES", matches.name)
    (tmp_path / "pipeline.toml").write_text(text)
    pipeline = read_pipeline(tmp_path / "pipeline.toml")
    changes.put(0, [json.dumps({"id": "one", "change": "insert", "version": 1, "where": "n = 1"}), "junk"])
    events.put(0, [json.dumps({"key": "a", "n": 1}), b"\xff\xfe"])
    events.put(1, [json.dumps({"key": "b", "n": 2}), "[1]"])

    first = run(pipeline, once=True).progress.counts
    changes.put(0, [json.dumps({"id": "two", "change": "insert", "version": 1, "where": "n >= 1", "score": 2.5})])
    events.put(1, [json.dumps({"key": "c", "n": 1})])
    second = run(pipeline, once=True).progress.counts

    assert (first["events"], first["matches"], first["rejected"]) == (4, 1, 2)
    assert (second["events"], second["matches"], second["rejected"]) == (1, 2, 0)
    found = [json.loads(message.value()) for message in matches.all(1)]
    assert sorted((one["event_id"], one["subscription"], one["score"]) for one in found) == [
        ("a", "one", 1.0),
        ("c", "one", 1.0),
        ("c", "two", 2.5),
    ]
    rejects = [json.loads(line) for file in tmp_path.glob("rejects/events/*/*.json") for line in file.open()]
    assert sorted((one["event"], one["partition"], one["offset"]) for one in rejects) == [("[1]", 1, 1), ("ÿþ", 0, 1)]
    assert len(list(tmp_path.glob("rejects/changes/*.json"))) == 1
