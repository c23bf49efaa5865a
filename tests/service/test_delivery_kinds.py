"""A kind of destinations that a package adds with one file has the outbox, retries, dead letters and metrics of all."""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.pages import ROOT
from tests.service.killed import free_port
from tests.service.receivers import Clock, dead_letters, publish, shown
from tests.service.served import Served, served
from tests.service.survival import Got, check_nothing_is_lost
from tests.waiting import awaited
from tocsin.service.deliver import kinds

PIN = "a-pin-that-nobody-sees"


class Lines(socketserver.ThreadingTCPServer):
    """A receiver of lines. `answer` says what each is answered; nothing closes the connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        self.got: list[tuple[str, str, dict[str, Any]]] = []  # pin, key and data
        self.answers: dict[int, bytes] = {}  # by number; those that are missing are taken
        super().__init__(("127.0.0.1", port), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def numbers(self) -> list[int]:
        return [data["sequence"] for _, _, data in list(self.got)]


class _Handler(socketserver.StreamRequestHandler):
    server: Lines

    def handle(self) -> None:
        if not (line := self.rfile.readline()):
            return
        pin, key, body = line.split(b" ", 2)
        data = json.loads(body)["data"]
        self.server.got.append((pin.decode(), key.decode(), data))
        self.wfile.write(self.server.answers.get(data["sequence"], b"ok\n"))


@contextmanager
def lines(port: int = 0) -> Iterator[Lines]:
    with Lines(port) as server:
        try:
            yield server
        finally:
            server.shutdown()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with the kind of the guide: one file, and one entry point."""
    code = (ROOT / "examples" / "own-delivery" / "pager.py").read_text("utf-8")
    folder = tmp_path / "installed"
    (folder / "pager-1.dist-info").mkdir(parents=True)
    (folder / "pager.py").write_text(code)
    (folder / "pager-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: pager\nVersion: 1\n")
    (folder / "pager-1.dist-info" / "entry_points.txt").write_text(f"[{kinds.GROUP}]\npager = pager:PAGER\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))
    kinds.kinds.cache_clear()
    yield folder
    sys.modules.pop("pager", None)
    kinds.kinds.cache_clear()


@pytest.fixture
def server(package: Path, tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "alerts") as running:
        yield running


def pager(client: httpx.Client, port: int, **options: Any) -> Any:
    record = {"kind": "pager", "host": "127.0.0.1", "port": port, "pin": PIN, "allow_private": True, **options}
    answer = client.put("/v1/destinations/w", json=record)
    assert answer.status_code in (200, 201), answer.text
    assert client.put("/v1/subscriptions/s", json={"where": "n >= 0", "destination": "w"}).is_success
    return answer.json()


def test_deliveries_are_sent_and_tried_again_in_order(server: Served) -> None:
    """What fails is tried again with the same key, and the others wait."""
    clock = Clock(server)
    with lines() as receiver:
        document = pager(server.client, receiver.port)
        assert document["state"] == "well" and "pin" not in document
        receiver.answers[2] = b""
        publish(server, 3)
        awaited(lambda: shown(server)["state"] == "failing")
        assert receiver.numbers() == [1, 2]

        receiver.answers.clear()
        clock.advance(6)
        awaited(lambda: shown(server)["waiting"] == 0)

        assert receiver.numbers() == [1, 2, 2, 3]
        assert {pin for pin, _, _ in receiver.got} == {PIN}
        assert all(key == data["key"] for _, key, data in receiver.got)
        assert shown(server)["acknowledged"] == 3 and PIN not in server.client.get("/v1/destinations/w").text


def test_what_is_refused_becomes_a_dead_letter_and_is_counted(server: Served) -> None:
    with lines() as receiver:
        pager(server.client, receiver.port, max_attempts=1)
        receiver.answers[1] = b"the battery is empty\n"
        publish(server, 2)
        awaited(lambda: shown(server)["waiting"] == 0)

        (letter,) = dead_letters(server)
        assert (letter["sequence"], letter["cause"], letter["reason"]) == (1, "refused", "the battery is empty")
        attempts = server.client.get("/v1/destinations/w/attempts").json()["attempts"]
        assert [one["outcome"] for one in attempts] == ["delivered", "refused"]
        metrics = server.client.get("/metrics").text
        assert 'tocsin_delivery_attempts_total{kind="pager",outcome="refused"} 1.0' in metrics
        assert 'tocsin_dead_letters_total{cause="refused"} 1.0' in metrics
        assert 'tocsin_destination_states{kind="pager",state="well"} 1.0' in metrics

        receiver.answers.clear()
        assert server.client.post("/v1/destinations/w/dead-letters/1/retry").status_code == 202
        awaited(lambda: receiver.numbers() == [1, 2, 1])


def test_the_secret_does_not_go_elsewhere(server: Served) -> None:
    """Who may change a destination cannot send its secret to another host; null drops it."""
    with lines() as receiver, lines() as other:
        pager(server.client, receiver.port)
        moved = server.client.patch("/v1/destinations/w", json={"port": other.port})
        assert moved.status_code == 422 and moved.json()["field"] == "pin" and PIN not in moved.text
        assert server.client.patch("/v1/destinations/w", json={"max_attempts": 3}).is_success
        assert server.client.patch("/v1/destinations/w", json={"port": other.port, "pin": None}).is_success
        publish(server, 1)
        awaited(lambda: other.numbers() == [1])

        assert not receiver.got and other.got[0][0] == ""
        assert server.client.post("/v1/destinations/w/rotate-secret").status_code == 409


def test_documents_are_checked_by_the_kind(server: Served) -> None:
    def refused(**record: Any) -> Any:
        answer = server.client.put("/v1/destinations/w", json={"kind": "pager", **record})
        assert answer.status_code == 422, answer.text
        return answer.json()["field"]

    assert refused() == "host"
    assert refused(host="127.0.0.1") == "host"  # private
    assert refused(host="good.example", url="http://good.example/") == "url"
    assert refused(host="good.example", port=0) == "port"
    assert refused(host="good.example", pin="") == "pin"
    assert refused(host="good.example", order="odd") == "order"
    document = server.client.get("/openapi.json").json()["components"]["schemas"]["Destination"]
    assert document["properties"]["kind"]["enum"][-1] == "pager" and "pin" in document["properties"]


def test_an_error_of_a_kind_is_a_failed_attempt(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a channel raises, the delivery waits, and the sender goes on."""
    import pager as installed  # type: ignore[import-not-found]

    async def send(*_: object) -> None:
        raise KeyError("a fault of the package")

    with lines() as receiver:
        with monkeypatch.context() as patched:
            patched.setattr(installed.Line, "send", send)
            pager(server.client, receiver.port)
            publish(server, 1)
            awaited(lambda: shown(server)["state"] == "failing")
            assert "KeyError" in shown(server)["reason"]
        server.client.post("/v1/destinations/w/enable").raise_for_status()
        awaited(lambda: receiver.numbers() == [1])


def test_a_server_without_the_package_keeps_deliveries(package: Path, tmp_path: Path) -> None:
    with lines() as receiver, served(tmp_path / "alerts") as server:
        pager(server.client, receiver.port, paused_until="2999-01-01T00:00:00Z")
        publish(server, 1)
    (package / "pager-1.dist-info" / "entry_points.txt").write_text("")
    kinds.kinds.cache_clear()
    with served(tmp_path / "alerts") as server:
        server.client.post("/v1/destinations/w/test")
        (attempt,) = server.client.get("/v1/destinations/w/attempts").json()["attempts"]
        assert "no destinations of kind pager" in attempt["reason"] and shown(server)["waiting"] == 1


class LinesInTurn:
    """Receivers of lines at one port, each of which is ended before the next one starts."""

    def __init__(self) -> None:
        self._port, self._all = free_port(), list[Lines]()

    def start(self) -> None:
        self._all.append(Lines(self._port))

    def kill(self) -> None:
        self._all[-1].shutdown()
        self._all[-1].server_close()

    def got(self) -> list[Got]:
        return [Got(key, data["sequence"]) for one in self._all for _, key, data in list(one.got)]

    @property
    def record(self) -> dict[str, Any]:
        return {"kind": "pager", "host": "127.0.0.1", "port": self._port}


@pytest.mark.slow("two servers are killed")
def test_nothing_is_lost_when_the_server_and_the_receiver_are_killed(package: Path, tmp_path: Path) -> None:
    """All deliveries come, in order, and those that come twice have the same key."""
    receiver = LinesInTurn()
    check_nothing_is_lost(tmp_path, receiver.record, receiver)
