"""Making and deleting windows over HTTP: options, limits, tenants, and what an operator sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.service.served import Served, served
from tests.service.windowed import BOUNDS, PATH, interest, push, told
from tocsin.service.limits import Limits


def test_options_do_not_change(windowed: Served) -> None:
    same = windowed.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
    other = windowed.client.put(PATH, json={"size": 99, "bounds": BOUNDS})
    guarded = windowed.client.put(PATH, json={"size": 100, "bounds": BOUNDS}, headers={"If-None-Match": "*"})

    assert (same.status_code, other.status_code, guarded.status_code) == (200, 409, 412)
    assert other.json()["field"] == "size"
    assert windowed.client.get(PATH).json()["subscriptions"] == 1


@pytest.mark.parametrize(
    "record",
    [
        {"size": 10}, {"bounds": BOUNDS}, {"size": 0, "bounds": BOUNDS}, {"size": 10**9, "bounds": BOUNDS},
        {"size": 10, "bounds": [1, 2, 3]}, {"size": 10, "bounds": BOUNDS, "weights": [1]},
        {"size": 10, "bounds": BOUNDS, "text": 5}, {"size": 10, "bounds": BOUNDS, "index": "blocks"},
        {"size": 10, "bounds": BOUNDS, "term_frequency": "idf"}, {"size": 10, "bounds": BOUNDS, "term_frequency": 1},
        {"size": True, "bounds": BOUNDS}, {"size": 10, "bounds": BOUNDS, "time": "soon"},
    ],
)  # fmt: skip
def test_bad_windows_are_refused(server: Served, record: dict[str, Any]) -> None:
    assert server.client.put(PATH, json=record).status_code == 422
    assert server.client.get("/v1/windows").json() == {"windows": []}


def test_a_window_may_count_how_often_a_word_occurs(server: Served) -> None:
    """The option is shown, counts in the score, and does not change."""
    record = {"size": 10, "bounds": BOUNDS, "term_frequency": "natural"}
    assert server.client.put(PATH, json=record).json()["term_frequency"] == "natural"
    server.client.put(f"{PATH}/subscriptions/u1", json={"words": ["fish"], "location": [2, 2], "alpha": 0})
    for text in ("Fish, fish and fish", "Fish and chips"):
        server.client.post(f"{PATH}/messages", json={"text": text, "location": [2, 2]})

    results = server.client.get(f"{PATH}/results/u1").json()["results"]
    assert [one["message"] for one in results] == [0, 1]
    assert server.client.put(PATH, json=record).status_code == 200
    other = server.client.put(PATH, json={**record, "term_frequency": None})
    assert (other.status_code, other.json()["field"]) == (409, "term_frequency")


def test_a_deleted_window_leaves_nothing(windowed: Served) -> None:
    push(windowed, "seafood")
    folder = windowed.folder / "windows"
    assert [one.name for one in folder.iterdir()] == ["1"]
    assert windowed.client.delete(PATH).status_code == 204

    assert list(folder.iterdir()) == [] and windowed.client.get(PATH).status_code == 404
    assert push(windowed, "seafood").status_code == 404 and windowed.client.delete(PATH).status_code == 404
    assert [told(one) for one in windowed.pulled()] == [[("u1", 0, "enter", 1.0)]]  # what was told stays
    assert windowed.client.put(PATH, json={"size": 5, "bounds": BOUNDS}).json()["subscriptions"] == 0
    assert [one.name for one in folder.iterdir()] == ["2"]


def test_a_window_that_cannot_be_opened_hurts_no_other(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        for name in ("bad", "good"):
            server.client.put(f"/v1/windows/{name}", json={"size": 5, "bounds": BOUNDS})
    (tmp_path / "windows" / "1" / "store.db").write_bytes(b"nonsense")
    (tmp_path / "windows" / "7").mkdir()  # of a window that was being deleted
    with served(tmp_path) as server:
        assert server.client.get("/v1/windows/bad").status_code == 503
        assert server.client.get("/v1/windows/good").status_code == 200
        assert push(server, "a", path="/v1/windows/good").status_code == 202
        assert server.client.delete("/v1/windows/bad").status_code == 204
    assert [one.name for one in (tmp_path / "windows").iterdir()] == ["2"]


def test_limits_of_windows(tmp_path: Path) -> None:
    limits = Limits(windows=2, window_messages=10, subscriptions=2, subscription_cost=3)
    with served(tmp_path, limits) as server:
        server.destination()
        assert server.client.put(PATH, json={"time": 60, "bounds": BOUNDS}).status_code == 201
        assert server.client.put("/v1/windows/b", json={"size": 11, "bounds": BOUNDS}).status_code == 422
        assert server.client.put("/v1/windows/b", json={"size": 10, "bounds": BOUNDS}).status_code == 201
        assert server.client.put("/v1/windows/c", json={"size": 10, "bounds": BOUNDS}).json()["limit"] == "windows"
        assert interest(server).status_code == 201 and server.subscribe("s", "n = 1").status_code == 201
        assert interest(server, "u2").json()["limit"] == "subscriptions"
        assert server.subscribe("t", "n = 1").json()["limit"] == "subscriptions"
        assert interest(server, words=["a", "b", "c", "d"]).json()["limit"] == "subscription_cost"
        assert [push(server, "a", time=0).status_code for _ in range(11)] == [202] * 10 + [429]
        assert push(server, "a", time=0).json()["limit"] == "window_messages"


def test_audit_and_metrics(windowed: Served) -> None:
    push(windowed, "seafood")
    push(windowed, "fruit")
    windowed.client.delete(f"{PATH}/subscriptions/u1")
    windowed.client.delete(f"{PATH}/subscriptions/u1")  # nothing is there any more
    windowed.client.delete(PATH)
    windowed.client.put(PATH, json={"size": 5, "bounds": BOUNDS})
    records = windowed.client.get("/v1/audit").json()["records"]
    text = windowed.client.get("/metrics").text

    assert [(one["method"], one["path"]) for one in records[1:]] == [
        ("PUT", PATH), ("PUT", f"{PATH}/subscriptions/u1"), ("DELETE", f"{PATH}/subscriptions/u1"), ("DELETE", PATH),
        ("PUT", PATH),
    ]  # fmt: skip
    assert 'tocsin_window_subscriptions{window="news"} 0.0' in text
    assert 'tocsin_window_messages_total{window="news"} 0.0' in text


def test_tenants_have_windows_of_their_own(server: Served) -> None:
    clients = {name: server.client_of(server.token(tenant=name)) for name in ("one", "two")}
    for client in clients.values():
        client.put("/v1/destinations/d", json={"kind": "stream"})
        assert client.put(PATH, json={"size": 5, "bounds": BOUNDS}).status_code == 201
        client.put(f"{PATH}/subscriptions/u", json={"words": ["a"], "location": [1, 1], "destination": "d"})
    message = {"words": ["a"], "location": [1, 1]}
    assert clients["one"].post(f"{PATH}/messages", json=message).json()["deliveries"] == 1

    assert clients["two"].get(PATH).json()["messages"] == 0
    assert clients["two"].get("/v1/destinations/d/deliveries").json()["deliveries"] == []
    assert (server.folder / "tenants" / "one" / "windows" / "1" / "store.db").exists()


def test_a_store_of_the_release_before_is_served(tmp_path: Path) -> None:
    """Its table of events has no kinds."""
    import sqlite3

    with served(tmp_path) as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d")
        server.publish({"n": 1})
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("ALTER TABLE service_events DROP COLUMN kind")
        connection.execute("DROP TABLE service_windows")
        connection.execute("UPDATE meta SET value = 1 WHERE name = 'service'")
    with served(tmp_path) as server:
        server.publish({"n": 2})
        assert [one["event"] for one in server.pulled()] == [{"n": 1}, {"n": 2}]
        assert server.client.post("/v1/dry-run", json={"where": "n > 0"}).json()["matches"] == 2
