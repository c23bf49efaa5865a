"""Answers in flight: those of all requests together have a limit, and what is beyond it waits, or comes later."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.service.served import Served, served
from tests.waiting import HANG_S, awaited
from tocsin.service import bodies
from tocsin.service.limits import Limits
from tocsin.service.matching import MOST_BYTES

FORMS = {
    "event": (b"application/json", b'{"n": 1}', b""),
    "after a match": (b"application/json", b'{"n": 1}', b"?after=0"),
    "named": (b"application/json", b'{"n": 1}', b"?named=true"),
    "lines": (b"application/x-ndjson", b'{"n": 1}\n{"n": 1}\n', b""),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server with room for one large answer, and with matches of 13 MB for an event."""
    monkeypatch.setattr(bodies, "_ANSWER_PATIENCE_S", 0.2)
    with served(tmp_path, Limits(answers_bytes=MOST_BYTES)) as one:
        records = [{"id": f"{number:03}", "where": "n = 1", "payload": "x" * 65_000} for number in range(200)]
        assert one.lines(records, "/v1/subscriptions").json()["accepted"] == 200
        yield one


def asking(server: Served, form: str) -> socket.socket:
    """A connection that asks, and does not read."""
    url, (type, body, query) = urlsplit(str(server.client.base_url)), FORMS[form]
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    connection.settimeout(HANG_S)
    connection.connect((url.hostname, url.port))
    head = b"POST /v1/match%b HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    connection.sendall(head % (query, type, len(body)) + body)
    return connection


@pytest.mark.parametrize("form", FORMS)
def test_answers_that_nobody_reads_take_no_more_than_their_room(server: Served, form: str) -> None:
    """Others get a 503 then, and small answers are made all the time. A client that goes gives its room back."""
    room, others = server.service.answer_room, server.server.tenants.answer_room
    with ExitStack() as stack:
        first = stack.enter_context(asking(server, form))
        awaited(lambda: 10 << 20 < room._held < MOST_BYTES)
        refused = [stack.enter_context(asking(server, form)) for _ in range(5)]
        answers = [one.recv(1 << 16) for one in refused]
        assert all(answer.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in answer.lower() for answer in answers)
        assert 10 << 20 < room._held == others._held < MOST_BYTES
        assert server.client.post("/v1/match", json={"n": 2}).json() == {"matches": []}
        first.close()
        awaited(lambda: room._held == others._held == 0)


def test_an_answer_that_is_read_is_whole_and_gives_its_room_back(server: Served) -> None:
    answer = server.client.post("/v1/match", json={"n": 1})
    assert len(answer.json()["matches"]) == 200 and "next" not in answer.json()
    lines = server.client.post("/v1/match", content=FORMS["lines"][1], headers={"Content-Type": "application/x-ndjson"})
    documents = [json.loads(line) for line in lines.text.splitlines()]
    assert len(documents[0]["matches"]) == 200 and documents[-1]["next"]["row"] == 1
    assert server.client.post("/v1/match", json=[1]).status_code == 400
    awaited(lambda: server.service.answer_room._held == 0)
