"""Windows over HTTP: the lists are those of a window in memory, and each change reaches its destination once."""

from __future__ import annotations

import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.window import NaiveWindow
from tests.service.receivers import Reply, receiver
from tests.service.served import Served, events_of, served
from tests.service.waiting import awaited
from tocsin.errors import StoreError
from tocsin.service.limits import Limits
from tocsin.service.windows.batches import Batch, HandOver

BOUNDS: Final = (0.0, 0.0, 8.0, 4.0)
PATH: Final = "/v1/windows/news"
LINES: Final = {"Content-Type": "application/x-ndjson"}
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


@pytest.fixture
def ready(server: Served) -> Served:
    server.destination()
    assert server.client.put(PATH, json={"size": 100, "bounds": BOUNDS}).status_code == 201
    assert interest(server).status_code == 201
    return server


def interest(server: Served, id: str = "u1", **more: Any) -> Any:
    record = {"words": ["seafood"], "location": [2, 2], "k": 2, "alpha": 0, "destination": "d", **more}
    return server.client.put(f"{PATH}/subscriptions/{id}", json=record)


def push(server: Served, *words: str, path: str = PATH, headers: Any = None, **more: Any) -> Any:
    message = {"words": list(words), "location": [2, 2], **more}
    return server.client.post(f"{path}/messages", json=message, headers=headers)


def results(server: Served, id: str = "u1") -> Any:
    return [tuple(one.values()) for one in server.client.get(f"{PATH}/results/{id}").json()["results"]]


def told(delivery: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The changes of a delivery."""
    return [(one["id"], one["message"], one["change"], one["score"]) for one in delivery["subscriptions"]]


def test_changes_of_a_list_are_delivered(ready: Served) -> None:
    answers = [push(ready, "seafood", text_of="x"), push(ready, "fruit"), push(ready, "seafood", "fresh")]
    first, second = ready.pulled()

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
    assert results(ready) == [(0, 1.0), (2, pytest.approx(0.5**0.5))]


def test_a_window_and_its_subscriptions_are_shown(ready: Served) -> None:
    interest(ready, "u2", text="Fresh fruit!", words=None, payload={"mail": "a"}, destination=None)
    push(ready, "fresh")
    shown = ready.client.get(PATH)

    assert shown.json() == {
        "name": "news", "size": 100, "bounds": list(BOUNDS), "weights": {}, "text": "plain", "messages": 1,
        "next": 1, "subscriptions": 2,
    }  # fmt: skip
    assert ready.client.get("/v1/windows").json() == {"windows": [shown.json()]}
    assert ready.client.get(f"{PATH}/subscriptions/u2").json() == {
        "id": "u2", "words": ["fresh", "fruit"], "location": [2, 2], "k": 2, "alpha": 0, "payload": {"mail": "a"},
    }  # fmt: skip
    assert ready.client.get(f"{PATH}/subscriptions/u1").json()["destination"] == "d"
    assert interest(ready, k=3).status_code == 200
    assert ready.client.get(f"{PATH}/subscriptions/u1").json()["k"] == 3


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


def test_bad_messages_cost_themselves(ready: Served) -> None:
    lines = [
        '{"words": ["seafood"], "location": [2, 2]}', "nonsense", '{"words": ["seafood"], "location": [9, 9]}',
        '{"words": ["\\ud800"], "location": [1, 1]}', '{"location": [1, 1]}',
        '{"words": ["seafood"], "location": [1, 1], "x": NaN}', '{"words": ["seafood"], "location": [3, 2]}',
    ]  # fmt: skip
    report = ready.client.post(f"{PATH}/messages", content="\n".join(lines), headers=LINES).json()

    assert (report["accepted"], [one["row"] for one in report["errors"]]) == (2, [1, 2, 3, 4, 5])
    assert [one["event"]["number"] for one in ready.pulled()] == [0, 1]
    single = push(ready, "seafood", location=[9, 9])
    assert (single.status_code, single.json()["field"]) == (422, "location")
    assert results(ready)[0] == (1, 1.0)


def test_an_arrow_stream_of_messages(ready: Served) -> None:
    table = pa.table({"words": [["seafood"], ["fruit"], ["seafood"]], "location": [[2.0, 2.0]] * 3, "key": [7, 8, 9]})
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    report = ready.client.post(f"{PATH}/messages", content=stream.getvalue(), headers=headers).json()

    assert (report["accepted"], report["changes"]) == (3, 2)
    assert [one["subscriptions"][0]["message"] for one in ready.pulled()] == [7, 9]
    assert results(ready) == [(9, 1.0), (7, 1.0)]


def test_a_window_that_is_filled_tells_nothing(ready: Served) -> None:
    body = "\n".join(json.dumps({"words": ["seafood"], "location": [2, 2]}) for _ in range(5000))
    report = ready.client.post(f"{PATH}/messages?changes=false", content=body, headers=LINES).json()

    assert (report["accepted"], report["changes"], report["deliveries"], report["next"]) == (5000, 0, 0, 5000)
    assert ready.pulled() == [] and results(ready) == [(4999, 1.0), (4998, 1.0)]


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


def test_a_retry_changes_nothing(ready: Served) -> None:
    headers = {"Idempotency-Key": "k1"}
    first, again = (push(ready, "seafood", headers=headers) for _ in range(2))
    other = push(ready, "fruit", headers=headers)
    lines = "\n".join(json.dumps({"words": ["seafood"], "location": [2, 2]}) for _ in range(5000))
    many = [
        ready.client.post(f"{PATH}/messages", content=lines, headers={**LINES, "Idempotency-Key": "k2"})
        for _ in range(2)
    ]

    assert again.json() == first.json() and again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers and other.status_code == 422
    assert many[0].json() == many[1].json() and many[0].json()["accepted"] == 5000
    assert ready.client.get(PATH).json()["next"] == 5001
    assert push(ready, "seafood", path="/v1/windows/other", headers=headers).status_code == 404


def test_many_push_at_once(ready: Served) -> None:
    interest(ready, k=1000)
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda number: push(ready, "seafood", key=f"m{number}").json(), range(200)))
    found = ready.pulled(limit=1000)

    assert sorted(one["next"] for one in answers)[-1] == 200
    assert [one["event"]["number"] for one in found] == list(range(200))
    entered = [one["message"] for delivery in found for one in delivery["subscriptions"] if one["change"] == "enter"]
    assert sorted(entered) == sorted(f"m{number}" for number in range(200))


def test_what_the_disk_refused_is_handed_over_later(ready: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The window has the message, and the outbox gets its change when it can; a retry has the answer of that."""
    write, is_full = HandOver.write, threading.Event()
    is_full.set()

    def refused(self: HandOver, *arguments: Any) -> int:
        if is_full.is_set():
            raise StoreError("the disk is full")
        return write(self, *arguments)

    monkeypatch.setattr(HandOver, "write", refused)
    headers = {"Idempotency-Key": "k"}
    answer = push(ready, "seafood", headers=headers)
    second = push(ready, "seafood")
    assert (answer.status_code, second.status_code, ready.pulled()) == (503, 503, [])
    is_full.clear()
    awaited(lambda: len(ready.pulled()) == 1)  # nobody needs to ask again

    again = push(ready, "seafood", headers=headers)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert again.json() == {"accepted": 1, "rejected": 0, "changes": 1, "deliveries": 1, "next": 1, "errors": []}
    assert push(ready, "seafood").json()["next"] == 2  # the second was refused before it was pushed
    assert [one["event"]["number"] for one in ready.pulled()] == [0, 1]


def test_what_was_not_handed_over_is_when_the_server_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a crash between the two transactions."""

    def refused(self: HandOver, *arguments: Any) -> int:
        raise StoreError("the process dies here")

    with served(tmp_path) as server:
        server.destination()
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        interest(server)
        with monkeypatch.context() as patched:
            patched.setattr(HandOver, "write", refused)
            patched.setattr("tocsin.service.retention._PERIOD_S", 60)
            assert push(server, "seafood", headers={"Idempotency-Key": "k"}).status_code == 503
            server.stop()
    with served(tmp_path) as server:
        awaited(lambda: len(server.pulled()) == 1)
        assert push(server, "seafood", headers={"Idempotency-Key": "k"}).headers["idempotent-replayed"] == "true"
        assert [told(one) for one in server.pulled()] == [[("u1", 0, "enter", 1.0)]]
        push(server, "seafood")
    with served(tmp_path) as server:  # nothing comes twice
        assert [one["event"]["number"] for one in server.pulled()] == [0, 1]


def test_a_batch_is_read_as_it_was_written() -> None:
    from tocsin.service.audit import Sender
    from tocsin.service.units import Key

    one = Batch([("{}", {3: ["{}"]})], {"accepted": 1}, Key("r", "k", b"\x00\xff"), Sender("t", "n", "a", "PUT", "/"))

    assert Batch.of(one.text()) == one


def test_webhooks_and_streams_get_changes(ready: Served) -> None:
    with receiver(lambda posted: Reply()) as one:
        ready.client.put("/v1/destinations/w", json={"kind": "webhook", "url": one.url, "allow_private": True})
        interest(ready, "u2", destination="w")
        with ready.client.stream("GET", "/v1/destinations/d/stream") as response:
            events = events_of(response)
            next(events)
            push(ready, "seafood")
            assert told(next(events).data) == [("u1", 0, "enter", 1.0)]
        one.await_numbers(1)
        assert told(one.got[0].delivery) == [("u2", 0, "enter", 1.0)]


def test_a_full_outbox_refuses_no_change(tmp_path: Path) -> None:
    """The message is in the window, so its change becomes a dead letter, also with `on_full: reject`."""
    with receiver(lambda posted: Reply(500)) as one, served(tmp_path, Limits(outbox=1)) as server:
        record = {"kind": "webhook", "url": one.url, "allow_private": True, "on_full": "reject"}
        server.client.put("/v1/destinations/d", json=record)
        server.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
        interest(server, k=50)
        assert [push(server, "seafood").status_code for _ in range(3)] == [202] * 3
        letters = server.client.get("/v1/destinations/d/dead-letters").json()["dead_letters"]
        assert [(letter["sequence"], letter["cause"]) for letter in letters] == [(2, "overflow"), (3, "overflow")]


def test_dry_runs_look_at_published_events_only(ready: Served) -> None:
    push(ready, "seafood")
    ready.publish({"window": "news"})
    found = ready.client.post("/v1/dry-run", json={"where": "window = 'news'"}).json()

    assert (found["events"], found["matches"]) == (1, 1)


def test_a_destination_stays_while_subscriptions_of_windows_name_it(ready: Served) -> None:
    assert ready.client.get("/v1/destinations/d").json()["subscriptions"] == 1
    refused = ready.client.delete("/v1/destinations/d")
    assert (refused.status_code, refused.json()["subscriptions"]) == (409, 1)
    assert interest(ready, "u2", destination="nowhere").status_code == 422
    interest(ready, destination=None)
    assert ready.client.delete("/v1/destinations/d").status_code == 204
    assert push(ready, "seafood").json()["deliveries"] == 0


def test_options_do_not_change(ready: Served) -> None:
    same = ready.client.put(PATH, json={"size": 100, "bounds": BOUNDS})
    other = ready.client.put(PATH, json={"size": 99, "bounds": BOUNDS})
    guarded = ready.client.put(PATH, json={"size": 100, "bounds": BOUNDS}, headers={"If-None-Match": "*"})

    assert (same.status_code, other.status_code, guarded.status_code) == (200, 409, 412)
    assert other.json()["field"] == "size"
    assert ready.client.get(PATH).json()["subscriptions"] == 1


@pytest.mark.parametrize(
    "record",
    [
        {"size": 10}, {"bounds": BOUNDS}, {"size": 0, "bounds": BOUNDS}, {"size": 10**9, "bounds": BOUNDS},
        {"size": 10, "bounds": [1, 2, 3]}, {"size": 10, "bounds": BOUNDS, "weights": [1]},
        {"size": 10, "bounds": BOUNDS, "text": 5}, {"size": 10, "bounds": BOUNDS, "index": "blocks"},
        {"size": True, "bounds": BOUNDS}, {"size": 10, "bounds": BOUNDS, "time": "soon"},
    ],
)  # fmt: skip
def test_bad_windows_are_refused(server: Served, record: dict[str, Any]) -> None:
    assert server.client.put(PATH, json=record).status_code == 422
    assert server.client.get("/v1/windows").json() == {"windows": []}


@pytest.mark.parametrize(
    "record", [{"words": []}, {"words": None}, {"location": [9, 9]}, {"k": 0}, {"alpha": 1}, {"where": "n = 1"}]
)
def test_bad_subscriptions_are_refused(ready: Served, record: dict[str, Any]) -> None:
    assert interest(ready, "u2", **record).status_code == 422
    assert ready.client.get(f"{PATH}/results/u2").status_code == 404
    assert ready.client.delete(f"{PATH}/subscriptions/u2").status_code == 404


def test_a_deleted_window_leaves_nothing(ready: Served) -> None:
    push(ready, "seafood")
    folder = ready.folder / "windows"
    assert [one.name for one in folder.iterdir()] == ["1"]
    assert ready.client.delete(PATH).status_code == 204

    assert list(folder.iterdir()) == [] and ready.client.get(PATH).status_code == 404
    assert push(ready, "seafood").status_code == 404 and ready.client.delete(PATH).status_code == 404
    assert [told(one) for one in ready.pulled()] == [[("u1", 0, "enter", 1.0)]]  # what was told stays
    assert ready.client.put(PATH, json={"size": 5, "bounds": BOUNDS}).json()["subscriptions"] == 0
    assert [one.name for one in folder.iterdir()] == ["2"]


def test_a_window_that_cannot_be_opened_hurts_no_other(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        for name in ("bad", "good"):
            server.client.put(f"/v1/windows/{name}", json={"size": 5, "bounds": BOUNDS})
    (tmp_path / "windows" / "1" / "store.db").write_bytes(b"nonsense")
    (tmp_path / "windows" / "7").mkdir()  # of a window that was being deleted
    with served(tmp_path) as server:
        assert server.client.get("/v1/windows/bad").status_code == 503
        assert server.client.get("/v1/windows/good").status_code == 200
        assert push(server, "a", path="/v1/windows/good").status_code == 202
        assert server.client.delete("/v1/windows/bad").status_code == 204
    assert [one.name for one in (tmp_path / "windows").iterdir()] == ["2"]


def test_limits_of_windows(tmp_path: Path) -> None:
    limits = Limits(windows=2, window_messages=10, subscriptions=2, subscription_cost=3)
    with served(tmp_path, limits) as server:
        server.destination()
        assert server.client.put(PATH, json={"time": 60, "bounds": BOUNDS}).status_code == 201
        assert server.client.put("/v1/windows/b", json={"size": 11, "bounds": BOUNDS}).status_code == 422
        assert server.client.put("/v1/windows/b", json={"size": 10, "bounds": BOUNDS}).status_code == 201
        assert server.client.put("/v1/windows/c", json={"size": 10, "bounds": BOUNDS}).json()["limit"] == "windows"
        assert interest(server).status_code == 201 and server.subscribe("s", "n = 1").status_code == 201
        assert interest(server, "u2").json()["limit"] == "subscriptions"
        assert server.subscribe("t", "n = 1").json()["limit"] == "subscriptions"
        assert interest(server, words=["a", "b", "c", "d"]).json()["limit"] == "subscription_cost"
        assert [push(server, "a", time=0).status_code for _ in range(11)] == [202] * 10 + [429]
        assert push(server, "a", time=0).json()["limit"] == "window_messages"


def test_audit_and_metrics(ready: Served) -> None:
    push(ready, "seafood")
    push(ready, "fruit")
    ready.client.delete(f"{PATH}/subscriptions/u1")
    ready.client.delete(f"{PATH}/subscriptions/u1")  # nothing is there any more
    ready.client.delete(PATH)
    ready.client.put(PATH, json={"size": 5, "bounds": BOUNDS})
    records = ready.client.get("/v1/audit").json()["records"]
    text = ready.client.get("/metrics").text

    assert [(one["method"], one["path"]) for one in records[1:]] == [
        ("PUT", PATH), ("PUT", f"{PATH}/subscriptions/u1"), ("DELETE", f"{PATH}/subscriptions/u1"), ("DELETE", PATH),
        ("PUT", PATH),
    ]  # fmt: skip
    assert 'tocsin_window_subscriptions{window="news"} 0.0' in text
    assert 'tocsin_window_messages_total{window="news"} 0.0' in text


def test_tenants_have_windows_of_their_own(server: Served) -> None:
    clients = {name: server.client_of(server.token(tenant=name)) for name in ("one", "two")}
    for client in clients.values():
        client.put("/v1/destinations/d", json={"kind": "stream"})
        assert client.put(PATH, json={"size": 5, "bounds": BOUNDS}).status_code == 201
        client.put(f"{PATH}/subscriptions/u", json={"words": ["a"], "location": [1, 1], "destination": "d"})
    message = {"words": ["a"], "location": [1, 1]}
    assert clients["one"].post(f"{PATH}/messages", json=message).json()["deliveries"] == 1

    assert clients["two"].get(PATH).json()["messages"] == 0
    assert clients["two"].get("/v1/destinations/d/deliveries").json()["deliveries"] == []
    assert (server.folder / "tenants" / "one" / "windows" / "1" / "store.db").exists()


def test_a_store_of_the_release_before_is_served(tmp_path: Path) -> None:
    """Its table of events has no kinds."""
    import sqlite3

    with served(tmp_path) as server:
        server.destination()
        server.subscribe("s", "n >= 0", destination="d")
        server.publish({"n": 1})
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("ALTER TABLE service_events DROP COLUMN kind")
        connection.execute("DROP TABLE service_windows")
        connection.execute("UPDATE meta SET value = 1 WHERE name = 'service'")
    with served(tmp_path) as server:
        server.publish({"n": 2})
        assert [one["event"] for one in server.pulled()] == [{"n": 1}, {"n": 2}]
        assert server.client.post("/v1/dry-run", json={"where": "n > 0"}).json()["matches"] == 2


def test_subscriptions_come_in_pages(ready: Served) -> None:
    for number in range(7):
        interest(ready, f"v{number}", payload={"n": number}, destination=None if number % 2 else "d")
    every: list[Any] = []
    after: dict[str, Any] = {}
    while True:
        page = ready.client.get(f"{PATH}/subscriptions", params={"limit": 3, **after}).json()
        every += page["subscriptions"]
        if "next" not in page:
            break
        after = {"after": page["next"]}

    assert [one["id"] for one in every] == ["u1", *(f"v{number}" for number in range(7))]
    assert every == [ready.client.get(f"{PATH}/subscriptions/{one['id']}").json() for one in every]
    assert ready.client.get("/v1/windows/none/subscriptions").status_code == 404
