"""What a server shows to others on its machine and to its clients: no file, no path, and no escape sequence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import tocsin
from tests.service.receivers import Reply, dead_letters, hook, publish, receiver
from tests.service.served import Served
from tests.service.test_process import started
from tests.waiting import HANG_S, awaited
from tocsin.errors import StoreError
from tocsin.service.access.token_file import TokenFile
from tocsin.service.problems import of_error

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\x9b31m \u202e\u2028"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="rights of files are of POSIX")
BOUNDS = [0, 0, 9, 9]


def loose(folder: Path) -> dict[str, str]:
    """What others may read in a folder, with its mode."""
    paths = [folder, *folder.rglob("*")]
    return {str(one): oct(one.stat().st_mode) for one in paths if one.stat().st_mode & 0o077}


@pytest.fixture
def generous() -> Iterator[None]:
    """The umask that takes no right away."""
    before = os.umask(0)
    yield
    os.umask(before)


@POSIX
def test_a_store_is_its_owners_alone(tmp_path: Path, generous: None) -> None:
    with tocsin.Engine.open(tmp_path / "alerts") as engine:
        engine.subscribe("s", "n = 1")
        engine.backup(tmp_path / "copy")
    with tocsin.Window.open(tmp_path / "window", size=9, bounds=BOUNDS) as window:
        window.push(words=["a"], location=(1, 1))
        for folder in ("alerts", "copy", "window"):
            modes = [
                (tmp_path / folder).stat().st_mode & 0o777,
                (tmp_path / folder / "store.db").stat().st_mode & 0o777,
            ]
            assert modes == [0o700, 0o600], folder
        assert (tmp_path / "window" / "store.db-wal").stat().st_mode & 0o077 == 0


@POSIX
def test_a_server_writes_nothing_that_others_may_read(tmp_path: Path, generous: None) -> None:
    folder = tmp_path / "alerts"
    process, address = started(folder)
    with httpx.Client(base_url=address, timeout=HANG_S, trust_env=False) as client:
        client.put("/v1/destinations/d", json={"kind": "stream"})
        lines = "\n".join(f'{{"id": "s{n}", "where": "n = {n}", "destination": "d"}}' for n in range(3000))
        bulk = client.post("/v1/subscriptions", content=lines, headers={"Content-Type": "application/x-ndjson"})
        assert bulk.json()["accepted"] == 3000
        assert client.put("/v1/windows/w", json={"size": 9, "bounds": BOUNDS}).status_code == 201
        assert client.post("/v1/windows/w/messages", json={"words": ["a"], "location": [1, 1]}).status_code == 202
        assert client.post("/v1/events", json={"n": 1}).json()["deliveries"] == 1
        token = TokenFile(folder).create("acme", ["subscribe"])[1]
        other = {"Authorization": f"Bearer {token}"}
        assert client.put("/v1/subscriptions/s", json={"where": "n = 1"}, headers=other).status_code == 201
        assert loose(folder) == {}
    process.terminate()
    _, errors = process.communicate(timeout=HANG_S)

    assert errors == "" and loose(folder) == {}
    assert {"store.db", "windows", "tenants", "access"} <= {one.name for one in folder.iterdir()}


@POSIX
def test_a_folder_that_all_may_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "alerts"
    folder.mkdir()
    folder.chmod(0o755)
    command = [sys.executable, "-m", "tocsin", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    process.terminate()
    process.communicate(timeout=HANG_S)

    assert f"chmod -R go= {folder}" in line


def test_no_path_of_the_server_is_in_an_answer(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(change: Any) -> None:
        raise StoreError(f"the store in {server.folder} cannot be used: disk I/O error")

    monkeypatch.setattr(server.service, "commit", broken)
    answer = server.client.put("/v1/destinations/d", json={"kind": "stream"})

    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    assert str(server.folder) not in answer.text and "log has the reason" in answer.json()["detail"]
    assert str(server.folder) in caplog.text


def test_no_escape_sequence_is_in_an_answer_or_a_reason(server: Served) -> None:
    assert "\x1b" not in of_error(tocsin.InvalidInput(HOSTILE)).document()["detail"]
    with receiver(lambda posted: Reply(400, body=HOSTILE.encode())) as one:
        hook(server, one.url, max_attempts=1)
        publish(server, 1)
        awaited(lambda: dead_letters(server))
        attempt = server.client.get("/v1/destinations/w/attempts").json()["attempts"][0]
        shown = server.client.get("/v1/destinations/w").json()

    for reason in (dead_letters(server)[0]["reason"], attempt["reason"], shown["reason"]):
        assert reason.isprintable() and r"\x1b[2J" in reason


def test_commands_print_no_escape_sequence(tmp_path: Path) -> None:
    TokenFile(tmp_path).create("", ["read"], name="\u202ename")
    for arguments in (["list", str(tmp_path)], ["list", str(tmp_path), "--json"], ["revoke", str(tmp_path), HOSTILE]):
        command = [sys.executable, "-m", "tocsin", "token", *arguments]
        done = subprocess.run(command, capture_output=True, check=False, timeout=HANG_S)
        text = (done.stdout + done.stderr).decode()
        assert not set("\x1b\x07\x9b\u202e\u2028") & set(text), text
        assert "\\u202e" in text or "\\x1b" in text


def test_time_in_a_window_passes_at_most_a_year_at_once(server: Served) -> None:
    """One mistyped time would make all later messages late, for ever."""
    server.client.put("/v1/windows/w", json={"time": 60, "bounds": BOUNDS})

    def advance(moment: Any) -> httpx.Response:
        return server.client.post("/v1/windows/w/advance", json={"time": moment})

    def push(*moments: Any) -> httpx.Response:
        messages = [{"words": ["a"], "location": [1, 1], "time": moment} for moment in moments]
        if len(messages) == 1:
            return server.client.post("/v1/windows/w/messages", json=messages[0])
        return server.lines(messages, "/v1/windows/w/messages")

    assert push(5).status_code == 202
    year = 366 * 86_400
    far = ("9999-01-01T00:00:00Z", time.time() + year + 60, 1e300, 10**400)
    for moment in far:
        for answer in (advance(moment), push(moment)):
            assert 400 <= answer.status_code < 500, answer.text
    assert advance("2024-01-01T00:00:00." + "0" * 100 + "Z").status_code == 422
    report = push(6, time.time() + 2 * year, 7).json()
    assert (report["accepted"], [error["row"] for error in report["errors"]]) == (2, [1])
    assert advance(66).status_code == 202
    assert push(time.time(), time.time() + year - 60).json()["accepted"] == 2
    assert advance("2999-01-01T00:00:00Z").status_code == 422


def test_seconds_of_a_window_count_from_any_moment(server: Served) -> None:
    server.client.put("/v1/windows/w", json={"time": 60, "bounds": BOUNDS})
    for moment in (6.4e10, 6.4e10 + 86_400):
        message = {"words": ["a"], "location": [1, 1], "time": moment}
        assert server.client.post("/v1/windows/w/messages", json=message).status_code == 202
