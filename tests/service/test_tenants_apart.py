"""One tenant's trouble is its own: the server starts, is ready and serves the others, and says whom it left out."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.service.served import Served, served
from tocsin.errors import StoreError
from tocsin.service import retention, tenants
from tocsin.service.problems import is_full
from tocsin.service.service import Service
from tocsin.service.windows import registry
from tocsin.store import Database


def operator_sees(server: Served) -> dict[str, float]:
    """Which tenants are ready, by the metrics."""
    text = server.client_of(server.token("operate")).get("/metrics").text
    lines = [line.split(" ") for line in text.splitlines() if line.startswith("tocsin_ready{")]
    return {name.partition('"')[2].partition('"')[0]: float(value) for name, value in lines}


class FailsAsOnAFullDisk:
    """A change that SQLite refuses as it does on a full disk, alone."""

    is_alone = True

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    def apply(self) -> None:
        raise AssertionError


def fill_disk(service: Service) -> None:
    with pytest.raises(StoreError):
        service.transactions.submit(FailsAsOnAFullDisk()).result()


def test_a_tenant_with_a_full_disk_makes_no_other_unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 30)  # nobody looks whether there is room again
    with served(tmp_path) as server:
        own, acme = (server.client_of(server.token(tenant=name)) for name in ("", "acme"))
        assert acme.put("/v1/subscriptions/s", json={"where": "n = 1"}).status_code == 201
        service = server.server.tenants.get("acme")
        assert service is not None
        fill_disk(service)
        ready = own.get("/readyz")

        assert ready.status_code == 200 and ready.json()["warning"].startswith("1 tenants take no changes")
        assert "acme" not in ready.text  # which is for everybody
        assert operator_sees(server) == {"": 1.0, "acme": 0.0}
        assert own.put("/v1/subscriptions/s", json={"where": "n = 1"}).status_code == 201
        fill_disk(server.service)
        assert own.get("/readyz").status_code == 503


@pytest.mark.parametrize("error", [MemoryError(), ValueError("a bug"), RecursionError("deep")])
def test_a_tenant_that_cannot_be_opened_is_left_out_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    with served(tmp_path) as server:
        text = server.token(tenant="acme")
        assert server.client_of(text).put("/v1/subscriptions/s", json={"where": "n = 1"}).status_code == 201
        server.token()

    def fails(engine: Any, *rest: Any, **more: Any) -> Service:
        if engine.folder.name == "acme":
            raise error
        return Service(engine, *rest, **more)

    monkeypatch.setattr(tenants, "Service", fails)
    with served(tmp_path) as server:
        acme = server.client_of(text)
        answer = acme.get("/v1/subscriptions/s")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
        assert "the tenant acme is left out" in caplog.text
        assert operator_sees(server) == {"": 1.0, "acme": 0.0}
        assert server.client.get("/readyz").status_code == 200
        monkeypatch.setattr(tenants, "Service", Service)
        assert acme.get("/v1/subscriptions/s").status_code == 200
        assert operator_sees(server) == {"": 1.0, "acme": 1.0}


def test_a_window_that_does_not_fit_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with served(tmp_path) as server:
        for name in ("large", "small"):
            made = server.client.put(f"/v1/windows/{name}", json={"size": 10, "bounds": [0, 0, 9, 9]})
            assert made.status_code == 201

    class Fails(registry.Hosted):
        def __init__(self, number: int, name: str, *rest: Any) -> None:
            if name == "large":
                raise MemoryError
            super().__init__(number, name, *rest)

    monkeypatch.setattr(registry, "Hosted", Fails)
    with served(tmp_path) as server:
        assert "the window large is left out: MemoryError" in caplog.text
        assert server.client.get("/v1/windows/large").status_code == 503
        assert server.client.get("/v1/windows/small").status_code == 200
        assert server.client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("code", "full"),
    [
        (sqlite3.SQLITE_FULL, True), (sqlite3.SQLITE_IOERR_WRITE, True), (sqlite3.SQLITE_IOERR_SHMSIZE, True),
        (sqlite3.SQLITE_IOERR_READ, False), (sqlite3.SQLITE_IOERR_CORRUPTFS, False), (sqlite3.SQLITE_BUSY, False),
    ],
)  # fmt: skip
def test_only_a_disk_that_takes_no_more_is_full(code: int, full: bool) -> None:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = code

    assert is_full(error) == full
