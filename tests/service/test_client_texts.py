"""Clients read any text from a stream, and reach any id."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tocsin
from tests.service.served import Served, served
from tests.sizes import sized
from tocsin import ServiceError, UnknownSubscription
from tocsin.client.streams import Lines

TEXTS: Final = ("\u2028", "\u2029", "\x85", "\x0b\x0c\x1c\x1d\x1e", "\r\n\r", "\u0000", "data: x", "😀ü", "\ufeff")
IDS: Final = (
    *(".", "..", "...", "a,b", ",", "a/b", "a b", "é", "e\u0301", "\u202eabc", "%2e%2e", "%2E", "a?b", "a#b", ";", "+"),
    *("a\\b", "😀", "&=", "*", '"', "null", "-0"),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("alerts")) as server:
        yield server


@pytest.fixture
def client(shared: Served) -> Iterator[tocsin.Client]:
    with tocsin.Client(str(shared.client.base_url)) as one:
        yield one


@settings(max_examples=sized(200, 2000))
@example(["\r\n", "\n"], [1, 2])
@example(["\r", "\n", "a"], [1, 1, 2])
@given(
    st.lists(
        st.sampled_from(["\r", "\n", "\r\n", "\u2028", "\x85", "ü", "😀", "a"]) | st.text(max_size=3), max_size=12
    ),
    st.lists(st.integers(0, 40), max_size=12),
)
def test_lines_end_at_cr_and_lf_wherever_the_bytes_are_cut(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    data, lines = text.encode(), Lines()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found = list(itertools.chain(*(lines.take(data[first:stop]) for first, stop in itertools.pairwise(places))))

    assert found == re.split("\r\n|\r|\n", text)[:-1]


def published(client: tocsin.Client, destination: str) -> list[dict[str, Any]]:
    """Events and payloads with odd texts, which a destination gets."""
    client.put_destination(destination)
    for number, text in enumerate(TEXTS):
        payload = {"note": text}
        client.subscribe(f"{destination} {number}", f"n = {number}", destination=destination, payload=payload)
    events = [{"n": number, "t": text} for number, text in enumerate(TEXTS)]
    for event in events:
        client.publish(event)
    return events


def test_streams_and_pulls_give_any_text(client: tocsin.Client, shared: Served) -> None:
    events = published(client, "d")

    async def streamed() -> list[Any]:
        async with tocsin.AsyncClient(str(shared.client.base_url)) as waiting:
            stream = waiting.stream("d", start="earliest")
            found = [await anext(stream) for _ in events]
            await stream.aclose()  # type: ignore[attr-defined]
            return found

    pulled = list(client.deliveries("d", wait_s=0))
    blocking = list(itertools.islice(client.stream("d", start="earliest"), len(events)))
    for found in (pulled, blocking, asyncio.run(streamed())):
        assert [one.event for one in found] == events
        assert [one.subscriptions[0].payload["note"] for one in found] == list(TEXTS)


@pytest.mark.parametrize("id", IDS)
def test_every_id_is_reached(client: tocsin.Client, shared: Served, id: str) -> None:
    client.put_destination(id)
    client.subscribe(id, "a = 1", destination=id)
    assert client.get(id)["id"] == id and id in client
    assert client.destination(id)["id"] == id
    client.rescore(id, 2.0)
    client.publish({"a": 1})
    assert next(client.stream(id, start="earliest")).destination == id
    (delivery,) = client.deliveries(id, wait_s=0)
    assert [(one.subscription, one.score) for one in delivery.subscriptions] == [(id, 2.0)]
    client.unsubscribe(id)
    with pytest.raises(UnknownSubscription):
        client.get(id)

    client.put_window(id, {"size": 9, "bounds": [0, 0, 9, 9]})
    window = client.window(id)
    window.subscribe(id, words=["a"], location=(1, 1), destination=id)
    assert window.push({"words": ["a"], "location": [1, 1], "key": id}).changes == 1
    assert window.results(id)[0][0] == id
    window.unsubscribe(id)
    client.delete_window(id)
    client.put_fence(id, {"key": "v"})
    client.delete_fence(id)
    client.delete_destination(id)
    with pytest.raises(ServiceError):
        client.destination(id)


def test_several_destinations_share_a_stream_whatever_their_ids(client: tocsin.Client, shared: Served) -> None:
    names = ("x,y", "x", "y", "..")
    for name in names:
        client.put_destination(name)
        client.subscribe(name, "several = 1", destination=name)
    client.publish({"several": 1})
    found = list(itertools.islice(client.stream(*names, start="earliest"), len(names)))

    assert {one.destination for one in found} == set(names)
    for query in ("destinations=x,y", "destination=x&destination=y", "destination=x&destinations=y"):
        with shared.client.stream("GET", f"/v1/stream?{query}&from=earliest") as answer:
            assert answer.status_code == 200
    for query in ("", "destination=", "destination=x&destination=x", "destination=x&destinations=x", "destinations=x,"):
        assert shared.client.get(f"/v1/stream?{query}").status_code == 400
    assert shared.client.get("/v1/stream?" + "&".join(f"destination={n}" for n in range(33))).status_code == 400
