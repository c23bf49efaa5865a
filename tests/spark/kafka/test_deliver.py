"""Matches that a pipeline wrote to a topic are published to the service, each once."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT
from tests.service.served import served
from tests.spark.kafka.conftest import Topic
from tocsin.spark.kafka.sink import HEADER

pytestmark = [pytest.mark.slow("a command waits for a broker")]


def deliver() -> Any:
    """The program of the guide."""
    spec = importlib.util.spec_from_file_location("deliver", ROOT / "examples/several-machines/deliver.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.deliver


def put(topic: Topic, *matches: tuple[str, str]) -> None:
    """Write matches as the sink of a pipeline does: the key of each, and the subscription."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": topic.servers, "batch.num.messages": 1})
    for key, subscription in matches:
        row = {"event_id": "e1", "subscription": subscription, "score": 1.0}
        producer.produce(topic.name, json.dumps(row), "e1", partition=0, headers=[(HEADER, key)])
    assert producer.flush(20) == 0


def test_matches_of_a_topic_are_published_once(topic: Callable[..., Topic], tmp_path: Path) -> None:
    """One that Spark wrote again has the same header; and what was done before is not read again."""
    matches = topic(1)
    with served(tmp_path / "alerts") as server:
        server.destination("mobile")
        server.subscribe("mobile", "subscription LIKE 'mobile-%'", destination="mobile")
        url = str(server.client.base_url)
        put(matches, ("a", "mobile-1"), ("b", "mail-1"), ("a", "mobile-1"), ("c", "mobile-2"))
        deliver()(matches.servers, matches.name, url, 4)
        put(matches, ("c", "mobile-2"), ("d", "mobile-3"))
        deliver()(matches.servers, matches.name, url, 2)
        found = [one["event"]["subscription"] for one in server.pulled("mobile")]

        assert found == ["mobile-1", "mobile-2", "mobile-3"]
        assert server.service.directory.last_event == 4
