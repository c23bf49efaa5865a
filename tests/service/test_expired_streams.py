"""A stream ends when its token expires, and not at the next delivery or sign of life."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.service.served import Served, events_of
from tests.waiting import HANG_S
from tocsin.service import streaming
from tocsin.service.access.token_file import TokenFile


@pytest.fixture
def silent(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A server whose streams have no signs of life."""
    monkeypatch.setattr(streaming, "_HEARTBEAT_S", 10 * HANG_S)
    server.destination()
    return server


def token(server: Served, lasts_s: float) -> str:
    return TokenFile(server.folder).create("", ("read",), lasts_s=lasts_s)[1]


def test_a_silent_stream_ends_when_its_token_expires(silent: Served) -> None:
    client = silent.client_of(token(silent, 0.7))
    with client.stream("GET", "/v1/destinations/d/stream") as response:
        assert response.status_code == 200
        assert [event.kind for event in events_of(response)] == ["open"]
    assert client.get("/v1/destinations/d").status_code == 401


def test_a_stream_lives_as_long_as_its_token(silent: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its timer looks at the clock again, which may be set back, or be further away than a timer may be."""
    monkeypatch.setattr(streaming, "_DAY_S", 0.01)
    writer = silent.client_of(silent.token())
    reader = silent.client_of(token(silent, 3600.0))
    with reader.stream("GET", "/v1/destinations/d/stream") as response:
        events = events_of(response)
        assert next(events).kind == "open"
        time.sleep(0.2)
        assert writer.put("/v1/subscriptions/s", json={"where": "n = 1", "destination": "d"}).is_success
        assert writer.post("/v1/events", json={"n": 1}).status_code == 202
        sent: Any = next(events).data
    assert sent["event"] == {"n": 1}
