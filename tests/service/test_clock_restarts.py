"""A server that is started again after its clock was set: what was stored in between is as old as it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.service.receivers import Reply, dead_letters, hook, receiver
from tests.service.served import Served, served
from tests.service.windowed import BOUNDS, PATH, interest, push
from tests.waiting import awaited
from tocsin.service import retention
from tocsin.service.times import time_text

DAY_S = 86_400.0
AHEAD_S = pytest.mark.parametrize("ahead_s", [-40 * DAY_S, 40 * DAY_S])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 0.05)


@contextmanager
def served_with(folder: Path, ahead_s: float) -> Iterator[Served]:
    """A server whose clock is set after it has started."""
    with served(folder) as server:
        server.service.clock.wall = lambda: time.time() + ahead_s
        yield server


def trim(server: Served) -> None:
    """Wait until retention has deleted what is old."""
    expires_at = time_text(int(time.time() * 1000))
    assert server.subscribe("passing", "never = 1", expires_at=expires_at).status_code == 201
    awaited(lambda: server.client.get("/v1/subscriptions/passing").status_code == 404)


@AHEAD_S
def test_a_request_is_repeated(tmp_path: Path, ahead_s: float) -> None:
    """An idempotency key that came while the clock was wrong is known after a start with the right one."""
    keyed = {"Idempotency-Key": "k"}
    with served_with(tmp_path, ahead_s) as server:
        server.destination()
        server.client.put(PATH, json={"size": 9, "bounds": BOUNDS}).raise_for_status()
        published, pushed = server.publish({"n": 1}, **keyed), push(server, "a", headers=keyed)
    with served(tmp_path) as server:
        trim(server)

        for before, after in (
            (published, server.publish({"n": 1}, **keyed)),
            (pushed, push(server, "a", headers=keyed)),
        ):
            assert after.json() == before.json()
            assert after.headers["Idempotent-Replayed"] == "true"


@AHEAD_S
def test_events_are_kept(tmp_path: Path, ahead_s: float) -> None:
    """The first events of a store, which a wrong clock dated, are not deleted by the right one."""
    with served_with(tmp_path, ahead_s) as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d")
        server.publish({"n": 1})
        server.publish({"n": 2})
    with served(tmp_path) as server:
        trim(server)

        assert [one["event"] for one in server.pulled(after=0)] == [{"n": 1}, {"n": 2}]


@AHEAD_S
def test_dead_letters_are_kept(tmp_path: Path, ahead_s: float) -> None:
    with receiver(lambda posted: Reply(500)) as endpoint:
        with served_with(tmp_path, ahead_s) as server:
            hook(server, endpoint.url, max_attempts=1)
            server.publish({"n": 1})
            awaited(lambda: dead_letters(server))
        with served(tmp_path) as server:
            trim(server)

            assert [one["sequence"] for one in dead_letters(server)] == [1]


@AHEAD_S
def test_throttles_hold(tmp_path: Path, ahead_s: float) -> None:
    """A subscription that was told while the clock was wrong is not told again before its time."""
    throttled: dict[str, Any] = {"destination": "d", "throttle_s": 3600}
    with served_with(tmp_path, ahead_s) as server:
        server.destination()
        server.client.put(PATH, json={"size": 9, "bounds": BOUNDS}).raise_for_status()
        server.subscribe("s", "n >= 0", **throttled)
        interest(server, throttle_s=3600)
        server.publish({"n": 1})
        push(server, "seafood", key="m1")
    with served(tmp_path) as server:
        server.publish({"n": 2})
        push(server, "seafood", key="m2")

        assert [one["subscriptions"][0]["id"] for one in server.pulled(after=0)] == ["s", "u1"]


@AHEAD_S
def test_an_endpoint_is_not_given_up_for_a_wrong_clock(
    tmp_path: Path, ahead_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint fails for a while, and is not disabled because clocks say that it was days."""
    monkeypatch.setattr("tocsin.service.deliver.schedule._DELAYS_S", (0.1,))
    with receiver(lambda posted: Reply(503)) as endpoint:
        with served(tmp_path) as server:
            hook(server, endpoint.url, max_attempts=100)
            server.publish({"n": 1})
            awaited(lambda: attempts(server))
        for set_s in (ahead_s / 40 / 24 * 13, 0.0, ahead_s, 0.0):
            with served_with(tmp_path, set_s) as server:
                before = len(attempts(server))
                awaited(lambda least=before + 2: len(attempts(server)) >= least)

                assert server.client.get("/v1/destinations/w").json()["state"] == "failing"


def attempts(server: Served) -> list[Any]:
    """The requests of the webhook that are recorded."""
    found: list[Any] = server.client.get("/v1/destinations/w/attempts").json()["attempts"]
    return found
