"""Sizes of what is stored and answered: payloads, deliveries and pages are cut by bytes, and say that they are cut."""

from __future__ import annotations

import itertools
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin.service import outbox
from tocsin.service.limits import Limits
from tocsin.service.outbox import divided, further_parts
from tocsin.store import connections

KB = 1 << 10
PATH = "/v1/destinations/d/deliveries"


def test_a_payload_has_a_size_in_bytes(server: Served) -> None:
    """Of its JSON in UTF-8: a letter may have four. What fits is read back."""
    server.client.put("/v1/windows/w", json={"size": 10, "bounds": [0, 0, 9, 9]})
    interest = {"words": ["a"], "location": [1, 1]}
    for payload, fits in (("x" * (64 * KB - 2), True), ("x" * (64 * KB - 1), False), ("\U0001f600" * (17 * KB), False)):
        answers = [
            server.client.put("/v1/subscriptions/s", json={"where": "n = 1", "payload": payload}),
            server.client.put("/v1/windows/w/subscriptions/s", json={**interest, "payload": payload}),
        ]
        assert [one.is_success for one in answers] == [fits, fits]
        if not fits:
            assert [(one.status_code, one.json()["limit"], one.json()["field"]) for one in answers] == [
                (422, "payload_kb", "payload")
            ] * 2
        records = [{"id": "t", "where": "n = 1", "payload": payload}, {"id": "u", "where": "n = 1"}]
        assert server.lines(records, "/v1/subscriptions").json()["accepted"] == 1 + fits
    assert server.client.get("/v1/subscriptions/s").json()["payload"] == "x" * (64 * KB - 2)


def parts_of(server: Served, delivery: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The subscriptions of a delivery, part by part, as its links say."""
    parts, link = [delivery["subscriptions"]], delivery.get("more")
    while link is not None:
        answer = server.client.get(link)
        assert answer.status_code == 200 and len(answer.content) < 2 << 20
        document = answer.json()
        parts.append(document["subscriptions"])
        link = f"{PATH}/{delivery['sequence']}/subscriptions?part={document['next']}" if "next" in document else None
    return parts


def test_a_delivery_with_large_payloads_comes_in_parts(tmp_path: Path) -> None:
    """68 payloads, of which each fits, are published, pulled and read by the client as a whole."""
    with served(tmp_path, Limits(payload_bytes=300 * KB)) as server:
        server.destination()
        for number in range(68):
            server.subscribe(f"s{number:02}", "n = 1", destination="d", payload=f"{number}" + "x" * 290 * KB)
        assert server.publish({"n": 1}).status_code == 202
        answer = server.client.get(PATH)
        (delivery,) = answer.json()["deliveries"]
        parts = parts_of(server, delivery)
        assert len(answer.content) < 2 << 20 and delivery["count"] == 68 and len(parts) > 10
        found = list(itertools.chain(*parts))
        assert [one["id"] for one in found] == [f"s{number:02}" for number in range(68)]
        whole = [one for one in found if "left_out" not in one]
        left = found[len(whole) :]
        assert 55 <= len(whole) < 60 and all(one["payload"].startswith(str(int(one["id"][1:]))) for one in whole)
        assert all(one["payload"] is None and one["left_out"] == ["payload"] for one in left)
        with tocsin.Client(str(server.client.base_url)) as client:
            received = next(iter(client.deliveries("d")))
            assert [one.subscription for one in received.subscriptions] == [one["id"] for one in found]


fragment = st.builds(lambda id, size: json.dumps({"id": id, "payload": "é" * size}), st.integers(), st.integers(0, 40))


@given(fragments=st.lists(fragment, min_size=1, max_size=60), most=st.integers(1, 9), size=st.integers(1, 300))
def test_parts_have_everything_once_and_in_order(fragments: list[str], most: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "MOST_SUBSCRIPTIONS", most)
        patch.setattr(outbox, "_MOST_BYTES", size)
        parts = [json.loads(text) for text in divided(fragments)]
        assert [json.dumps(one) for part in parts for one in part] == fragments
        assert all(len(part) == 1 or len(part) <= most for part in parts)
        inner = [sum(len(json.dumps(one, ensure_ascii=False).encode()) for one in part) for part in parts]
        assert all(len(part) == 1 or own <= 2 * size for part, own in zip(parts, inner, strict=True))
        assert further_parts(len(fragments), len(parts) - 1) == len(parts) - 1


def test_deliveries_of_older_releases_are_read() -> None:
    """Their rows do not say how many parts there are: a part has 1,000 subscriptions."""
    assert [further_parts(count, 0) for count in (1, 1000, 1001, 2000, 2001)] == [0, 0, 1, 1, 2]


def test_pages_end_at_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of whatever has the rows that fit, one at least, and says where the next one begins."""
    monkeypatch.setattr(connections, "MOST_BYTES", 100 * KB)
    with served(tmp_path) as server:
        server.destination()
        server.client.put("/v1/windows/w", json={"size": 10, "bounds": [0, 0, 9, 9]})
        payload = "x" * 30 * KB
        interest = {"words": ["a"], "location": [1, 1], "payload": payload}
        for number in range(11):
            server.client.put(f"/v1/windows/w/subscriptions/{number:02}", json=interest).raise_for_status()
            server.subscribe(f"{number:02}", f"n = {number}", destination="d", payload=payload)
            server.publish({"n": number})
        for path in ("/v1/subscriptions", "/v1/windows/w/subscriptions"):
            pages, after = list[list[str]](), None
            while after is not None or not pages:
                answer = server.client.get(path, params={"limit": 1000} | ({} if after is None else {"after": after}))
                assert len(answer.content) < 200 * KB
                pages.append([one["id"] for one in answer.json()["subscriptions"]])
                after = answer.json().get("next")
            assert [len(page) for page in pages] == [4, 4, 3]
            assert list(itertools.chain(*pages)) == [f"{number:02}" for number in range(11)]
        pulled = [one["sequence"] for one in server.pulled(limit=1000)]
        assert pulled == [1, 2, 3, 4] and [one["sequence"] for one in server.pulled(after=10)] == [11]
        monkeypatch.setattr(connections, "MOST_BYTES", 1)
        assert len(server.client.get("/v1/subscriptions").json()["subscriptions"]) == 1


@pytest.mark.parametrize("keys", [{}, {"Idempotency-Key": "k"}])
def test_a_bulk_that_fails_in_the_middle_says_what_was_stored(
    server: Served, monkeypatch: pytest.MonkeyPatch, keys: dict[str, str]
) -> None:
    """Events of a bulk are stored 4,096 at a time. What was stored stays, and a retry with the key adds the rest."""
    server.destination()
    server.subscribe("s", "n >= 0", destination="d")
    server.client.put("/v1/windows/w", json={"size": 10, "bounds": [0, 0, 9, 9]})
    events, write, is_full = [{"n": number} for number in range(10_000)], outbox.Publish.write, [True]

    def fails(change: outbox.Publish, *rest: Any) -> int:
        if is_full[0] and change.units[0].texts[0] == '{"n": 8192}':
            error = sqlite3.OperationalError("disk full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return write(change, *rest)

    monkeypatch.setattr(outbox.Publish, "write", fails)
    answer = server.lines(events, **keys)
    assert (answer.status_code, answer.json()["stored"]) == (507, 8192)
    assert answer.json()["detail"].startswith("the disk is full; the first 8,192 lines of the request are stored")
    assert ("with the same keys" in answer.json()["detail"]) == bool(keys)
    is_full[0] = False
    rest = events if keys else events[8192:]
    awaited(lambda: server.lines(rest, **keys).status_code == 202)  # as soon as the server has seen that there is room
    assert server.client.get("/v1/destinations/d").json()["newest"] == 10_000
