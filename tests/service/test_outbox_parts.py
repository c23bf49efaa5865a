"""The outbox of a webhook counts all parts of a delivery, and gives back exactly what it counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.receivers import Posted, Receiver, Reply, dead_letters, hook, receiver, shown
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.service import outbox
from tocsin.service.limits import Limits

PATH = "/v1/destinations/w"
PAUSED = "2999-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_MOST_BYTES", 500)


@pytest.fixture
def failing() -> Iterator[Receiver]:
    """An endpoint that fails the first delivery until the test sets another reply."""

    def reply(posted: Posted) -> Reply:
        return Reply(500 if posted.number == 1 else 204)

    with receiver(reply) as endpoint:
        yield endpoint


def waiting(server: Served) -> tuple[int, int]:
    (webhook,) = server.service.outlets.known.values()
    return webhook.waiting, webhook.waiting_bytes


def subscribe(server: Served) -> None:
    for number in range(20):
        assert server.subscribe(f"p{number}", "n = 1", destination="w", payload="x" * 200).is_success


def test_all_parts_of_a_delivery_count(tmp_path: Path) -> None:
    """In memory, after a restart, for the bound, and until they are delivered."""
    with receiver() as endpoint:
        with served(tmp_path) as server:
            hook(server, endpoint.url, paused_until=PAUSED)
            subscribe(server)
            assert server.publish({"n": 1}).status_code == 202
            count, size = waiting(server)
            assert count == 1 and 20 * 200 < size < 20 * 300
        with served(tmp_path, Limits(outbox_bytes=size)) as server:
            assert waiting(server) == (1, size)
            assert server.publish({"n": 1}).status_code == 202
            assert [letter["cause"] for letter in dead_letters(server)] == ["overflow"]
            server.client.patch(PATH, json={"paused_until": None})
            awaited(lambda: shown(server)["acknowledged"] == 2)
            awaited(lambda: waiting(server) == (0, 0))
            assert server.publish({"n": 1}).status_code == 202
            endpoint.await_numbers(1, 3)


def test_what_is_tried_again_counts_until_it_is_done(tmp_path: Path, failing: Receiver) -> None:
    """Beside a delivery that failed, others come and go. A restart counts the same, and so does a dead letter."""
    with served(tmp_path) as server:
        hook(server, failing.url, order="any", max_attempts=2, paused_until=PAUSED)
        subscribe(server)
        assert server.publish({"n": 1}).status_code == 202
        _, size = waiting(server)
        for _ in range(3):
            assert server.publish({"n": 1}).status_code == 202
        assert waiting(server) == (4, 4 * size)
        server.client.patch(PATH, json={"paused_until": None})
        awaited(lambda: shown(server)["acknowledged"] == 4)
        awaited(lambda: waiting(server) == (1, size))
    with served(tmp_path) as server:
        assert waiting(server) == (1, size)
        server.client.patch(PATH, json={"max_attempts": 1})
        retry = f"{PATH}/dead-letters/1/retry"
        assert server.client.post(retry).status_code == 202  # it waits already, so it counts once
        awaited(lambda: dead_letters(server))
        awaited(lambda: waiting(server) == (0, 0))
        server.client.patch(PATH, json={"paused_until": PAUSED})
        assert server.client.post(retry).status_code == 202 and waiting(server) == (1, size)
        server.client.patch(PATH, json={"paused_until": None})
        awaited(lambda: waiting(server) == (0, 0))
