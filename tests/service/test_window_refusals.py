"""What a window's answers say is stored, when a full disk refuses a part of it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.service.served import Served
from tests.service.windowed import LINES, PATH, interest, push
from tests.waiting import HANG_S, awaited
from tocsin.service.windows import batches
from tocsin.service.windows.batches import HandOver
from tocsin.window.durable import window as durable_window


def refuse(*arguments: Any, **named: Any) -> int:
    """As SQLite on a full disk."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


@contextmanager
def no_room_to_hand_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("tocsin.service.quotas._STEADY_S", 0.0)  # else the disk counts as full for a while afterwards
    with monkeypatch.context() as patched:
        patched.setattr(HandOver, "write", refuse)
        yield


def test_an_answer_says_that_the_window_has_a_message_whose_deliveries_wait(
    windowed: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of requests that shared a transaction: none of them is pushed again."""
    busy = threading.Event()
    hosted = windowed.service.windows.of("news")
    hosted._thread.submit(busy.wait, HANG_S)
    with no_room_to_hand_over(monkeypatch), ThreadPoolExecutor(5) as threads:
        answers = [threads.submit(push, windowed, "seafood", headers={"Idempotency-Key": str(n)}) for n in range(4)]
        answers.append(threads.submit(push, windowed, "seafood"))
        awaited(lambda: len(hosted._asked) == 5)
        busy.set()
        problems = [answer.result() for answer in answers]
        assert [problem.status_code for problem in problems] == [507] * 5
        about = "the disk is full; the window has the request, and its deliveries are made later"
        assert {problem.json()["detail"] for problem in problems} == {
            f"{about}: send it again with the same key, or not at all", f"{about}: do not send it again",
        }  # fmt: skip
        assert all(problem.json()["stored"] == 1 for problem in problems)
        assert hosted.window.stats.messages == 5
        refused = push(windowed, "seafood").json()
        assert "nothing of this request was stored" in refused["detail"] and "stored" not in refused

    awaited(lambda: len(windowed.pulled()) == 5)
    again = [push(windowed, "seafood", headers={"Idempotency-Key": str(n)}) for n in range(4)]
    assert all(answer.headers["idempotent-replayed"] == "true" for answer in again)
    assert hosted.window.stats.messages == 5


def test_a_bulk_counts_the_lines_whose_deliveries_wait(windowed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = '{"words": ["seafood"], "location": [2, 2]}\n' * 3
    with no_room_to_hand_over(monkeypatch):
        answer = windowed.client.post(f"{PATH}/messages", content=lines, headers=LINES)

    assert (answer.status_code, answer.json()["stored"]) == (507, 3)
    awaited(lambda: len(windowed.pulled()) == 3)


def test_a_subscription_that_the_window_has_is_answered(windowed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record for the audit log waits."""
    before = len(windowed.client.get("/v1/audit").json()["records"])
    with no_room_to_hand_over(monkeypatch):
        assert interest(windowed, "u2").status_code == 201

    awaited(lambda: len(windowed.client.get("/v1/audit").json()["records"]) == before + 1)


def test_a_window_is_not_read_again_while_its_disk_is_full(windowed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    reload, reloads = durable_window.DurableWindow._reload, []
    push(windowed, "seafood")

    def counted(self: durable_window.DurableWindow) -> None:
        reloads.append(self)
        reload(self)

    monkeypatch.setattr(durable_window.DurableWindow, "_reload", counted)
    with monkeypatch.context() as patched:
        patched.setattr(batches, "put_batches", refuse)
        patched.setattr(durable_window._Probe, "write", refuse)
        answers = [push(windowed, "seafood") for _ in range(5)]
        assert [answer.status_code for answer in answers] == [507] * 5
        assert all("nothing of this request was stored" in answer.json()["detail"] for answer in answers)
        assert len(reloads) == 1
        assert "news" in windowed.service.readiness.troubled_windows()

    awaited(lambda: push(windowed, "seafood").status_code == 202)
    assert [delivery["event"]["number"] for delivery in windowed.pulled()] == [0, 1]
