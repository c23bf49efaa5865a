"""Bodies and heads that are made to hurt: what is refused is refused early, and takes no memory."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.service.served import Served, served
from tocsin.service import protocol
from tocsin.service.limits import Limits

LIMIT = 1 << 16


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with tokens, and a client that has one."""
    with served(tmp_path_factory.mktemp("alerts"), Limits(body_bytes=LIMIT)) as server:
        server.client = server.client_of(server.token())
        yield server


def connected(server: Served) -> socket.socket:
    url = urlsplit(str(server.client.base_url))
    return socket.create_connection((url.hostname, url.port), 10)


def head(server: Served, *lines: str, path: str = "/v1/events", with_token: bool = True) -> bytes:
    """The head of a request."""
    own = ["Host: localhost", "Content-Type: application/json"]
    if with_token:
        own.append(f"Authorization: {server.client.headers['Authorization']}")
    return "\r\n".join([f"POST {path} HTTP/1.1", *own, *lines, "", ""]).encode()


@pytest.mark.parametrize("path", ["/v1/events", "/v1/subscriptions", "/v1/nothing"])
def test_a_stranger_is_refused_before_the_body(limited: Served, path: str) -> None:
    with connected(limited) as one:
        one.sendall(head(limited, "Content-Length: 65000", path=path, with_token=False))
        assert b" 401 " in one.recv(4096)[:20]


def test_a_body_without_a_length_is_cut_at_the_limit(limited: Served) -> None:
    sent, answer = 0, b""
    with connected(limited) as one:
        one.sendall(head(limited, "Transfer-Encoding: chunked"))
        one.settimeout(0.02)
        while sent < 100 * LIMIT and not answer:
            try:
                one.sendall(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
                sent += 0x2000
                answer = one.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                break

    assert b" 413 " in answer[:20]
    assert sent < 20 * LIMIT


def test_a_body_that_trickles_is_given_up(limited: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_BODY_S", 0.4)
    begun, answer = time.monotonic(), b""
    with connected(limited) as one:
        one.sendall(head(limited, "Content-Length: 1000"))
        one.settimeout(0.05)
        while not answer and time.monotonic() - begun < 9:
            one.sendall(b" ")
            try:
                answer = one.recv(4096)
            except TimeoutError:
                continue

    assert b" 408 " in answer[:20]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress", "gzip, gzip", "identity, gzip", "x"])
def test_no_coding_is_expanded(limited: Served, coding: str) -> None:
    bomb = gzip.compress(b" " * (50 << 20))
    for path, method in (("/v1/events", "POST"), ("/v1/match", "POST"), ("/v1/subscriptions/s", "PUT")):
        headers = {"Content-Encoding": coding, "Content-Type": "application/json"}
        assert limited.client.request(method, path, content=bomb, headers=headers).status_code == 415


def test_a_bomb_without_its_name_is_only_bytes(limited: Served) -> None:
    bomb = gzip.compress(b" " * (20 << 20))
    assert len(bomb) < LIMIT
    answer = limited.client.post("/v1/events", content=bomb, headers={"Content-Type": "application/json"})

    assert answer.status_code == 400


def test_deep_conditions_are_refused(limited: Served) -> None:
    tree: object = {"op": "isNull", "args": [{"property": "a"}]}
    for _ in range(200):
        tree = {"op": "not", "args": [tree]}
    deep = {
        "a tree": tree,
        "a text": "(" * 3000 + "a = 1" + ")" * 3000,
        "negations": "NOT " * 3000 + "a = 1",
        "a long list": "a IN (" + ",".join(map(str, range(9000))) + ") AND" * 2,
    }
    for what, where in deep.items():
        answer = limited.client.put("/v1/subscriptions/s", json={"where": where})
        assert answer.status_code in (400, 422), (what, answer.text[:200])
        line = json.dumps({"id": "s", "where": where})
        headers = {"Content-Type": "application/x-ndjson"}
        report = limited.client.post("/v1/subscriptions", content=line, headers=headers)
        assert report.status_code == 200 and report.json()["accepted"] == 0, what


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Content-Length: -1",),
        ("Content-Length: +5",),
        ("Content-Length: 0x5",),
        ("Transfer-Encoding: gzip",),
        ("Transfer-Encoding : chunked",),
        ("Content-Length : 5",),
    ],
)
def test_heads_that_proxies_read_otherwise_are_refused(limited: Served, lines: tuple[str, ...]) -> None:
    """A proxy that takes another end of the body would take the rest for another client's request."""
    smuggled = b"GET /v1/subscriptions HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(limited) as one:
        one.sendall(head(limited, *lines) + b"0\r\n\r\n" + smuggled)
        answer = b""
        one.settimeout(1)
        try:
            while part := one.recv(4096):
                answer += part
        except (TimeoutError, ConnectionError):
            pass

    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 401", b"") and answer.count(b"HTTP/1.1 ") <= 1, answer


@pytest.mark.parametrize("name", ["a%0d%0aX-Evil: 1", "a%0d%0a%0d%0a<script>", "%0aSet-Cookie: a=b"])
def test_no_name_gets_into_the_head_of_an_answer(limited: Served, name: str) -> None:
    for method, path in (("GET", "/v1/destinations/"), ("PUT", "/v1/destinations/"), ("GET", "/v1/subscriptions/")):
        body = {"kind": "stream"} if method == "PUT" else None
        answer = limited.client.request(method, path + name.replace(" ", "%20"), json=body)
        assert answer.status_code in (404, 422)
        assert not {"x-evil", "set-cookie"} & set(answer.headers)
        assert answer.headers["content-type"] == "application/problem+json"
