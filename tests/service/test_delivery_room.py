"""Room in memory for deliveries that clients ask for and do not read: on streams, in pulls and on pages."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest

from tests.service.served import Served, events_of, served
from tests.waiting import HANG_S, awaited
from tocsin.service import bodies
from tocsin.service.limits import Limits

MB = 1 << 20
STREAM = "/v1/destinations/d/stream?from=earliest"
PULL = "/v1/destinations/d/deliveries?after=0"
PAGE = "/v1/subscriptions?limit=1000"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with room for 5 MB of answers, with deliveries of 8 MB and subscriptions of 3 MB."""
    with served(tmp_path_factory.mktemp("alerts"), Limits(answers_bytes=5 * MB)) as server:
        records = [{"id": f"{number:02}", "where": "n = 1", "payload": "x" * 60_000} for number in range(50)]
        assert server.lines(records, "/v1/subscriptions").json()["accepted"] == 50
        server.destination()
        server.subscribe("s", "n = 2", destination="d")
        for size in (MB, 3 * MB, 10, MB, 3 * MB):
            assert server.publish({"n": 2, "p": "x" * size}).status_code == 202
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_ANSWER_PATIENCE_S", 0.2)


def asking(server: Served, path: str) -> socket.socket:
    """A connection that asks, and does not read."""
    url = urlsplit(str(server.client.base_url))
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    connection.settimeout(HANG_S)
    connection.connect((url.hostname, url.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def streamed(client: httpx.Client) -> list[int]:
    """The numbers on a stream that is read to its fifth delivery."""
    with client.stream("GET", STREAM) as response:
        numbers = []
        for event in events_of(response):
            if event.kind == "message":
                numbers.append(event.data["sequence"])
            if len(numbers) == 5:
                break
        return numbers


def test_clients_that_read_get_everything(loaded: Served) -> None:
    """Also deliveries that are larger than what is read at once. All room comes back."""
    room, others = loaded.service.answer_room, loaded.server.tenants.answer_room
    assert streamed(loaded.client) == [1, 2, 3, 4, 5]
    assert len(loaded.client.get(PAGE).json()["subscriptions"]) == 51
    assert [one["sequence"] for one in loaded.pulled(after=0)][:2] == [1, 2]
    awaited(lambda: room._held == others._held == 0)


@pytest.mark.parametrize("path", [STREAM, PULL, PAGE])
def test_clients_that_do_not_read_take_no_more_than_their_room(loaded: Served, path: str) -> None:
    """Others get a 503 then, or the end of their stream, and small answers all the time. Those who go give it back."""
    room, others = loaded.service.answer_room, loaded.server.tenants.answer_room
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(asking(loaded, path))
        awaited(lambda: room._held >= 2 * MB and not room._waiting)
        assert room._held == others._held <= 5 * MB
        refused = loaded.client.get(PULL)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert loaded.client.get("/v1/subscriptions/00").status_code == 200
    awaited(lambda: room._held == others._held == 0)
    assert streamed(loaded.client) == [1, 2, 3, 4, 5]


def test_room_is_taken_in_all_or_in_none() -> None:
    inner, outer = bodies.Room(10), bodies.Room(5)
    first, second = bodies.Holding((inner, outer)), bodies.Holding((inner, outer))

    assert first.takes(4) and not second.takes(4)
    assert (inner._held, outer._held) == (4, 4)
    first.release()
    assert second.takes(4)
