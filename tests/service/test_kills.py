"""The server is killed at random moments under load: what it acknowledged reaches every destination that matched."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.pages import ROOT
from tests.service.killed import Killed, Publishing, check, received
from tests.waiting import HANG_S, awaited

NAMES: Final = {"pulled": ("pull", 0), "streamed": ("stream", 0), "half": ("stream", 500)}
"""Destinations: how they are received, and from which value on they match."""


def missing(publishing: Publishing, folder: Path) -> dict[str, list[str]]:
    """What was acknowledged, and did not come."""
    lacking = {}
    for name, (_, least) in NAMES.items():
        came = {one["event"]["id"] for one in received(folder / name) if "event" in one}
        lacking[name] = [one["id"] for one in publishing.acknowledged if one["n"] >= least and one["id"] not in came]
    return lacking


@pytest.mark.slow("a server is killed under load")
@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)])
def test_what_was_acknowledged_is_delivered(tmp_path: Path, kills: int) -> None:
    draw = random.Random(kills)
    server = Killed(tmp_path / "alerts")
    with httpx.Client(base_url=server.address, timeout=HANG_S, trust_env=False) as client:
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
        awaited(lambda: not any(missing(publishing, tmp_path).values()), step_s=0.2)
    finally:
        publishing.stop()
        for one in receivers:
            one.kill()
            one.wait()
        server.kill()

    assert missing(publishing, tmp_path) == {name: [] for name in NAMES}
    for name, (_, least) in NAMES.items():
        check(received(tmp_path / name), least)
