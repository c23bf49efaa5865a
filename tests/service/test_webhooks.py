"""Webhooks: what is sent, how it is signed, and what follows from each answer."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

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
from tests.waiting import HANG_S, awaited
from tocsin.service.times import time_text

PATH = "/v1/destinations/w"


def acknowledged(server: Served, number: int) -> None:
    awaited(lambda: shown(server)["acknowledged"] == number)


def failing(times: int, status: int = 503, **more: Any) -> Any:
    """A reply that fails so many times, then is good."""
    left = [times]

    def reply(posted: Posted) -> Reply:
        left[0] -= 1
        return Reply(status, **more) if left[0] >= 0 else Reply()

    return reply


def test_a_delivery_is_posted_as_standard_webhooks_has_it(server: Served) -> None:
    with receiver() as one:
        made = hook(server, one.url)
        server.publish({"n": 1, "é": "\u2028"})
        one.await_numbers(1)
        posted = one.got[0]
        verified = Webhook(made["secret"]).verify(posted.body, dict(posted.headers))

        (pulled,) = server.pulled("w", after=0)
        assert verified == {"type": "delivery", "timestamp": pulled["published"], "data": pulled}
        assert posted.headers["webhook-id"] == pulled["key"]
        assert posted.headers["content-type"] == "application/json"
        assert posted.headers["host"] == f"127.0.0.1:{one.port}"
        assert "cookie" not in posted.headers
        with pytest.raises(WebhookVerificationError):
            Webhook(made["secret"]).verify(posted.body + b" ", dict(posted.headers))


@pytest.mark.parametrize("order", ["strict", "any"])
def test_many_come_once_and_the_cursor_follows(server: Served, order: str) -> None:
    """With `order: any` several are sent at once: the first is answered once there is another one."""

    def reply(posted: Posted) -> Reply:
        if order == "any" and posted.number == 1:
            awaited(lambda: one.together > 1)
        return Reply(after_s=0.005)

    with receiver(reply) as one:
        hook(server, one.url, order=order)
        publish(server, 300)
        acknowledged(server, 300)

        numbers = one.numbers()
        assert sorted(numbers) == list(range(1, 301))
        if order == "strict":
            assert numbers == sorted(numbers) and one.most_together == 1
        else:
            assert 1 < one.most_together <= 16
        awaited(lambda: shown(server)["waiting"] == 0)
        awaited(lambda: "next_try" not in shown(server))


def test_the_cursor_outlives_the_process(tmp_path: Path) -> None:
    with receiver() as one:
        with served(tmp_path) as server:
            hook(server, one.url)
            publish(server, 3)
            one.await_numbers(1, 2, 3)
        with served(tmp_path) as server:
            publish(server, 1)
            one.await_numbers(1, 2, 3, 4)


def test_an_endpoint_that_is_busy_pauses_the_destination(server: Served) -> None:
    clock = Clock(server)
    with receiver(failing(1, 429, headers={"retry-after": "100"})) as one:
        hook(server, one.url)
        publish(server, 3)
        one.await_numbers(1)
        awaited(lambda: shown(server)["state"] == "failing")
        clock.advance(90)
        time.sleep(0.3)
        one.await_numbers(1)  # the schedule alone would try again after 5 s

        clock.advance(10)
        one.await_numbers(1, 1, 2, 3)
        assert len({posted.headers["webhook-id"] for posted in one.got}) == 3
        awaited(lambda: shown(server)["state"] == "well")


@pytest.mark.parametrize("reply", [Reply(500), Reply(503), None])
def test_failures_are_tried_by_the_schedule(server: Served, reply: Reply | None) -> None:
    """To the millisecond: the clock stands before the first failure, and the test moves it to when the next is due."""
    clock, is_stopped = Clock(server), threading.Event()
    with receiver(lambda posted: reply if is_stopped.wait(HANG_S) else Reply()) as one:
        hook(server, one.url, max_attempts=6)
        publish(server, 2)
        clock.stop()
        is_stopped.set()
        for count, seconds in enumerate((5, 15, 60, 300, 1800), 1):
            awaited(lambda count=count: [letter[:2] for letter in letters(server)] == [(1, count)])
            ((_, _, due),) = letters(server)
            assert 0.9 * seconds <= (due - clock()) / 1000 <= 1.1 * seconds
            awaited(lambda due=due: shown(server).get("next_try") == time_text(due))
            clock.move(due - 1)
            time.sleep(0.1)
            assert len(one.got) == count
            clock.move(due)
        awaited(lambda: dead_letters(server))
        (letter,) = dead_letters(server)

        assert (letter["sequence"], letter["cause"], letter["attempts"]) == (1, "attempts", 6)
        assert letter["delivery"]["event"] == {"n": 0} and letter["key"] == letter["delivery"]["key"]
        assert letter["status"] == (None if reply is None else reply.status)
        awaited(lambda: one.numbers() == [1] * 6 + [2])


def test_in_any_order_a_failure_holds_nobody_up(server: Served) -> None:
    clock = Clock(server)
    failed = failing(1)
    with receiver(lambda posted: failed(posted) if posted.number == 2 else Reply()) as one:
        hook(server, one.url, order="any")
        publish(server, 5)
        acknowledged(server, 5)
        assert sorted(one.numbers()) == [1, 2, 3, 4, 5] and shown(server)["waiting"] == 1

        clock.advance(6)
        awaited(lambda: len(one.got) == 6)
        assert one.numbers()[5] == 2
        awaited(lambda: shown(server)["waiting"] == 0)


def test_what_failed_is_tried_again_after_a_restart(tmp_path: Path) -> None:
    for order in ("any", "strict"):
        with receiver(lambda posted: Reply(500)) as one:
            with served(tmp_path / order) as server:
                hook(server, one.url, order=order)
                publish(server, 2)
                awaited(lambda: shown(server)["state"] == "failing")
            before = len(one.got)
            with served(tmp_path / order) as server:
                clock = Clock(server)
                one.reply = lambda posted: Reply()
                clock.advance(6)
                awaited(lambda: shown(server)["waiting"] == 0)
                assert sorted(one.numbers()[before:]) == [1, 2]
                assert shown(server)["acknowledged"] == 2


def test_one_that_is_gone_is_disabled_and_its_outbox_goes_on_filling(server: Served) -> None:
    with receiver(lambda posted: Reply(410)) as one:
        server.destination("ops")
        hook(server, one.url, failures_to="ops")
        publish(server, 2)
        awaited(lambda: shown(server)["state"] == "disabled")
        publish(server, 2)
        (news,) = server.pulled("ops")

        assert news["event"]["type"] == "destination.disabled" and news["event"]["destination"] == "w"
        assert news["subscriptions"] == [] and "410" in news["event"]["reason"]
        time.sleep(0.2)
        assert one.numbers() == [1] and shown(server)["waiting"] == 4
        one.reply = lambda posted: Reply()
        assert server.client.post(f"{PATH}/enable").json()["state"] == "well"
        one.await_numbers(1, 1, 2, 3, 4)
        acknowledged(server, 4)
        assert "tocsin_webhooks_disabled_total 1.0" in server.client.get("/metrics").text


def test_one_that_fails_for_five_days_is_disabled(server: Served) -> None:
    clock = Clock(server)
    with receiver(lambda posted: Reply(503)) as one:
        hook(server, one.url)
        publish(server, 30)
        hours = 0
        while shown(server)["state"] != "disabled":
            clock.advance(3600 * 3)
            hours += 3
            awaited(lambda: all(due > clock() for *_, due in letters(server)))
            assert hours < 24 * 8, len(one.got)

        assert 24 * 5 <= hours < 24 * 7
        assert [letter["sequence"] for letter in dead_letters(server)] == [1]  # twelve tries in 75 hours
        assert shown(server)["newest"] == 30 and shown(server)["waiting"] == 29


def test_a_slow_endpoint_is_given_up(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.service.deliver.webhook.endpoint.TIMEOUT_S", 0.3)
    with receiver(lambda posted: Reply(after_s=1)) as one:
        hook(server, one.url)
        publish(server, 1)
        awaited(lambda: shown(server)["state"] == "failing")
        assert "no answer within 0.3 s" in shown(server)["reason"]


def test_only_the_beginning_of_an_answer_is_read(server: Served) -> None:
    with receiver(lambda posted: Reply(400, {}, b"x" * (1 << 20))) as one:
        hook(server, one.url, max_attempts=1)
        publish(server, 2)
        awaited(lambda: len(dead_letters(server)) == 2)
        assert all(len(letter["reason"]) <= 500 for letter in dead_letters(server))
        assert one.numbers() == [1, 2]


def test_a_dead_endpoint_slows_nobody_else(server: Served) -> None:
    ends = threading.Event()
    with receiver(lambda posted: Reply() if ends.wait(HANG_S) else None) as slow, receiver() as quick:
        hook(server, slow.url, "slow")
        hook(server, "http://127.0.0.1:9", "dead")
        hook(server, quick.url)
        for number in range(50):
            assert server.publish({"n": number}).status_code == 202
        awaited(lambda: len(quick.got) == 50)

        assert len(slow.got) == 1
        assert shown(server, "dead")["waiting"] == 50
        assert "cannot be connected to" in shown(server, "dead")["reason"]
        ends.set()


def test_a_rate_is_kept(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url, rate_per_s=20, order="any")
        begun = time.monotonic()
        publish(server, 11)
        awaited(lambda: len(one.got) == 11)
        assert time.monotonic() - begun >= 0.45


def test_a_digest_gathers_deliveries(server: Served) -> None:
    clock = Clock(server)
    with receiver(failing(1)) as one:
        secret = hook(server, one.url, digest_s=60)["secret"]
        publish(server, 3)
        publish(server, 600, 3)
        awaited(lambda: len(one.got) == 1)  # a full one does not wait
        first = one.got[0].delivery["deliveries"]
        assert [delivery["sequence"] for delivery in first] == list(range(1, 501))
        awaited(lambda: shown(server)["state"] == "failing")
        clock.advance(6)
        awaited(lambda: len(one.got) == 2)
        assert one.got[1].headers["webhook-id"] == one.got[0].headers["webhook-id"]
        assert one.got[1].body == one.got[0].body
        time.sleep(0.2)
        assert len(one.got) == 2

        clock.advance(60)
        awaited(lambda: len(one.got) == 3)
        rest = one.got[2].document
        assert rest["type"] == "digest"
        assert [delivery["sequence"] for delivery in rest["data"]["deliveries"]] == list(range(501, 604))
        acknowledged(server, 603)
        Webhook(secret).verify(one.got[0].body, dict(one.got[0].headers))


def test_one_that_is_paused_sends_later(server: Served) -> None:
    clock = Clock(server)
    with receiver() as one:
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        hook(server, one.url, paused_until=until)
        publish(server, 2)
        time.sleep(0.3)
        assert one.got == []
        clock.advance(3601)
        one.await_numbers(1, 2)


def test_a_deleted_one_sends_nothing_more(server: Served) -> None:
    with receiver(lambda posted: Reply(500)) as one:
        hook(server, one.url)
        publish(server, 2)
        awaited(lambda: shown(server)["state"] == "failing")
        server.client.delete("/v1/subscriptions/s-w")
        assert server.client.delete(PATH).status_code == 204
        assert hook(server, one.url)["acknowledged"] == 0
        publish(server, 1)
        awaited(lambda: len(one.got) == 2)
        assert one.got[1].number == 1 and one.got[0].headers["webhook-id"] != one.got[1].headers["webhook-id"]
        assert dead_letters(server) == []


def test_a_stop_waits_for_what_is_on_its_way(tmp_path: Path) -> None:
    one = Receiver(lambda posted: Reply(after_s=0.5))
    with served(tmp_path) as server:
        hook(server, one.url)
        publish(server, 1)
        awaited(lambda: one.got)
    with served(tmp_path) as server:
        assert shown(server)["acknowledged"] == 1
    assert one.numbers() == [1]
    one.close()
