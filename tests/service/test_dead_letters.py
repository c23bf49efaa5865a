"""Nothing is dropped silently: what is not delivered is a dead letter, and can be sent again."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.service.receivers import Clock, Reply, dead_letters, hook, receiver, shown
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.errors import StoreError
from tocsin.service import retention
from tocsin.service.deliver import sender
from tocsin.service.deliver.recording import Record
from tocsin.service.service import Limits

PATH = "/v1/destinations/w"
PAUSED = "2999-01-01T00:00:00Z"


def refused(numbers: set[int]) -> Any:
    return lambda posted: Reply(400 if posted.number in numbers else 204)


def retry(server: Served, number: Any) -> int:
    return server.client.post(f"{PATH}/dead-letters/{number}/retry").status_code


def test_a_dead_letter_is_sent_again(server: Served) -> None:
    with receiver(refused({1, 2})) as one:
        hook(server, one.url, max_attempts=1)
        server.lines([{"n": number} for number in range(3)])
        one.await_numbers(1, 2, 3)
        awaited(lambda: len(dead_letters(server)) == 2)
        assert [letter["sequence"] for letter in dead_letters(server, limit=1)] == [1]
        assert [letter["sequence"] for letter in dead_letters(server, after=1)] == [2]

        one.reply = refused({2})
        assert [retry(server, number) for number in (1, 2, 3, 99, "x", -1)] == [202, 202, 404, 404, 404, 404]
        awaited(lambda: len(one.got) == 5)
        assert one.got[3].headers["webhook-id"] == one.got[0].headers["webhook-id"]
        awaited(lambda: [letter["sequence"] for letter in dead_letters(server)] == [2])
        assert shown(server)["acknowledged"] == 3
        awaited(lambda: shown(server)["waiting"] == 0)


def test_retries_outlive_the_process(tmp_path: Path) -> None:
    with receiver(refused({1})) as one:
        with served(tmp_path) as server:
            hook(server, one.url, max_attempts=1)
            server.publish({"n": 1})
            awaited(lambda: dead_letters(server))
            server.client.patch(PATH, json={"paused_until": PAUSED})
            assert retry(server, 1) == 202
        one.reply = lambda posted: Reply()
        with served(tmp_path) as server:
            assert len(one.got) == 1
            server.client.patch(PATH, json={"paused_until": None})
            one.await_numbers(1, 1)
            awaited(lambda: shown(server)["waiting"] == 0 and not dead_letters(server))


def test_a_replay_sends_again_from_a_number_or_a_time(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url)
        server.lines([{"n": number} for number in range(3)])
        awaited(lambda: shown(server)["acknowledged"] == 3)
        time.sleep(0.05)
        moment = datetime.now(UTC).isoformat()
        server.lines([{"n": number} for number in range(2)])
        awaited(lambda: shown(server)["acknowledged"] == 5)

        answer = server.client.post(f"{PATH}/replay", json={"from": 2})
        assert (answer.status_code, answer.json()) == (200, {"acknowledged": 1, "newest": 5})
        one.await_numbers(1, 2, 3, 4, 5, 2, 3, 4, 5)
        awaited(lambda: shown(server)["acknowledged"] == 5)
        assert server.client.post(f"{PATH}/replay", json={"since": moment}).json()["acknowledged"] == 3
        one.await_numbers(1, 2, 3, 4, 5, 2, 3, 4, 5, 4, 5)
        awaited(lambda: shown(server)["acknowledged"] == 5)
        assert server.client.post(f"{PATH}/replay", json={"since": PAUSED}).json()["acknowledged"] == 5
        wrong: list[Any] = [{}, {"from": 0}, {"from": "1"}, {"since": 1}, {"since": None}, {"from": 1, "since": moment}]
        assert [server.client.post(f"{PATH}/replay", json=one).status_code for one in wrong] == [422] * len(wrong)
        assert server.client.post(f"{PATH}/replay", json={"from": 7}).status_code == 409


def test_a_replay_while_it_sends_misses_nothing(server: Served) -> None:
    with receiver(lambda posted: Reply(after_s=0.002)) as one:
        hook(server, one.url, order="any")
        server.lines([{"n": number} for number in range(400)])
        for _ in range(5):
            awaited(lambda: shown(server)["acknowledged"] > 20)
            one.got.clear()
            assert server.client.post(f"{PATH}/replay", json={"from": 1}).status_code == 200
        awaited(lambda: shown(server)["acknowledged"] == 400)
        assert set(one.numbers()) == set(range(1, 401))


def test_a_replay_moves_the_cursor_of_a_stream(server: Served) -> None:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    server.lines([{"n": 1}, {"n": 2}])
    server.client.post("/v1/destinations/d/ack", json={"sequence": 2})
    assert server.client.post("/v1/destinations/d/replay", json={"from": 2}).json() == {"acknowledged": 1, "newest": 2}
    assert [one["sequence"] for one in server.pulled()] == [2]


def test_a_full_outbox_overflows_into_dead_letters(tmp_path: Path) -> None:
    with served(tmp_path, Limits(outbox=3)) as server, receiver() as one:
        hook(server, one.url, paused_until=PAUSED)
        assert server.lines([{"n": number} for number in range(5)]).json()["deliveries"] == 5
        assert server.publish({"n": 5}).status_code == 202
        assert [letter["sequence"] for letter in dead_letters(server)] == [4, 5, 6]
        assert {letter["cause"] for letter in dead_letters(server)} == {"overflow"}
        assert shown(server)["waiting"] == 3
        assert 'tocsin_dead_letters_total{cause="overflow"} 3.0' in server.client.get("/metrics").text

        assert retry(server, 5) == 202
        server.client.patch(PATH, json={"paused_until": None})
        awaited(lambda: shown(server)["acknowledged"] == 6)
        assert one.numbers() == [5, 1, 2, 3]
        server.publish({"n": 7})
        one.await_numbers(5, 1, 2, 3, 7)
        assert [letter["sequence"] for letter in dead_letters(server)] == [4, 6]


def test_the_bound_is_also_of_bytes_and_outlives_the_process(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        hook(server, "http://127.0.0.1:9", paused_until=PAUSED)
        server.lines([{"n": number, "text": "x" * 500} for number in range(3)])
    with served(tmp_path, Limits(outbox_bytes=1500)) as server:
        assert shown(server)["waiting"] == 3
        server.publish({"n": 1})
        assert [letter["sequence"] for letter in dead_letters(server)] == [4]


def test_a_full_outbox_may_refuse_publishing(tmp_path: Path) -> None:
    with served(tmp_path, Limits(outbox=2)) as server, receiver() as one:
        hook(server, one.url, paused_until=PAUSED, on_full="reject", where="n >= 10")
        hook(server, one.url, "free", where="n >= 0")
        report = server.lines([{"n": number} for number in (10, 11, 12, 1)]).json()
        assert (report["accepted"], report["rejected"]) == (3, 1) and "full" in report["errors"][0]["reason"]
        answer = server.publish({"n": 13}, **{"Idempotency-Key": "k"})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
        assert server.publish({"n": 2}).status_code == 202
        assert (
            dead_letters(server) == [] and "tocsin_events_refused_full_total 2.0" in server.client.get("/metrics").text
        )

        server.client.patch(PATH, json={"paused_until": None})
        awaited(lambda: shown(server)["waiting"] == 0)
        assert server.publish({"n": 13}, **{"Idempotency-Key": "k"}).status_code == 202


def test_what_retention_deletes_is_a_dead_letter_without_its_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 0.05)
    with served(tmp_path, Limits(retain_s=1.5)) as server, receiver(lambda posted: Reply(500)) as one:
        clock = Clock(server)
        hook(server, one.url)
        server.lines([{"n": number} for number in range(4)])
        awaited(lambda: len(dead_letters(server)) == 4)
        assert {(letter["cause"], letter["delivery"]) for letter in dead_letters(server)} == {("expired", None)}
        assert dead_letters(server)[0]["key"] == one.got[0].headers["webhook-id"]
        assert retry(server, 2) == 410
        assert 'tocsin_dead_letters_total{cause="expired"} 4.0' in server.client.get("/metrics").text

        one.reply = lambda posted: Reply()
        clock.advance(10)
        server.publish({"n": 5})
        awaited(lambda: one.numbers()[-1] == 5)
        awaited(lambda: shown(server)["acknowledged"] == 5 and shown(server)["waiting"] == 0)
        assert server.client.post(f"{PATH}/replay", json={"from": 1}).status_code == 410


def test_a_sender_waits_for_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_MOST_UNTOLD", 10)
    with served(tmp_path) as server, receiver() as one:
        hook(server, one.url)
        commit, is_full = server.service.commit, [True]

        async def full(change: Any) -> Any:
            if isinstance(change, Record) and is_full:
                raise StoreError("the disk is full")
            return await commit(change)

        monkeypatch.setattr(server.service, "commit", full)
        server.lines([{"n": number} for number in range(50)])
        awaited(lambda: len(one.got) == 11)
        time.sleep(0.3)
        assert len(one.got) == 11 and shown(server)["acknowledged"] == 0
        is_full.clear()
        awaited(lambda: shown(server)["acknowledged"] == 50)
        assert one.numbers() == list(range(1, 51))
