"""A full disk: the server starts, answers reads and matches, lets retention free space, and recovers by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.service.served import served
from tests.waiting import HANG_S, awaited
from tocsin.service import reserve, retention, serving
from tocsin.service.reserve import Reserve

MB = 1 << 20
PAD = "x" * 100_000
LARGE = {"where": "n = 1", "payload": "x" * 20_000}
BOUNDS = [0, 0, 9, 9]
PULL = "/v1/destinations/d/deliveries"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)]
    if sys.platform != "linux" or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def running(folder: Path, *options: str) -> Iterator[httpx.Client]:
    """A client of a server, which is killed at the end."""
    command = [sys.executable, "-m", "tocsin", "serve", str(folder), "--port", "0", *options]
    log = folder.parent.parent / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command, stderr=file)
    try:
        awaited(lambda: "serving" in log.read_text() or process.poll() is not None)
        address = re.search(r"http://\S+", log.read_text())
        assert address is not None, log.read_text()
        with httpx.Client(base_url=address[0], timeout=HANG_S, trust_env=False) as client:
            yield client
    finally:
        process.kill()
        process.wait()


def fill(client: httpx.Client) -> list[int]:
    """Publish until the disk is full; returns what was acknowledged."""
    assert client.put("/v1/destinations/d", json={"kind": "stream"}).is_success
    assert client.put("/v1/subscriptions/s", json={"where": "n >= 0", "destination": "d"}).is_success
    window = client.put("/v1/windows/w", json={"size": 100, "bounds": BOUNDS})
    assert window.is_success
    acknowledged = []
    for n in range(10_000):
        answer = client.post("/v1/events", json={"n": n, "p": PAD})
        if answer.status_code != 202:
            assert answer.status_code == 507, answer.text
            return acknowledged
        acknowledged.append(n)
    raise AssertionError("the disk is not full")


def pulled(client: httpx.Client) -> list[int]:
    """The events of all deliveries that are kept."""
    numbers: list[int] = []
    answer = client.get(PULL, params={"after": 0})
    after = answer.json()["earliest"] - 1 if answer.status_code == 410 else 0
    while page := client.get(PULL, params={"after": after, "limit": 100}).json()["deliveries"]:
        numbers += [delivery["event"]["n"] for delivery in page]
        after = page[-1]["sequence"]
    return numbers


@pytest.mark.slow("starts servers in processes of their own")
def test_a_server_starts_on_a_full_disk_and_recovers_when_there_is_room(small_disk: Path) -> None:
    with running(small_disk / "alerts") as client:
        acknowledged = fill(client)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):  # nothing is left
        while True:
            file.write(bytes(1 << 16))
    with running(small_disk / "alerts") as client:
        assert pulled(client) == acknowledged
        assert client.post("/v1/match", json={"n": 1}).json()["matches"]
        assert client.get("/v1/windows/w").status_code == 200
        refused = client.put("/v1/subscriptions/t", json=LARGE)
        assert refused.status_code == 507
        awaited(lambda: client.get("/readyz").status_code == 503)
        assert client.get("/readyz").json()["detail"] == "the disk is full"
        assert client.get("/healthz").status_code == 200
        filler.unlink()
        subprocess.run(["mount", "-o", "remount,size=120m", str(small_disk)], check=True)

        awaited(lambda: client.get("/readyz").status_code == 200)
        event = {"n": 10_001, "p": PAD}
        awaited(lambda: client.post("/v1/events", json=event).status_code == 202)  # as a client that sends it again
        message = {"words": ["a"], "location": [1, 1]}
        assert client.post("/v1/windows/w/messages", json=message).status_code == 202
        assert pulled(client) == [*acknowledged, 10_001]


@pytest.mark.slow("starts servers in processes of their own")
def test_retention_frees_space_on_a_full_disk(small_disk: Path) -> None:
    """Nobody else makes room: what is deleted gives it."""
    with running(small_disk / "alerts") as client:
        acknowledged = fill(client)
        awaited(lambda: client.get("/readyz").status_code == 503)
        awaited(lambda: not (small_disk / "alerts" / reserve.NAME).exists())  # retention has it to work with
        awaited(lambda: client.put("/v1/subscriptions/t", json=LARGE).status_code == 507)
    with running(small_disk / "alerts", "--retain-gb", "0.005") as client:
        awaited(lambda: client.get("/readyz").status_code == 200)
        event = {"n": 10_001, "p": PAD}
        awaited(lambda: client.post("/v1/events", json=event).status_code == 202)  # as a client that sends it again
        awaited(lambda: len(pulled(client)) < len(acknowledged) / 2)
        left = pulled(client)
        assert left[-1] == 10_001 and left[:-1] == acknowledged[-len(left) + 1 :]


def test_a_start_writes_nothing_into_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there need be no room for it."""

    async def nothing(tenants: object) -> None:
        """The time is not remembered."""

    monkeypatch.setattr(serving, "_remember_clock", nothing)
    monkeypatch.setattr(retention, "_PERIOD_S", HANG_S)
    for is_new in (True, False):
        with served(tmp_path) as server:
            written = [server.service.transactions.read(lambda database: database.changes)]
            if is_new:
                server.destination()
                assert server.subscribe("s", "n = 1", destination="d", throttle_s=9).status_code == 201
                assert server.publish({"n": 1}).status_code == 202
                assert server.client.put("/v1/windows/w", json={"size": 9, "bounds": BOUNDS}).status_code == 201
            else:
                written.append(server.service.windows.of("w").window._database.changes)
    assert written == [0, 0]


def test_a_reserve_is_spent_and_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 100 * MB
    monkeypatch.setattr(reserve.shutil, "disk_usage", lambda folder: (1000 * MB, 0, free))
    own, file = Reserve(tmp_path), tmp_path / reserve.NAME
    own.look()
    assert file.stat().st_size == 8 * MB and file.stat().st_mode & 0o077 == 0 and not own.is_spent
    own.look()  # a store whose limit is not that of the disk may be full
    assert file.exists() and not own.is_spent
    free = 0
    own.look()
    assert not file.exists() and own.is_spent
    free = 15 * MB
    own.look()
    assert not file.exists() and own.is_spent
    later = Reserve(tmp_path)  # of a server that starts now
    later.look()
    assert later.is_spent
    free = 16 * MB
    later.look()
    assert file.exists() and not later.is_spent


def test_a_server_without_a_reserve_takes_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where nobody may write the folder, or the system tells no sizes: nothing is called full."""
    for usage in (PermissionError, FileNotFoundError):

        def refuse(folder: Path, usage: type[OSError] = usage) -> None:
            raise usage

        monkeypatch.setattr(reserve.shutil, "disk_usage", refuse)
        there = Reserve(tmp_path)
        there.look()
        there.look()
        assert not there.is_spent and list(tmp_path.iterdir()) == []
