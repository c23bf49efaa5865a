"""The server is killed at random moments under load: what it acknowledged reaches every destination that matched."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.pages import ROOT

NAMES: Final = {"pulled": ("pull", 0), "streamed": ("stream", 0), "half": ("stream", 500)}
"""Destinations: how they are received, and from which value on they match."""
_PUBLISHERS: Final = 3


class Killed:
    """A server that is killed and started again, at the same address."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._folder, self.address = folder, f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "tocsin", "serve", str(self._folder), "--port", str(self._port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        while "serving" not in (line := self.process.stderr.readline()):
            assert line, "the server did not start"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class Publishing:
    """Threads that publish, and note what was acknowledged."""

    def __init__(self, address: str) -> None:
        self._address, self._stop = address, threading.Event()
        self.acknowledged: list[dict[str, Any]] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(_PUBLISHERS)]
        for one in self._threads:
            one.start()

    def _run(self, publisher: int) -> None:
        draw, count = random.Random(publisher), 0
        with httpx.Client(base_url=self._address, timeout=30, trust_env=False) as client:
            while not self._stop.is_set():
                some = draw.choice((1, 1, 1, 20))
                events = [{"id": f"{publisher}-{count + one}", "n": draw.randrange(1000)} for one in range(some)]
                count += some
                try:
                    self._publish(client, events)
                except httpx.HTTPError:
                    time.sleep(0.05)
                    if draw.random() < 0.5:  # some try again; the key makes it harmless
                        count -= some

    def _publish(self, client: httpx.Client, events: list[dict[str, Any]]) -> None:
        if len(events) == 1:
            answer = client.post("/v1/events", json=events[0])
        else:
            body = "\n".join(map(json.dumps, events))
            answer = client.post("/v1/events?key=id", content=body, headers={"Content-Type": "application/x-ndjson"})
            assert answer.status_code != 202 or answer.json()["rejected"] == 0
        if answer.status_code == 202:
            self.acknowledged += events

    def await_more(self, count: int) -> None:
        """Wait until so many more events are acknowledged."""
        least, deadline = len(self.acknowledged) + count, time.monotonic() + 60
        while len(self.acknowledged) < least:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def stop(self) -> None:
        self._stop.set()
        for one in self._threads:
            one.join()


def received(file: Path) -> list[dict[str, Any]]:
    """What a receiver has written so far."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


def missing(publishing: Publishing, folder: Path) -> dict[str, list[str]]:
    """What was acknowledged, and did not come."""
    lacking = {}
    for name, (_, least) in NAMES.items():
        came = {one["event"]["id"] for one in received(folder / name) if "event" in one}
        lacking[name] = [one["id"] for one in publishing.acknowledged if one["n"] >= least and one["id"] not in came]
    return lacking


def check(found: list[dict[str, Any]], least: int) -> None:
    """In order and without gaps; what comes again has the same key and is the same."""
    first: dict[int, dict[str, Any]] = {}
    last = 0
    for one in found:
        assert "reason" not in one, one  # no gap was told
        number = one["sequence"]
        assert number <= last + 1
        if number == last + 1:
            last, first[number] = number, one
        else:
            assert one == first[number]
        assert one["event"]["n"] >= least and [match["id"] for match in one["subscriptions"]]
    assert len({one["key"] for one in first.values()}) == len(first)


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.long)])
def test_what_was_acknowledged_is_delivered(tmp_path: Path, kills: int) -> None:
    draw = random.Random(kills)
    server = Killed(tmp_path / "alerts")
    with httpx.Client(base_url=server.address, timeout=30, trust_env=False) as client:
        for name, (_, least) in NAMES.items():
            client.put(f"/v1/destinations/{name}", json={"kind": "stream"}).raise_for_status()
            record = {"where": f"n >= {least}", "destination": name}
            client.put(f"/v1/subscriptions/{name}", json=record).raise_for_status()
    command = [sys.executable, "-m", "tests.service.receiving"]
    receivers = [
        subprocess.Popen([*command, kind, server.address, name, str(tmp_path / name)], cwd=ROOT)
        for name, (kind, _) in NAMES.items()
    ]
    publishing = Publishing(server.address)
    try:
        for _ in range(kills):
            publishing.await_more(draw.randint(1, 60))
            server.kill()
            server.start()
        publishing.await_more(20)
        publishing.stop()
        deadline = time.monotonic() + 60
        while any(missing(publishing, tmp_path).values()) and time.monotonic() < deadline:
            time.sleep(0.2)
    finally:
        publishing.stop()
        for one in receivers:
            one.kill()
            one.wait()
        server.kill()

    assert missing(publishing, tmp_path) == {name: [] for name in NAMES}
    for name, (_, least) in NAMES.items():
        check(received(tmp_path / name), least)
