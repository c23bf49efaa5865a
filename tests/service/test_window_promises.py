"""What a window of the service promises: nothing is lost or doubled by retries, full disks and restarts."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.service.receivers import Reply, receiver
from tests.service.served import Served, served
from tests.service.windowed import BOUNDS, LINES, PATH, interest, push, told
from tests.waiting import awaited
from tocsin.errors import StoreError
from tocsin.service.limits import Limits
from tocsin.service.windows.batches import Batch, HandOver


def test_a_retry_changes_nothing(windowed: Served) -> None:
    headers = {"Idempotency-Key": "k1"}
    first, again = (push(windowed, "seafood", headers=headers) for _ in range(2))
    other = push(windowed, "fruit", headers=headers)
    lines = "\n".join(json.dumps({"words": ["seafood"], "location": [2, 2]}) for _ in range(5000))
    many = [
        windowed.client.post(f"{PATH}/messages", content=lines, headers={**LINES, "Idempotency-Key": "k2"})
        for _ in range(2)
    ]

    assert again.json() == first.json() and again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers and other.status_code == 422
    assert many[0].json() == many[1].json() and many[0].json()["accepted"] == 5000
    assert windowed.client.get(PATH).json()["next"] == 5001
    assert push(windowed, "seafood", path="/v1/windows/other", headers=headers).status_code == 404


def test_many_push_at_once(windowed: Served) -> None:
    interest(windowed, k=1000)
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda number: push(windowed, "seafood", key=f"m{number}").json(), range(200)))
    found = windowed.pulled(limit=1000)

    assert sorted(one["next"] for one in answers)[-1] == 200
    assert [one["event"]["number"] for one in found] == list(range(200))
    entered = [one["message"] for delivery in found for one in delivery["subscriptions"] if one["change"] == "enter"]
    assert sorted(entered) == sorted(f"m{number}" for number in range(200))


def test_what_the_disk_refused_is_handed_over_later(windowed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window has the message, and the outbox gets its change when it can; a retry has the answer of that."""
    write, is_full = HandOver.write, threading.Event()
    is_full.set()

    def refused(self: HandOver, *arguments: Any) -> int:
        if is_full.is_set():
            raise StoreError("the disk is full")
        return write(self, *arguments)

    monkeypatch.setattr(HandOver, "write", refused)
    headers = {"Idempotency-Key": "k"}
    answer = push(windowed, "seafood", headers=headers)
    second = push(windowed, "seafood")
    assert (answer.status_code, second.status_code, windowed.pulled()) == (503, 503, [])
    is_full.clear()
    awaited(lambda: len(windowed.pulled()) == 1)  # nobody needs to ask again

    again = push(windowed, "seafood", headers=headers)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert again.json() == {"accepted": 1, "rejected": 0, "changes": 1, "deliveries": 1, "next": 1, "errors": []}
    assert push(windowed, "seafood").json()["next"] == 2  # the second was refused before it was pushed
    assert [one["event"]["number"] for one in windowed.pulled()] == [0, 1]


def test_what_was_not_handed_over_is_when_the_server_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a crash between the two transactions."""

    def refused(self: HandOver, *arguments: Any) -> int:
        raise StoreError("the process dies here")

    with served(tmp_path) as server:
        server.destination()
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        interest(server)
        with monkeypatch.context() as patched:
            patched.setattr(HandOver, "write", refused)
            patched.setattr("tocsin.service.retention._PERIOD_S", 60)
            assert push(server, "seafood", headers={"Idempotency-Key": "k"}).status_code == 503
            server.stop()
    with served(tmp_path) as server:
        awaited(lambda: len(server.pulled()) == 1)
        assert push(server, "seafood", headers={"Idempotency-Key": "k"}).headers["idempotent-replayed"] == "true"
        assert [told(one) for one in server.pulled()] == [[("u1", 0, "enter", 1.0)]]
        push(server, "seafood")
    with served(tmp_path) as server:  # nothing comes twice
        assert [one["event"]["number"] for one in server.pulled()] == [0, 1]


def test_a_batch_is_read_as_it_was_written() -> None:
    from tocsin.service.audit import Sender
    from tocsin.service.units import Key

    one = Batch([("{}", {3: ["{}"]})], {"accepted": 1}, Key("r", "k", b"\x00\xff"), Sender("t", "n", "a", "PUT", "/"))

    assert Batch.of(one.text()) == one


def test_a_full_outbox_refuses_no_change(tmp_path: Path) -> None:
    """The message is in the window, so its change becomes a dead letter, also with `on_full: reject`."""
    with receiver(lambda posted: Reply(500)) as one, served(tmp_path, Limits(outbox=1)) as server:
        record = {"kind": "webhook", "url": one.url, "allow_private": True, "on_full": "reject"}
        server.client.put("/v1/destinations/d", json=record)
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        interest(server, k=50)
        assert [push(server, "seafood").status_code for _ in range(3)] == [202] * 3
        letters = server.client.get("/v1/destinations/d/dead-letters").json()["dead_letters"]
        assert [(letter["sequence"], letter["cause"]) for letter in letters] == [(2, "overflow"), (3, "overflow")]
