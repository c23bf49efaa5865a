"""Publishing: an event and its deliveries are durable together, and a retry changes nothing."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.service.served import Served, served
from tocsin.service.limits import Limits
from tocsin.service.outbox import Publish

CLOUD = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "offer"}


@pytest.fixture
def ready(server: Served) -> Served:
    server.destination()
    server.subscribe("cheap", "price <= 580", payload={"mail": "a"}, destination="d", score=2.0)
    server.subscribe("silent", "price <= 600")
    return server


def test_a_delivery_has_the_event_and_who_matched(ready: Served) -> None:
    answer = ready.publish({"price": 500, "é": [1.10, "\u2028"]})
    (one,) = ready.pulled()

    assert (answer.status_code, answer.json()) == (202, {"sequence": 1, "matches": 2, "deliveries": 1})
    assert one["subscriptions"] == [{"id": "cheap", "score": 2.0, "payload": {"mail": "a"}}]
    assert one["event"] == {"price": 500, "é": [1.1, "\u2028"]}
    assert (one["sequence"], one["destination"]) == (1, "d")
    assert datetime.fromisoformat(one["published"]).tzinfo is not None
    assert ready.pulled() == [one]  # the key, too, is the same when it comes again


def test_the_answer_comes_when_everything_is_in_the_database(ready: Served) -> None:
    ready.publish({"price": 500})
    with sqlite3.connect(ready.service.engine.folder / "store.db") as connection:
        events = connection.execute("SELECT sequence, event FROM service_events").fetchall()
        deliveries = connection.execute("SELECT destination, sequence, event FROM service_deliveries").fetchall()

    assert [(number, json.loads(text)) for number, text in events] == [(1, {"price": 500})]
    assert deliveries == [(1, 1, 1)]


def test_an_event_that_cannot_be_written_costs_its_sender_alone(ready: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that are published together are divided until the one to blame is alone. Fences follow each once."""
    ready.client.put("/v1/fences/f", json={"key": "car"})
    ready.subscribe("slow", "price < 9000", fence="f", destination="d")
    ready.subscribe("rare", "price > 0", throttle_s=3600, destination="d")
    wrote = Publish._published

    def fails(change: Publish, database: Any, unit: Any, event: Any, *rest: Any) -> Any:
        outcome = wrote(change, database, unit, event, *rest)
        return outcome if '"poison"' not in event.text else 1 // 0

    monkeypatch.setattr(Publish, "_published", fails)
    events = [{"price": 500, "car": number, "poison" if number % 8 == 3 else "n": 1} for number in range(64)]
    with ThreadPoolExecutor(32) as threads:
        statuses = [answer.status_code for answer in threads.map(ready.publish, events)]
    deliveries = ready.pulled(limit=1000)

    assert statuses == [500 if "poison" in event else 202 for event in events]
    assert sorted(one["event"]["car"] for one in deliveries) == [n for n in range(64) if n % 8 != 3]
    told = [[match["id"] for match in one["subscriptions"]] for one in deliveries]
    assert all(ids.count("cheap") == 1 and ids.count("slow") == 1 for ids in told)
    assert sum(ids.count("rare") for ids in told) == 1


def test_numbers_are_dense_when_many_publish_at_once(ready: Served) -> None:
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda number: ready.publish({"price": number}).json(), range(200)))
    found = ready.pulled(limit=1000)

    assert sorted(one["sequence"] for one in answers) == list(range(1, 201))
    assert [one["sequence"] for one in found] == list(range(1, 201))
    assert sorted(one["event"]["price"] for one in found) == list(range(200))
    assert len({one["key"] for one in found}) == 200


def test_a_bulk_of_many_events_is_delivered_whole(ready: Served) -> None:
    """However many deliveries one transaction has."""
    ready.lines([{"price": 1, "n": number} for number in range(1200)])
    found = [*ready.pulled(limit=1000), *ready.pulled(limit=1000, after=1000)]

    assert [one["event"]["n"] for one in found] == list(range(1200))
    assert [one["sequence"] for one in found] == list(range(1, 1201))


def test_lines_cost_themselves(ready: Served) -> None:
    odd = b'{"price": 2,\r "more": {"a": [1]}}\n[]\n{"price": 3, "price": 4}'
    body = b'{"price": 1}\nnonsense\n\n' + odd + b'\n\xff\n{"price": 5}'
    answer = ready.client.post("/v1/events", content=body, headers={"Content-Type": "application/x-ndjson"}).json()

    assert (answer["accepted"], answer["rejected"], answer["deliveries"]) == (3, 4, 3)
    assert [error["row"] for error in answer["errors"]] == [1, 3, 4, 5]
    assert [one["event"]["price"] for one in ready.pulled()] == [1, 2, 5]


def test_a_table_is_published_row_by_row(ready: Served) -> None:
    day = datetime(2026, 1, 2, tzinfo=UTC)
    table = pa.table({"price": [1.5, None, 700.0], "day": [day, day, None], "tags": [["a"], [], None]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = ready.client.post("/v1/events", content=sink.getvalue().to_pybytes(), headers=headers).json()

    assert (answer["accepted"], answer["deliveries"]) == (3, 1)
    assert ready.pulled()[0]["event"] == {"price": 1.5, "day": "2026-01-02T00:00:00+00:00", "tags": ["a"]}


def test_a_key_that_comes_again_gets_the_same_answer(ready: Served) -> None:
    first = ready.publish({"price": 1}, **{"Idempotency-Key": "k"})
    again = ready.publish({"price": 1}, **{"Idempotency-Key": "k"})
    other = ready.publish({"price": 2}, **{"Idempotency-Key": "k"})

    assert (again.status_code, again.json()) == (202, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert (other.status_code, other.json()["field"]) == (422, "Idempotency-Key")
    assert len(ready.pulled()) == 1


def test_keys_outlive_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        with served(tmp_path) as server:
            server.destination()
            server.subscribe("s", "price < 9", destination="d")
            server.publish({"price": 1}, **{"Idempotency-Key": "k"})
            server.lines([{"price": 2}, {"price": 3}], **{"Idempotency-Key": "bulk"})
            server.lines([{"price": 4, "id": 1}, {"price": 5, "id": 2}], "/v1/events?key=id")
            assert [one["event"]["price"] for one in server.pulled()] == [1, 2, 3, 4, 5]


def test_a_bulk_that_comes_again_has_the_same_report(ready: Served) -> None:
    events = [{"price": 1}, [2], {"price": 3}]
    first, again = (ready.lines(events, **{"Idempotency-Key": "k"}).json() for _ in range(2))
    other = ready.lines([*events, {"price": 4}], **{"Idempotency-Key": "k"})

    assert first == again and (first["accepted"], first["rejected"]) == (2, 1)
    assert other.status_code == 422
    assert len(ready.pulled()) == 2


def test_requests_with_one_key_at_once_publish_once(ready: Served) -> None:
    with ThreadPoolExecutor(8) as threads:
        send = lambda _: ready.publish({"price": 1}, **{"Idempotency-Key": "k"}).status_code  # noqa: E731
        statuses = set(threads.map(send, range(16)))

    assert statuses <= {202, 409} and 202 in statuses
    assert len(ready.pulled()) == 1


def test_lines_may_have_keys_of_their_own(ready: Served) -> None:
    events = [
        {"price": 1, "order": {"id": "a"}},
        {"price": 2, "order": {"id": "b"}},
        {"price": 1, "order": {"id": "a"}},
    ]
    first = ready.lines(events, "/v1/events?key=order.id").json()
    again = ready.lines([*events, {"price": 9, "order": {"id": "a"}}], "/v1/events?key=order.id").json()

    assert (first["accepted"], again["accepted"], again["rejected"]) == (3, 3, 1)
    assert [one["event"]["price"] for one in ready.pulled()] == [1, 2]


@pytest.mark.parametrize("mode", ["structured", "binary", "batch"])
def test_a_cloud_event_is_the_event_with_its_context(ready: Served, mode: str) -> None:
    ready.subscribe("offers", "cloudevent.type = 'offer' AND price < 10", destination="d")
    for _ in range(2):  # the second time changes nothing
        if mode == "structured":
            content, kind, headers = {**CLOUD, "data": {"price": 5}}, "cloudevents+json", {}
        elif mode == "batch":
            content, kind, headers = [{**CLOUD, "data": {"price": 5}}], "cloudevents-batch+json", {}  # type: ignore[assignment]
        else:
            content, kind, headers = {"price": 5}, "json", {f"ce-{name}": text for name, text in CLOUD.items()}
        headers = {**headers, "Content-Type": f"application/{kind}"}
        answer = ready.client.post("/v1/events", content=json.dumps(content), headers=headers)
        assert answer.status_code == 202, answer.text
    (one,) = ready.pulled()

    assert one["event"] == {"price": 5, "cloudevent": CLOUD}
    assert [match["id"] for match in one["subscriptions"]] == ["cheap", "offers"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"specversion": "0.3"},
        {"id": ""},
        {"source": 5},
        {"type": None},
        {"data": [1]},
        {"data": {"cloudevent": 1}},
        {"Upper": "x"},
        {"data_base64": "eA=="},
    ],
)
def test_a_wrong_cloud_event_is_refused(ready: Served, wrong: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/cloudevents+json"}
    body = json.dumps({**CLOUD, "data": {"price": 5}, **wrong})

    assert ready.client.post("/v1/events", content=body, headers=headers).status_code == 422


def test_further_subscriptions_of_a_delivery_are_behind_a_link(server: Served) -> None:
    server.destination("d d")
    ids = [f"s{number:04}" for number in range(2300)]
    server.lines([{"id": id, "where": "a = 1", "destination": "d d"} for id in ids], "/v1/subscriptions")
    server.publish({"a": 1})
    (one,) = server.pulled("d%20d")
    found, link = [match["id"] for match in one["subscriptions"]], one["more"]
    assert (len(found), one["count"]) == (1000, 2300)
    while link:
        more = server.client.get(link).json()
        found += [match["id"] for match in more["subscriptions"]]
        link = f"{link.partition('?')[0]}?part={more['next']}" if "next" in more else ""

    assert found == ids
    assert server.client.get(f"{one['more'].partition('?')[0]}?part=9").status_code == 404


def test_paused_expired_and_throttled_subscriptions_are_counted_only(server: Served) -> None:
    server.destination()
    soon, past = datetime.now(UTC) + timedelta(hours=1), datetime.now(UTC) - timedelta(hours=1)
    server.subscribe("paused", "a = 1", destination="d", paused_until=soon.isoformat())
    server.subscribe("was paused", "a = 1", destination="d", paused_until=past.isoformat())
    server.subscribe("expired", "a = 1", destination="d", expires_at=past.isoformat())
    server.subscribe("throttled", "a = 1", destination="d", throttle_s=3600)
    answers = [server.publish({"a": 1}).json() for _ in range(2)]

    assert [(one["matches"], one["suppressed"]) for one in answers] == [(4, 2), (4, 3)]
    told = [[match["id"] for match in one["subscriptions"]] for one in server.pulled()]
    assert told == [["was paused", "throttled"], ["was paused"]]
    assert "tocsin_suppressed_total 5.0" in server.client.get("/metrics").text


def test_numbers_go_on_after_a_restart_and_a_restore(tmp_path: Path) -> None:
    keys = set()
    with served(tmp_path / "a") as server:
        server.destination()
        server.subscribe("s", "a = 1", destination="d")
        server.publish({"a": 1, "n": 1})
        epoch = server.client.get("/v1/destinations/d").json()["epoch"]
        server.service.engine.backup(tmp_path / "b")
        server.publish({"a": 1, "n": 2})
        keys.update(one["key"] for one in server.pulled())
    with served(tmp_path / "a") as server:
        assert server.publish({"a": 1}).json()["sequence"] == 3
        assert server.client.get("/v1/destinations/d").json()["epoch"] == epoch
    with served(tmp_path / "b") as server:
        server.publish({"a": 1, "n": 3})
        first, second = server.pulled()
        assert first["key"] in keys and second["key"] not in keys
        assert server.client.get("/v1/destinations/d").json()["epoch"] != epoch


def test_a_destination_that_subscriptions_name_is_not_deleted(ready: Served) -> None:
    refused = ready.client.delete("/v1/destinations/d")
    ready.publish({"price": 1})
    ready.client.delete("/v1/subscriptions/cheap")
    removed = ready.client.delete("/v1/destinations/d")

    assert (refused.status_code, refused.json()["subscriptions"], removed.status_code) == (409, 1, 204)
    assert ready.client.get("/v1/destinations/d/deliveries").status_code == 404
    ready.destination()  # made again, it begins anew
    assert (ready.pulled(), ready.publish({"price": 1}).json()["deliveries"]) == ([], 0)


def test_etags_guard_destinations(server: Served) -> None:
    server.destination()
    tag = server.client.get("/v1/destinations/d").headers["etag"]
    kind = {"kind": "stream"}

    assert server.client.patch("/v1/destinations/d", json={}, headers={"If-Match": tag}).status_code == 200
    assert server.client.put("/v1/destinations/d", json=kind, headers={"If-Match": tag}).status_code == 412
    assert server.client.delete("/v1/destinations/d", headers={"If-Match": tag}).status_code == 412
    assert server.client.put("/v1/destinations/e", json={"kind": "pigeon"}).status_code == 422
    assert [one["id"] for one in server.client.get("/v1/destinations").json()["destinations"]] == ["d"]


def test_events_that_wait_have_a_limit(tmp_path: Path) -> None:
    with served(tmp_path, Limits(body_bytes=1000)) as server:
        assert server.publish({"a": "x" * 2000}).status_code == 413
        assert server.publish({"a": "x" * 100}).status_code == 202
