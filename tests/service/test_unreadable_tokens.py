"""Tokens whose file cannot be read: the last good ones stay valid for a time, and nothing is remembered."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.service.served import Served, events_of
from tocsin import newest
from tocsin.errors import StoreError
from tocsin.service.access import authentication
from tocsin.service.access.token_file import TokenFile


def test_a_damaged_file_lets_nobody_in(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time for which the tokens before stay valid."""
    monkeypatch.setattr(authentication, "GRACE_S", 0.0)
    client = server.client_of(server.token())
    assert client.get("/v1/destinations").status_code == 200
    file = TokenFile(server.folder)
    good = file.path.read_bytes()
    for text in (b"", b"{}", b"[]", b'{"format": "tocsin tokens", "version": 1, "tokens": [{}]}', good[:-20]):
        file.path.write_bytes(text)
        assert client.get("/v1/destinations").status_code == 401, text
        with pytest.raises(StoreError):
            file.read()
    file.path.write_bytes(good)
    assert client.get("/v1/destinations").status_code == 200


def unreadable(file: TokenFile, how: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make the file of the tokens unreadable; returns what repairs it. Modes of files would not stop root."""
    good, read, stat = file.path.read_bytes(), Path.read_bytes, os.stat
    if how == "half-written":
        file.path.write_bytes(good[:-20])
    elif how == "gone":
        file.path.rename(file.path.with_name("aside"))
    else:
        error = OSError(getattr(errno, how.removeprefix("folder ")), "injected")

        def fail_for(name: Any) -> None:
            if os.fspath(name) == str(file.path):
                raise error

        def failing_read(path: Path) -> bytes:
            fail_for(path)
            return read(path)

        def failing_stat(path: Any, *given: Any, **options: Any) -> os.stat_result:
            fail_for(path)
            return stat(path, *given, **options)

        monkeypatch.setattr(Path, "read_bytes", failing_read)
        if how.startswith("folder"):  # whose mode hides even the file's mark
            monkeypatch.setattr(newest.os, "stat", failing_stat)
        else:
            os.utime(file.path)

    def repair() -> None:
        monkeypatch.setattr(Path, "read_bytes", read)
        monkeypatch.setattr(newest.os, "stat", stat)
        if how == "half-written":
            file.path.write_bytes(good)
        elif how == "gone":
            file.path.with_name("aside").rename(file.path)

    return repair


@pytest.mark.parametrize("how", ["half-written", "gone", "EMFILE", "EACCES", "EIO", "folder EACCES"])
def test_a_failed_read_is_never_remembered(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """The last good tokens stay valid for a while, then no token is, and a read that works lets all in again."""
    monkeypatch.setattr(newest, "RETRY_S", 0.0)
    file, client = TokenFile(server.folder), server.client_of(server.token("read", "operate"))

    def answered() -> tuple[int, int, bool]:
        status = client.get("/v1/destinations").status_code
        ready = server.client.get("/readyz")
        assert str(server.folder) not in ready.text
        return status, ready.status_code, "file of the tokens" in ready.text

    assert answered() == (200, 200, False)
    repair = unreadable(file, how, monkeypatch)
    assert answered() == (200, 200, True)
    assert server.client.get("/v1/destinations").status_code == 401
    assert "tocsin_tokens_readable 0.0" in client.get("/metrics").text
    monkeypatch.setattr(authentication, "GRACE_S", 0.0)
    assert answered() == (401, 503, True)
    repair()
    assert answered() == (200, 200, False)

    told = [record.getMessage() for record in caplog.records if "token" in record.getMessage()]
    assert "stay valid for" in told[0] and "no token is valid any more" in told[1] and "again" in told[2]
    assert len(told) == 3 and str(file.path) in told[0]


def test_a_revoked_token_stays_revoked_while_the_file_cannot_be_read(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = TokenFile(server.folder)
    token, text = file.create("", ["read"])
    other = server.client_of(server.token())
    file.revoke(token.id)
    assert server.client_of(text).get("/v1/destinations").status_code == 401
    unreadable(file, "EMFILE", monkeypatch)

    assert server.client_of(text).get("/v1/destinations").status_code == 401
    assert other.get("/v1/destinations").status_code == 200


def test_streams_live_through_a_failed_read(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    server.client = server.client_of(server.token())
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    with server.client.stream("GET", "/v1/destinations/d/stream") as response:
        events = events_of(response)
        next(events)
        unreadable(TokenFile(server.folder), "EMFILE", monkeypatch)
        assert server.publish({"n": 1}).status_code == 202

        assert next(events).data["event"] == {"n": 1}
