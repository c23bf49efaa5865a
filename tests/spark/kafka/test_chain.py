"""The guide for several machines in one piece: events on Kafka, Spark, matches on Kafka, the service, a webhook.

All files are those of the guide. Only servers and topics differ. `test_deliver` is the shorter form.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT
from tests.service.receivers import Reply, receiver
from tests.service.served import Served, served
from tests.spark.kafka.conftest import Topic
from tests.waiting import awaited
from tocsin.pipeline import read_pipeline
from tocsin.pipeline.running import run

pytestmark = [pytest.mark.spark, pytest.mark.slow("queries of Spark wait for a broker"), pytest.mark.long]

EXAMPLE = ROOT / "examples" / "several-machines"
EVENTS = 600


def event_of(number: int) -> dict[str, Any]:
    """Every second one is a phone, every third one costs too much, and of books only the cheapest match."""
    category = ("phones", "books")[number % 2]
    return {"id": f"e{number}", "category": category, "price": 900 if number % 3 == 0 else number % 20}


def expected(events: range) -> set[tuple[str, str]]:
    """The matches, by plain arithmetic."""
    found = set()
    for one in map(event_of, events):
        if one["category"] == "phones" and one["price"] <= 580:
            found.add((one["id"], "mobile-17"))
        if one["category"] == "books" and one["price"] < 10:
            found.add((one["id"], "mail-4"))
    return found


def laid_out(folder: Path, events: Topic, matches: Topic) -> Any:
    """The pipeline of the guide."""
    shutil.copy(EXAMPLE / "alerts.jsonl", folder)
    text = (EXAMPLE / "pipeline.toml").read_text().replace("localhost:9092", events.servers)
    text = text.replace('topic = "events"', f'topic = "{events.name}"')
    (folder / "pipeline.toml").write_text(text.replace('topic = "matches"', f'topic = "{matches.name}"'))
    return read_pipeline(folder / "pipeline.toml")


class Deliverer:
    """The deliverer of the guide in a process of its own."""

    def __init__(self, matches: Topic, server: Served, log: Path) -> None:
        url = str(server.client.base_url)
        with log.open("ab") as out:
            command = [sys.executable, str(EXAMPLE / "deliver.py"), matches.servers, matches.name, url]
            self._process = subprocess.Popen(command, stdout=out, stderr=out)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def delivering(matches: Topic, server: Served, log: Path) -> Iterator[Deliverer]:
    """A deliverer, until the end of the block."""
    one = Deliverer(matches, server, log)
    try:
        yield one
    finally:
        one.kill()


def subscribe(server: Served, url: str) -> None:
    """Phones go to the webhook, and books are pulled."""
    server.client.put("/v1/destinations/phones", json={"kind": "webhook", "url": url, "allow_private": True})
    server.destination("books")
    for name, pattern in (("phones", "mobile-%"), ("books", "mail-%")):
        answer = server.subscribe(name, f"subscription LIKE '{pattern}'", destination=name)
        assert answer.status_code == 201


def pairs(deliveries: list[Any]) -> list[tuple[str, str]]:
    return [(one["event"]["event_id"], one["event"]["subscription"]) for one in deliveries]


def test_each_match_arrives_though_the_deliverer_is_killed(
    spark: Any, topic: Callable[..., Topic], tmp_path: Path
) -> None:
    """It is killed while it publishes. Each match reaches its receiver at least once, and is published once."""
    events, matches = topic(2), topic(2)
    pipeline, log = laid_out(tmp_path, events, matches), tmp_path / "log"
    half, every = expected(range(EVENTS // 2)), expected(range(EVENTS))
    with receiver(lambda posted: Reply()) as hook, served(tmp_path / "alerts") as server:
        subscribe(server, hook.url)

        def published() -> int:
            return server.service.directory.last_event

        with delivering(matches, server, log) as killed, ThreadPoolExecutor(1) as beside:
            put(events, range(EVENTS // 2))
            killing = beside.submit(lambda: (awaited(lambda: published() >= 10), killed.kill()))
            run(pipeline, once=True)
            killing.result()
        assert 10 <= published() < len(half)  # it was killed in the middle
        put(events, range(EVENTS // 2, EVENTS))
        run(pipeline, once=True)
        with delivering(matches, server, log):
            awaited(lambda: published() >= len(every))
            awaited(lambda: server.client.get("/v1/destinations/phones").json()["waiting"] == 0)

        got = [one.delivery for one in list(hook.got)]
        pulled = server.pulled("books", limit=1000)
        assert set(pairs(got)) | set(pairs(pulled)) == every
        assert len({one["key"] for one in got}) + len(pulled) == published() == len(every)


def put(topic: Topic, numbers: range) -> None:
    """Write events in turns to both partitions."""
    for partition in (0, 1):
        topic.put(partition, [json.dumps(event_of(number)) for number in numbers[partition::2]])
