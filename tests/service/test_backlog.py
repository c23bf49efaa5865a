"""Large events that would wait long are refused before their bodies are read, as small ones are."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack

import pytest

from tests.service.served import Served
from tocsin.service import backlog
from tocsin.service.backlog import Backlog

MB = 1 << 20


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def answered(requests: Backlog, clock: Clock, size: int, seconds: float) -> None:
    """A request that is alone, and takes some time."""
    with requests.request(size) as request:
        request.arrive()
        clock.now += seconds


@pytest.mark.parametrize("rate", [4 * MB, 40 * MB, 400 * MB])
def test_as_many_are_let_in_as_are_answered_within_a_second(rate: int) -> None:
    """By the rate that was measured, whatever it was before. Small ones do not count here."""
    clock = Clock()
    requests = Backlog(clock)
    for _ in range(100):
        answered(requests, clock, 2 * MB, 2 * MB / rate)
        answered(requests, clock, 1000, 5.0)
    for _ in range(int(20 * rate / MB)):
        answered(requests, clock, MB, MB / rate)

    with ExitStack() as stack:
        count = 0
        while requests.admits(MB):
            stack.enter_context(requests.request(MB)).arrive()
            count += 1
        assert requests.admits(1000)
    assert count == pytest.approx(max(rate // MB, 8), rel=0.1, abs=1)
    assert requests.admits(MB)


def test_bodies_that_come_slowly_do_not_count() -> None:
    """A client that announces much and sends little keeps nobody out for longer than a second."""
    clock = Clock()
    requests = Backlog(clock)
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(requests.request(16 * MB))
        assert not requests.admits(MB)
        clock.now += 1.0
        assert requests.admits(MB)
    clock.now += 100.0
    assert requests.admits(MB)


def test_a_large_event_is_refused_before_its_body_is_read(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one before it is published."""
    monkeypatch.setattr(backlog, "_ALWAYS", 1)
    monkeypatch.setattr(backlog, "_ARRIVING_S", 1e9)
    requests = server.service.publisher._backlog
    monkeypatch.setattr(requests, "_bytes", 1.0)
    body = json.dumps({"n": 1, "text": "x" * 100_000}).encode()
    head = (
        f"POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    address = (server.client.base_url.host, server.client.base_url.port)
    with socket.create_connection(address) as first, socket.create_connection(address) as second:
        first.sendall(f"{head}\r\n\r\n".encode() + body[:50_000])
        assert server.client.get("/healthz").status_code == 200  # the server has the head by now
        second.sendall(f"{head}\r\n\r\n".encode())
        refusal = second.recv(10_000)
        assert refusal.startswith(b"HTTP/1.1 429") and b"retry-after: 1" in refusal.lower()
        assert server.publish({"n": 2}).status_code == 202
        first.sendall(body[50_000:])
        assert first.recv(10_000).startswith(b"HTTP/1.1 202")
    assert server.client.post("/v1/events", content=body, headers={"Content-Type": "application/json"}).is_success
