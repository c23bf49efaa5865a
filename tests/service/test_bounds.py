"""Limits and delays on both sides of each bound, without a server."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from email.utils import formatdate
from types import SimpleNamespace
from typing import Final

import pytest

from tocsin.client.streams import Following
from tocsin.service.clock import Moment
from tocsin.service.deliver.schedule import TRIES, Health, delay_ms
from tocsin.service.deliver.webhook.answers import asked_ms
from tocsin.service.directory import Route
from tocsin.service.limits import Limits
from tocsin.service.problems import Problem
from tocsin.service.quotas import Quotas, require_cheap, require_small
from tocsin.service.throttles import SCHEMA, put_told, read_told

DAY_MS: Final = 86_400_000
NOW: Final = 1_700_000_000_000


class Subscriptions(list[None]):
    """An engine with some subscriptions, which have neither conditions nor payloads."""

    sequence = 0

    def _text_bytes(self) -> int:
        return 0


def quotas(there: int = 0, **limits: float) -> Quotas:
    return Quotas(Limits(**limits), Subscriptions([None] * there))  # type: ignore[arg-type]


def take_room(there: int, count: int) -> None:
    with quotas(there, subscriptions=5).room(count):
        pass


def take_bytes_twice(size: int) -> None:
    """While others are committed, of windows and not."""
    limited = quotas(payloads_bytes=5)
    with limited.room(1, 2), limited.room(1, window_bytes=1), limited.room(1, size):
        pass


def take_room_twice(count: int) -> None:
    """While others are committed."""
    limited = quotas(subscriptions=5)
    with limited.room(3), limited.room(count):
        pass


def take_bytes(stored: int) -> None:
    limited = quotas(store_bytes=1000)
    limited.store_bytes = stored
    limited.stored()


def take_events(earlier: int) -> None:
    limited = quotas(events_per_s=0.001, burst=3)
    for _ in range(earlier + 1):
        limited.events(1)


BOUNDS: Final[dict[str, tuple[Callable[[int], None], int]]] = {
    "streams": (lambda there: quotas(streams=2).streams(there), 1),
    "windows": (lambda there: quotas(windows=2).another("windows", there), 1),
    "fences": (lambda there: quotas(fences=2).another("fences", there), 1),
    "room after some": (lambda there: take_room(there, 2), 3),
    "room for some": (lambda count: take_room(2, count), 3),
    "room beside others": (take_room_twice, 2),
    "payloads beside others": (take_bytes_twice, 2),
    "bytes of the store": (take_bytes, 999),
    "events": (take_events, 2),
    "cost": (lambda cost: require_cheap(cost, Limits(subscription_cost=10)), 10),
    "payload": (lambda size: require_small("x" * (size - 2), Limits(payload_bytes=10)), 10),
}
"""What is taken, and the largest number with which it is allowed."""


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("bound", BOUNDS)
def test_as_much_as_is_allowed_is_taken_and_no_more(bound: str, beyond: int) -> None:
    take, most = BOUNDS[bound]

    with pytest.raises(Problem) if beyond else nullcontext():
        take(most + beyond)


@pytest.mark.parametrize(
    ("header", "wait_ms"),
    [
        ("5", 5000),
        (" 1 ", 1000),
        ("0", 0),
        ("86400", DAY_MS),
        ("86401", DAY_MS),
        ("999999999", DAY_MS),
        ("1234567890", 0),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("", 0),
        (None, 0),
        (formatdate(NOW / 1000 + 90, usegmt=True), 90_000),
        (formatdate(NOW / 1000 + 2 * 86_400, usegmt=True), DAY_MS),
        (formatdate(NOW / 1000 - 90, usegmt=True), 0),
    ],
)
def test_an_endpoint_may_ask_for_a_wait_of_at_most_a_day(header: str | None, wait_ms: int) -> None:
    assert asked_ms(header, NOW) == wait_ms


def test_each_attempt_waits_longer_than_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve tries take 75 hours, a tenth more or less. The last waits, 20 and 24 hours, may change places by that."""
    waits = [delay_ms(attempt) for attempt in range(1, TRIES)]
    with monkeypatch.context() as patch:
        patch.setattr(random, "uniform", lambda low, high: (low + high) / 2)
        means = [delay_ms(attempt) for attempt in range(1, TRIES)]

    assert means == sorted(means)
    assert 0.9 * 75.4 <= sum(waits) / 3_600_000 <= 1.1 * 75.6
    assert 0.9 * DAY_MS <= delay_ms(TRIES + 5) <= 1.1 * DAY_MS


@pytest.mark.parametrize(("hours", "is_disabled"), [((0, 13, 119), False), ((0, 13, 120), True), ((0, 200), False)])
def test_an_endpoint_is_disabled_after_five_days_of_failures(hours: tuple[int, ...], is_disabled: bool) -> None:
    health = Health()
    for hour in hours:
        health = health.failed(NOW + hour * 3_600_000, "refused")

    assert (health.disabled is not None) == is_disabled
    assert health.failures == len(hours)


@pytest.mark.parametrize(("passed_ms", "is_due"), [(59_999, False), (60_000, True), (-5000, False)])
def test_a_throttle_goes_on_after_a_restart(passed_ms: int, is_due: bool) -> None:
    """The steady clock of the new start has another zero. A stored time that lies ahead is as good as now."""
    database = SimpleNamespace(connection=sqlite3.connect(":memory:"))
    database.connection.execute(SCHEMA)
    put_told(database, {"s": Moment(NOW, 7_000_000)})  # type: ignore[arg-type]

    now = Moment(NOW + passed_ms, 1000)
    told = read_told(database.connection, now)

    assert told == {"s": 1000 - max(passed_ms, 0)}
    assert Route(throttle_s=60.0).is_due(told["s"], now.steady) == is_due
    database.connection.close()


@pytest.mark.parametrize(("line", "pause_s"), [("retry: 2500", 2.5), ("retry:0", 0.0), ("retry: x", 1.0), ("", 1.0)])
def test_a_stream_says_how_long_clients_wait(line: str, pause_s: float) -> None:
    following = Following(("d",), "latest", "raise")
    following.take(line)

    assert following.pause_s == pause_s
