"""Destinations of kind `mqtt`, with Mosquitto."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.service.killed import free_port
from tests.service.receivers import publish, shown
from tests.service.served import Served
from tests.service.survival import Got, check_nothing_is_lost
from tests.waiting import awaited
from tocsin.errors import missing_extra
from tocsin.service.deliver.mqtt.kind import Mqtt

CERTIFICATE = Path(__file__).parent / "data" / "hook.example.pem"
PASSWORD = "a-password-that-nobody-sees"
TOPIC = "alerts/pumps"
BROKER = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = pytest.mark.skipif(
    BROKER is None and not os.environ.get("CI"), reason="there is no Mosquitto: sh scripts/brokers.sh"
)


class Broker:
    """Mosquitto at a port. When it ends, it stores what subscribers have not taken."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.port = free_port()
        self._settings = folder / "mosquitto.conf"
        # Root would become a user who may not write here, and the broker would store nothing.
        own = ("persistence true", f"persistence_location {folder}/", f"user {getpass.getuser()}")
        lines = (f"listener {self.port} 127.0.0.1", *own, *settings)
        self._settings.write_text("".join(f"{line}\n" for line in lines if line))
        self._log = folder / "mosquitto.log"

    def start(self) -> None:
        with self._log.open("a") as log:
            command = [str(BROKER), "-c", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        awaited(self._is_ready)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def broker(folder: Path, *settings: str) -> Iterator[Broker]:
    one = Broker(folder, *(settings or ("allow_anonymous true",)))
    one.start()
    try:
        yield one
    finally:
        one.end()


class Reader:
    """A client that has subscribed to the topic, and connects again by itself. The broker keeps its messages."""

    def __init__(self, port: int, **options: Any) -> None:
        self.got: list[paho.MQTTMessage] = []
        subscribed = threading.Event()
        self._client = client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id="reader", protocol=MQTTProtocolVersion.MQTTv5
        )
        client.reconnect_delay_set(0.05, 0.1)  # type: ignore[arg-type]
        for name, value in options.items():
            getattr(client, name)(value)
        client.on_message = lambda client, data, message: self.got.append(message)
        client.on_subscribe = lambda client, *_: subscribed.set()
        client.on_connect = lambda client, *_: client.subscribe(TOPIC, qos=1)
        lasting = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        lasting.SessionExpiryInterval = 3600
        client.connect("127.0.0.1", port, clean_start=False, properties=lasting)
        client.loop_start()
        assert subscribed.wait(30)

    def numbers(self) -> list[int]:
        return [json.loads(one.payload)["data"]["sequence"] for one in list(self.got)]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def reading(port: int) -> Iterator[Reader]:
    one = Reader(port)
    try:
        yield one
    finally:
        one.close()


def topic(server: Served, port: int, **options: Any) -> Any:
    """Make a destination of this kind, and a subscription for it; returns its document."""
    record = {"kind": "mqtt", "host": "127.0.0.1", "port": port, "tls": "none", "allow_private": True, "topic": TOPIC}
    answer = server.client.put("/v1/destinations/w", json=record | options)
    assert answer.status_code in (200, 201), answer.text
    assert server.subscribe("s", "n >= 0", destination="w").is_success
    return answer.json()


@pytest.mark.parametrize("order", ["strict", "any"])
def test_messages_have_the_document_and_its_key(server: Served, tmp_path: Path, order: str) -> None:
    with broker(tmp_path) as one, reading(one.port) as reader:
        topic(server, one.port, order=order)
        publish(server, 30)
        awaited(lambda: shown(server)["waiting"] == 0 and len(reader.got) == 30)

        first = json.loads(reader.got[0].payload)
        properties = reader.got[0].properties
        assert first["type"] == "delivery" and reader.got[0].topic == TOPIC
        assert properties.ContentType == "application/json"  # type: ignore[union-attr]
        assert dict(properties.UserProperty)["key"] == first["data"]["key"]  # type: ignore[union-attr]
        assert sorted(reader.numbers()) == list(range(1, 31))
        assert order == "any" or reader.numbers() == list(range(1, 31))


def test_a_template_gives_topic_and_payload(server: Served, tmp_path: Path) -> None:
    """A topic with a wildcard cannot be published under, so that the plain document is."""
    template = {"topic": "alerts/{{ event.pump }}", "body": "{{ event.n }} bar"}
    with broker(tmp_path) as one, reading(one.port) as reader:
        topic(server, one.port, template=template)
        for pump in ("pumps", "#"):
            server.publish({"n": 7, "pump": pump})
        awaited(lambda: len(reader.got) == 2)

        full, plain = reader.got
        assert full.payload == b"7 bar" and plain.topic == TOPIC
        assert not hasattr(full.properties, "ContentType")
        assert json.loads(plain.payload)["data"]["event"]["pump"] == "#"
        assert "wildcard" in shown(server)["template_error"]


def test_a_message_is_retained_if_it_shall_be(server: Served, tmp_path: Path) -> None:
    with broker(tmp_path) as one:
        topic(server, one.port, retain=True)
        publish(server, 2)
        awaited(lambda: shown(server)["waiting"] == 0)
        with reading(one.port) as reader:
            awaited(lambda: reader.numbers() == [2])


def test_a_password_is_sent_by_tls_alone_to_the_broker_of_the_name(server: Served, tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-b", "-c", str(passwords), "tocsin", PASSWORD], check=True)
    passwords.chmod(0o644)  # the broker may run as another user
    readable = tmp_path / "certificate.pem"
    readable.write_bytes(CERTIFICATE.read_bytes())
    readable.chmod(0o644)
    secure = (f"certfile {readable}", f"keyfile {readable}", f"password_file {passwords}")
    server.service.senders.context = ssl.create_default_context(cafile=str(CERTIFICATE))
    server.service.senders.resolver.lookup = lambda host, port, **more: [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
    ]
    with broker(tmp_path, *secure) as one:
        options = {"host": "hook.example", "tls": "tls", "user": "tocsin"}
        assert "password" not in topic(server, one.port, **options, password=PASSWORD)
        publish(server, 1)
        awaited(lambda: shown(server)["waiting"] == 0)

        moved = server.client.patch("/v1/destinations/w", json={"host": "other.example"})
        assert moved.status_code == 422 and moved.json()["field"] == "password"
        topic(server, one.port, **options | {"host": "other.example"}, password=PASSWORD)
        publish(server, 1)
        awaited(lambda: shown(server)["state"] == "failing")
        assert "certificate" in shown(server)["reason"]

        topic(server, one.port, **options, password="wrong")
        server.client.post("/v1/destinations/w/enable")
        awaited(lambda: "authori" in shown(server).get("reason", "").lower())
    for path in ("destinations", "destinations/w", "destinations/w/attempts", "audit"):
        assert PASSWORD not in server.client.get(f"/v1/{path}").text


def test_a_topic_that_is_not_allowed_is_a_failure(server: Served, tmp_path: Path) -> None:
    """The broker says so in its acknowledgement alone."""
    rules = tmp_path / "rules"
    rules.write_text("topic read #\n")
    rules.chmod(0o644)
    with broker(tmp_path, "allow_anonymous true", f"acl_file {rules}") as one:
        topic(server, one.port)
        publish(server, 1)
        awaited(lambda: shown(server)["state"] == "failing")

        (attempt,) = server.client.get("/v1/destinations/w/attempts").json()["attempts"]
        assert (attempt["outcome"], attempt["status"]) == ("failed", 0x87) and shown(server)["waiting"] == 1


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"host": "10.0.0.1"}, "host"),
        ({"host": "broker.example", "port": 80}, "port"),
        ({"tls": "none"}, "tls"),
        ({"tls": "starttls"}, "tls"),
        ({"topic": None}, "topic"),
        ({"topic": "alerts/#"}, "topic"),
        ({"topic": "$SYS/alerts"}, "topic"),
        ({"retain": "yes"}, "retain"),
        ({"client_id": ""}, "client_id"),
        ({"url": "mqtt://broker.example"}, "url"),
    ],
)
def test_options_that_are_wrong(server: Served, options: dict[str, Any], field: str) -> None:
    record = {"kind": "mqtt", "host": "broker.example", "topic": TOPIC, **options}
    answer = server.client.put("/v1/destinations/w", json=record)
    assert answer.status_code == 422 and answer.json()["field"] == field, answer.text


def test_without_its_library_the_server_says_which_extra_it_needs(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(self: Mqtt) -> None:
        raise missing_extra("mqtt", "paho is not installed")

    monkeypatch.setattr(Mqtt, "require_libraries", without)
    record = {"kind": "mqtt", "host": "broker.example", "topic": TOPIC}
    answer = server.client.put("/v1/destinations/w", json=record)
    assert answer.status_code == 422 and "tocsin[mqtt]" in answer.json()["detail"]


class Read:
    """A broker with a reader, as what is killed."""

    def __init__(self, folder: Path) -> None:
        self.broker = Broker(folder, "allow_anonymous true", "max_queued_messages 0")
        self._reader: Reader | None = None

    def start(self) -> None:
        self.broker.start()
        if self._reader is None:
            self._reader = Reader(self.broker.port)

    def kill(self) -> None:
        self.broker.end()

    def got(self) -> list[Got]:
        assert self._reader is not None
        data = [json.loads(one.payload)["data"] for one in list(self._reader.got)]
        return [Got(one["key"], one["sequence"]) for one in data]

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()


@pytest.mark.slow("two servers are killed")
def test_nothing_is_lost_when_servers_are_killed(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    receiver = Read(folder)
    record = {"kind": "mqtt", "host": "127.0.0.1", "port": receiver.broker.port, "tls": "none", "topic": TOPIC}
    try:
        check_nothing_is_lost(tmp_path, record, receiver)
    finally:
        receiver.close()
