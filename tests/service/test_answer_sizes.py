"""Answers have a size: they are whole, or say where to go on, and what follows is the rest."""

from __future__ import annotations

import asyncio
import io
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import tocsin
from tests.service.served import Served
from tocsin.service import matching
from tocsin.service.calls import matching as match_calls
from tocsin.store import connections

KB = 1 << 10
SIZE = 10 * KB
PAYLOADS = {f"s{number:02}": {"n": number, "text": "é" * (17 * number), "team": number % 2} for number in range(40)}
EVENTS = [{"n": number} for number in (0, 5, 99, 39, 20)]
LINES = {"Content-Type": "application/x-ndjson"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


@pytest.fixture
def loaded(server: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """With a subscription that holds for n up to 39, and so on; its answers are small."""
    for id, payload in PAYLOADS.items():
        where = f"NAMED('low', n <= {payload['n']})"
        assert server.subscribe(id, where, payload=payload, score=payload["n"] % 7).is_success
    for module in (matching, match_calls):
        monkeypatch.setattr(module, "MOST_BYTES", SIZE)
    return server


def expected(event: dict[str, Any], ranking: Any = None) -> list[str]:
    engine = tocsin.Engine()
    for id, payload in PAYLOADS.items():
        engine.subscribe(id, f"n <= {payload['n']}", score=payload["n"] % 7)
    return [one.subscription for one in engine.match(event, ranking=ranking)]


@pytest.mark.parametrize("options", [{}, {"top": "30"}, {"named": "true"}, {"only": "team = 1"}])
def test_one_event_is_answered_in_parts(loaded: Served, options: dict[str, str]) -> None:
    """The parts are small, and together all matches with their payloads, in order and once."""
    found, after, answers = list[dict[str, Any]](), None, 0
    while answers == 0 or after is not None:
        params = options | ({} if after is None else {"after": after})
        answer = loaded.client.post("/v1/match", json={"n": 0}, params=params)
        assert answer.status_code == 200 and len(answer.content) < 2 * SIZE, answer.text[:300]
        found += answer.json()["matches"]
        after, answers = answer.json().get("next"), answers + 1
    ids = expected({"n": 0}, tocsin.Top(30) if "top" in options else None)
    assert [one["id"] for one in found] == [id for id in ids if "only" not in options or PAYLOADS[id]["team"]]
    assert all(one["payload"] == PAYLOADS[one["id"]] and ("named" in one) == ("named" in options) for one in found)
    assert answers > 1


def in_parts(server: Served, events: list[dict[str, Any]], read: Any, send: Any) -> Iterator[tuple[int, Any]]:
    """What `read` finds in each answer, with the row of its first event."""
    first, params = 0, dict[str, Any]()
    while True:
        answer = send(server, events[first:], params)
        assert answer.status_code == 200 and len(answer.content) < 2 * SIZE
        found, place = read(answer.content)
        yield first, found
        if place is None:
            return
        first += place["row"]
        params = {"after": place["after"]} if "after" in place else {}


def send_lines(server: Served, events: list[Any], params: dict[str, Any]) -> Any:
    body = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in events)
    return server.client.post("/v1/match", content=body, headers=LINES, params=params)


def read_lines(body: bytes) -> tuple[list[dict[str, Any]], Any]:
    lines = [json.loads(line) for line in body.splitlines()]
    place = lines.pop()["next"] if "next" in lines[-1] else None
    return lines, place


def test_lines_are_answered_in_parts(loaded: Served) -> None:
    """A line that is not finished comes again, with its further matches."""
    matches: dict[int, list[str]] = {}
    parts = list(in_parts(loaded, EVENTS, read_lines, send_lines))
    for first, lines in parts:
        for line in lines:
            matches.setdefault(first + line["row"], []).extend(one["id"] for one in line["matches"])
    assert matches == {row: expected(event) for row, event in enumerate(EVENTS)} and len(parts) > 3


def test_lines_without_matches_take_room_too(loaded: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither events that match nothing nor those that cannot be read make a large answer."""
    monkeypatch.setattr(match_calls, "_FIRST_LINES", 20)
    monkeypatch.setattr(match_calls, "_AT_ONCE", 20)
    events: list[Any] = [{"n": 99}, "oops"] * 400
    kinds, first, place = list[str](), 0, dict[str, int]()
    while place is not None:
        answer = send_lines(loaded, events[first:], {})
        lines, place = read_lines(answer.content)
        assert [line["row"] for line in lines] == list(range(len(lines))) and len(answer.content) < 2 * SIZE
        kinds += ["error" if "error" in line else "matches" for line in lines]
        assert place in (None, {"row": len(lines)})
        first += len(lines)
    assert kinds == ["matches", "error"] * 400


def send_table(server: Served, events: list[Any], params: dict[str, Any]) -> Any:
    stream, table = io.BytesIO(), pa.Table.from_pylist(events)
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return server.client.post("/v1/match", content=stream.getvalue(), headers=ARROW, params=params | {"named": "true"})


def read_table(body: bytes) -> tuple[list[dict[str, Any]], Any]:
    table = pa.ipc.open_stream(body).read_all()
    return table.to_pylist(), json.loads((table.schema.metadata or {}).get(b"tocsin:next", b"null"))


def test_tables_are_answered_in_parts(loaded: Served) -> None:
    matches: dict[int, list[str]] = {row: [] for row in range(len(EVENTS))}
    parts = list(in_parts(loaded, EVENTS, read_table, send_table))
    for first, rows in parts:
        for row in rows:
            matches[first + row["event"]].append(row["subscription"])
            assert json.loads(row["payload"]) == PAYLOADS[row["subscription"]]
            assert [part["name"] for part in row["named"]] == ["low"]
    assert matches == {row: expected(event) for row, event in enumerate(EVENTS)} and len(parts) > 3


def test_clients_have_whole_answers(loaded: Served) -> None:
    """They go on by themselves."""
    rows = [(row, id) for row, event in enumerate(EVENTS) for id in expected(event)]
    url = str(loaded.client.base_url)

    async def asked() -> list[Any]:
        async with tocsin.AsyncClient(url) as client:
            return [await client.match({"n": 0}), await client.match_batch(EVENTS)]

    with tocsin.Client(url) as client:
        answers = [[client.match({"n": 0}), client.match_batch(EVENTS)], asyncio.run(asked())]
        answers.append([client.match({"n": 0}), client.match_batch(pa.Table.from_pylist(EVENTS))])
        assert [one.subscription for one in client.match({"n": 0}, ranking=tocsin.Top(30))] == expected(
            {"n": 0}, tocsin.Top(30)
        )
    for one, many in answers:
        assert [(match.subscription, match.payload) for match in one] == list(PAYLOADS.items())
        assert list(zip(*(many.table[name].to_pylist() for name in ("event", "subscription")), strict=True)) == rows
        assert many.errors == []


def test_a_match_that_is_gone_begins_anew(loaded: Served) -> None:
    """Ids have an order, in which an answer goes on. A ranking has none without the match."""
    first = loaded.client.post("/v1/match", json={"n": 0}).json()
    assert loaded.client.delete(f"/v1/subscriptions/{first['next']}").is_success
    rest = loaded.client.post("/v1/match", json={"n": 0}, params={"after": first["next"]}).json()["matches"]
    assert rest[0]["id"] == min(id for id in PAYLOADS if id > first["next"])
    answer = loaded.client.post("/v1/match", json={"n": 0}, params={"after": first["next"], "top": "9"})
    assert answer.status_code == 422 and "without after" in answer.json()["detail"]


STREAMS = {"/v1/stream", "/v1/destinations/{id}/stream"}


def test_no_page_grows_with_what_is_stored(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every GET of the OpenAPI document, of stores with a megabyte: an answer has about the size of a page."""
    monkeypatch.setattr(connections, "MOST_BYTES", 50 * KB)
    server.destination()
    angles = [math.tau * corner / 400 for corner in range(400)]
    ring = [f"{5 + 4 * math.cos(angle):.6f} {5 + 4 * math.sin(angle):.6f}" for angle in angles]
    where = f"S_INTERSECTS(place, POLYGON(({', '.join([*ring, ring[0]])})))"
    server.client.put("/v1/windows/w", json={"size": 50, "bounds": [0, 0, 9, 9]})
    server.client.put("/v1/fences/f", json={"key": "k"})
    for number in range(40):
        id = f"{number:02}"
        assert server.subscribe(id, where, destination="d", payload="x" * 20 * KB).is_success
        interest = {"words": ["a"], "location": [1, 1], "payload": "x" * 20 * KB}
        assert server.client.put(f"/v1/windows/w/subscriptions/{id}", json=interest).is_success
        assert server.publish({"place": [5, 5], "text": "y" * 10 * KB}).is_success
    names = {"id": "01", "name": "w", "sequence": "1"}
    paths = [path for path, item in server.client.get("/openapi.json").json()["paths"].items() if "get" in item]
    sizes = {}
    for path in paths:
        if path in STREAMS:
            continue
        own = names | ({"id": "d"} if "destinations" in path else {}) | ({"name": "f"} if "fences" in path else {})
        answer = server.client.get(path.format(**own), params={"limit": 1000} if path.startswith("/v1") else {})
        sizes[path] = len(answer.content)
    large = {path: size for path, size in sizes.items() if size > 200 * KB and path != "/openapi.json"}
    assert len(sizes) > 15 and not large
    first = server.client.get("/v1/regions", params={"limit": 1000}).json()
    assert 0 < len(first["regions"]) < 40 and "next" in first
