"""What `/readyz` says is true: of the thread that writes changes, of the last change, and of the stores on the disk."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.service.served import Served, served
from tests.waiting import HANG_S, awaited
from tocsin.service import readiness, retention
from tocsin.store import Database, examining

BOUNDS = [0, 0, 9, 9]
OVERWRITE = "import sys; f = open(sys.argv[1], 'r+b'); f.seek(int(sys.argv[2])); f.write(bytes.fromhex(sys.argv[3]))"


def why(server: Served) -> str:
    """Why a server is not ready; empty if it is."""
    answer = server.client.get("/readyz")
    assert answer.status_code in (200, 503), answer.text
    return str(answer.json().get("detail", ""))


def result(server: Served) -> Any:
    """The outcome of the last check of the store."""
    return server.client.get("/readyz").json().get("check", {}).get("result")


class Blocked:
    """A change whose writing lasts until it is released, or fails with an error."""

    is_alone = True

    def __init__(self, error: sqlite3.Error | None = None) -> None:
        self.released = threading.Event()
        self._error = error

    def write(self, database: Database, sequence: int, touched: set[Any]) -> int:
        assert self.released.wait(HANG_S)
        if self._error is not None:
            raise self._error
        return sequence

    def apply(self) -> None:
        """Memory has nothing of it."""


def overwrite(place: Path, offset: int, content: bytes) -> bytes:
    """Overwrite a part of a file, in another process: here, closing it would release SQLite's locks."""
    with place.open("rb") as file:
        file.seek(offset)
        before = file.read(len(content))
    command = [sys.executable, "-c", OVERWRITE, str(place), str(offset), content.hex()]
    subprocess.run(command, check=True, timeout=HANG_S)
    return before


def root_of(folder: Path, table: str) -> int:
    """Where the first page of a table lies in the database of a store that is closed."""
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        statement = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        number = connection.execute(statement, (table,)).fetchone()[0]
        return int(number - 1) * int(connection.execute("PRAGMA page_size").fetchone()[0])


def damage(folder: Path, table: str) -> tuple[int, bytes]:
    """Overwrite the first page of a table; returns where it lies, and what it was."""
    offset = root_of(folder, table)
    return offset, overwrite(folder / "store.db", offset, b"\xa5" * 64)


@contextmanager
def checked(folder: Path, *, first_s: float = 0.01, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that checks its stores all the time, from a moment after its start on."""
    monkeypatch.setattr(readiness, "_FIRST_S", first_s)
    monkeypatch.setattr(readiness, "_LEAST_BETWEEN_S", 0.05)
    monkeypatch.setattr(readiness, "_LOG_S", 0.05)
    with served(folder) as server:
        yield server


def test_a_thread_that_is_stuck_makes_the_server_unready(tmp_path: Path) -> None:
    """While changes wait for it: one that has nothing to do is not stuck."""
    with served(tmp_path) as server:
        server.service.readiness.stuck_s = 0.2
        assert why(server) == ""
        change = Blocked()
        done = server.service.transactions.submit(change)
        awaited(lambda: "has been at the same one for" in why(server))
        metrics = server.client.get("/metrics").text
        change.released.set()
        done.result()
        awaited(lambda: why(server) == "")

        waited = [line.split()[1] for line in metrics.splitlines() if line.startswith("tocsin_commit_waiting_seconds")]
        assert float(waited[0]) > 0.2 and "tocsin_ready 0.0" in metrics


def test_a_change_that_the_store_refused_makes_the_server_unready(tmp_path: Path) -> None:
    """Until it takes one: reading, or a change that writes nothing, does not show that it does."""
    with served(tmp_path) as server:
        server.service.readiness.stuck_s = HANG_S
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_LOCK
        change, next_one = Blocked(error), Blocked()
        done = server.service.transactions.submit(change)
        server.service.transactions.submit(next_one)
        read = server.service.transactions.submit(retention.Probe())
        change.released.set()
        assert done.exception(HANG_S) is not None
        assert "the last one failed" in why(server)
        next_one.released.set()
        read.result(HANG_S)
        assert why(server) == ""


def test_reading_does_not_make_a_full_store_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_PERIOD_S", 30)
    with served(tmp_path) as server:
        read = server.service.transactions.read
        read(lambda one: one.connection.execute("PRAGMA max_page_count = 1").fetchone())
        assert server.subscribe("s", "n = 1", payload="x" * 60_000).status_code == 507
        assert read(lambda one: one.count()) == 0
        assert server.client.get("/v1/subscriptions").status_code == 200
        assert why(server) == "the disk is full"


def test_a_sound_store_is_checked_and_says_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with checked(tmp_path, monkeypatch=monkeypatch) as server:
        server.client.put("/v1/windows/w", json={"size": 9, "bounds": BOUNDS})
        awaited(lambda: 'tocsin_store_sound{window="w"} 1.0' in server.client.get("/metrics").text)
        check = server.client.get("/readyz").json()["check"]

        assert check["result"] == "sound" and check["time"].startswith("20") and check["seconds"] >= 0
        assert 'tocsin_store_sound{window=""} 1.0' in server.client.get("/metrics").text


@pytest.mark.parametrize("whole", [True, False])
def test_damage_on_the_disk_is_found_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, whole: bool
) -> None:
    """No request reads the table that is damaged. Large stores are checked table by table."""
    monkeypatch.setattr(examining, "_WHOLE", 1 << 30 if whole else 0)
    with served(tmp_path):
        """The tables are made."""
    offset, before = damage(tmp_path, "service_more")
    with checked(tmp_path, monkeypatch=monkeypatch) as server:
        awaited(lambda: why(server))
        told = server.client.get("/readyz").json()
        assert "found the store damaged at 20" in told["detail"]
        assert told["check"]["result"] == "damaged" and told["check"]["reason"]
        assert 'tocsin_store_sound{window=""} 0.0' in server.client.get("/metrics").text
        awaited(lambda: "takes no changes: SQLite's check" in caplog.text)
        assert "is damaged; run `tocsin doctor`. SQLite finds: " in caplog.text
        overwrite(tmp_path / "store.db", offset, before)
        awaited(lambda: why(server) == "")
        assert result(server) == "sound" and "is sound again" in caplog.text


def test_a_read_that_meets_damage_makes_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    webhook = {"kind": "webhook", "url": "https://example.com/", "paused_until": "2999-01-01T00:00:00Z"}
    with served(tmp_path) as server:
        assert server.client.put("/v1/destinations/w", json=webhook).status_code == 201
    damage(tmp_path, "service_attempts")
    with checked(tmp_path, first_s=HANG_S, monkeypatch=monkeypatch) as server:
        assert why(server) == ""
        assert server.client.get("/v1/destinations/w/attempts").status_code == 503
        awaited(lambda: "found the store damaged" in why(server))


def test_a_damaged_window_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other windows, and the rest of the tenant, take changes."""
    with served(tmp_path) as server:
        for name in ("sound", "torn"):
            assert server.client.put(f"/v1/windows/{name}", json={"size": 9, "bounds": BOUNDS}).status_code == 201
    damage(tmp_path / "windows" / "2", "tombstones")
    with checked(tmp_path, monkeypatch=monkeypatch) as server:
        awaited(lambda: "warning" in server.client.get("/readyz").json())
        told = server.client.get("/readyz")
        metrics = server.client.get("/metrics").text

        assert told.status_code == 200 and "1 windows take no messages" in told.json()["warning"]
        assert "torn" not in told.text  # which is for everybody
        assert 'tocsin_window_ready{window="sound"} 1.0' in metrics
        assert 'tocsin_window_ready{window="torn"} 0.0' in metrics


def test_a_check_that_is_stopped_is_not_a_finding(tmp_path: Path) -> None:
    with served(tmp_path):
        checking = examining.Checking(tmp_path)
        checking.stop()
        check = checking.run()

        assert (check.result, check.damage) == ("unfinished", None)
        assert examining.Checking(tmp_path).run().result == "sound"
        assert examining.Checking(tmp_path / "none").run().result == "unfinished"
