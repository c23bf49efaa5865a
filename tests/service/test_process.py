"""The process of `tocsin serve`: how it begins, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import tocsin
from tests import fork_server
from tests.service.served import events_of
from tests.waiting import HANG_S
from tocsin.service.access.token_file import TokenFile


def started(folder: Path, *options: str, few_files: int | None = None) -> tuple[subprocess.Popen[str], str]:
    """A process, and its address. With `few_files` it may open so many, which it says."""
    command = [sys.executable, "-m", "tocsin", "serve", str(folder), "--port", "0", *options]
    if few_files is not None:
        command = ["sh", "-c", f'ulimit -n {few_files} && exec "$@"', "sh", *command]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    if few_files is not None:
        assert "may not open enough files" in process.stderr.readline()
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    assert found, line
    return process, found[0]


def test_a_folder_that_another_process_writes_is_refused_in_words_of_the_command(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path):
        for command in (["serve", str(tmp_path), "--port", "0"], ["update", str(tmp_path), "/dev/null"]):
            done = subprocess.run(
                [*fork_server.python(), "-m", "tocsin", *command], capture_output=True, text=True, check=False
            )
            assert done.returncode == 2 and "is open for writing in process" in done.stderr
            assert "close it there" in done.stderr and "read_only" not in done.stderr
        with pytest.raises(tocsin.StoreError, match="open it with read_only=True, or close it there"):
            tocsin.Engine.open(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    process, address = started(tmp_path, "--sync", "relaxed")
    with httpx.Client(base_url=address, timeout=HANG_S, trust_env=False) as client:
        client.put("/v1/destinations/d", json={"kind": "stream"})
        client.put("/v1/subscriptions/s", json={"where": "n >= 0", "destination": "d"})
        client.post("/v1/events", json={"n": 1})
        with client.stream("GET", "/v1/destinations/d/stream?from=earliest") as response:
            events = events_of(response)
            assert [next(events).kind, next(events).kind] == ["open", "message"]
            process.send_signal(number)
            assert list(events) == []  # the stream ends as it should
    _, errors = process.communicate(timeout=HANG_S)

    assert (process.returncode, errors) == (0, "")
    assert not (tmp_path / "store.db-wal").exists()
    with tocsin.Engine.open(tmp_path) as engine:
        assert list(engine) == ["s"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--host", "0.0.0.0"), "loopback only"),
        (("--host", "example.org"), "loopback only"),
        (("--port", "99999"), "0 to 65535"),
        (("--public-host", "alerts.example.org"), "not behind a proxy"),
        (("--trusted-proxies", "127.0.0.1"), "not behind a proxy"),
        (("--connections", "0"), "at least 1"),
    ],
)
def test_what_it_refuses(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    command = [*fork_server.python(), "-m", "tocsin", "serve", str(tmp_path / "alerts"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)

    assert done.returncode == 2 and message in done.stderr
    assert not (tmp_path / "alerts").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit of files")
def test_a_flood_of_connections_leaves_files_for_the_server(tmp_path: Path) -> None:
    """With few files, tokens and stores are read as before, and so are tokens that are made meanwhile."""
    scopes = ["read", "subscribe"]
    texts = [TokenFile(tmp_path).create("", scopes)[1]]
    process, address = started(tmp_path, few_files=200)
    assert process.stderr is not None
    url = urlsplit(address)
    with httpx.Client(base_url=address, timeout=HANG_S, trust_env=False) as client, ExitStack() as stack:

        def answered(text: str) -> int:
            return client.get("/v1/subscriptions", headers={"Authorization": f"Bearer {text}"}).status_code

        assert answered(texts[0]) == 200
        for _ in range(250):
            one = stack.enter_context(socket.create_connection((url.hostname, url.port), HANG_S))
            with suppress(OSError):  # it was refused
                one.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx")
        texts.append(TokenFile(tmp_path).create("", scopes)[1])
        assert [answered(text) for text in texts] == [200, 200]
        assert len(list(Path(f"/proc/{process.pid}/fd").glob("*"))) < 150 or sys.platform != "linux"
        stack.close()
        ready = client.get("/readyz").json()
        assert ready.keys() - {"check"} == {"status"} and ready["status"] == "ready"
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=HANG_S)

    assert process.returncode == 0 and errors.count("connections are refused") == errors.count("\n") == 1


def test_a_second_process_names_the_first(tmp_path: Path) -> None:
    process, _ = started(tmp_path)
    try:
        command = [*fork_server.python(), "-m", "tocsin", "serve", str(tmp_path), "--port", "0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 2 and f"process {process.pid}" in done.stderr
    finally:
        process.kill()
        process.communicate()
