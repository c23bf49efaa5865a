"""Named parts in deliveries: destinations that ask for them get those of the match that was published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.service.receivers import Reply, receiver
from tests.service.served import Served, events_of, served
from tests.waiting import awaited

WHERE = "NAMED('cheap', price < 5) OR NAMED('tagged', ANY(tags, element = 'sale'))"
EVENT = {"price": 9, "tags": ["new", "sale"]}


def told(delivery: Any) -> dict[str, Any]:
    """What each subscription of a delivery is told of its parts."""
    return {one["id"]: one["named"] for one in delivery["subscriptions"] if "named" in one}


@pytest.fixture
def ready(server: Served) -> Served:
    """Destinations that ask for named parts and that do not, with a subscription each."""
    server.client.put("/v1/destinations/d", json={"kind": "stream", "named": True})
    server.destination("plain")
    assert server.subscribe("s", WHERE, destination="d").status_code == 201
    assert server.subscribe("p", WHERE, destination="plain").status_code == 201
    return server


def test_pulls_and_streams_tell_named_parts(ready: Served) -> None:
    ready.subscribe("t", "price > 5", destination="d")
    with ready.client.stream("GET", "/v1/destinations/d/stream") as response:
        events = events_of(response)
        next(events)
        ready.publish(EVENT)
        streamed = next(events).data
    (pulled,) = ready.pulled()

    assert streamed == pulled
    assert pulled["subscriptions"] == [
        {"id": "s", "score": 1.0, "payload": None, "named": {"tagged": [1]}},
        {"id": "t", "score": 1.0, "payload": None, "named": {}},
    ]
    assert ready.pulled("plain")[0]["subscriptions"] == [{"id": "p", "score": 1.0, "payload": None}]


def test_webhooks_tell_named_parts(ready: Served) -> None:
    with receiver(lambda posted: Reply()) as one:
        record = {"kind": "webhook", "url": one.url, "allow_private": True, "named": True}
        assert ready.client.put("/v1/destinations/w", json=record).json()["named"] is True
        ready.subscribe("s-w", WHERE, destination="w")
        ready.publish({**EVENT, "price": 1})
        one.await_numbers(1)

        assert told(one.got[0].delivery) == {"s-w": {"cheap": [], "tagged": [1]}}


@pytest.mark.parametrize("count", [20, 200])
def test_bulks_tell_what_the_engine_tells(ready: Served, count: int) -> None:
    """Also when so many matches ask that their parts are matched as an index."""
    conditions = {
        f"b{number}": f"NAMED('low', n < {number}) OR NAMED('odd', ANY(tags, element = 't{number}'))"
        for number in range(count)
    }
    ready.lines(
        [
            {"id": id, "where": where, "destination": ("d", "plain")[int(id[1:]) % 2]}
            for id, where in conditions.items()
        ],
        "/v1/subscriptions",
    )
    events = [{"n": n, "tags": [f"t{one}" for one in range(n, n + 3)]} for n in range(0, count, 5)]
    assert ready.lines(events).json()["rejected"] == 0
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": id, "where": where} for id, where in conditions.items() if int(id[1:]) % 2 == 0])

    found = {delivery["event"]["n"]: told(delivery) for delivery in ready.pulled(limit=1000)}
    expected = {
        event["n"]: {one.subscription: one.named for one in engine.match(event, named=True)} for event in events
    }
    assert found == {n: parts for n, parts in expected.items() if parts}
    assert all(told(delivery) == {} for delivery in ready.pulled("plain", limit=1000))


def test_an_option_that_changes_counts_from_the_next_event_on(ready: Served, tmp_path: Path) -> None:
    ready.publish(EVENT)
    assert ready.client.patch("/v1/destinations/d", json={"named": None}).status_code == 200
    assert "named" not in ready.client.get("/v1/destinations/d").json()
    ready.publish(EVENT)
    ready.client.patch("/v1/destinations/d", json={"named": True})
    ready.publish(EVENT)

    assert [bool(told(one)) for one in ready.pulled()] == [True, False, True]
    assert ready.client.patch("/v1/destinations/d", json={"named": "yes"}).json()["field"] == "named"
    assert ready.service.directory.asking == 1
    assert ready.client.delete("/v1/subscriptions/s").status_code == 204
    assert ready.client.delete("/v1/destinations/d").status_code == 204
    assert ready.service.directory.asking == 0


def test_the_option_outlives_the_server(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.client.put("/v1/destinations/d", json={"kind": "stream", "named": True})
        server.subscribe("s", WHERE, destination="d")
    with served(tmp_path) as server:
        server.publish(EVENT)
        assert [told(one) for one in server.pulled()] == [{"s": {"tagged": [1]}}]


def test_throttled_subscriptions_tell_named_parts(ready: Served) -> None:
    ready.subscribe("s", WHERE, destination="d", throttle_s=3600)
    ready.publish(EVENT)
    ready.publish(EVENT)

    assert [told(one) for one in ready.pulled()] == [{"s": {"tagged": [1]}}]


def test_events_that_come_at_once_tell_their_own_parts(ready: Served) -> None:
    """Single events share a batch; each match has the parts of its event."""
    from concurrent.futures import ThreadPoolExecutor

    events = [{"price": n % 10, "tags": ["sale"] * (n % 3)} for n in range(100)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ready.publish, events))
    awaited(lambda: ready.service.directory.last_event == 100)

    for one in ready.pulled(limit=1000):
        event, parts = one["event"], told(one)["s"]
        expected = {"cheap": []} if event["price"] < 5 else {}
        assert parts == expected | ({"tagged": list(range(len(event["tags"])))} if event["tags"] else {})


def test_clients_have_named_parts(ready: Served) -> None:
    ready.publish(EVENT)
    with tocsin.Client(str(ready.client.base_url)) as client:
        (delivery,) = client.deliveries("d", wait_s=0)
        (plain,) = client.deliveries("plain", wait_s=0)

        assert [one.named for one in delivery.subscriptions] == [{"tagged": [1]}]
        assert not hasattr(plain.subscriptions[0], "named")


def test_named_parts_that_ask_for_the_present_are_told(ready: Served) -> None:
    """At the moment at which the event was matched."""
    ready.subscribe("t", "NAMED('late', due < NOW()) OR NAMED('early', due > NOW())", destination="d")
    for due in ("2020-01-01T00:00:00Z", "2199-01-01T00:00:00Z"):
        ready.publish({"due": due})

    assert [told(one) for one in ready.pulled()] == [{"t": {"late": []}}, {"t": {"early": []}}]
