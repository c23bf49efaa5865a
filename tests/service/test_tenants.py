"""Tenants have nothing in common: each has subscriptions, destinations, deliveries and metrics of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.service.receivers import Reply, receiver
from tests.service.served import Served, events_of, served
from tests.waiting import awaited


def filled(client: httpx.Client, secret: str) -> None:
    """One subscription, one destination and one delivery, all with a word in them."""
    assert client.put("/v1/destinations/d", json={"kind": "stream"}).status_code == 201
    record = {"where": "n >= 0", "destination": "d", "payload": secret}
    assert client.put("/v1/subscriptions/s", json=record).status_code == 201
    assert client.post("/v1/events", json={"n": 1, "what": secret}).json()["matches"] == 1


def test_the_same_names_are_other_things(server: Served) -> None:
    clients = {name: server.client_of(server.token(tenant=name)) for name in ("", "acme", "other")}
    for name, client in clients.items():
        filled(client, f"of {name}")

    for name, client in clients.items():
        (delivery,) = client.get("/v1/destinations/d/deliveries").json()["deliveries"]
        assert (delivery["sequence"], delivery["event"]["what"]) == (1, f"of {name}")
        assert [one["payload"] for one in client.post("/v1/match", json={"n": 1}).json()["matches"]] == [f"of {name}"]
        with client.stream("GET", "/v1/destinations/d/stream?from=earliest") as response:
            events = events_of(response)
            next(events)
            assert next(events).data["event"]["what"] == f"of {name}"
    keys = {client.get("/v1/destinations/d/deliveries").json()["deliveries"][0]["key"] for client in clients.values()}
    assert len(keys) == 3
    assert sorted(one.name for one in (server.folder / "tenants").iterdir()) == ["acme", "other"]


def test_a_top_k_has_only_own_matches(server: Served) -> None:
    one, other = (server.client_of(server.token(tenant=name)) for name in ("one", "other"))
    for number in range(30):
        other.put(f"/v1/subscriptions/{number}", json={"where": "n >= 0", "score": 100 + number})
    one.put("/v1/subscriptions/s", json={"where": "n >= 0", "score": 1})

    assert [m["id"] for m in one.post("/v1/match", params={"top": 3}, json={"n": 1}).json()["matches"]] == ["s"]


def test_metrics_are_those_of_the_tenant_and_an_operator_sees_all(server: Served) -> None:
    filled(server.client_of(server.token()), "x")
    filled(server.client_of(server.token(tenant="acme")), "y")
    own = server.client_of(server.token("read", tenant="acme")).get("/metrics").text
    default = server.client_of(server.token("read")).get("/metrics").text
    operator = server.client_of(server.token("operate")).get("/metrics").text

    assert 'tocsin_events_total{tenant="acme"} 1.0' in own and "tocsin_events_total 1.0" not in own
    assert "tocsin_events_total 1.0" in default and "acme" not in default
    assert 'tocsin_events_total{tenant="acme"} 1.0' in operator and "tocsin_events_total 1.0" in operator
    assert 'tocsin_backlog{destination="d",tenant="acme"} 1.0' in operator
    assert "tocsin_tenants 2.0" in operator and 'tocsin_denied_total{status="401"}' in operator
    assert operator.count("# TYPE tocsin_events_total") == 1


def test_a_tenant_is_opened_once_and_comes_back(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        text = server.token(tenant="acme")
        clients = [server.client_of(text) for _ in range(8)]
        with ThreadPoolExecutor(8) as threads:
            paths = [f"/v1/subscriptions/{number}" for number in range(8)]
            put = threads.map(lambda one, path: one.put(path, json={"where": "n = 1"}).status_code, clients, paths)
            assert list(put) == [201] * 8
        assert [name for name, _ in server.server.tenants] == ["", "acme"]
    with served(tmp_path) as server:
        assert len(server.client_of(text).get("/v1/subscriptions").json()["subscriptions"]) == 8


def test_a_tenant_that_cannot_be_opened_hurts_no_other(server: Served) -> None:
    (server.folder / "tenants").mkdir()
    (server.folder / "tenants" / "acme").write_text("not a folder")
    client = server.client_of(server.token(tenant="acme"))
    answer = client.get("/v1/subscriptions")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert str(server.folder) not in answer.text
    assert server.client_of(server.token()).get("/v1/subscriptions").status_code == 200
    (server.folder / "tenants" / "acme").unlink()
    assert client.get("/v1/subscriptions").status_code == 200


def test_streams_of_all_tenants_end_with_the_server(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        client = server.client_of(server.token(tenant="acme"))
        client.put("/v1/destinations/d", json={"kind": "stream"})
        request = client.build_request("GET", "/v1/destinations/d/stream")
        response = client.send(request, stream=True)
        events = events_of(response)
        next(events)
        server.server.should_exit = True

        assert list(events) == []


def test_webhooks_of_a_tenant_go_on_when_the_server_starts(tmp_path: Path) -> None:
    """Nobody needs to ask for the tenant first."""
    with receiver(lambda posted: Reply(500)) as one:
        with served(tmp_path) as server:
            client = server.client_of(server.token(tenant="acme"))
            record = {"kind": "webhook", "url": one.url, "allow_private": True}
            assert client.put("/v1/destinations/w", json=record).status_code == 201
            client.put("/v1/subscriptions/s", json={"where": "n >= 0", "destination": "w"})
            client.post("/v1/events", json={"n": 1})
            awaited(lambda: client.get("/v1/destinations/w").json()["state"] == "failing")
            client.post("/v1/destinations/w/enable")
        one.reply = lambda posted: Reply()
        with served(tmp_path):
            awaited(lambda: one.numbers()[-2:] == [1, 1])
