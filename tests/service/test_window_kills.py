"""The server is killed at random moments while messages are pushed: each message and each change is there once."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.service.killed import Killed
from tests.waiting import HANG_S, awaited

PATH: Final = "/v1/windows/news"
SIZE: Final = 50


class Pushing:
    """Threads that push, each message with an idempotency key, until it is acknowledged."""

    def __init__(self, address: str) -> None:
        self._address, self._stop = address, threading.Event()
        self.acknowledged: list[str] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(3)]
        for one in self._threads:
            one.start()

    def _run(self, thread: int) -> None:
        count = 0
        with httpx.Client(base_url=self._address, timeout=HANG_S, trust_env=False) as client:
            while not self._stop.is_set():
                key = f"{thread}-{count}"
                message = {"words": ["a"], "location": [1, 1], "key": key}
                try:
                    answer = client.post(f"{PATH}/messages", json=message, headers={"Idempotency-Key": key})
                except httpx.HTTPError:
                    time.sleep(0.05)
                    continue
                if answer.status_code == 202:
                    self.acknowledged.append(key)
                    count += 1

    def await_more(self, count: int) -> None:
        least = len(self.acknowledged) + count
        awaited(lambda: len(self.acknowledged) >= least, step_s=0.002)

    def stop(self) -> None:
        self._stop.set()
        for one in self._threads:
            one.join()


@pytest.mark.slow("a server is killed under load")
@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.long)])
def test_each_message_and_each_change_is_there_once(tmp_path: Path, kills: int) -> None:
    draw = random.Random(kills)
    server = Killed(tmp_path / "alerts")
    with httpx.Client(base_url=server.address, timeout=HANG_S, trust_env=False) as client:
        client.put("/v1/destinations/d", json={"kind": "stream"}).raise_for_status()
        client.put(PATH, json={"size": SIZE, "bounds": [0, 0, 8, 4]}).raise_for_status()
        record = {"words": ["a"], "location": [1, 1], "k": 1000, "destination": "d"}
        client.put(f"{PATH}/subscriptions/u", json=record).raise_for_status()
    pushing = Pushing(server.address)
    try:
        for _ in range(kills):
            pushing.await_more(draw.randint(1, 40))
            time.sleep(draw.random() / 50)
            server.kill()
            server.start()
        pushing.await_more(SIZE)
    finally:
        pushing.stop()
    with httpx.Client(base_url=server.address, timeout=HANG_S, trust_env=False) as client:
        taken = client.get(PATH).json()["next"]
        found = deliveries(client, taken)
    server.kill()

    assert [one["sequence"] for one in found] == list(range(1, taken + 1))
    keys = [one["event"]["message"]["key"] for one in found]
    assert [one["event"]["number"] for one in found] == list(range(taken))  # each once, in order
    assert len(set(keys)) == taken and set(pushing.acknowledged) <= set(keys)
    for number, one in enumerate(found):
        told = [(change["change"], change["message"]) for change in one["subscriptions"]]
        left = [("exit", keys[number - SIZE])] if number >= SIZE else []
        assert told == [*left, ("enter", keys[number])]


def deliveries(client: httpx.Client, count: int) -> list[dict[str, Any]]:
    """All deliveries, once as many are there."""
    found: list[dict[str, Any]] = []
    while len(found) < count:
        params = {"after": len(found), "limit": 1000, "wait": 30}
        page = client.get("/v1/destinations/d/deliveries", params=params).json()["deliveries"]
        assert page
        found += page
    return found
