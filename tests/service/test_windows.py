"""Windows over HTTP: the lists are those of a window in memory, and each change reaches its destination once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.window import NaiveWindow
from tests.service.receivers import Reply, receiver
from tests.service.served import Served, events_of
from tests.service.windowed import BOUNDS, LINES, PATH, interest, push, results, told

WORDS: Final = st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True)
PLACES: Final = st.tuples(st.sampled_from([0.0, 1.0, 8.0]), st.sampled_from([0.0, 1.5, 4.0]))
STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.lists(st.tuples(WORDS, PLACES | st.just((9.0, 9.0))), min_size=1, max_size=6)),
        st.tuples(st.just("subscribe"), st.tuples(st.integers(0, 4), WORDS, PLACES, st.integers(1, 3))),
        st.tuples(st.just("unsubscribe"), st.integers(0, 4)),
    ),
    min_size=4,
    max_size=14,
)


def test_changes_of_a_list_are_delivered(windowed: Served) -> None:
    answers = [push(windowed, "seafood", text_of="x"), push(windowed, "fruit"), push(windowed, "seafood", "fresh")]
    first, second = windowed.pulled()

    assert [one.status_code for one in answers] == [202] * 3
    assert answers[0].json() == {
        "accepted": 1, "rejected": 0, "changes": 1, "deliveries": 1, "next": 1, "errors": [],
    }  # fmt: skip
    assert [one.json()["changes"] for one in answers] == [1, 0, 1]
    assert first["event"] == {
        "window": "news", "number": 0, "message": {"words": ["seafood"], "location": [2, 2], "text_of": "x"},
    }  # fmt: skip
    assert first["subscriptions"] == [{"id": "u1", "score": 1.0, "payload": None, "change": "enter", "message": 0}]
    assert (first["sequence"], second["sequence"], second["event"]["number"]) == (1, 2, 2)
    assert results(windowed) == [(0, 1.0), (2, pytest.approx(0.5**0.5))]


@settings(deadline=None, max_examples=max(3, settings.default.max_examples // 4))
@given(steps=STEPS, size=st.sampled_from([1, 3, 20]), again=st.integers(0, 12))
def test_lists_and_changes_are_those_of_the_oracle(
    steps: Any, size: int, again: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also after the server was started again in between."""
    folder, naive = tmp_path_factory.mktemp("alerts"), NaiveWindow(BOUNDS, size)
    expected: dict[str, list[Any]] = {"even": [], "odd": []}
    server = Served(folder, options_of(folder))
    try:
        for name in expected:
            server.destination(name)
        server.client.put(PATH, json={"size": size, "bounds": BOUNDS})
        for number, (kind, what) in enumerate(steps):
            if number == again:
                server.stop()
                server = Served(folder, options_of(folder))
            make(server, naive, kind, what, expected)
            for id in naive.wanted:
                assert results(server, str(id)) == naive.results(id)
        for name, deliveries in expected.items():
            found = server.pulled(name, limit=1000)
            assert [(one["event"]["number"], told(one)) for one in found] == deliveries
            assert [one["sequence"] for one in found] == list(range(1, len(found) + 1))
    finally:
        server.stop()


def options_of(folder: Path) -> Any:
    from tocsin.service.serving import Options

    return Options(folder)


def make(server: Served, naive: NaiveWindow, kind: str, what: Any, expected: dict[str, list[Any]]) -> None:
    """Do the same with the server and the oracle, and note the changes by destination."""
    if kind == "subscribe":
        id, words, place, k = what
        naive.subscribe(str(id), words, place, k, 0.3)
        interest(server, str(id), words=words, location=place, k=k, alpha=0.3, destination=("even", "odd")[id % 2])
    elif kind == "unsubscribe":
        answer = server.client.delete(f"{PATH}/subscriptions/{what}")
        assert answer.status_code == (204 if str(what) in naive.wanted else 404)
        naive.wanted.pop(str(what), None)
    else:
        bad = 0
        for words, place in what:
            changes = naive.push(words, place)
            bad += changes is None
            for name, odd in (("even", 0), ("odd", 1)):
                own = [tuple(one) for one in changes or () if int(one.subscription) % 2 == odd]
                if own:
                    expected[name].append((naive.taken - 1, own))
        body = "\n".join(json.dumps({"words": words, "location": place}) for words, place in what)
        report = server.client.post(f"{PATH}/messages", content=body, headers=LINES).json()
        assert (report["rejected"], report["next"]) == (bad, naive.taken)


def test_bad_messages_cost_themselves(windowed: Served) -> None:
    lines = [
        '{"words": ["seafood"], "location": [2, 2]}', "nonsense", '{"words": ["seafood"], "location": [9, 9]}',
        '{"words": ["\\ud800"], "location": [1, 1]}', '{"location": [1, 1]}',
        '{"words": ["seafood"], "location": [1, 1], "x": NaN}', '{"words": ["seafood"], "location": [3, 2]}',
    ]  # fmt: skip
    report = windowed.client.post(f"{PATH}/messages", content="\n".join(lines), headers=LINES).json()

    assert (report["accepted"], [one["row"] for one in report["errors"]]) == (2, [1, 2, 3, 4, 5])
    assert [one["event"]["number"] for one in windowed.pulled()] == [0, 1]
    single = push(windowed, "seafood", location=[9, 9])
    assert (single.status_code, single.json()["field"]) == (422, "location")
    assert results(windowed)[0] == (1, 1.0)


def test_an_arrow_stream_of_messages(windowed: Served) -> None:
    table = pa.table({"words": [["seafood"], ["fruit"], ["seafood"]], "location": [[2.0, 2.0]] * 3, "key": [7, 8, 9]})
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    report = windowed.client.post(f"{PATH}/messages", content=stream.getvalue(), headers=headers).json()

    assert (report["accepted"], report["changes"]) == (3, 2)
    assert [one["subscriptions"][0]["message"] for one in windowed.pulled()] == [7, 9]
    assert results(windowed) == [(9, 1.0), (7, 1.0)]


def test_a_window_that_is_filled_tells_nothing(windowed: Served) -> None:
    body = "\n".join(json.dumps({"words": ["seafood"], "location": [2, 2]}) for _ in range(5000))
    report = windowed.client.post(f"{PATH}/messages?changes=false", content=body, headers=LINES).json()

    assert (report["accepted"], report["changes"], report["deliveries"], report["next"]) == (5000, 0, 0, 5000)
    assert windowed.pulled() == [] and results(windowed) == [(4999, 1.0), (4998, 1.0)]


def test_time_passes_with_messages_and_without(server: Served) -> None:
    server.destination()
    server.client.put(PATH, json={"time": 60, "bounds": BOUNDS})
    interest(server)
    assert push(server, "seafood", time=0).json()["changes"] == 1
    assert push(server, "seafood", time=-1).status_code == 422
    advanced = [server.client.post(f"{PATH}/advance", json={"time": 61}, headers={"Idempotency-Key": "k"})] * 2
    late = server.client.post(f"{PATH}/advance", json={"time": 5})

    assert [one.json() for one in advanced] == [{"changes": 1, "deliveries": 1}] * 2
    assert (late.status_code, results(server)) == (422, [])
    assert [told(one) for one in server.pulled()] == [[("u1", 0, "enter", 1.0)], [("u1", 0, "exit", 1.0)]]
    assert server.pulled()[1]["event"] == {"window": "news", "time": 61}


def test_webhooks_and_streams_get_changes(windowed: Served) -> None:
    with receiver(lambda posted: Reply()) as one:
        windowed.client.put("/v1/destinations/w", json={"kind": "webhook", "url": one.url, "allow_private": True})
        interest(windowed, "u2", destination="w")
        with windowed.client.stream("GET", "/v1/destinations/d/stream") as response:
            events = events_of(response)
            next(events)
            push(windowed, "seafood")
            assert told(next(events).data) == [("u1", 0, "enter", 1.0)]
        one.await_numbers(1)
        assert told(one.got[0].delivery) == [("u2", 0, "enter", 1.0)]


def test_dry_runs_look_at_published_events_only(windowed: Served) -> None:
    push(windowed, "seafood")
    windowed.publish({"window": "news"})
    found = windowed.client.post("/v1/dry-run", json={"where": "window = 'news'"}).json()

    assert (found["events"], found["matches"]) == (1, 1)
