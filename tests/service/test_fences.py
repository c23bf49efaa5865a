"""Fences over HTTP: the changes are those of `tocsin.Fences`, and part of the transaction that publishes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.service.served import Served, served
from tocsin.errors import StoreError
from tocsin.service.limits import Limits
from tocsin.service.outbox import Publish
from tocsin.service.serving import Options

PATH: Final = "/v1/fences/vehicles"
CITY: Final = "S_INTERSECTS(location, BBOX(0, 0, 10, 10))"
CONDITIONS: Final = [CITY, "S_INTERSECTS(location, BBOX(5, 5, 20, 20))", "speed > 3", "NOT (speed > 3) OR kind = 'x'"]
FENCES: Final = [
    {"key": "v"},
    {"key": "v", "time": "t", "dwell": 2, "exit_after": 2, "inside": True},
    {"key": "v", "time": "t", "enter_after": 2, "forget_after": "5 s", "most_objects": 2},
    {"key": "v", "path": "location"},
]
EVENTS: Final = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "v": st.sampled_from([1, 2, "b", 1.0]), "location": st.sampled_from([[-1, 5], [5, 5], [7, 7], [30, 7]]),
            "speed": st.sampled_from([1, 5]), "kind": st.sampled_from(["x", "y"]),
            "passes": st.sampled_from([0, 1, -1]),
        },
    ),
    min_size=1, max_size=12,
)  # fmt: skip


@pytest.fixture
def ready(server: Served) -> Served:
    server.destination()
    assert server.client.put(PATH, json={"key": "v", "time": "t"}).status_code == 201
    assert server.subscribe("city", CITY, destination="d", fence="vehicles", payload={"a": 1}).status_code == 201
    return server


def told(deliveries: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The changes in some deliveries, each with its event."""
    return [
        (one["event"], change["object"], change["id"], change["change"], change["seconds"])
        for one in deliveries
        for change in one["subscriptions"]
        if "change" in change
    ]


def at(x: float, v: Any = 7, **more: Any) -> dict[str, Any]:
    return {"v": v, "location": [x, 5], **more}


def test_changes_are_delivered_with_their_events(ready: Served) -> None:
    ready.subscribe("all", "v = 7", destination="d")
    answers = [ready.publish(at(x, t=t)).json() for t, x in enumerate((-1, 3, 4, 12))]
    found = ready.pulled()

    assert [one["matches"] for one in answers] == [1, 2, 2, 1]
    assert [one["event"]["t"] for one in found] == [0, 1, 2, 3]
    assert found[1]["subscriptions"] == [
        {"id": "all", "score": 1.0, "payload": None},
        {
            "id": "city", "score": 1.0, "payload": {"a": 1}, "change": "enter", "fence": "vehicles", "object": 7,
            "seconds": 0.0,
        },
    ]  # fmt: skip
    assert [len(one["subscriptions"]) for one in found] == [1, 2, 1, 2]
    assert told(found)[1][1:] == (7, "city", "exit", 2.0)


def test_a_fence_is_shown(ready: Served) -> None:
    ready.publish(at(3))
    shown = ready.client.get(PATH).json()

    assert (shown["key"], shown["time"], shown["objects"], shown["subscriptions"]) == ("v", "t", 1, 1)
    assert ready.client.get("/v1/fences").json() == {"fences": [shown]}
    assert ready.client.get("/v1/subscriptions/city").json()["fence"] == "vehicles"
    changed = ready.client.patch("/v1/subscriptions/city", json={"fence": None})
    assert changed.status_code == 200 and ready.client.get(PATH).json()["subscriptions"] == 0
    ready.publish(at(3))
    assert [("change" in one["subscriptions"][0]) for one in ready.pulled()] == [True, False]


@settings(deadline=None, max_examples=max(4, settings.default.max_examples // 3))
@given(
    events=EVENTS, options=st.sampled_from(FENCES), again=st.integers(0, 12), bulk=st.booleans(), where=st.booleans()
)
def test_changes_are_those_of_fences_in_memory(
    events: Any, options: Any, again: int, bulk: bool, where: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also after the server was started again in between."""
    engine = tocsin.Engine()
    fences = tocsin.Fences(engine, **options)
    folder = tmp_path_factory.mktemp("alerts")
    server = Served(folder, Options(folder))
    now, expected = 0, []
    for one in events:
        now += one.pop("passes", 0)
        one["t"] = now
    try:
        server.destination()
        record = {**options, **({"where": "kind IS NULL OR kind = 'x'"} if where else {})}
        assert server.client.put(PATH, json=record).status_code == 201
        for number, condition in enumerate(CONDITIONS):
            engine.subscribe(f"s{number}", condition)
            server.subscribe(f"s{number}", condition, destination="d", fence="vehicles")
        server.subscribe("other", "speed > 0")  # takes no part
        for event in events:
            if "v" in event and not (where and event.get("kind") == "y"):
                expected += [(event, *one_of(change)) for change in fences.push(event)]
        parts = [events[:again], events[again:]]
        for number, part in enumerate(parts):
            if number:
                server.stop()
                server = Served(folder, Options(folder))
            publish(server, part, bulk=bulk)
        assert told(server.pulled(limit=1000)) == expected
        assert server.client.get(PATH).json()["objects"] == len(fences)
    finally:
        server.stop()


def one_of(change: tocsin.FenceChange) -> tuple[Any, ...]:
    return change.object, change.subscription, change.change, change.seconds


def publish(server: Served, events: list[Any], *, bulk: bool) -> None:
    if bulk and events:
        assert server.lines(events).json()["rejected"] == 0
    for event in () if bulk else events:
        assert server.publish(event).status_code == 202


def test_a_repeated_event_moves_nothing(ready: Served) -> None:
    for key, x in (("1", -1), ("2", 3), ("3", 12), ("2", 3), ("1", -1)):
        ready.publish(at(x), **{"Idempotency-Key": key})

    assert [one[3] for one in told(ready.pulled())] == ["enter", "exit"]


def test_an_event_that_is_not_published_moves_nothing(ready: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction fails after the fence has followed the event."""
    write = Publish.write

    def fails(self: Publish, *arguments: Any) -> int:
        write(self, *arguments)
        raise StoreError("the disk is full")

    ready.publish(at(3, t=1))
    with monkeypatch.context() as patched:
        patched.setattr(Publish, "write", fails)
        assert ready.publish(at(12, t=2)).status_code == 503
    assert ready.client.get(PATH).json()["objects"] in (0, 1)  # memory may be ahead until the next event
    ready.publish(at(4, t=3))
    ready.publish(at(12, t=4))

    assert [(one[0]["t"], one[3], one[4]) for one in told(ready.pulled())] == [(1, "enter", 0.0), (4, "exit", 3.0)]


def test_objects_outlive_a_kill(tmp_path: Path) -> None:
    """What was acknowledged is known to the next process, without an end in order."""
    import shutil

    with served(tmp_path / "a") as server:
        server.destination()
        server.client.put(PATH, json={"key": "v"})
        server.subscribe("city", CITY, destination="d", fence="vehicles")
        server.publish(at(3))
        (tmp_path / "b").mkdir()
        for file in (tmp_path / "a").glob("store.db*"):
            shutil.copy(file, tmp_path / "b")
    with served(tmp_path / "b") as server:
        server.publish(at(3))
        server.publish(at(12))
        assert [one[3] for one in told(server.pulled())] == ["enter", "exit"]


def test_a_removed_subscription_tells_nothing(ready: Served) -> None:
    ready.publish(at(3))
    ready.client.delete("/v1/subscriptions/city")
    ready.publish(at(12))
    ready.subscribe("city", CITY, destination="d", fence="vehicles")
    ready.publish(at(4))

    assert [one[3] for one in told(ready.pulled())] == ["enter", "enter"]


def test_a_bulk_of_subscriptions_names_fences(ready: Served) -> None:
    records = [
        {"id": "city", "where": CITY, "destination": "d"},  # no longer
        {"id": "b", "where": "speed > 3", "destination": "d", "fence": "vehicles"},
        {"id": "c", "where": "speed > 3", "destination": "d", "fence": "nothing"},
    ]
    report = ready.lines(records, "/v1/subscriptions").json()
    ready.publish(at(3, speed=5))

    assert (report["accepted"], report["errors"][0]["field"]) == (2, "fence")
    assert [(one["id"], one.get("change")) for one in ready.pulled()[0]["subscriptions"]] == [
        ("city", None), ("b", "enter"),
    ]  # fmt: skip
    assert ready.client.get(PATH).json()["subscriptions"] == 1


def test_a_paused_subscription_counts_what_it_does_not_tell(ready: Served) -> None:
    ready.client.patch("/v1/subscriptions/city", json={"paused_until": "2100-01-01T00:00:00Z"})
    first = ready.publish(at(3)).json()
    ready.client.patch("/v1/subscriptions/city", json={"paused_until": None})
    ready.publish(at(12))

    assert (first["deliveries"], first["suppressed"]) == (0, 1)
    assert [one[3] for one in told(ready.pulled())] == ["exit"]


def test_a_fence_stays_while_subscriptions_name_it(ready: Served) -> None:
    refused = ready.client.delete(PATH)
    assert (refused.status_code, refused.json()["subscriptions"]) == (409, 1)
    ready.publish(at(3))
    ready.client.delete("/v1/subscriptions/city")
    assert ready.client.delete(PATH).status_code == 204 and ready.client.delete(PATH).status_code == 404
    ready.client.put(PATH, json={"key": "v"})
    assert ready.client.get(PATH).json()["objects"] == 0
    assert ready.subscribe("s", CITY, fence="nowhere").json()["field"] == "fence"
    assert ready.subscribe("s", CITY, fence="vehicles", throttle_s=5).json()["field"] == "throttle_s"


def test_options_do_not_change(ready: Served) -> None:
    assert ready.client.put(PATH, json={"key": "v", "time": "t"}).status_code == 200
    other = ready.client.put(PATH, json={"key": "v", "time": "t", "dwell": 5})
    assert (other.status_code, other.json()["field"]) == (409, "dwell")
    guarded = ready.client.put(PATH, json={"key": "v", "time": "t"}, headers={"If-None-Match": "*"})
    assert guarded.status_code == 412


@pytest.mark.parametrize(
    "record",
    [
        {}, {"key": 5}, {"key": "v", "dwell": 5}, {"key": "v", "where": "speed >"}, {"key": "v", "order": "time"},
        {"key": "v", "most_objects": 10**9}, {"key": "v", "path": "v"}, {"key": "v", "no_places": 5},
        {"key": "v", "time_unit": "h", "time": "t"}, {"key": "v", "inside": "yes"}, {"key": "v", "where": 5},
    ],
)  # fmt: skip
def test_bad_fences_are_refused(server: Served, record: dict[str, Any]) -> None:
    assert server.client.put(PATH, json=record).status_code == 422
    assert server.client.get("/v1/fences").json() == {"fences": []}


def test_events_that_no_fence_can_use_are_published(ready: Served) -> None:
    for event in ({"n": 1}, {"v": [1]}, {"v": None, "location": "nowhere"}, at(3, t="soon"), at(12, t=[1])):
        assert ready.publish(event).status_code == 202
    text = ready.client.get("/metrics").text

    assert [one[3] for one in told(ready.pulled())] == ["enter", "exit"]
    assert 'tocsin_fence_refused_total{fence="vehicles"} 3.0' in text
    assert 'tocsin_fence_changes_total{fence="vehicles"} 2.0' in text


def test_limits_and_tenants(tmp_path: Path) -> None:
    with served(tmp_path, Limits(fences=1, fence_objects=5)) as server:
        one, two = (server.client_of(server.token(tenant=name)) for name in ("one", "two"))
        assert one.put(PATH, json={"key": "v"}).json()["most_objects"] == 5
        assert one.put("/v1/fences/other", json={"key": "v"}).json()["limit"] == "fences"
        assert two.get(PATH).status_code == 404
        assert two.put("/v1/subscriptions/s", json={"where": "n = 1", "fence": "vehicles"}).status_code == 422
        assert one.get("/v1/audit").json()["records"][-1]["path"] == PATH


def test_arrow_rows_are_followed(ready: Served) -> None:
    import io

    import pyarrow as pa

    table = pa.table({"v": [7, 7], "location": [[3.0, 5.0], [12.0, 5.0]]})
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    assert ready.client.post("/v1/events", content=stream.getvalue(), headers=headers).status_code == 202

    assert [one[3] for one in told(ready.pulled())] == ["enter", "exit"]
    assert json.loads(ready.client.get(PATH).text)["objects"] == 0
