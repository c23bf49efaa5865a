"""Subscriptions over HTTP: one by one, in pages, in bulk."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

import tocsin
from tests.service.served import Served, served

PATH = "/v1/subscriptions"


def test_a_subscription_is_there_as_it_was_put(server: Served) -> None:
    server.destination("mobile")
    record = {
        "where": "price <= 580",
        "score": 2.5,
        "payload": {"mail": ["ä", None]},
        "weights": {"price": 2.0},
        "destination": "mobile",
        "throttle_s": 60.0,
        "paused_until": "2030-01-01T00:00:00.000Z",
        "expires_at": "2031-01-01T00:00:00.000Z",
    }
    made = server.client.put(f"{PATH}/s1", json=record)
    found = server.client.get(f"{PATH}/s1")

    assert (made.status_code, made.json()["id"]) == (201, "s1")
    assert found.headers["etag"] == made.headers["etag"]
    assert found.json() == {"id": "s1", **record, "sequence": made.json()["sequence"]}
    assert server.client.put(f"{PATH}/s1", json=found.json()).status_code == 200  # what was read can be put back


@pytest.mark.parametrize("id", ["a/b", "ä ö", "%", "..", "a?b#c", "🛟", "x" * 256, "-1"])
def test_any_text_is_an_id(server: Served, id: str) -> None:
    path = f"{PATH}/{quote(id, safe='')}".replace("..", "%2E%2E")

    assert server.client.put(path, json={"where": "a = 1"}).json()["id"] == id
    assert server.client.get(path).json()["id"] == id
    assert server.client.post("/v1/match", json={"a": 1}).json()["matches"][0]["id"] == id
    assert server.client.delete(path).status_code == 204
    assert server.client.get(path).status_code == 404


def test_etags_guard_changes(server: Served) -> None:
    first = server.subscribe("s", "a = 1").headers["etag"]
    path, record = f"{PATH}/s", {"where": "a = 2"}
    second = server.client.put(path, json=record, headers={"If-Match": first})

    assert second.status_code == 200 and second.headers["etag"] != first
    for method, more in (("PUT", {"json": record}), ("PATCH", {"json": {"score": 2}}), ("DELETE", {})):
        stale: Any = server.client.request(method, path, headers={"If-Match": first}, **more)
        assert (stale.status_code, stale.json()["etag"]) == (412, second.headers["etag"])
    weak = server.client.put(path, json=record, headers={"If-Match": f"W/{second.headers['etag']}"})
    assert (weak.status_code, "weak tag" in weak.json()["detail"]) == (412, True)
    assert server.client.put(path, json=record, headers={"If-None-Match": "*"}).status_code == 412
    assert server.client.put(f"{PATH}/t", json=record, headers={"If-Match": "*"}).status_code == 412
    assert server.client.put(f"{PATH}/t", json=record, headers={"If-None-Match": "*"}).status_code == 201
    assert server.client.delete(path, headers={"If-Match": second.headers["etag"]}).status_code == 204


def test_a_patch_changes_what_it_names(server: Served) -> None:
    server.destination()
    server.subscribe("s", "a = 1", payload={"x": {"y": 1, "z": 2}}, destination="d", score=3.0)
    server.client.patch(f"{PATH}/s", json={"payload": {"x": {"y": None, "w": 3}}, "destination": None})
    found = server.client.get(f"{PATH}/s").json()

    assert found["payload"] == {"x": {"z": 2, "w": 3}} and found["score"] == 3.0
    assert "destination" not in found
    assert server.client.patch(f"{PATH}/nothing", json={}).status_code == 404


def test_a_syntax_error_has_its_place_and_a_hint(server: Served) -> None:
    answer = server.subscribe("s", "price <= 5 AND\n  colour LIKE 5")
    problem = answer.json()

    assert answer.status_code == 422 and answer.headers["content-type"] == "application/problem+json"
    assert (problem["field"], problem["line"]) == ("where", 2) and problem["column"] > 1
    assert problem["caret"].endswith("^")
    with_hint = server.subscribe("s", "price <= 5 AND size = 'a").json()
    assert with_hint["status"] == 422 and with_hint["detail"]


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({}, "where"),
        ({"where": "a = 1", "colour": 1}, "colour"),
        ({"where": "a = 1", "score": "high"}, "score"),
        ({"where": "a = 1", "score": 1e400}, "score"),
        ({"where": 5}, "where"),
        ({"where": "a = 1", "language": "klingon"}, "language"),
        ({"where": "a = 1", "language": "cql2-json"}, "where"),
        ({"where": "a = 1", "destination": "nowhere"}, "destination"),
        ({"where": "a = 1", "destination": 5}, "destination"),
        ({"where": "a = 1", "expires_at": "tomorrow"}, "expires_at"),
        ({"where": "a = 1", "expires_at": "2030-01-01T00:00:00"}, "expires_at"),
        ({"where": "a = 1", "throttle_s": -1}, "throttle_s"),
        ({"where": "a = 1", "weights": {"b": 1}}, "weights"),
        ({"where": "a = 1", "id": "other"}, "id"),
    ],
)
def test_a_wrong_member_is_named(server: Served, record: dict[str, Any], field: str) -> None:
    answer = server.client.put(f"{PATH}/s", json=record) if 1e400 not in record.values() else None
    if answer is None:  # JSON has no infinity; this number is too large for a float
        body = '{"where": "a = 1", "score": 1e400}'
        answer = server.client.put(f"{PATH}/s", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_pages_are_in_the_order_of_ids(server: Served) -> None:
    ids = [f"s{number:02}" for number in range(25)]
    server.lines([{"id": id, "where": "a = 1"} for id in reversed(ids)], PATH)
    found, after = [], None
    while True:
        page = server.client.get(PATH, params={"limit": 10} | ({"after": after} if after else {})).json()
        found += [one["id"] for one in page["subscriptions"]]
        after = page.get("next")
        if after is None:
            break

    assert found == ids


def test_one_bad_record_of_a_bulk_costs_itself(server: Served) -> None:
    server.destination()
    records: list[Any] = [
        {"id": "a", "where": "x = 1", "destination": "d", "payload": 1},
        {"id": "b", "where": "x <"},
        {"id": "c", "where": "x = 1", "destination": "nowhere"},
        {"where": "x = 1"},
        [1],
        {"id": "a", "where": "x = 2", "score": 2.0},
        {"id": "e\u0000", "where": "x = 2"},
        {"id": "f", "where": {"op": "=", "args": [{"property": "x"}, 2]}, "language": "cql2-json"},
    ]
    report = server.lines(records, PATH).json()

    assert (report["accepted"], report["rejected"]) == (2, 5)
    assert [error["row"] for error in report["errors"]] == [1, 2, 3, 4, 6]
    found = server.client.get(PATH).json()["subscriptions"]
    assert [(one["id"], one.get("destination")) for one in found] == [("a", None), ("f", None)]  # the last is kept


def test_a_bulk_may_be_an_arrow_stream(server: Served) -> None:
    server.destination()
    table = pa.table({"id": ["a", "b"], "where": ["x = 1", "x = 2"], "score": [1.0, None], "destination": ["d", None]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    report = server.client.post(PATH, content=sink.getvalue().to_pybytes(), headers=headers).json()

    assert (report["accepted"], report["errors"]) == (2, [])
    assert server.client.get(f"{PATH}/a").json()["destination"] == "d"


def test_a_store_with_integer_ids_is_served(tmp_path: Path) -> None:
    with tocsin.Engine.open(tmp_path) as engine:
        engine.subscribe(7, "a = 1")
    with served(tmp_path) as server:
        assert server.client.get(f"{PATH}/7").json()["id"] == 7
        assert server.client.put(f"{PATH}/8", json={"where": "a = 1"}).json()["id"] == 8
        assert server.client.get(f"{PATH}/x").status_code == 422
        assert server.client.get(f"{PATH}/07").status_code == 422
        assert [one["id"] for one in server.client.get(PATH, params={"after": "7"}).json()["subscriptions"]] == [8]


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.destination()
        server.subscribe("s", "a = 1", destination="d", throttle_s=5.0)
        before = [server.client.get(path).json() for path in (f"{PATH}/s", "/v1/destinations/d")]
    with served(tmp_path) as server:
        assert [server.client.get(path).json() for path in (f"{PATH}/s", "/v1/destinations/d")] == before
        assert server.client.get("/readyz").json()["status"] == "ready"
    with tocsin.Engine.open(tmp_path) as engine:  # without the service
        assert list(engine) == ["s"]


def test_advice_is_about_the_own_condition(server: Served) -> None:
    assert "warnings" not in server.subscribe("a", "name = 'x'").json()
    assert "wildcard" in server.subscribe("b", "name LIKE 'ip*'").json()["warnings"][0]


def test_a_removed_subscription_leaves_no_route(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.destination()
        server.subscribe("s", "a = 1", destination="d")
    with tocsin.Engine.open(tmp_path) as engine:
        engine.unsubscribe("s")
        engine.subscribe("t", "a = 1")
    with served(tmp_path) as server:
        assert server.client.get("/v1/destinations/d").json()["subscriptions"] == 0
        assert "destination" not in server.client.get(f"{PATH}/t").json()
        server.subscribe("s", "a = 1")
        assert server.publish({"a": 1}).json()["deliveries"] == 0


@pytest.mark.parametrize("where", ["name LIKE 'ip*'", "name LIKE 'ip*' AND price < 5"])
def test_a_text_is_parsed_once(server: Served, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice is about the tree that the change has, and not about another one."""
    from tocsin.language.text import parse as parse_text

    server.subscribe("first", where.replace("ip", "a"))  # the form is known from now on
    parsed: list[str] = []

    def counting(text: str) -> object:
        parsed.append(text)
        return parse_text(text)

    for module in ("tocsin.language.dialects.table", "tocsin.service.calls.subscriptions", "tocsin.language"):
        for name in ("parse_any", "parse"):
            monkeypatch.setattr(f"{module}.{name}", counting, raising=False)
    answer = server.subscribe("s", where).json()

    assert answer["warnings"] == ["name LIKE 'ip*': * is not a wildcard in LIKE; write %"]
    assert parsed == []
