"""Diagnosis: if an event did not reach the owner of a subscription, the service says why."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.service.receivers import Reply, dead_letters, hook, receiver
from tests.service.served import Served
from tests.waiting import awaited
from tocsin.service import outbox

PLACE = [13.4, 52.5]


def later(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def diagnosed(server: Served, id: str, event: int | None = None) -> Any:
    asked = {} if event is None else {"event": event}
    answer = server.client.get(f"/v1/subscriptions/{id}/diagnosis", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def outcome(server: Served, id: str, event: int = 1) -> tuple[str, str]:
    found = diagnosed(server, id, event)["event"]
    return found["outcome"], found["reason"]


def test_what_a_stream_got(server: Served) -> None:
    server.destination()
    server.subscribe("s", "n = 1", destination="d")
    server.publish({"n": 1})
    assert outcome(server, "s") == ("waiting", "no client acknowledged delivery 1 of d so far; the cursor is 0")
    server.client.post("/v1/destinations/d/ack", json={"sequence": 1})

    found = diagnosed(server, "s", 1)
    assert found["state"] == "active" and found["matches"] == 1 and found["last_match"] >= found["since"]
    assert found["event"]["outcome"] == "delivered" and found["event"]["changed_since"] is False
    assert found["event"]["delivery"] == {"destination": "d", "sequence": 1}
    assert found["event"]["event"] == {"n": 1} and found["event"]["explanation"]["matches"] is True


@pytest.mark.parametrize(
    ("more", "event", "expected"),
    [
        ({}, {"n": 2}, "no-match"),
        ({"destination": None}, {"n": 1}, "no-destination"),
        ({"paused_until": later(3600)}, {"n": 1}, "paused"),
    ],
)
def test_why_nothing_was_sent(server: Served, more: dict[str, Any], event: Any, expected: str) -> None:
    server.destination()
    server.subscribe("s", "n = 1", **{"destination": "d", **more})
    server.publish(event)

    assert outcome(server, "s")[0] == expected
    assert diagnosed(server, "s")["state"] == ("active" if expected == "no-match" else expected)


def test_a_throttle_is_named_with_the_time_of_the_last_delivery(server: Served) -> None:
    server.destination()
    server.subscribe("s", "n = 1", destination="d", throttle_s=3600)
    for _ in range(2):
        server.publish({"n": 1})
    told = diagnosed(server, "s")["last_told"]

    assert outcome(server, "s", 1)[0] == "waiting"
    assert outcome(server, "s", 2) == (
        "throttled",
        f"it matches, but it is told at most once in 3600 s, and was told last at {told}",
    )


def test_a_fence_that_noticed_no_change(server: Served) -> None:
    server.destination()
    server.client.put("/v1/fences/cars", json={"key": "vehicle"})
    server.subscribe("s", "S_INTERSECTS(location, BBOX(13, 52, 14, 53))", fence="cars", destination="d")
    for _ in range(2):
        server.publish({"vehicle": "v", "location": PLACE})

    assert [outcome(server, "s", number)[0] for number in (1, 2)] == ["waiting", "no-change"]


def test_a_webhook_waits_fails_and_delivers(server: Served) -> None:
    with receiver(lambda posted: Reply(503)) as one:
        hook(server, one.url)
        server.publish({"n": 1})
        awaited(lambda: outcome(server, "s-w")[1].startswith("delivery 1 of w failed after 1 attempt (HTTP 503)"))
        assert "is sent again at" in outcome(server, "s-w")[1]
        one.reply = lambda posted: Reply()
        server.client.post("/v1/destinations/w/enable")
        awaited(lambda: outcome(server, "s-w")[0] == "delivered")

        assert outcome(server, "s-w")[1].endswith("with HTTP 204")


def test_a_dead_letter_has_its_reason(server: Served) -> None:
    with receiver(lambda posted: Reply(400)) as one:
        hook(server, one.url, max_attempts=1)
        server.publish({"n": 1})
        awaited(lambda: dead_letters(server))

        found, reason = outcome(server, "s-w")
        assert found == "dead-letter" and reason.endswith("after 1 attempt: HTTP 400")


def test_a_paused_webhook_says_until_when(server: Served) -> None:
    with receiver() as one:
        hook(server, one.url, paused_until="2126-01-01T00:00:00Z")
        server.publish({"n": 1})

        assert outcome(server, "s-w") == (
            "waiting",
            "delivery 1 of w waits: the destination is paused until 2126-01-01T00:00:00Z",
        )


def test_what_was_changed_after_the_event_is_said(server: Served) -> None:
    server.destination()
    server.subscribe("s", "n = 2", destination="d")
    server.publish({"n": 1})
    time.sleep(0.002)  # times are milliseconds
    server.subscribe("s", "n = 1", destination="d")

    found = diagnosed(server, "s", 1)["event"]
    assert (found["outcome"], found["changed_since"]) == ("unknown", True)


def test_the_last_change_has_its_token(server: Served) -> None:
    support, other = (server.client_of(server.token("read", "subscribe")) for _ in range(2))
    record = {"where": "n = 1"}
    for number in range(5):
        support.put(f"/v1/subscriptions/s{number}", json=record)
        other.put(f"/v1/destinations/d{number}", json={"kind": "stream"})
    lines = "\n".join(f'{{"id": "b{number}", "where": "n = 1"}}' for number in range(3))
    support.post("/v1/subscriptions", content=lines, headers={"Content-Type": "application/x-ndjson"})
    other.patch("/v1/subscriptions/s3", json={"paused_until": later(60)})
    admin = server.client_of(server.token())
    tokens = {one["path"]: one["token"] for one in admin.get("/v1/audit").json()["records"]}
    mine, others = tokens["/v1/subscriptions/s1"], tokens["/v1/destinations/d1"]

    def changed(id: str) -> tuple[str, str]:
        found = support.get(f"/v1/subscriptions/{id}/diagnosis").json()["changed"]
        return found["method"], found["token"]

    for id in ("s0", "s1", "s2", "s4"):
        assert changed(id) == ("PUT", mine)
    assert changed("s3") == ("PATCH", others)
    assert [changed(f"b{number}") for number in range(3)] == [("POST", mine)] * 3


def test_one_that_was_deleted_says_so(server: Served) -> None:
    server.destination()
    server.subscribe("a%2Fb", "n = 1", destination="d")
    server.publish({"n": 1})
    server.client.delete("/v1/subscriptions/a%2fb")
    server.publish({"n": 1})

    found = diagnosed(server, "a%2Fb", 1)
    assert (found["state"], found["changed"]["method"], found["event"]["outcome"]) == ("deleted", "DELETE", "waiting")
    assert outcome(server, "a%2Fb", 2)[0] == "deleted"
    assert server.client.get("/v1/subscriptions/never/diagnosis").status_code == 404


def test_each_subscription_of_a_large_delivery_is_found(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its parts, too, where payloads are left out and letters escaped; an id in a payload is not one."""
    monkeypatch.setattr(outbox, "_MOST_BYTES", 200)
    monkeypatch.setattr(outbox, "_MOST_PAYLOADS", 300)
    server.destination()
    ids = [f'Ä"{number}' for number in range(9)]
    records = [{"id": id, "where": "n = 1", "destination": "d", "payload": {"x": "y" * 60}} for id in ids]
    records[0]["payload"] = {"id": "other", "more": 1}
    server.lines([*records, {"id": "other", "where": "n = 2", "destination": "d"}], "/v1/subscriptions")
    server.publish({"n": 1})

    quoted = [id.replace('"', "%22") for id in ids]
    assert {outcome(server, id)[0] for id in quoted} == {"waiting"}
    assert outcome(server, "other")[0] == "no-match"


def test_events_that_are_not_there(server: Served) -> None:
    server.subscribe("s", "n = 1")
    assert server.client.get("/v1/subscriptions/s/diagnosis?event=7").status_code == 404
    server.service.directory.first_event = 9  # as after retention

    assert server.client.get("/v1/subscriptions/s/diagnosis?event=7").json()["earliest"] == 9
