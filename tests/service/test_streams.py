"""Server-sent events: everything once and in order, also after a break."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest

from tests.service.served import Sent, Served, events_of, served
from tests.waiting import HANG_S, awaited
from tocsin.service import protocol, streaming

PATH = "/v1/destinations/d/stream"


@pytest.fixture
def ready(server: Served) -> Served:
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    return server


def taken(server: Served, count: int, path: str = PATH, **headers: str) -> list[Sent]:
    """The first events of a stream, without the opening."""
    with server.client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, response.read()
        return [one for one in itertools.islice(events_of(response), count + 1) if one.kind != "open"][:count]


def numbers(sent: list[Sent]) -> list[int]:
    return [one.data["sequence"] for one in sent if one.kind == "message"]


def test_a_stream_begins_where_it_is_asked(ready: Served) -> None:
    ready.lines([{"n": number} for number in range(5)])

    assert numbers(taken(ready, 5, f"{PATH}?from=earliest")) == [1, 2, 3, 4, 5]
    assert numbers(taken(ready, 3, f"{PATH}?from=3")) == [3, 4, 5]
    with ready.client.stream("GET", PATH) as response:  # latest
        events = events_of(response)
        opening = next(events)
        ready.publish({"n": 9})

        assert (opening.kind, opening.data) == ("open", {"after": {"d": 5}})
        assert next(events).data["event"] == {"n": 9}
        assert response.headers["cache-control"] == "no-cache, no-transform"
        assert response.headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in response.headers


def test_a_stream_goes_on_after_the_last_id(ready: Served) -> None:
    ready.lines([{"n": number} for number in range(1200)])  # more than are read at once
    first = taken(ready, 700, f"{PATH}?from=earliest")
    rest = taken(ready, 500, PATH, **{"Last-Event-ID": first[-1].id})

    assert numbers(first) + numbers(rest) == list(range(1, 1201))
    assert ready.client.get("/v1/destinations/d").json()["acknowledged"] == 0  # a stream never acknowledges


def test_the_opening_has_an_id_already(ready: Served) -> None:
    """A client that is gone before the first delivery misses none."""
    with ready.client.stream("GET", PATH) as response:
        opening = next(events_of(response))
    ready.publish({"n": 1})

    assert numbers(taken(ready, 1, PATH, **{"Last-Event-ID": opening.id})) == [1]


def test_replay_hands_over_to_what_is_live(ready: Served) -> None:
    stop, sent = threading.Event(), itertools.count()

    def publish() -> None:
        while not stop.is_set():
            ready.lines([{"n": next(sent)} for _ in range(20)])

    publishing = threading.Thread(target=publish)
    publishing.start()
    try:
        found = numbers(taken(ready, 2000, f"{PATH}?from=earliest"))
    finally:
        stop.set()
        publishing.join()

    assert found == list(range(1, 2001))


def test_several_destinations_share_a_stream(ready: Served) -> None:
    ready.destination("e")
    ready.subscribe("t", "n >= 5", destination="e")
    ready.lines([{"n": number} for number in range(8)])
    path = "/v1/stream?destinations=d,e&from=earliest"
    found = taken(ready, 11, path)
    by_name = {name: [one.data["sequence"] for one in found if one.data["destination"] == name] for name in "de"}
    rest = taken(ready, 4, path, **{"Last-Event-ID": found[6].id})

    assert by_name == {"d": list(range(1, 9)), "e": [1, 2, 3]}
    assert [one.data["key"] for one in found[7:]] == [one.data["key"] for one in rest]


def test_another_history_is_told_as_a_gap(tmp_path: Path) -> None:
    with served(tmp_path / "a") as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d")
        server.lines([{"n": 1}, {"n": 2}])
        server.service.engine.backup(tmp_path / "b")
        last = taken(server, 2, f"{PATH}?from=earliest")[-1].id
    with served(tmp_path / "b") as server:
        gap, *rest = taken(server, 3, PATH, **{"Last-Event-ID": last})

        assert (gap.kind, gap.data["reason"], gap.data["destination"]) == ("gap", "restored", "d")
        assert numbers(rest) == [1, 2]


def test_numbers_ahead_of_the_newest_are_told_as_lost(ready: Served) -> None:
    ready.publish({"n": 1})
    at = taken(ready, 1, f"{PATH}?from=earliest")[0].id.rpartition("-")[0]
    (gap,) = taken(ready, 1, PATH, **{"Last-Event-ID": f"{at}-7"})

    assert (gap.kind, gap.data) == ("gap", {"destination": "d", "from": 2, "to": 7, "reason": "lost"})


@pytest.mark.parametrize("last", ["x", "1", "a-1", "0.1-99999999999999999999", "0.1-1,", "-"])
def test_an_id_of_others_is_refused(ready: Served, last: str) -> None:
    assert ready.client.get(PATH, headers={"Last-Event-ID": last}).status_code == 400


@pytest.mark.parametrize("query", ["from=x", "from=0", "from=-1", "after=1"])
def test_wrong_beginnings_are_refused(ready: Served, query: str) -> None:
    assert ready.client.get(f"{PATH}?{query}").status_code == 400
    assert ready.client.get(f"/v1/stream?{query}").status_code == 400


def test_streams_end_with_the_server_and_with_the_destination(tmp_path: Path) -> None:
    ended: dict[str, float] = {}

    def follow(server: Served, name: str) -> None:
        with server.client.stream("GET", f"/v1/destinations/{name}/stream") as response:
            for _ in response.iter_lines():
                ended.setdefault(f"{name} began", time.monotonic())
        ended[name] = time.monotonic()

    with served(tmp_path) as server:
        for name in "de":
            server.destination(name)
        followers = [threading.Thread(target=follow, args=(server, name)) for name in "de"]
        for one in followers:
            one.start()
        awaited(lambda: len(ended) == 2)
        assert server.client.delete("/v1/destinations/e").status_code == 204
        followers[1].join(HANG_S)
        assert "e" in ended and "d" not in ended
        begun = time.monotonic()
    followers[0].join(HANG_S)

    assert ended["d"] - begun < 5  # after 10 s the server cuts what is left


def test_a_stream_that_is_gone_is_forgotten(ready: Served) -> None:
    with ready.client.stream("GET", PATH) as response:
        events = events_of(response)
        next(events)
        assert ready.service.streams == 1
    awaited(lambda: ready.service.streams == 0)

    assert not ready.service.hub._watches


def test_a_quiet_stream_is_kept_alive(ready: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_HEARTBEAT_S", 0.05)
    with ready.client.stream("GET", PATH) as response:
        assert ": alive" in itertools.islice(response.iter_lines(), 12)


def test_a_client_that_does_not_read_is_given_up(ready: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It misses nothing: its next stream goes on."""
    monkeypatch.setattr(protocol, "_ANSWER_S", 0.3)
    ready.lines([{"n": number, "text": "x" * 10_000} for number in range(1000)])
    url = urlsplit(str(ready.client.base_url))
    with socket.create_connection((url.hostname, url.port)) as one:
        one.sendall(f"GET {PATH}?from=earliest HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(0.2)
        awaited(lambda: ready.service.streams == 0)
    assert numbers(taken(ready, 1000, f"{PATH}?from=earliest")) == list(range(1, 1001))


def test_a_stream_that_waits_is_sent_to_without_its_task(ready: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of several destinations, whose ids differ from stream to stream, is sent to by its task."""
    ready.destination("e")
    pushed = list[bytes]()
    push = protocol.BoundedConnection._push

    def counted(connection: protocol.BoundedConnection, cycle: Any, body: bytes) -> bool:
        has_sent = push(connection, cycle, body)
        pushed.extend([body] * has_sent)
        return has_sent

    monkeypatch.setattr(protocol.BoundedConnection, "_push", counted)
    came = list[dict[str, Any]]()
    for path in (PATH, "/v1/stream?destinations=d,e"):
        count = len(pushed)
        with _streaming(ready, path) as text:
            ready.publish({"n": 1})
            came.append(json.loads(_until(text, b"}\n\n\r\n").partition(b"data: ")[2].split(b"\n")[0]))
        assert (len(pushed) > count) == (path == PATH)

    assert [one.pop("sequence") for one in came] == [1, 2]
    assert came[0].keys() == came[1].keys()
    assert [one["event"] for one in came] == [{"n": 1}, {"n": 1}]


def test_a_request_behind_a_stream_does_not_keep_it(ready: Served) -> None:
    """The stream is the last answer of its connection, so its end is noticed although the client has sent more."""
    with _streaming(ready, PATH, behind=b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 9) as text:
        ready.publish({"n": 1})
        assert b'"n":1' in _until(text, b"}\n\n\r\n").replace(b" ", b"")
    awaited(lambda: ready.service.streams == 0)


@contextmanager
def _streaming(server: Served, path: str, behind: bytes = b"") -> Iterator[IO[bytes]]:
    """A stream that waits for what comes, as its bytes. `behind` follows the request at once."""
    with _connected(server) as (one, text):
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() + behind)
        assert b"event: open" in _until(text, b"}\n\n\r\n")
        awaited(lambda: any(stream._waits for stream in _streams(server)))
        yield text
    awaited(lambda: server.service.streams == 0)


@contextmanager
def _connected(server: Served) -> Iterator[tuple[socket.socket, IO[bytes]]]:
    url = urlsplit(str(server.client.base_url))
    with socket.create_connection((url.hostname, url.port), timeout=HANG_S) as one, one.makefile("rb") as text:
        yield one, text


def _until(text: IO[bytes], end: bytes) -> bytes:
    came = b""
    while not came.endswith(end):
        came += text.readline()
    return came


def _streams(server: Served) -> list[streaming.Stream]:
    watches = list(server.service.hub._watches.values())
    return [one for watch in watches for one in list(watch.waiting) if isinstance(one, streaming.Stream)]
