"""The log of attempts of a webhook, and tests of a webhook."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

import tocsin
from tests.service.receivers import Clock, Reply, dead_letters, hook, letters, publish, receiver, shown
from tests.service.served import Served, served
from tests.waiting import HANG_S, awaited
from tocsin.service.deliver import attempts as log

PATH = "/v1/destinations/w"


def attempts(server: Served, name: str = "w", **options: Any) -> list[dict[str, Any]]:
    answer = server.client.get(f"/v1/destinations/{name}/attempts", params=options)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["attempts"]
    return found


def test_each_attempt_is_logged(server: Served) -> None:
    clock = Clock(server)
    with receiver(lambda posted: Reply(503, body=b"later \x1b[2J") if len(one.got) == 1 else Reply()) as one:
        hook(server, one.url)
        clock.stop()
        publish(server, 2)
        awaited(lambda: letters(server))
        clock.move(letters(server)[0][2])
        awaited(lambda: len(attempts(server)) == 3)

        latest, second, first = attempts(server)
        assert [row["number"] for row in (first, second, latest)] == [1, 2, 3]
        assert (first["outcome"], first["status"], first["attempt"]) == ("failed", 503, 1)
        assert first["reason"] == r"HTTP 503: later \x1b[2J" and first["duration_ms"] >= 0
        assert (second["outcome"], second["sequence"], second["attempt"], second["status"]) == ("delivered", 1, 2, 204)
        assert (latest["sequence"], latest["last"], latest["deliveries"]) == (2, 2, 1) and "reason" not in latest
        assert first["webhook_id"] == second["webhook_id"] == one.got[0].headers["webhook-id"]
        assert attempts(server, sequence=1) == [second, first] and attempts(server, failed=True) == [first]
        page = server.client.get(f"{PATH}/attempts", params={"limit": 2}).json()
        assert page["attempts"] == [latest, second] and attempts(server, before=page["next"]) == [first]


def test_no_answer_is_an_attempt_and_a_digest_is_one(server: Served) -> None:
    clock = Clock(server)
    with receiver(lambda posted: None) as one:
        hook(server, one.url, digest_s=1)
        publish(server, 3)
        clock.advance(2)
        awaited(lambda: attempts(server))
    (found,) = attempts(server)

    assert (found["sequence"], found["last"], found["deliveries"]) == (1, 3, 3)
    assert found["outcome"] == "failed" and "status" not in found and "connection" in found["reason"]
    assert attempts(server, sequence=2) == [found]


def test_the_log_is_bounded_and_a_flood_does_not_push_failures_out(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MOST", 5)
    with receiver(lambda posted: Reply(400, body=b"x" * 5000) if posted.number == 1 else Reply()) as one:
        hook(server, one.url, order="any", max_attempts=1)
        publish(server, 1)
        awaited(lambda: dead_letters(server))
        for first in range(1, 41, 10):
            publish(server, 10, first)
            awaited(lambda first=first: shown(server)["acknowledged"] == first + 10)
        awaited(lambda: attempts(server)[0]["number"] == 41)
        found = attempts(server)

    assert [row["number"] for row in found] == [41, 40, 39, 38, 37, 1]
    assert found[-1]["outcome"] == "refused" and len(found[-1]["reason"]) == 500


def test_it_outlives_the_process_and_ends_with_the_destination(tmp_path: Path) -> None:
    with receiver() as one:
        with served(tmp_path) as server:
            hook(server, one.url)
            publish(server, 1)
            awaited(lambda: shown(server)["acknowledged"] == 1)
        with served(tmp_path) as server:
            assert [row["outcome"] for row in attempts(server)] == ["delivered"]
            publish(server, 1)
            awaited(lambda: [row["number"] for row in attempts(server)] == [2, 1])
            server.client.delete("/v1/subscriptions/s-w")
            assert server.client.delete(PATH).status_code == 204
            hook(server, one.url)
            assert attempts(server) == []


def test_a_test_is_posted_at_once_and_changes_nothing(server: Served) -> None:
    with receiver(lambda posted: Reply(410, body=b"no")) as one:
        secret = hook(server, one.url, paused_until="2999-01-01T00:00:00Z")["secret"]
        answer = server.client.post(f"{PATH}/test", json={"event": {"n": 1}})

        assert answer.status_code == 200 and answer.json()["outcome"] == "gone"
        assert (answer.json()["status"], answer.json()["deliveries"]) == (410, 0)
        (posted,) = one.got
        assert posted.document["type"] == "test" and posted.delivery["event"] == {"n": 1}
        assert posted.delivery["key"] == posted.headers["webhook-id"] == answer.json()["webhook_id"]
        assert Webhook(secret).verify(posted.body, dict(posted.headers)) == json.loads(posted.body)
        assert shown(server)["state"] == "well" and shown(server)["newest"] == 0
        (row,) = attempts(server)
        assert "sequence" not in row and row["number"] == 1
        one.reply = lambda posted: Reply()
        assert server.client.post(f"{PATH}/test").json()["outcome"] == "delivered"
        assert one.got[1].delivery["event"] == {"type": "tocsin.test"}


def test_one_test_at_a_time(server: Served) -> None:
    may_answer = threading.Event()
    with receiver(lambda posted: Reply(200 if may_answer.wait(HANG_S) else 500)) as one:
        hook(server, one.url)
        first: list[Any] = []
        waiting = threading.Thread(target=lambda: first.append(server.client_of().post(f"{PATH}/test")))
        waiting.start()
        awaited(lambda: one.got)
        second = server.client.post(f"{PATH}/test")
        assert second.status_code == 409 and second.headers["retry-after"] == "1"
        may_answer.set()
        waiting.join(HANG_S)

        assert first[0].json()["outcome"] == "delivered" and len(one.got) == 1
        assert server.client.post(f"{PATH}/test").status_code == 200


def test_a_test_reaches_no_private_address_either(server: Served) -> None:
    record = {"kind": "webhook", "url": "http://localhost.localdomain/"}
    server.service.senders.resolver.lookup = lambda *_, **__: [(0, 0, 0, "", ("127.0.0.1", 80))]
    assert server.client.put(PATH, json=record).status_code == 201
    found = server.client.post(f"{PATH}/test").json()
    assert found["outcome"] == "failed" and "which is private" in found["reason"]


@pytest.mark.parametrize("body", [{"event": 1}, {"events": {}}])
def test_what_is_no_event_is_refused(server: Served, body: dict[str, Any]) -> None:
    with receiver() as one:
        hook(server, one.url)
        assert server.client.post(f"{PATH}/test", json=body).status_code == 422
        assert one.got == []


def test_only_webhooks_have_them(server: Served) -> None:
    server.destination()
    for answer in (
        server.client.post("/v1/destinations/d/test"),
        server.client.get("/v1/destinations/d/attempts"),
    ):
        assert answer.status_code == 409 and "clients read it" in answer.json()["detail"]
    assert server.client.get("/v1/destinations/none/attempts").status_code == 404


def test_clients_test_and_read_attempts(server: Served) -> None:
    with receiver(lambda posted: Reply(400)) as one, tocsin.Client(str(server.client.base_url)) as client:
        hook(server, one.url, order="any")
        assert client.test("w", {"n": 1})["outcome"] == "refused"
        one.reply = lambda posted: Reply()
        publish(server, 150)
        awaited(lambda: len(attempts(server, limit=1000)) == 151)

        assert [row["number"] for row in client.attempts("w")] == list(range(151, 0, -1))
        assert [row["outcome"] for row in client.attempts("w", sequence=7)] == ["delivered"]
        assert [row["number"] for row in client.attempts("w", failed=True)] == [1]
