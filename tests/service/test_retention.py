"""Retention deletes the oldest events, tells of every gap, and a full disk loses nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.service.served import Served, events_of, served
from tests.waiting import awaited
from tocsin.service import retention
from tocsin.service.limits import Limits

PATH = "/v1/destinations/d"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 0.05)


def ready(server: Served) -> None:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")


def test_old_events_are_deleted_and_numbers_go_on(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        ready(server)
        server.lines([{"n": number} for number in range(2500)])
        last = server.pulled(after=99, limit=1)[0]
        server.client.post(f"{PATH}/ack", json={"sequence": 1000})
        server.service.limits = server.service.limits._replace(retain_s=0.5)
        awaited(lambda: server.client.get(PATH).json()["earliest"] == 2501)

        gone = server.client.get(f"{PATH}/deliveries", params={"after": 5})
        assert (gone.status_code, gone.json()["earliest"]) == (410, 2501)
        assert server.client.get(f"{PATH}/deliveries").status_code == 410  # the cursor is behind what is kept
        metrics = server.client.get("/metrics").text
        assert 'tocsin_deliveries_expired_total{acknowledged="yes"} 1000.0' in metrics
        assert 'tocsin_deliveries_expired_total{acknowledged="no"} 1500.0' in metrics
        assert "tocsin_retained_events 0.0" in metrics
        epoch = server.client.get(PATH).json()["epoch"]
        with server.client.stream(
            "GET", f"{PATH}/stream", headers={"Last-Event-ID": f"{epoch}-{last['sequence']}"}
        ) as one:
            events = events_of(one)
            next(events)
            gap = next(events)
        assert (gap.kind, gap.data) == ("gap", {"destination": "d", "from": 101, "to": 2500, "reason": "expired"})
        assert gap.id == f"{epoch}-2500"
    with served(tmp_path) as server:  # there is no event that would tell the numbers
        assert server.publish({"n": 1}).json()["sequence"] == 2501
        assert [one["sequence"] for one in server.pulled(after=2500)] == [2501]


def test_a_size_is_kept(tmp_path: Path) -> None:
    with served(tmp_path, Limits(retain_bytes=20_000)) as server:
        ready(server)
        for _ in range(5):
            server.lines([{"n": number, "text": "x" * 900} for number in range(10)])
        awaited(lambda: server.client.get(PATH).json()["earliest"] > 25)

        kept = server.client.get(PATH).json()
        assert 10 <= kept["newest"] - kept["earliest"] + 1 <= 22
        assert len(server.pulled(after=kept["earliest"] - 1)) == kept["newest"] - kept["earliest"] + 1


def test_keys_are_forgotten(tmp_path: Path) -> None:
    with served(tmp_path, Limits(answers_s=0.3)) as server:
        ready(server)
        first = server.publish({"n": 1}, **{"Idempotency-Key": "k"}).json()
        time.sleep(1)
        assert server.publish({"n": 1}, **{"Idempotency-Key": "k"}).json() != first


def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        ready(server)
        assert server.publish({"n": 1}).status_code == 202

        def limit(pages: int) -> None:
            server.service.transactions.read(
                lambda database: database.connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()
            )

        limit(1)  # SQLite takes the present size instead: no further page
        text, statuses = "x" * 100_000, []
        for path in ("/v1/events", "/v1/subscriptions/big"):
            record = {"n": 2, "text": text} if path == "/v1/events" else {"where": f"a = '{text}'"}
            method = "POST" if path == "/v1/events" else "PUT"
            answer = server.client.request(method, path, json=record)
            statuses.append(answer.status_code)
        assert statuses == [507, 507] and answer.json()["type"].endswith(":full")
        assert server.client.post("/v1/match", json={"n": 1}).status_code == 200  # reading goes on
        assert [one["event"]["n"] for one in server.pulled()] == [1]

        limit(1_000_000)
        awaited(lambda: server.client.get("/readyz").status_code == 200)
        assert server.publish({"n": 3, "text": text}).json()["sequence"] == 2
        assert [(one["sequence"], one["event"]["n"]) for one in server.pulled()] == [(1, 1), (2, 3)]


def test_readiness_follows_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 30)  # nobody looks whether there is room again
    with served(tmp_path) as server:
        ready(server)
        server.service.transactions.read(lambda one: one.connection.execute("PRAGMA max_page_count = 1").fetchone())
        assert server.publish({"n": 1, "text": "x" * 100_000}).status_code == 507

        refused = server.client.get("/readyz")
        assert (refused.status_code, refused.json()["detail"]) == (503, "the disk is full")
        assert server.client.get("/healthz").status_code == 200
