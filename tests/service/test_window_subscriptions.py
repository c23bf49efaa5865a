"""Subscriptions of windows over HTTP: one by one, in bulk, in pages, and when they are told."""

from __future__ import annotations

import io
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.service.served import Served, served
from tests.service.windowed import BOUNDS, PATH, interest, push, results
from tests.waiting import awaited
from tocsin.service.limits import Limits
from tocsin.service.windows import batches as windows_batches


def test_a_window_and_its_subscriptions_are_shown(windowed: Served) -> None:
    interest(windowed, "u2", text="Fresh fruit!", words=None, payload={"mail": "a"}, destination=None)
    push(windowed, "fresh")
    shown = windowed.client.get(PATH)

    assert shown.json() == {
        "name": "news", "size": 100, "bounds": list(BOUNDS), "weights": {}, "text": "plain",
        "term_frequency": "boolean", "messages": 1, "next": 1, "subscriptions": 2,
    }  # fmt: skip
    assert windowed.client.get("/v1/windows").json() == {"windows": [shown.json()]}
    assert windowed.client.get(f"{PATH}/subscriptions/u2").json() == {
        "id": "u2", "words": ["fresh", "fruit"], "location": [2, 2], "k": 2, "alpha": 0, "payload": {"mail": "a"},
    }  # fmt: skip
    assert windowed.client.get(f"{PATH}/subscriptions/u1").json()["destination"] == "d"
    assert interest(windowed, k=3).status_code == 200
    assert windowed.client.get(f"{PATH}/subscriptions/u1").json()["k"] == 3


@pytest.mark.parametrize(
    "record", [{"words": []}, {"words": None}, {"location": [9, 9]}, {"k": 0}, {"alpha": 1}, {"where": "n = 1"}]
)
def test_bad_subscriptions_are_refused(windowed: Served, record: dict[str, Any]) -> None:
    assert interest(windowed, "u2", **record).status_code == 422
    assert windowed.client.get(f"{PATH}/results/u2").status_code == 404
    assert windowed.client.delete(f"{PATH}/subscriptions/u2").status_code == 404


def test_subscriptions_come_in_pages(windowed: Served) -> None:
    for number in range(7):
        interest(windowed, f"v{number}", payload={"n": number}, destination=None if number % 2 else "d")
    every: list[Any] = []
    after: dict[str, Any] = {}
    while True:
        page = windowed.client.get(f"{PATH}/subscriptions", params={"limit": 3, **after}).json()
        every += page["subscriptions"]
        if "next" not in page:
            break
        after = {"after": page["next"]}

    assert [one["id"] for one in every] == ["u1", *(f"v{number}" for number in range(7))]
    assert every == [windowed.client.get(f"{PATH}/subscriptions/{one['id']}").json() for one in every]
    assert windowed.client.get("/v1/windows/none/subscriptions").status_code == 404


def test_a_destination_stays_while_subscriptions_of_windows_name_it(windowed: Served) -> None:
    assert windowed.client.get("/v1/destinations/d").json()["subscriptions"] == 1
    refused = windowed.client.delete("/v1/destinations/d")
    assert (refused.status_code, refused.json()["subscriptions"]) == (409, 1)
    assert interest(windowed, "u2", destination="nowhere").status_code == 422
    interest(windowed, destination=None)
    assert windowed.client.delete("/v1/destinations/d").status_code == 204
    assert push(windowed, "seafood").json()["deliveries"] == 0


RECORD: dict[str, Any] = {"words": ["seafood"], "location": [2, 2], "k": 2, "alpha": 0, "destination": "d"}


def at(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def bulk(server: Served, records: list[Any]) -> Any:
    return server.lines(records, f"{PATH}/subscriptions")


def test_a_bulk_is_the_same_as_one_by_one(windowed: Served) -> None:
    """What a record has is what a PUT has; the last of equal ids counts."""
    later = "2036-01-31T12:00:00.000Z"
    records = [
        {"id": f"v{number}", **RECORD, "payload": {"n": number}, "throttle_s": 60, "expires_at": later}
        for number in range(500)
    ]
    report = bulk(windowed, [*records, {"id": "v0", **RECORD, "k": 7}])
    shown = windowed.client.get(f"{PATH}/subscriptions/v3").json()
    windowed.client.put(f"{PATH}/subscriptions/v3", json=records[3])

    assert report.json() == {"accepted": 501, "rejected": 0, "errors": []}
    assert shown == windowed.client.get(f"{PATH}/subscriptions/v3").json() == records[3]
    assert windowed.client.get(f"{PATH}/subscriptions/v0").json() == {"id": "v0", **RECORD, "k": 7}
    assert windowed.client.get("/v1/destinations/d").json()["subscriptions"] == 501
    assert push(windowed, "seafood").json()["deliveries"] == 1
    assert len(windowed.pulled()[0]["subscriptions"]) == 501


def test_a_bulk_is_one_change_of_the_audit_log(windowed: Served) -> None:
    before = windowed.client.get("/v1/audit").json()["records"]
    bulk(windowed, [{"id": f"v{number}", **RECORD} for number in range(100)])
    bulk(windowed, [{"id": "v1", **RECORD, "k": 0}])  # nothing is accepted
    records = windowed.client.get("/v1/audit").json()["records"][len(before) :]

    assert [(one["method"], one["path"]) for one in records] == [("POST", f"{PATH}/subscriptions")]


def test_bad_records_of_a_bulk_cost_themselves(windowed: Served) -> None:
    """Those that the request, the window and the routes refuse, with the field of each."""
    good = {"id": "good", **RECORD}
    bad: list[tuple[Any, str | None]] = [
        ({**good, "id": 7}, "id"), ({**good, "id": ""}, "id"), ({**good, "k": 0}, "k"), ({**good, "alpha": 1}, "alpha"),
        ({**good, "words": []}, "words"), ({**good, "location": [9, 9]}, "location"), (RECORD, "id"),
        ({**good, "destination": "nowhere"}, "destination"), ({**good, "throttle_s": 0}, "throttle_s"),
        ({**good, "paused_until": "soon"}, "paused_until"), ({**good, "where": "n = 1"}, "where"), ([], None),
    ]  # fmt: skip
    report = bulk(windowed, [*(record for record, _ in bad), good]).json()

    assert (report["accepted"], report["rejected"]) == (1, len(bad))
    assert [(one["row"], one["field"]) for one in report["errors"]] == [
        (row, field) for row, (_, field) in enumerate(bad)
    ]
    found = windowed.client.get(f"{PATH}/subscriptions").json()["subscriptions"]
    assert [one["id"] for one in found] == ["good", "u1"]


def test_an_arrow_stream_of_subscriptions(windowed: Served) -> None:
    table = pa.table(
        {"id": ["a", "b"], "words": [["seafood"], ["fruit"]], "location": [[2.0, 2.0]] * 2, "destination": ["d", None]}
    )
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    report = windowed.client.post(f"{PATH}/subscriptions", content=stream.getvalue(), headers=headers).json()

    assert (report["accepted"], report["errors"]) == (2, [])
    assert windowed.client.get(f"{PATH}/subscriptions/b").json() == {
        "id": "b", "words": ["fruit"], "location": [2, 2], "k": 10, "alpha": 0.5,
    }  # fmt: skip


def test_a_bulk_keeps_within_the_limits(tmp_path: Path) -> None:
    with served(tmp_path, Limits(subscriptions=3, subscription_cost=2)) as server:
        server.destination()
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        assert bulk(server, [{"id": f"v{number}", **RECORD} for number in range(4)]).json()["limit"] == "subscriptions"
        dear = {"id": "dear", **RECORD, "words": ["a", "b", "c"]}
        report = bulk(server, [*({"id": f"v{number}", **RECORD} for number in range(3)), dear]).json()
        assert (report["accepted"], report["rejected"]) == (3, 1)
        assert bulk(server, [{"id": f"v{number}", **RECORD, "k": 9} for number in range(3)]).json()["accepted"] == 3


def test_a_throttle_outlives_the_server(tmp_path: Path) -> None:
    """A subscription is told of all changes by a message or of none; the list has what was held back."""
    with served(tmp_path) as server:
        server.destination()
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        interest(server, throttle_s=3600, k=1)
        interest(server, "u2", k=1)
        answers = [push(server, "seafood").json() for _ in range(2)]
    with served(tmp_path) as server:
        answers.append(push(server, "seafood").json())

        assert [(one["changes"], one["deliveries"], one.get("suppressed")) for one in answers] == [
            (2, 1, None), (4, 1, 2), (4, 1, 2),
        ]  # fmt: skip
        assert [[one["id"] for one in delivery["subscriptions"]] for delivery in server.pulled()] == [
            ["u1", "u2"], ["u2", "u2"], ["u2", "u2"],
        ]  # fmt: skip
        assert results(server) == [(2, 1.0)]
        assert 'tocsin_window_suppressed_total{window="news"} 2.0' in server.client.get("/metrics").text


@pytest.mark.parametrize("how", ["deleted", "bulk", "put"])
def test_a_throttle_is_forgotten_with_its_subscription(windowed: Served, how: str) -> None:
    interest(windowed, throttle_s=3600)
    push(windowed, "seafood")
    if how == "deleted":
        windowed.client.delete(f"{PATH}/subscriptions/u1")
    elif how == "put":
        interest(windowed)
    else:
        bulk(windowed, [{"id": "u1", **RECORD}])
    with sqlite3.connect(windowed.folder / "windows" / "1" / "store.db") as connection:
        assert connection.execute("SELECT * FROM service_told").fetchall() == []
    interest(windowed, throttle_s=3600)

    assert [push(windowed, "seafood").json()["deliveries"] for _ in range(2)] == [1, 0]


def test_a_throttle_does_not_remember_what_was_not_pushed(windowed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    interest(windowed, throttle_s=3600)
    put = windows_batches.put_batches

    def fails(*arguments: Any, **named: Any) -> None:
        put(*arguments, **named)
        raise sqlite3.OperationalError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(windows_batches, "put_batches", fails)
        assert push(windowed, "seafood").status_code >= 500
    assert push(windowed, "seafood").json()["deliveries"] == 1


def test_a_pause_holds_changes_back(windowed: Served) -> None:
    interest(windowed, paused_until=at(3600))
    held = push(windowed, "seafood").json()
    interest(windowed, paused_until=at(-1))
    told_again = push(windowed, "seafood").json()

    assert (held["deliveries"], held["suppressed"]) == (0, 1)
    assert told_again["deliveries"] == 1 and "suppressed" not in told_again
    assert results(windowed) == [(1, 1.0), (0, 1.0)]  # the list goes on meanwhile


def test_time_that_passes_tells_no_paused_subscription(server: Served) -> None:
    server.destination()
    server.client.put(PATH, json={"time": 60, "bounds": BOUNDS})
    interest(server)
    interest(server, "u2", paused_until=at(3600))
    push(server, "seafood", time=0)
    advanced = server.client.post(f"{PATH}/advance", json={"time": 61}).json()

    assert advanced == {"changes": 2, "deliveries": 1, "suppressed": 1}


def test_expired_subscriptions_are_deleted(windowed: Served) -> None:
    """Within seconds, also of a name that a path quotes, and with a record for each."""
    interest(windowed, "a%2Fb", expires_at=at(3600))
    interest(windowed, "later", expires_at=at(3600))
    assert windowed.client.get(PATH).json()["subscriptions"] == 3
    interest(windowed, "a%2Fb", expires_at=at(-1))
    awaited(lambda: windowed.client.get(PATH).json()["subscriptions"] == 2)
    record = windowed.client.get("/v1/audit").json()["records"][-1]

    assert (record["name"], record["method"], record["path"]) == ("expiry", "DELETE", f"{PATH}/subscriptions/a%2Fb")
    assert "tocsin_subscriptions_expired_total 1.0" in windowed.client.get("/metrics").text
    assert windowed.client.get("/v1/destinations/d").json()["subscriptions"] == 2
    push(windowed, "seafood")
    assert [one["id"] for one in windowed.pulled()[0]["subscriptions"]] == ["later", "u1"]


def test_an_expired_subscription_is_told_nothing(windowed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.service.retention.remove_expired_of_windows", never)
    interest(windowed, expires_at=at(-1))
    answer = push(windowed, "seafood").json()

    assert (answer["deliveries"], answer["suppressed"]) == (0, 1)


async def never(*_: Any) -> None:
    """Delete nothing."""


def test_many_expire_while_the_server_is_down(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.destination()
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        soon = at(2)
        records = [{"id": f"v{number}", **RECORD, "expires_at": soon} for number in range(2500)]
        assert bulk(server, [*records, {"id": "kept", **RECORD}]).json()["accepted"] == 2501
    with served(tmp_path) as server:
        awaited(lambda: server.client.get(PATH).json()["subscriptions"] == 1)
        assert [one["id"] for one in server.client.get(f"{PATH}/subscriptions").json()["subscriptions"]] == ["kept"]
        assert server.client.get("/v1/destinations/d").json()["subscriptions"] == 1


def test_a_window_of_the_release_before_is_served(tmp_path: Path) -> None:
    """Its subscriptions have no throttles, pauses and expiry."""
    with served(tmp_path) as server:
        server.destination()
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        interest(server, payload=[1])
    with sqlite3.connect(tmp_path / "windows" / "1" / "store.db") as connection:
        connection.execute("DROP INDEX service_interests_by_expiry")
        for column in ("throttle_s", "paused_until", "expires_at"):
            connection.execute(f"ALTER TABLE service_interests DROP COLUMN {column}")
        connection.execute("DROP TABLE service_told")
    with served(tmp_path) as server:
        assert server.client.get(f"{PATH}/subscriptions/u1").json() == {"id": "u1", **RECORD, "payload": [1]}
        assert push(server, "seafood").json()["deliveries"] == 1
        assert interest(server, throttle_s=9).status_code == 200
