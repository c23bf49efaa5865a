"""Pulling deliveries with a cursor."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.service.served import Served, served
from tests.waiting import HANG_S, awaited

PATH = "/v1/destinations/d/deliveries"


@pytest.fixture
def ready(server: Served) -> Served:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    for number in range(5):
        server.publish({"n": number})
    return server


def numbers(found: list[dict[str, Any]]) -> list[int]:
    return [one["sequence"] for one in found]


def test_pages_follow_the_number(ready: Served) -> None:
    assert numbers(ready.pulled()) == [1, 2, 3, 4, 5]
    assert numbers(ready.pulled(after=2, limit=2)) == [3, 4]
    assert numbers(ready.pulled(after=5)) == []


def test_the_cursor_only_goes_forward(ready: Served, tmp_path: Path) -> None:
    def acknowledge(number: Any) -> int:
        return ready.client.post("/v1/destinations/d/ack", json={"sequence": number}).status_code

    assert [acknowledge(number) for number in (3, 3, 2, 6, -1, True, "1", 2**70, None)] == [
        *(200, 200, 409, 409),
        *(422, 422, 422, 422, 422),
    ]
    assert numbers(ready.pulled()) == [4, 5]  # from the cursor on
    assert numbers(ready.pulled(after=0)) == [1, 2, 3, 4, 5]  # acknowledged ones are still kept
    assert ready.client.get("/v1/destinations/d").json()["acknowledged"] == 3


def test_the_cursor_outlives_the_process(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d")
        server.lines([{"n": 1}, {"n": 2}])
        server.client.post("/v1/destinations/d/ack", json={"sequence": 1})
    with served(tmp_path) as server:
        assert numbers(server.pulled()) == [2]


def test_a_long_poll_ends_with_the_first_delivery(ready: Served) -> None:
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(ready.pulled, after=5, wait=20)
        time.sleep(0.3)
        assert not waiting.done()
        ready.publish({"n": 6})

        assert numbers(waiting.result(HANG_S)) == [6]
    assert ready.pulled(after=6, wait=0.1) == []


def test_a_long_poll_ends_with_the_server(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as thread:
        with served(tmp_path) as server:
            server.destination()
            waiting = thread.submit(server.pulled, wait=50)
            time.sleep(0.3)
            begun = time.monotonic()
        assert waiting.result(HANG_S) == []
    assert time.monotonic() - begun < 9  # after 10 s the server cuts what is left


def test_positions_that_cannot_be(ready: Served) -> None:
    ahead = ready.client.get(PATH, params={"after": 9})
    other = ready.client.get(PATH, params={"epoch": "0.1"})

    assert (ahead.status_code, ahead.json()["newest"]) == (409, 5)
    assert (other.status_code, other.json()["earliest"]) == (410, 1)
    for wrong in ({"after": -1}, {"after": "x"}, {"after": 2**53}, {"limit": 0}, {"limit": 1001}, {"wait": "nan"}):
        assert ready.client.get(PATH, params=wrong).status_code == 400
    assert ready.client.get("/v1/destinations/other/deliveries").status_code == 404


def test_a_poll_whose_client_is_gone_frees_its_place(server: Served) -> None:
    server.destination()
    url = urlsplit(str(server.client.base_url))
    for _ in range(3):
        with socket.create_connection((url.hostname, url.port)) as one:
            one.sendall(b"GET /v1/destinations/d/deliveries?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            awaited(lambda: server.service.polls == 1)
        awaited(lambda: server.service.polls == 0)
    assert not server.service.hub._watches
    assert server.pulled(wait=0.05) == []
