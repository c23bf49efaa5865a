"""Clocks that are set: no delay becomes longer, nothing is deleted too early, and everything goes on."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.receivers import Reply, hook, letters, publish, receiver, shown
from tests.service.served import Served, served
from tests.service.windowed import BOUNDS
from tests.waiting import awaited
from tocsin.service import retention
from tocsin.service.clock import JUMP_MS, Clock, Moment
from tocsin.service.deliver.letters import Letter
from tocsin.service.deliver.schedule import Health
from tocsin.service.limits import Limits
from tocsin.service.times import time_text

HOUR, DAY = 3600.0, 86_400.0
TIMES = st.integers(0, 1 << 42)


class Wall:
    """The wall clock of a server, which a test sets. The steady one goes on."""

    def __init__(self, server: Served) -> None:
        self._senders, self.ahead_s = server.service.senders, 0.0
        server.service.clock.wall = lambda: time.time() + self.ahead_s

    def set(self, ahead_s: float) -> None:
        self.ahead_s = ahead_s
        self._senders.look()


class Hands:
    """Both clocks, which a test moves."""

    def __init__(self) -> None:
        self.wall, self.steady = 1.7e9, 1000.0
        self.clock = self.started()

    def started(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.steady)

    def passed(self, seconds: float, ahead_s: float = 0.0) -> float:
        """Let time pass, and set the wall clock ahead; returns the jump that is noticed then, in seconds."""
        self.steady += seconds
        self.wall += seconds + ahead_s
        self.clock.look()
        return self.clock.jump_ms / 1000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 0.05)


@given(TIMES, TIMES, TIMES, st.integers(0, 1 << 30))
def test_a_stored_time_is_at_most_its_longest_delay_away(wall: int, steady: int, stored: int, longest: int) -> None:
    now = Moment(wall, steady)

    assert now.steady <= now.due(stored, longest) <= now.steady + longest
    assert now.past(stored) <= now.steady
    if wall <= stored <= wall + longest:
        assert now.due(stored, longest) - steady == stored - wall


@given(TIMES, TIMES, TIMES, st.integers(0, 1 << 30))
def test_a_letter_waits_for_its_delay_at_most(wall: int, steady: int, failed: int, delay: int) -> None:
    letter = Letter(1, "", 1, failed + delay, "", None, failed)

    assert letter.due_from(Moment(wall, steady)) <= steady + delay


def test_the_health_of_an_endpoint_does_not_wait_for_a_clock_that_was_ahead() -> None:
    hour = int(HOUR * 1000)
    health = Health().failed(1000 * hour, "")
    for hours in range(0, 122, 13):
        health = health.failed(hours * hour, "")
    assert health.disabled is None

    assert health.failed(130 * hour, "").disabled == 130 * hour


def test_a_jump_lasts_until_the_clock_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    hands = Hands()
    assert hands.passed(5, 0.9 * HOUR) == 0  # an hour is allowed, such as for a clock that is corrected

    assert hands.passed(5, 8 * DAY) == 8 * DAY
    assert hands.passed(20 * DAY) == 8 * DAY
    assert "POST /v1/clock/confirm" in caplog.records[-1].message
    assert hands.passed(5, -8 * DAY) == 0 and len(caplog.records) == 2


def test_a_jump_that_is_confirmed_is_trusted() -> None:
    hands = Hands()
    hands.passed(5, 8 * DAY)

    assert hands.clock.confirm() == 8 * DAY * 1000
    assert hands.passed(1) == 0
    assert hands.passed(1, -8 * DAY) == 0
    assert hands.passed(HOUR, 8 * DAY) == 0


def test_a_clock_that_drifts_never_jumps() -> None:
    hands = Hands()

    assert {hands.passed(DAY, 60.0) for _ in range(1000)} == {0.0}


def test_a_clock_that_was_set_back_may_return_for_an_hour() -> None:
    hands = Hands()
    hands.passed(5, -3650 * DAY)
    assert hands.passed(5, 3650 * DAY) == 0
    hands.passed(5, -3650 * DAY)
    hands.passed(HOUR + 1)

    assert hands.passed(5, 3650 * DAY) == 3650 * DAY


def test_a_later_process_notices_a_jump_in_between() -> None:
    hands = Hands()
    mark = hands.clock.mark
    if mark is None:
        pytest.skip("this system does not tell its starts apart")
    hands.wall += 8 * DAY

    later = hands.started()
    later.resume(mark)
    later.look()
    assert later.jump_ms == 8 * DAY * 1000
    other = hands.started()
    other.resume(mark._replace(boot="another"))
    other.look()
    assert other.jump_ms == 0 < JUMP_MS


def ready(server: Served, **options: Any) -> None:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d", **options)


def delivered(server: Served) -> int:
    answer: int = server.publish({"n": 1}).json()["deliveries"]
    return answer


def pushed(server: Served) -> int:
    message = {"words": ["a"], "location": [1, 1]}
    answer: int = server.client.post("/v1/windows/w/messages", json=message).json()["deliveries"]
    return answer


def windowed(server: Served, throttle_s: float) -> None:
    server.destination()
    assert server.client.put("/v1/windows/w", json={"size": 10, "bounds": BOUNDS}).is_success
    record = {"words": ["a"], "location": [1, 1], "destination": "d", "throttle_s": throttle_s, "k": 100}
    assert server.client.put("/v1/windows/w/subscriptions/s", json=record).is_success


@pytest.mark.parametrize("made", [ready, windowed], ids=["events", "window"])
def test_a_throttle_goes_on_after_a_clock_that_was_ahead(tmp_path: Path, made: Callable[..., None]) -> None:
    count = delivered if made is ready else pushed
    with served(tmp_path) as server:
        wall = Wall(server)
        made(server, throttle_s=0.5)
        wall.set(400 * DAY)
        assert (count(server), count(server)) == (1, 0)
        wall.set(0)
        awaited(lambda: count(server) == 1)
        wall.set(400 * DAY)
        awaited(lambda: count(server) == 1)
    with served(tmp_path) as server:
        awaited(lambda: count(server) == 1)


@pytest.mark.parametrize("order", ["strict", "any"])
def test_a_webhook_that_failed_while_the_clock_was_ahead_is_tried_again(
    tmp_path: Path, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.service.deliver.schedule._DELAYS_S", (0.3,))
    with receiver(lambda posted: Reply(500)) as one:
        with served(tmp_path) as server:
            wall = Wall(server)
            wall.set(3 * DAY)
            hook(server, one.url, order=order, max_attempts=100)
            publish(server, 1)
            awaited(lambda: shown(server)["state"] == "failing")
            wall.set(0)
            before = len(one.got)
            awaited(lambda: len(one.got) >= before + 2)
            assert len(letters(server)) == 1
        with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:  # as older releases stored it
            connection.execute("UPDATE service_letters SET due = due + ?1, since = since + ?1", (3 * DAY * 1000,))
        before = len(one.got)
        with served(tmp_path) as server:
            awaited(lambda: len(one.got) >= before + 1)
            one.reply = lambda posted: Reply()
            awaited(lambda: shown(server)["waiting"] == 0)


@pytest.mark.parametrize("options", [{"rate_per_s": 10}, {"digest_s": 0.3}], ids=["rate", "digest"])
def test_a_rate_and_a_digest_go_on_after_the_clock_is_set_back(tmp_path: Path, options: dict[str, Any]) -> None:
    with receiver() as one, served(tmp_path) as server:
        wall = Wall(server)
        wall.set(HOUR)
        hook(server, one.url, **options)
        publish(server, 1)
        if "rate_per_s" in options:
            awaited(lambda: len(one.got) == 1)
        wall.set(-HOUR)
        publish(server, 1)

        awaited(lambda: shown(server)["acknowledged"] == 2)


def test_an_old_secret_does_not_outlive_the_longest_rotation(tmp_path: Path) -> None:
    with receiver() as one:
        with served(tmp_path) as server:
            wall = Wall(server)
            hook(server, one.url)
            wall.set(400 * DAY)
            assert server.client.post("/v1/destinations/w/rotate-secret", json={}).status_code == 200
        with served(tmp_path) as server:
            old = server.service.outlets.known[1].secrets[1].until
            assert old is not None and old <= (time.time() + 30 * DAY) * 1000


def test_nothing_is_deleted_by_its_age_after_a_jump(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path) as server:
        wall = Wall(server)
        ready(server)
        expiring = {"destination": "d", "expires_at": time_text(int((time.time() + DAY) * 1000))}
        server.subscribe("expiring", "n >= 0", **expiring)
        keys = {"Idempotency-Key": "k"}
        first = server.publish({"n": 1}, **keys).json()
        with caplog.at_level(logging.ERROR, "tocsin.service"):
            wall.set(8 * DAY)
            awaited(lambda: "warning" in server.client.get("/readyz").json())
        server.publish({"n": 2})
        time.sleep(0.3)  # retention looks six times
        assert "the clock jumped ahead by 8 days" in caplog.text
        metrics = server.client.get("/metrics").text
        (jump,) = (float(line.split()[1]) for line in metrics.splitlines() if line.startswith("tocsin_clock_jump"))
        assert abs(jump - 8 * DAY) < 60
        assert server.client.get("/v1/clock").json()["expires"] is False
        assert [one["event"]["n"] for one in server.pulled()] == [1, 2]

        wall.set(0)
        awaited(lambda: "warning" not in server.client.get("/readyz").json())
        assert server.client.get("/v1/subscriptions/expiring").status_code == 200
        assert server.publish({"n": 1}, **keys).json() == first
        assert server.client.get("/v1/clock").json()["expires"] is True


def test_an_operator_confirms_a_jump(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        wall = Wall(server)
        ready(server)
        server.publish({"n": 1})
        wall.set(8 * DAY)
        awaited(lambda: "warning" in server.client.get("/readyz").json())
        assert server.client.post("/v1/clock/confirm").json()["confirmed_s"] > 7 * DAY

        awaited(lambda: server.client.get("/v1/destinations/d").json()["earliest"] == 2)
        assert "warning" not in server.client.get("/readyz").json()
        assert server.client.get("/v1/audit").json()["records"][-1]["path"] == "/v1/clock/confirm"


def test_only_operators_of_the_whole_server_confirm(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        operator, tenant = (server.client_of(server.token("operate", tenant=name)) for name in ("", "acme"))
        reader = server.client_of(server.token("read"))

        assert [one.post("/v1/clock/confirm").status_code for one in (operator, tenant, reader)] == [200, 409, 403]
        assert [one.get("/v1/clock").status_code for one in (operator, tenant, reader)] == [200, 200, 403]


def test_a_pause_outlasts_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path) as server:
        if server.service.clock.mark is None:
            pytest.skip("this system does not tell its starts apart")
        ready(server)
        server.publish({"n": 1})
        awaited(lambda: server.service.transactions.read(lambda one: one.meta("service_clock")) is not None)
    real = time.time
    monkeypatch.setattr("tocsin.service.clock.Clock.now_ms", lambda clock: int((real() + 8 * DAY) * 1000))
    with served(tmp_path) as server:
        awaited(lambda: "warning" in server.client.get("/readyz").json())
        assert [one["event"]["n"] for one in server.pulled()] == [1]


def test_events_of_a_clock_that_was_ahead_are_kept_no_longer_than_others(tmp_path: Path) -> None:
    with served(tmp_path, Limits(retain_s=0.5, answers_s=0.5)) as server:
        wall = Wall(server)
        ready(server)
        wall.set(400 * DAY)
        keys = {"Idempotency-Key": "k"}
        first = server.publish({"n": 1}, **keys).json()
        wall.set(0)
        server.publish({"n": 2})

        awaited(lambda: server.client.get("/v1/destinations/d").json()["earliest"] == 3)
        awaited(lambda: server.publish({"n": 1}, **keys).json() != first)


def test_a_clock_that_was_behind_makes_no_event_old(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        wall = Wall(server)
        ready(server)
        keys = {"Idempotency-Key": "k"}
        wall.set(-3650 * DAY)
        awaited(lambda: server.client.get("/v1/clock").json()["expires"] is False)
        first = server.publish({"n": 1}, **keys).json()
        publish(server, 3)
        time.sleep(0.3)  # retention looks six times
        wall.set(0)
        awaited(lambda: server.client.get("/v1/clock").json()["expires"] is True)
        time.sleep(0.3)

        assert [one["sequence"] for one in server.pulled()] == [1, 2, 3, 4]
        assert server.publish({"n": 1}, **keys).json() == first
        server.service.limits = server.service.limits._replace(retain_s=0.5)  # they get old from the return on
        awaited(lambda: server.client.get("/v1/destinations/d").json()["earliest"] == 5)


def test_a_replay_leaves_nothing_out_after_the_clock_was_behind(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        wall = Wall(server)
        ready(server)
        publish(server, 100)
        wall.set(-3650 * DAY)
        publish(server, 3)
        wall.set(0)
        publish(server, 1)
        server.client.post("/v1/destinations/d/ack", json={"sequence": 104})

        since = time_text(int((time.time() - HOUR) * 1000))
        answer = server.client.post("/v1/destinations/d/replay", json={"since": since})
        assert answer.json() == {"acknowledged": 0, "newest": 104}
