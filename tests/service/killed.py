"""A server that is killed under load, its publishers, and what its receivers must have got."""

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

from tests.waiting import HANG_S, awaited

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
        with httpx.Client(base_url=self._address, timeout=HANG_S, trust_env=False) as client:
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
        least = len(self.acknowledged) + count
        awaited(lambda: len(self.acknowledged) >= least, step_s=0.002)

    def stop(self) -> None:
        self._stop.set()
        for one in self._threads:
            one.join()


def received(file: Path) -> list[dict[str, Any]]:
    """What a receiver has written so far."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


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
