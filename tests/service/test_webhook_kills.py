"""The server and the receivers of webhooks are killed at random moments: what was acknowledged is posted."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.pages import ROOT
from tests.service.killed import Killed, Publishing, check, received
from tests.waiting import HANG_S, awaited

NAMES: Final = {"strict": ("strict", 0), "any": ("any", 0), "half": ("strict", 500), "dead": ("strict", 0)}
"""Destinations: their order, and from which value on they match. Nobody listens for the last one."""


class Posting:
    """A receiver in a process of its own, which is killed, too."""

    def __init__(self, file: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url, self._file = f"http://127.0.0.1:{self._port}/", file
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.service.receivers", str(self._port), str(self._file)]
        self._process = subprocess.Popen(command, cwd=ROOT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def missing(publishing: Publishing, folder: Path) -> dict[str, list[str]]:
    """What was acknowledged, and did not come."""
    lacking = {}
    for name, (_, least) in NAMES.items():
        if name != "dead":
            came = {one["event"]["id"] for one in received(folder / name)}
            lacking[name] = [
                one["id"] for one in publishing.acknowledged if one["n"] >= least and one["id"] not in came
            ]
    return lacking


def has_all(server: Killed, publishing: Publishing, folder: Path) -> bool:
    """Whether all came; if not, all are posted again: a receiver that was down twice would be tried after minutes."""
    if not any(missing(publishing, folder).values()):
        return True
    for name in NAMES:
        path = f"{server.address}/v1/destinations/{name}/enable"
        httpx.post(path, timeout=HANG_S, trust_env=False).raise_for_status()
    return False


@pytest.mark.slow("a server is killed under load")
@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)])
def test_what_was_acknowledged_is_posted(tmp_path: Path, kills: int) -> None:
    draw = random.Random(kills)
    server = Killed(tmp_path / "alerts")
    receivers = {name: Posting(tmp_path / name) for name in NAMES}
    receivers["dead"].kill()
    with httpx.Client(base_url=server.address, timeout=HANG_S, trust_env=False) as client:
        for name, (order, least) in NAMES.items():
            record = {"kind": "webhook", "url": receivers[name].url, "allow_private": True, "order": order}
            client.put(f"/v1/destinations/{name}", json=record).raise_for_status()
            subscription = {"where": f"n >= {least}", "destination": name}
            client.put(f"/v1/subscriptions/{name}", json=subscription).raise_for_status()
    publishing = Publishing(server.address)
    try:
        for number in range(kills):
            publishing.await_more(draw.randint(1, 60))
            if number % 10 == 1:
                receivers["half"].kill()
            server.kill()
            server.start()
            if number % 10 == 1:
                receivers["half"].start()
        publishing.await_more(20)
        publishing.stop()
        awaited(lambda: has_all(server, publishing, tmp_path), step_s=2)
    finally:
        publishing.stop()
        for one in receivers.values():
            one.kill()
        server.kill()

    assert missing(publishing, tmp_path) == {"strict": [], "any": [], "half": []}
    check(received(tmp_path / "strict"), 0)
    check(received(tmp_path / "half"), 500)
    found = {one["sequence"]: one for one in received(tmp_path / "any")}
    assert all(one == found[one["sequence"]] for one in received(tmp_path / "any"))
