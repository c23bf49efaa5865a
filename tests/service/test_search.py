"""Pages of subscriptions with a text or a destination: together they have exactly those that an oracle finds."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.service.served import Served
from tocsin.service import pages


def found(server: Served, **asked: Any) -> list[dict[str, Any]]:
    """The subscriptions of all pages."""
    every: list[dict[str, Any]] = []
    while True:
        answer = server.client.get("/v1/subscriptions", params=asked)
        assert answer.status_code == 200, answer.text
        document = answer.json()
        every += document["subscriptions"]
        if "next" not in document:
            return every
        asked["after"] = document["next"]


def fill(server: Served, kind: type) -> dict[Any, dict[str, Any]]:
    draw = random.Random(3)
    server.destination("d")
    server.destination("e")
    records: dict[Any, dict[str, Any]] = {}
    for number in draw.sample(range(1000), 40):
        where: Any = draw.choice(["Price <= 5", "name = 'a_b%c'", "stock > 7 AND price < 3", "city = 'Äußeres'"])
        if draw.random() < 0.2:
            where = {"op": "=", "args": [{"property": "Price"}, number]}
        id = number if kind is int else f"Id-{number:03}"
        payload = draw.choice([None, {"mail": "Ann@example.org"}, ['say "Price"', "Ünal"], "a\\b"])
        records[id] = {"id": id, "where": where, "destination": draw.choice(["d", "e", None]), "payload": payload}
    assert server.lines(list(records.values()), "/v1/subscriptions").json()["rejected"] == 0
    return records


def is_in(text: str, record: dict[str, Any]) -> bool:
    where = record["where"] if isinstance(record["where"], str) else json.dumps(record["where"])
    payload = record["payload"]
    strings = [payload] if isinstance(payload, str) else [*(payload or {}), *getattr(payload, "values", list)()]
    return any(_small(text) in _small(one) for one in (str(record["id"]), where, *strings))


def _small(text: str) -> str:
    return "".join(one.lower() if one.isascii() else one for one in text)


@pytest.mark.parametrize("most", [9, 50_000])
@pytest.mark.parametrize("kind", [str, int])
def test_pages_have_what_an_oracle_finds(
    server: Served, kind: type, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_ROWS", most)
    records = fill(server, kind)
    for search in (None, "PRICE", "_b%", "Äuß", "1", "nowhere", "ann@", 'say "P', "Ünal", "a\\b"):
        for destination in (None, "d"):
            asked = {"search": search, "destination": destination}
            expected = sorted(
                id
                for id, one in records.items()
                if (search is None or is_in(search, one)) and destination in (None, one["destination"])
            )
            for limit in (7, 1000):
                given = {name: value for name, value in asked.items() if value is not None}
                assert [one["id"] for one in found(server, limit=limit, **given)] == expected, asked


def test_a_destination_that_is_not_there(server: Served) -> None:
    assert server.client.get("/v1/subscriptions", params={"destination": "none"}).status_code == 404
