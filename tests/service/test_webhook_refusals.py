"""What an endpoint refuses is tried on the whole schedule; in strict order it holds up the others for some tries."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.service.receivers import (
    Clock,
    Posted,
    Receiver,
    Reply,
    dead_letters,
    hook,
    letters,
    publish,
    receiver,
    shown,
)
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.service.deliver.schedule import TRIES


def poisoned(reply: Reply | None, *numbers: int) -> Any:
    """An endpoint that answers some deliveries in one way, and takes the others."""
    return lambda posted: reply if posted.number in numbers else Reply()


def tried(one: Receiver, number: int) -> int:
    return one.numbers().count(number)


def let_try(server: Served, clock: Clock, one: Receiver, number: int, count: int) -> None:
    """Move the clock until a delivery was tried so often."""
    for times in range(1, count):
        awaited(lambda times=times: [letter[:2] for letter in letters(server)][:1] == [(number, times)])
        clock.move(letters(server)[0][2])
    awaited(lambda: tried(one, number) == count)


@pytest.mark.parametrize("status", [404, 500, 307])
def test_in_strict_order_it_is_set_aside(server: Served, status: int) -> None:
    clock = Clock(server)
    with receiver() as elsewhere:
        reply = Reply(status, {"location": elsewhere.url}, b"not  this\n \x1b[31mone")
        with receiver(poisoned(reply, 1, 2)) as one:
            assert hook(server, one.url)["set_aside_after"] == 7
            clock.stop()
            publish(server, 3)
            begun = clock()
            let_try(server, clock, one, 1, 7)
            let_try(server, clock, one, 2, 7)  # the failures of the first one do not slow the second one
            awaited(lambda: len(dead_letters(server)) == 2)
            awaited(lambda: one.numbers() == [1] * 7 + [2] * 7 + [3])

            assert clock() - begun < 2 * 3 * 3_600_000
            letter = dead_letters(server)[0]
            assert (letter["cause"], letter["status"], letter["attempts"]) == ("set-aside", status, 7)
            told = "redirects are not followed" if status < 400 else r"not this \x1b[31mone"
            assert letter["reason"] == f"HTTP {status}: {told}"
            assert letter["delivery"]["event"] == {"n": 0}
        assert elsewhere.got == []
        awaited(lambda: shown(server)["acknowledged"] == 3)
        assert 'tocsin_dead_letters_total{cause="set-aside"} 2.0' in server.client.get("/metrics").text


@pytest.mark.parametrize("reply", [Reply(429), Reply(521), None])
def test_what_says_nothing_about_the_delivery_sets_none_aside(server: Served, reply: Reply | None) -> None:
    clock = Clock(server)
    with receiver(poisoned(reply, 1)) as one:
        hook(server, one.url, set_aside_after=1)
        clock.stop()
        publish(server, 2)
        let_try(server, clock, one, 1, 6)
        assert dead_letters(server) == [] and tried(one, 2) == 0

        one.reply = poisoned(Reply(400), 1)
        awaited(lambda: [letter[1] for letter in letters(server)] == [6])
        clock.move(letters(server)[0][2])
        awaited(lambda: tried(one, 2) == 1)
        awaited(lambda: [letter["cause"] for letter in dead_letters(server)] == ["set-aside"])


@pytest.mark.parametrize("status", [404, 500])
def test_in_any_order_it_has_the_whole_schedule(server: Served, status: int) -> None:
    """Three days, in which somebody may mend the route."""
    clock = Clock(server)
    with receiver(poisoned(Reply(status), 1)) as one:
        hook(server, one.url, order="any")
        clock.stop()
        begun = clock()
        publish(server, 2)
        let_try(server, clock, one, 1, TRIES)
        awaited(lambda: dead_letters(server))

        assert (clock() - begun) / 3_600_000 > 0.9 * 75
        (letter,) = dead_letters(server)
        assert (letter["cause"], letter["attempts"]) == ("attempts" if status == 500 else "refused", TRIES)


def test_ten_minutes_of_a_wrong_route_lose_nothing(server: Served) -> None:
    clock = Clock(server)
    with receiver(lambda posted: Reply(404)) as one:
        hook(server, one.url)
        clock.stop()
        publish(server, 20)
        let_try(server, clock, one, 1, 3)
        one.reply = lambda posted: Reply()
        awaited(lambda: [letter[1] for letter in letters(server)] == [3])
        clock.move(letters(server)[0][2])
        awaited(lambda: shown(server)["acknowledged"] == 20)

    assert dead_letters(server) == []


def test_refusals_outlive_the_process_and_an_older_store_has_none(tmp_path: Path) -> None:
    with receiver(poisoned(Reply(400), 1)) as one:
        with served(tmp_path / "alerts") as server:
            hook(server, one.url, set_aside_after=2)
            publish(server, 2)
            awaited(lambda: [letter[1] for letter in letters(server)] == [1])
        with sqlite3.connect(tmp_path / "alerts" / "store.db") as connection:  # as an older release left it
            connection.execute("ALTER TABLE service_letters DROP COLUMN refusals")
        connection.close()
        with served(tmp_path / "alerts") as server:
            clock = Clock(server)
            clock.advance(6)
            awaited(lambda: [letter[1] for letter in letters(server)] == [2])
        with served(tmp_path / "alerts") as server:
            clock = Clock(server)
            clock.advance(400)
            awaited(lambda: tried(one, 2) == 1)

            awaited(lambda: dead_letters(server))
            assert [(letter["cause"], letter["attempts"]) for letter in dead_letters(server)] == [("set-aside", 3)]


def test_a_dead_letter_that_is_retried_has_all_its_tries_again(server: Served) -> None:
    clock = Clock(server)
    with receiver(poisoned(Reply(400), 1)) as one:
        hook(server, one.url, set_aside_after=2)
        clock.stop()
        publish(server, 1)
        let_try(server, clock, one, 1, 2)
        awaited(lambda: dead_letters(server))
        assert server.client.post("/v1/destinations/w/dead-letters/1/retry").status_code == 202
        awaited(lambda: [letter[1] for letter in letters(server)] == [1])
        assert dead_letters(server) == []


def test_the_option_is_of_strict_order(server: Served) -> None:
    with receiver() as one:
        assert "set_aside_after" not in hook(server, one.url, order="any", set_aside_after=3)
        assert hook(server, one.url, set_aside_after=3)["set_aside_after"] == 3
        for wrong in (0, 101, True, "5", 1.5):
            record = {"kind": "webhook", "url": one.url, "allow_private": True, "set_aside_after": wrong}
            answer = server.client.put("/v1/destinations/w", json=record)
            assert (answer.status_code, answer.json()["field"]) == (422, "set_aside_after")


def test_retry_after_counts_for_every_answer(server: Served) -> None:
    clock = Clock(server)
    with receiver(lambda posted: Reply(404, {"retry-after": "5000"})) as one:
        hook(server, one.url)
        clock.stop()
        publish(server, 1)
        awaited(lambda: letters(server))
        assert letters(server)[0][2] - clock() == 5_000_000


def test_a_poisoned_digest_is_set_aside_as_a_whole(server: Served) -> None:
    clock = Clock(server)

    def reply(posted: Posted) -> Reply:
        return Reply(400 if json.loads(posted.body)["data"]["deliveries"][0]["sequence"] == 1 else 204)

    with receiver(reply) as one:
        hook(server, one.url, digest_s=1, set_aside_after=1)
        publish(server, 2)
        clock.advance(2)
        awaited(lambda: len(dead_letters(server)) == 2)
        publish(server, 1)
        clock.advance(4)
        awaited(lambda: shown(server)["acknowledged"] == 3)
    assert len(one.got) == 2
