"""More events than can be published: some publishers are asked to come later, so that the others need not wait."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.service.served import Served
from tests.waiting import awaited
from tocsin.service import publishing
from tocsin.service.publishing import Load


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, as a list of one number."""
    now = [0.0]
    monkeypatch.setattr(publishing.time, "monotonic", lambda: now[0])
    return now


def test_many_for_a_moment_are_not_too_many(clock: list[float]) -> None:
    """As after a slow write, behind which a thousand wait."""
    load = Load()
    waiting = [load.one() for _ in range(1000)]
    for one in waiting:
        one.__enter__()
    clock[0] += 0.1
    assert not load.is_over

    clock[0] += 1.0
    assert load.is_over
    for one in waiting[100:]:
        one.__exit__(None, None, None)
    assert not load.is_over


def test_as_many_as_are_served_at_once_are_never_too_many(clock: list[float]) -> None:
    load = Load()
    for _ in range(publishing._MOST_AT_ONCE - 1):
        load.one().__enter__()
    clock[0] += 1000.0

    assert not load.is_over


def test_publishers_are_asked_to_come_later_and_what_was_accepted_is_delivered(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_MOST_AT_ONCE", 4)
    monkeypatch.setattr(publishing, "_OVER_S", 1e-6)
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    answers = list[httpx.Response]()
    with ThreadPoolExecutor(4) as pool:
        with server.service.engine._committer.moment:  # nothing can be applied
            first = [pool.submit(server.publish, {"n": number}) for number in range(4)]
            awaited(lambda: server.service.publisher._load._count == 4)
            refused = [server.publish({"n": 4}), server.lines([{"n": 5}, {"n": 6}])]
        answers += [one.result() for one in first]
    answers.append(server.publish({"n": 7}))

    assert [one.status_code for one in answers] == [202] * 5
    assert [(one.status_code, one.headers["Retry-After"]) for one in refused] == [(429, "1")] * 2
    assert sorted(one["event"]["n"] for one in server.pulled()) == [0, 1, 2, 3, 7]
