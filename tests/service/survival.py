"""The server and a receiver are killed in the middle of deliveries: whatever the kind, all come, with the same keys."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx

from tests.service.killed import KilledServer
from tests.waiting import HANG_S, awaited

COUNT = 40
_BEFORE_KILLS = 8
_OPTIONS = {"allow_private": True, "rate_per_s": 40}  # slow enough to be killed in the middle


class Got(NamedTuple):
    """A delivery that came."""

    key: str
    sequence: int


class Receiver(Protocol):
    """A server that receives, and can be killed."""

    def start(self) -> None:
        """Start it, and wait until it takes connections."""

    def kill(self) -> None:
        """Kill it at once."""

    def got(self) -> Sequence[Got]:
        """All that came so far, in order, also to those that were killed."""


class Process:
    """A receiver that is a process, which `prepare` makes ready for connections. `read` tells what came."""

    def __init__(self, command: Sequence[str], is_ready: Callable[[], bool], read: Callable[[], Sequence[Got]]) -> None:
        self._command, self._is_ready, self.got = command, is_ready, read

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        awaited(self._is_ready)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module with this Python."""
    return [sys.executable, "-m", name, *arguments]


def check_nothing_is_lost(folder: Path, record: Mapping[str, Any], receiver: Receiver) -> None:
    """Kill the receiver and then the server, start both again, and compare what came with what was published."""
    server = KilledServer(folder / "alerts")
    receiver.start()
    try:
        with httpx.Client(base_url=server.address, timeout=HANG_S, trust_env=False) as client:
            client.put("/v1/destinations/w", json={**record, **_OPTIONS}).raise_for_status()
            client.put("/v1/subscriptions/s", json={"where": "n >= 0", "destination": "w"}).raise_for_status()
            events = "\n".join(json.dumps({"n": number}) for number in range(COUNT))
            headers = {"Content-Type": "application/x-ndjson"}
            client.post("/v1/events", content=events, headers=headers).raise_for_status()
            awaited(lambda: len(receiver.got()) >= _BEFORE_KILLS, step_s=0.005)
            receiver.kill()
            awaited(lambda: client.get("/v1/destinations/w").json()["state"] == "failing")
            receiver.start()
            client.post("/v1/destinations/w/enable").raise_for_status()
            awaited(lambda: len(receiver.got()) >= 2 * _BEFORE_KILLS, step_s=0.005)
            server.kill()
            before = len(receiver.got())
            server.start()
            server.await_ready()
            client.post("/v1/destinations/w/enable").raise_for_status()
            awaited(lambda: client.get("/v1/destinations/w").json()["waiting"] == 0)
            awaited(lambda: len(set(receiver.got())) >= COUNT)
    finally:
        server.kill()
        receiver.kill()

    got = receiver.got()
    assert 0 < before < len(got), "it was killed in the middle"
    assert {one.sequence for one in got} == set(range(1, COUNT + 1))
    assert len(set(got)) == COUNT  # what came twice has the same key
    firsts = list(dict.fromkeys(one.sequence for one in got))
    assert firsts == sorted(firsts)
