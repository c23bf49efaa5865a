"""Many subscriptions are listed and removed by a condition on their payloads, or by their ids."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.service.served import Served, served
from tests.service.test_audit import log
from tests.service.test_search import found
from tocsin.errors import InvalidInput, RecordError, StoreError
from tocsin.service import pages
from tocsin.service.calls import removing

PATH = "/v1/subscriptions"
OF_ANN = {"only": "user = 'ann'"}


def fill(server: Served, kind: type = str, count: int = 30) -> list[Any]:
    """Subscriptions of two users, some with a destination; returns the ids of Ann's."""
    server.destination("d")
    records = [
        {
            "id": f"s/{number:03}" if kind is str else number,
            "where": "n > 0",
            "payload": {"user": "ab"[number % 2] + "nn"},
        }
        | ({"destination": "d", "throttle_s": 60} if number % 3 else {})
        for number in range(count)
    ]
    assert server.lines(records, PATH).json()["accepted"] == count
    return [one["id"] for one in records if one["payload"] == {"user": "ann"}]


@pytest.mark.parametrize("most", [4, 50_000])
@pytest.mark.parametrize("kind", [str, int])
def test_pages_have_the_part(server: Served, kind: type, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_ROWS", most)
    of_ann = fill(server, kind)
    for limit in (3, 1000):
        assert [one["id"] for one in found(server, limit=limit, **OF_ANN)] == of_ann
        with_destination = found(server, limit=limit, destination="d", search="2", **OF_ANN)
        assert [one["id"] for one in with_destination] == [
            id for id in of_ann if "2" in str(id) and int(str(id).removeprefix("s/")) % 3
        ]
    assert server.client.get(PATH, params={"only": "user ="}).status_code == 422


def test_a_part_is_counted_and_then_removed(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """In transactions of some at once, each with a record that names nobody; deliveries end, and routes go."""
    monkeypatch.setattr(removing, "_AT_ONCE", 6)
    of_ann = fill(server)
    seen, before = len(log(server.client)), server.service.engine.sequence

    counted = server.client.delete(PATH, params=OF_ANN | {"dry_run": "true"}).json()
    assert counted == {"removed": 15, "dry_run": True} and len(found(server)) == 30
    assert server.client.delete(PATH, params=OF_ANN).json() == {"removed": 15, "dry_run": False}
    assert server.client.delete(PATH, params=OF_ANN).json()["removed"] == 0

    assert not {one["id"] for one in found(server)} & set(of_ann) and len(found(server)) == 15
    records = [
        (one["method"], one["path"], one.get("first"), one.get("last")) for one in log(server.client, after=seen)
    ]
    spans = [(before + 1, before + 6), (before + 7, before + 12), (before + 13, before + 15)]
    assert records == [("DELETE", PATH, *span) for span in (*spans, (None, None))]
    assert server.publish({"n": 1}).json()["matches"] == 15
    assert {one["payload"]["user"] for one in server.pulled()[0]["subscriptions"]} == {"bnn"}
    routes = server.service.transactions.read(
        lambda database: database.connection.execute("SELECT id FROM service_routes").fetchall()
    )
    assert not {id for (id,) in routes} & set(of_ann) and not set(server.service.directory.routes) & set(of_ann)


@pytest.mark.parametrize("kind", [str, int])
def test_ids_are_removed_and_unknown_ones_told(server: Served, kind: type) -> None:
    ids = fill(server, kind)
    more = "new" if kind is str else 77
    answer = server.client.delete(PATH, params={"id": [ids[0], ids[1], more, ids[0]]}).json()
    assert answer == {"removed": 2, "dry_run": False, "unknown": [more]}


@pytest.mark.parametrize(
    "params",
    [{}, {"only": "user ="}, OF_ANN | {"id": "s/000"}, OF_ANN | {"dry_run": "yes"}, {"id": ""}, {"where": "n > 0"}],
)
def test_what_is_refused_removes_nothing(server: Served, params: dict[str, str]) -> None:
    fill(server)
    assert server.client.delete(PATH, params=params).status_code in (400, 422)
    assert len(found(server)) == 30


def test_tenants_and_scopes_are_respected(tmp_path: Path) -> None:
    with served(tmp_path / "alerts") as server:
        owner, other = (server.client_of(server.token(tenant=name)) for name in ("acme", "rival"))
        reader = server.client_of(server.token("read", "publish", "operate", tenant="acme"))
        for client in (owner, other):
            client.put(f"{PATH}/s", json={"where": "n > 0", "payload": {"user": "ann"}})
        assert reader.delete(PATH, params=OF_ANN).status_code == 403
        assert reader.delete(PATH, params=OF_ANN | {"dry_run": "true"}).status_code == 403
        assert owner.delete(PATH, params=OF_ANN).json()["removed"] == 1
        assert other.get(f"{PATH}/s").status_code == 200


def test_after_an_error_in_the_middle_the_next_try_removes_the_others(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removing, "_AT_ONCE", 4)
    fill(server)
    made: list[int] = []
    write = removing.RemoveSubscriptions.write

    def failing(self: Any, database: Any, sequence: int, touched: set[Any]) -> int:
        made.append(sequence)
        last = write(self, database, sequence, touched)
        if len(made) == 3:
            raise StoreError("the disk is gone")
        return last

    with monkeypatch.context() as patch:
        patch.setattr(removing.RemoveSubscriptions, "write", failing)
        assert server.client.delete(PATH, params=OF_ANN).status_code >= 500
    left = {one["id"] for one in found(server)}
    assert len(left) == 22 and left == set(server.service.engine)
    assert server.client.delete(PATH, params=OF_ANN).json()["removed"] == 7


def test_clients_remove_as_an_engine_does(server: Served) -> None:
    url = str(server.client.base_url)

    async def asynchronously() -> Any:
        async with tocsin.AsyncClient(url) as client:
            listed = [one["id"] async for one in client.subscriptions(only=OF_ANN["only"])]
            counted = await client.unsubscribe_many(only=OF_ANN["only"], dry_run=True)
            return listed, counted, await client.unsubscribe_many(["s/001", "s/999"])

    engine = tocsin.Engine()
    of_ann = fill(server, count=130)
    with tocsin.Client(url) as client:
        engine.subscribe_many(
            [{name: one[name] for name in ("id", "where", "payload")} for one in client.subscriptions()]
        )
        listed, counted, named = asyncio.run(asynchronously())
        assert listed == [one["id"] for one in client.subscriptions(only=OF_ANN["only"])] == of_ann
        assert counted == engine.unsubscribe_many(only=OF_ANN["only"], dry_run=True)
        assert named == engine.unsubscribe_many(["s/001", "s/999"])
        for ids in ([*of_ann, "none", "another", of_ann[0]], []):
            assert client.unsubscribe_many(iter(ids)) == engine.unsubscribe_many(ids)
        assert client.unsubscribe_many(only="user = 'bnn'") == engine.unsubscribe_many(only="user = 'bnn'")
        for wrong in ({}, {"ids": "s/001"}, {"ids": ["s/001"], "only": "user = 'ann'"}):
            with pytest.raises(InvalidInput):
                client.unsubscribe_many(**wrong)  # type: ignore[arg-type]
        with pytest.raises(RecordError, match="expected a value"):
            client.unsubscribe_many(only="user =")
