"""Throttles and expiry: what is told once is not told again too soon, and what has expired is gone."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.errors import StoreError
from tocsin.service.outbox import Publish


def at(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def told(server: Served) -> list[int]:
    return [one["event"]["n"] for one in server.pulled()]


def test_a_throttle_outlives_the_server(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d", throttle_s=3600)
        assert [server.publish({"n": n}).json()["deliveries"] for n in range(2)] == [1, 0]
    with served(tmp_path) as server:
        assert server.publish({"n": 2}).json() == {"sequence": 3, "matches": 1, "deliveries": 0, "suppressed": 1}
        assert told(server) == [0]


def rows(server: Served) -> list[str]:
    with sqlite3.connect(server.folder / "store.db") as connection:
        return [id for (id,) in connection.execute("SELECT id FROM service_told ORDER BY id")]


@pytest.mark.parametrize("how", ["deleted", "bulk", "put"])
def test_a_throttle_is_forgotten_with_its_subscription(server: Served, how: str) -> None:
    server.destination()
    throttled = {"destination": "d", "throttle_s": 3600}
    for name in ("s", "t"):
        server.subscribe(name, "n >= 0", **throttled)
    server.publish({"n": 0})
    assert rows(server) == ["s", "t"]
    if how == "deleted":
        server.client.delete("/v1/subscriptions/s")
    elif how == "put":
        server.subscribe("s", "n >= 0", destination="d")
    else:
        server.lines([{"id": "s", "where": "n >= 0", "destination": "d"}], "/v1/subscriptions")
    assert rows(server) == ["t"] and list(server.service.directory.told) == ["t"]
    server.subscribe("s", "n >= 0", **throttled)
    server.publish({"n": 1})

    assert [len(one["subscriptions"]) for one in server.pulled()] == [2, 1]


def test_a_throttle_does_not_remember_what_was_not_published(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Publish.write

    def fails(self: Publish, *arguments: object) -> int:
        write(self, *arguments)  # type: ignore[arg-type]
        raise StoreError("the disk is full")

    server.destination()
    server.subscribe("s", "n >= 0", destination="d", throttle_s=3600)
    with monkeypatch.context() as patched:
        patched.setattr(Publish, "write", fails)
        assert server.publish({"n": 0}).status_code == 503
    assert server.publish({"n": 1}).json()["deliveries"] == 1


def test_expired_subscriptions_are_deleted(server: Served) -> None:
    server.destination()
    for name, more in (("a%2Fb", {"expires_at": at(3600)}), ("later", {"expires_at": at(3600)}), ("never", {})):
        server.subscribe(name, "n >= 0", destination="d", **more)
    server.publish({"n": 0})
    server.subscribe("a%2Fb", "n >= 0", destination="d", expires_at=at(-1))
    awaited(lambda: len(server.client.get("/v1/subscriptions").json()["subscriptions"]) == 2)
    last = server.publish({"n": 1}).json()
    record = server.client.get("/v1/audit").json()["records"][-1]

    assert (last["matches"], "suppressed" in last) == (2, False)
    assert [len(one["subscriptions"]) for one in server.pulled()] == [3, 2]
    assert (record["name"], record["method"], record["path"]) == ("expiry", "DELETE", "/v1/subscriptions/a%2Fb")
    assert record["first"] == record["last"] == 5
    assert "tocsin_subscriptions_expired_total 1.0" in server.client.get("/metrics").text
    assert server.client.get("/v1/destinations/d").json()["subscriptions"] == 2


def test_many_expire_while_the_server_is_down(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        soon = at(1.5)
        records = [{"id": f"s{number}", "where": "n >= 0", "expires_at": soon} for number in range(2500)]
        assert (
            server.lines([*records, {"id": "kept", "where": "n >= 0"}], "/v1/subscriptions").json()["accepted"] == 2501
        )
    with served(tmp_path) as server:
        awaited(lambda: server.publish({"n": 0}).json()["matches"] == 1)
        assert [one["id"] for one in server.client.get("/v1/subscriptions").json()["subscriptions"]] == ["kept"]


def test_an_expired_subscription_of_a_fence_leaves_it(server: Served) -> None:
    server.destination()
    server.client.put("/v1/fences/f", json={"key": "v"})
    server.subscribe("s", "n >= 0", destination="d", fence="f", expires_at=at(0.2))
    awaited(lambda: server.client.get("/v1/fences/f").json()["subscriptions"] == 0)
    assert server.client.delete("/v1/fences/f").status_code == 204
