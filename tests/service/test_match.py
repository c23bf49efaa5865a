"""Matching over HTTP gives what the engine gives."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.service.served import Served
from tocsin.service.bodies import Lines

ALERTS = [
    {"id": f"s{number}", "where": f"price < {number} AND shop = 'x{number % 3}'", "score": number, "payload": number}
    for number in range(40)
]
EVENTS = [{"price": number, "shop": f"x{number % 4}"} for number in range(40)]


@pytest.fixture
def loaded(server: Served) -> Served:
    assert server.lines(ALERTS, "/v1/subscriptions").json()["accepted"] == len(ALERTS)
    return server


def expected(event: dict[str, Any], ranking: Any = None) -> list[dict[str, Any]]:
    engine = tocsin.Engine()
    engine.subscribe_many(ALERTS)
    found = engine.match(event, ranking=ranking, payload=True)
    return [{"id": one.subscription, "score": one.score, "payload": one.payload} for one in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("query", "ranking"), [("", None), ("?top=3", tocsin.Top(3)), ("?relaxed=2", tocsin.Relaxed(2))]
)
def test_an_event_has_the_engine_s_matches(loaded: Served, query: str, ranking: Any) -> None:
    for event in EVENTS[:8]:
        assert loaded.client.post(f"/v1/match{query}", json=event).json() == {"matches": expected(event, ranking)}


def test_requests_that_come_at_once_have_their_own_answers(loaded: Served) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda one: loaded.client.post("/v1/match", json=one).json(), EVENTS * 4))

    assert answers == [{"matches": expected(event)} for event in EVENTS] * 4


def test_lines_are_answered_one_by_one(loaded: Served) -> None:
    body = "\n".join([json.dumps(EVENTS[0]), "no JSON", "", json.dumps(EVENTS[1]), "[1]"])
    headers = {"Content-Type": "application/x-ndjson"}
    answer = loaded.client.post("/v1/match", content=body, headers=headers)
    lines = [json.loads(line) for line in answer.text.splitlines()]

    assert [line["row"] for line in lines] == [0, 1, 2, 3]
    assert [line.get("matches") for line in lines] == [expected(EVENTS[0]), None, expected(EVENTS[1]), None]
    assert "JSON" in lines[1]["error"]


def test_a_table_is_answered_by_a_table(loaded: Served) -> None:
    table = pa.Table.from_pylist(EVENTS)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = loaded.client.post("/v1/match?top=2", content=sink.getvalue(), headers=headers)
    found = pa.ipc.open_stream(answer.content).read_all().to_pylist()

    one_by_one = [(row, match["id"]) for row, event in enumerate(EVENTS) for match in expected(event, tocsin.Top(2))]
    assert [(row["event"], row["subscription"]) for row in found] == one_by_one


def test_explain_tells_which_conditions_hold(loaded: Served) -> None:
    answer = loaded.client.post("/v1/match?explain=true", json={"price": 37, "shop": "x2"}).json()["matches"]

    assert [one["id"] for one in answer] == ["s38"]
    assert [held["condition"] for held in answer[0]["holds"]] == ["price < 38", "shop = 'x2'"]


@pytest.mark.parametrize(
    "query", ["top=0", "top=x", "top=1&relaxed=1", "top=99999999", "similar=1", "k=1", "top=1&top=2"]
)
def test_wrong_options_are_refused(loaded: Served, query: str) -> None:
    assert loaded.client.post(f"/v1/match?{query}", json={}).status_code == 400


def test_named_parts_and_a_part_of_the_subscriptions(server: Served) -> None:
    """For one event and for Arrow streams; JSON lines are refused, and so is a text that is not a condition."""
    server.subscribe(
        "a", "NAMED('cheap', price < 5) OR NAMED('tagged', ANY(tags, element = 'x'))", payload={"team": "n"}
    )
    server.subscribe("b", "price < 9", payload={"team": "s"})
    event = {"price": 7, "tags": ["y", "x"]}
    found = server.client.post("/v1/match", json=event, params={"named": "true"}).json()["matches"]
    assert [(one["id"], one["named"]) for one in found] == [("a", {"tagged": [1]}), ("b", {})]
    found = server.client.post("/v1/match", json=event, params={"only": "team = 's'", "top": "1"}).json()["matches"]
    assert found == [{"id": "b", "score": 1.0, "payload": {"team": "s"}}]
    stream = io.BytesIO()
    table = pa.table({"price": [3], "tags": [["y"]]})
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    params = {"named": "true", "only": "team = 'n'"}
    answer = server.client.post("/v1/match", content=stream.getvalue(), headers=headers, params=params)
    rows = pa.ipc.open_stream(answer.content).read_all().to_pylist()
    assert [(row["subscription"], row["named"]) for row in rows] == [("a", [{"name": "cheap", "elements": []}])]
    answer = server.client.post("/v1/match", json=event, params={"only": "team ="})
    assert (answer.status_code, answer.json()["field"]) == (422, "only")
    assert server.client.post("/v1/match", json=event, params={"named": "perhaps"}).status_code in (400, 422)
    lines = {"Content-Type": "application/x-ndjson"}
    assert (
        server.client.post("/v1/match", content="{}", headers=lines, params={"only": "team = 'n'"}).status_code == 422
    )


_PIECES = [b"{}", b'{"a": 1}', b"x y", b" ", b"\t", b"\r", b"\n", b"\n\n", b"\xef\xbb\xbf"]


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map(b"".join), st.integers(0, 5), st.integers(0, 6))
def test_lines_are_found_without_blanks(body: bytes, first: int, count: int) -> None:
    """Whatever stands around and between them, lines are those of a naive split."""
    given_lines = body.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    expected = [text for line in given_lines if (text := line.strip(b" \t\r"))]
    lines = Lines(body)
    assert lines.texts() == expected
    assert len(lines) == len(expected)
    chunk = lines.chunk(first, first + count)
    spans = zip(chunk.starts.tolist(), chunk.stops.tolist(), strict=True)
    assert [chunk.text[start:stop] for start, stop in spans] == expected[first : first + count]
