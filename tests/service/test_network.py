"""Where the server listens, which names it answers to, and whom it believes who a client is."""

from __future__ import annotations

import asyncio
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.service.served import served
from tests.waiting import awaited
from tocsin.errors import InvalidInput, StoreError
from tocsin.service.access.token_file import TokenFile
from tocsin.service.protocol import BoundedConnection
from tocsin.service.serving import Options, check
from tocsin.service.tables import had_tokens


def test_without_tokens_only_loopback_is_listened_on(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "::1", "localhost", "127.8.9.1"):
        check(Options(tmp_path, host))
    for host in ("0.0.0.0", "::", "10.1.2.3", "example.org"):
        with pytest.raises(InvalidInput, match="token create"):
            check(Options(tmp_path, host))
    TokenFile(tmp_path).create("", ["read"])
    for host in ("0.0.0.0", "::", "10.1.2.3"):
        check(Options(tmp_path, host))


@pytest.mark.parametrize(
    "options",
    [
        {"public_hosts": ("alerts.example.org",)},
        {"trusted_proxies": ("127.0.0.1",)},
        {"public_hosts": ("alerts.example.org",), "no_tokens": True},
        {"host": "0.0.0.0", "no_tokens": True},
    ],
    ids=repr,
)
def test_without_tokens_no_proxy_is_served(tmp_path: Path, options: dict[str, Any]) -> None:
    """Everybody would be the user of this machine to it, with all scopes."""
    with pytest.raises(InvalidInput, match="token create"):
        check(Options(tmp_path, **options))
    TokenFile(tmp_path).create("", ["read"])
    check(Options(tmp_path, **{**options, "no_tokens": False}))


def test_a_server_without_tokens_is_one_or_has_none(tmp_path: Path) -> None:
    check(Options(tmp_path, no_tokens=True))
    TokenFile(tmp_path).create("", ["read"])
    with pytest.raises(InvalidInput, match="--no-tokens"):
        check(Options(tmp_path, no_tokens=True))


def test_tokens_that_cannot_be_read_begin_no_server(tmp_path: Path) -> None:
    TokenFile(tmp_path).create("", ["read"])
    TokenFile(tmp_path).path.write_text("damaged")
    for host in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(StoreError, match="cannot be read"):
            check(Options(tmp_path, host))


@pytest.mark.parametrize("lost", ["access", "access and the rest of a backup"])
def test_a_folder_that_had_tokens_does_not_open(tmp_path: Path, lost: str) -> None:
    """Also after a restore that left their file out, until the user says so; from then on it may have tokens again."""
    folder = tmp_path / "alerts"
    with served(folder) as server:
        token = server.token("read")
        assert server.client.get("/v1/destinations").status_code == 401
        awaited(lambda: server.service.transactions.read(had_tokens))
        server.service.engine.backup(tmp_path / "copy")
    if lost == "access":
        shutil.rmtree(folder / "access")
    else:
        folder = tmp_path / "copy"

    with pytest.raises(InvalidInput, match=r"had tokens.*--no-tokens"), served(folder):
        pass
    with served(folder, options={"no_tokens": True}) as server:
        assert server.client.get("/v1/destinations").status_code == 200
    with served(folder) as server:  # it was meant
        assert server.client.get("/v1/destinations").status_code == 200
        assert server.client_of(token).get("/v1/destinations").status_code == 200
        server.token("read")
        awaited(lambda: server.service.transactions.read(had_tokens))
    shutil.rmtree(folder / "access")
    with pytest.raises(InvalidInput, match="had tokens"), served(folder):
        pass


@pytest.mark.parametrize("given", ["*", "x", "0.0.0.0/0", "::/0", "10.0.0.1:80", "10.0.0.0/33"])
def test_proxies_are_named(tmp_path: Path, given: str) -> None:
    with pytest.raises(InvalidInput, match="--trusted-proxies"):
        check(Options(tmp_path, trusted_proxies=("10.0.0.1", given)))


@pytest.mark.parametrize(
    ("options", "host", "status"),
    [
        ({}, "alerts.example.org", 421),
        ({"public_hosts": ("Alerts.example.org.",)}, "alerts.example.org", 200),
        ({"public_hosts": ("alerts.example.org",)}, "alerts.example.org:8470", 200),
        ({"public_hosts": ("alerts.example.org",)}, "localhost", 200),
        ({"public_hosts": ("alerts.example.org",)}, "other.example.org", 421),
        ({"host": "0.0.0.0"}, "other.example.org", 200),
        ({"host": "0.0.0.0", "public_hosts": ("alerts.example.org",)}, "other.example.org", 421),
    ],
)
def test_names_of_the_server(tmp_path: Path, options: dict[str, Any], host: str, status: int) -> None:
    with served(tmp_path, options=options) as server:
        assert server.client.get("/healthz", headers={"Host": host}).status_code == status
        other = {"Host": host, "Origin": "https://evil.example"}
        assert server.client.get("/healthz", headers=other).status_code in (403, 421)


def test_an_answer_is_sent_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without uvloop, as here: a body does not wait until its head is confirmed."""
    made, delays = BoundedConnection.connection_made, []

    def noted(self: BoundedConnection, transport: asyncio.Transport) -> None:
        made(self, transport)
        connection = transport.get_extra_info("socket")
        delays.append(not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(BoundedConnection, "connection_made", noted)
    with served(tmp_path / "alerts") as server:
        server.client.get("/healthz")

    assert delays == [False]


def test_a_server_that_others_reach_never_opens(tmp_path: Path) -> None:
    """Even if its tokens are gone."""
    with served(tmp_path, options={"host": "0.0.0.0"}) as server:
        assert server.client.get("/v1/destinations").status_code == 401
        assert server.client.get("/healthz").status_code == 200
