"""Bytes of anybody: a connection that is late, endless or one too many ends, and costs no memory."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from tests.service.served import Served, served
from tests.waiting import HANG_S, awaited
from tocsin.service import protocol
from tocsin.service.protocol import BoundedConnection, Deadline

HOST = b"Host: localhost\r\n"
EVENT = b"POST /v1/events HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
CHUNKED = EVENT + b"Transfer-Encoding: chunked\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a token, which these tests do not show; `client` does."""
    with served(tmp_path_factory.mktemp("alerts")) as server:
        server.client = server.client_of(server.token())
        server.destination()
        yield server


@contextmanager
def connected(server: Served) -> Iterator[socket.socket]:
    url = urlsplit(str(server.client.base_url))
    with socket.create_connection((url.hostname, url.port), HANG_S) as connection:
        yield connection


def status_of(connection: socket.socket) -> int:
    """The status of the next answer, which is read whole if it says how long it is."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        assert byte, "the connection was closed"
        head += byte
    length = re.search(rb"(?i)content-length: (\d+)", head)
    left = 0 if length is None else int(length[1])
    while left:
        left -= len(connection.recv(left))
    return int(head.split()[1])


def until_closed(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def trickled(connection: socket.socket, drop: bytes, between_s: float = 0.02) -> bytes:
    """What comes while a drop is sent now and then, until the server closes the connection."""
    connection.settimeout(between_s)
    deadline, parts = time.monotonic() + HANG_S, list[bytes]()
    while time.monotonic() < deadline:
        try:
            connection.sendall(drop)
            part = connection.recv(65536)
        except TimeoutError:
            continue
        except ConnectionError:
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)
    raise AssertionError("the connection is still open")


@pytest.fixture
def came(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all data that the server takes."""
    sizes: list[int] = []
    take = BoundedConnection.data_received

    def noted(self: BoundedConnection, data: bytes) -> None:
        sizes.append(len(data))
        take(self, data)

    monkeypatch.setattr(BoundedConnection, "data_received", noted)
    return sizes


ENDLESS = {
    "trailers": (CHUNKED + b"0\r\n", b"x: " + b"y" * 65_000 + b"\r\n"),
    "a trailer": (CHUNKED + b"0\r\nx: ", b"y" * 65_000),
    "an extension of a chunk": (CHUNKED + b"1;x=", b"y" * 65_000),
    "a header": (b"GET /healthz HTTP/1.1\r\nX: ", b"y" * 65_000),
    "headers": (b"GET /healthz HTTP/1.1\r\n", b"x: " + b"y" * 65_000 + b"\r\n"),
    "a path": (b"GET /", b"y" * 65_000),
    "lines before a head": (b"", b"\r\n" * 32_000),
    "lines after a request": (HEALTH, b"\r\n" * 32_000),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_has_no_end_is_cut(closed: Served, came: list[int], what: str) -> None:
    """After a bounded number of bytes, also while the answer waits for them."""
    begin, more = ENDLESS[what]
    before = len(closed.server.connections)
    with connected(closed) as connection, pytest.raises(OSError):
        connection.sendall(begin)
        for _ in range(16_000):  # a gigabyte
            connection.sendall(more)

    awaited(lambda: len(closed.server.connections) <= before)
    assert sum(came) <= 8 * protocol._HEAD_BYTES


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "Content-Encoding"])
def test_trailers_do_not_change_a_request(closed: Served, name: str) -> None:
    """Not even those that come at once with the head."""
    token = closed.client.headers["Authorization"].encode()
    value = {"Authorization": token, "Content-Type": b"text/plain", "Content-Encoding": b"gzip"}[name]
    shown = b"" if name == "Authorization" else b"Authorization: " + token + b"\r\n"
    head = CHUNKED.replace(HOST, HOST + shown)
    with connected(closed) as connection:
        connection.sendall(head + b"2\r\n{}\r\n0\r\n" + name.encode() + b": " + value + b"\r\n\r\n")
        status = status_of(connection)
        connection.sendall(HEALTH)  # the connection lives on
        again = status_of(connection)

    assert (status, again) == (401 if name == "Authorization" else 202, 200)


@pytest.mark.parametrize("length", [b"Content-Length: 99999", b"Transfer-Encoding: chunked"])
def test_the_rest_of_a_body_is_not_waited_for(closed: Served, monkeypatch: pytest.MonkeyPatch, length: bytes) -> None:
    """After an answer that did not need it, each byte of it does not make the connection live longer."""
    monkeypatch.setattr(protocol, "_LINGER_S", 0.3)
    with connected(closed) as connection:
        connection.sendall(EVENT + length + b"\r\n\r\n")
        drop = b"x" if length.startswith(b"Content") else b"1\r\nx\r\n"
        answer = trickled(connection, drop)

    assert answer.startswith(b"HTTP/1.1 401") and answer.count(b"HTTP/1.1") == 1


def test_a_body_that_comes_after_its_answer_keeps_the_connection(closed: Served) -> None:
    with connected(closed) as connection:
        for _ in range(3):
            connection.sendall(EVENT + b"Content-Length: 200000\r\n\r\n" + b"x" * 1000)
            assert status_of(connection) == 401
            connection.sendall(b"x" * 199_000)
        connection.sendall(HEALTH)

        assert status_of(connection) == 200


def test_a_body_that_is_not_announced_again_is_not_waited_for(closed: Served) -> None:
    """A client that expects to be told to go on does not send the body after a refusal."""
    with connected(closed) as connection:
        connection.sendall(EVENT + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        refused = until_closed(connection)
    with connected(closed) as connection:
        token = b"Authorization: " + closed.client.headers["Authorization"].encode() + b"\r\n"
        connection.sendall(EVENT + token + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        statuses = [status_of(connection)]
        for more in (b"{}", HEALTH):
            connection.sendall(more)
            statuses.append(status_of(connection))

    assert refused.startswith(b"HTTP/1.1 401")
    assert statuses == [100, 202, 200]


@pytest.mark.parametrize("length", [b"Content-Length: %d" % len(HEALTH), b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("name", [b"h2c", b"websocket", b"x"])
def test_a_body_is_never_the_next_request(closed: Served, length: bytes, name: bytes) -> None:
    """Not even that of a request for another protocol, whose body the parser leaves to that protocol."""
    with connected(closed) as connection:
        connection.sendall(EVENT + b"Connection: Upgrade\r\nUpgrade: " + name + b"\r\n" + length + b"\r\n\r\n")
        time.sleep(0.05)
        with suppress(ConnectionError):
            connection.sendall(HEALTH)
        answer = until_closed(connection)
    with connected(closed) as connection:  # without a body it is a request like others
        connection.sendall(HEALTH.replace(HOST, HOST + b"Connection: Upgrade\r\nUpgrade: " + name + b"\r\n"))
        assert status_of(connection) == 200
        connection.sendall(HEALTH)
        assert status_of(connection) == 200

    assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1 ") == 1 and b"Upgrade" in answer


@pytest.mark.parametrize(("begin", "drop"), [(HEALTH, b"\r\n"), (HEALTH, b"G"), (b"", b"\r\n"), (b"", b"G")])
def test_a_trickle_is_not_a_request(closed: Served, monkeypatch: pytest.MonkeyPatch, begin: bytes, drop: bytes) -> None:
    monkeypatch.setattr(protocol, "_HEAD_S", 0.3)
    with connected(closed) as connection:
        connection.sendall(begin)
        answer = trickled(connection, drop)

    assert answer.count(b"200 OK") == (begin == HEALTH)


def test_a_body_that_no_call_reads_has_a_deadline(closed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as that of a stream, which would have no end otherwise."""
    monkeypatch.setattr(protocol, "_BODY_S", 0.3)
    token = b"Authorization: " + closed.client.headers["Authorization"].encode() + b"\r\n"
    with connected(closed) as connection:
        connection.sendall(
            b"GET /v1/destinations/d/stream HTTP/1.1\r\n" + HOST + token + b"Content-Length: 99999\r\n\r\n"
        )
        assert trickled(connection, b"x").startswith(b"HTTP/1.1 200")


def test_an_answer_that_nobody_reads_is_given_up(closed: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that of a connection that ends after it."""
    monkeypatch.setattr(protocol, "_ANSWER_S", 0.2)
    closed.service.limits = closed.service.limits._replace(payload_bytes=16 << 20)
    record = {"where": "a = 1", "payload": "p" * (15 << 20)}
    assert closed.client.put("/v1/subscriptions/s", json=record).is_success
    before = len(closed.server.connections)
    token = b"Authorization: " + closed.client.headers["Authorization"].encode() + b"\r\n"
    with ExitStack() as stack:
        for more in (b"", b"Connection: close\r\n"):
            connection = stack.enter_context(connected(closed))
            connection.sendall(b"GET /v1/subscriptions/s HTTP/1.1\r\n" + HOST + token + more + b"\r\n")
        awaited(lambda: len(closed.server.connections) == before + 2)
        awaited(lambda: len(closed.server.connections) == before)


def test_a_deadline_is_for_what_moves_too_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time of 30 s needs as many bytes as it has at 64 kB/s; what was fast before does not count."""
    timers: list[Callable[[], None]] = []
    loop = SimpleNamespace(call_later=lambda _, look: timers.append(look) or SimpleNamespace(cancel=timers.clear))
    monkeypatch.setattr(protocol.asyncio, "get_running_loop", lambda: loop)
    rate, late, moved = 30 * protocol._LEAST_RATE, list[int](), 0
    deadline = Deadline(30.0, lambda: late.append(moved), lambda: moved)
    for more in (rate, 100 * rate, rate, rate - 1):
        moved += more
        timers.pop()()
        assert bool(late) == (more < rate)
    assert not timers
    deadline._begin()
    deadline.cancel()

    assert not timers and late == [103 * rate - 1]


def test_requests_that_wait_for_their_turn_are_bounded(closed: Served, came: list[int]) -> None:
    """Of a client that sends without reading; one that sends a few before it reads gets all answers."""
    with connected(closed) as connection:
        connection.sendall(HEALTH * 20 + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert until_closed(connection).count(b"200 OK") == 21
    before, made = len(closed.server.connections), list[int]()
    cycles = [len(each.pipeline) for each in closed.server.server_state.connections]
    with connected(closed) as connection:
        connection.sendall(HEALTH * 3000)
        made.append(until_closed(connection).count(b"200 OK"))

    awaited(lambda: len(closed.server.connections) <= before)
    assert made[0] <= 2 * protocol._MOST_PIPELINED and cycles == [0] * len(cycles)


PARTIAL = b"GET /healthz HTTP/1.1\r\n"


def refused(connection: socket.socket, limit: str) -> None:
    """Assert that a connection gets the answer of a limit, and is closed."""
    connection.sendall(HEALTH)
    head, _, body = until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503") and b"connection: close" in head and b"Retry-After: 5" in head
    assert json.loads(body)["limit"] == limit


@pytest.mark.parametrize(("proxies", "limit", "most"), [((), "address", 3), (("127.0.0.0/8",), "all", 5)])
def test_connections_beyond_a_limit_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, proxies: tuple[str, ...], limit: str, most: int
) -> None:
    """A proxy, which has connections of many clients, has no limit of its own."""
    options = {"connections": 5, "connections_per_address": 3, "trusted_proxies": proxies}
    with served(tmp_path, options=options) as server, ExitStack() as stack:
        for _ in range(most):
            stack.enter_context(connected(server)).sendall(PARTIAL)
        awaited(lambda: len(server.server.connections) == most and not server.server.connections._idle)
        for _ in range(3):
            with connected(server) as connection:
                refused(connection, limit)
        stack.close()
        awaited(lambda: not len(server.server.connections))
        metrics = server.client_of(server.token("operate")).get("/metrics").text

        assert f'tocsin_connections_refused_total{{limit="{limit}"}} 3.0' in metrics
        assert "tocsin_connections 1.0" in metrics
        assert sum("connections are refused" in record.getMessage() for record in caplog.records) == 1


def test_an_idle_connection_makes_room(tmp_path: Path) -> None:
    """The one that has been idle longest, and none that has a request."""
    with served(tmp_path, options={"connections": 4}) as server, ExitStack() as stack:
        server.destination()
        server.client.close()
        awaited(lambda: not len(server.server.connections))
        streaming = stack.enter_context(connected(server))
        streaming.sendall(b"GET /v1/destinations/d/stream HTTP/1.1\r\n" + HOST + b"\r\n")
        assert status_of(streaming) == 200
        idle = [stack.enter_context(connected(server)) for _ in range(3)]
        for connection in (*idle, idle[0]):  # the first one was used last
            connection.sendall(HEALTH)
            assert status_of(connection) == 200
        new = stack.enter_context(connected(server))
        new.sendall(HEALTH)
        assert status_of(new) == 200

        assert until_closed(idle[1]) == b""
        for connection in (idle[0], idle[2], new):
            connection.sendall(HEALTH)
            assert status_of(connection) == 200
        assert server.service.streams == 1
