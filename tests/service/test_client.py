"""Clients give what the engine gives, say what the service refused, and send again what may be sent again."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import tocsin
from tests.service.receivers import Reply, receiver
from tests.service.served import Served, served
from tests.waiting import awaited
from tocsin import DuplicateSubscription, InvalidInput, RecordError, ServiceError, UnknownSubscription
from tocsin.service.service import Limits


@pytest.fixture
def client(server: Served) -> Iterator[tocsin.Client]:
    with tocsin.Client(str(server.client.base_url)) as one:
        one.put_destination("d")
        yield one


EVENTS = [{"n": number, "s": "ü😀"} for number in range(5)]


def test_subscriptions_are_those_of_an_engine(client: tocsin.Client) -> None:
    engine = tocsin.Engine()
    for one in (client, engine):
        one.subscribe("a/b ü", "n >= 2", score=2.5, payload={"to": ["x", None]})
        one.subscribe("low", {"op": "<", "args": [{"property": "n"}, 2]})
        one.rescore("low", -1.0)
        with pytest.raises(DuplicateSubscription, match="'low' exists already; give replace=True"):
            one.subscribe("low", "n = 1")
        one.subscribe("gone", "n = 1")
        one.unsubscribe("gone")
        with pytest.raises(UnknownSubscription):
            one.unsubscribe("gone")
        with pytest.raises(RecordError) as told:
            one.subscribe("wrong", "n = 1 AND\nn <= AND 3")
        assert str(told.value) == (
            "where: line 2, column 6: expected a value after '<=', found AND\n  n <= AND 3\n       ^"
        )
        with pytest.raises(InvalidInput):
            one.subscribe("wrong", "n = 1", score=float("inf"))
    held = {one["id"]: one for one in client.subscriptions()}
    assert sorted(held) == sorted(engine) and "low" in client and "gone" not in client
    assert client.get("a/b ü")["payload"] == {"to": ["x", None]} and held["low"]["score"] == -1.0
    for event in EVENTS:
        expected = engine.match(event, payload=True)
        found = client.match(event)
        assert found == list(expected) and [one.payload for one in found] == [one.payload for one in expected]
    assert client.match({"n": 9}, ranking=tocsin.Top(1)) == engine.match({"n": 9}, ranking=tocsin.Top(1))


def test_batches_are_answered_whole(client: tocsin.Client) -> None:
    report = client.subscribe_many(
        [{"id": f"s{n}", "where": f"n >= {n}"} for n in range(4)] + [{"id": "x", "where": 1}]
    )
    assert (report.accepted, [one.row for one in report.errors]) == (4, [4])
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": f"s{n}", "where": f"n >= {n}"} for n in range(4)])
    expected = engine.match_batch(EVENTS).table.select(["event", "subscription"])
    for events in (EVENTS, pa.Table.from_pylist(EVENTS)):
        found = client.match_batch(events)
        assert found.table.select(["event", "subscription"]).to_pylist() == expected.to_pylist()
        assert found.errors == []
    assert client.match_batch([]).table.num_rows == 0
    wrong = client.match_batch(pa.table({"n": [float("inf"), 1.0]}))
    assert [(one.row, one.field) for one in wrong.errors] == [(0, "n")]


def test_deliveries_come_in_order_and_are_acknowledged(client: tocsin.Client) -> None:
    client.subscribe("all", "n >= 0", destination="d", payload="p")
    first = client.publish(EVENTS[0])
    assert (first.matches, first.deliveries, first.errors) == (1, 1, [])
    assert client.publish(EVENTS[1:]).deliveries == 4
    found = client.deliveries("d", wait_s=0)
    one = next(found)
    assert (one.sequence, one.event, one.subscriptions[0].payload) == (1, EVENTS[0], "p")
    assert client.destination("d")["acknowledged"] == 0
    assert [two.event for two in found] == EVENTS[1:]
    assert client.destination("d")["acknowledged"] == 5
    assert list(client.deliveries("d", wait_s=0)) == []
    assert [two.sequence for two in client.deliveries("d", after=3, wait_s=0)] == [4, 5]


def test_the_same_key_publishes_once(client: tocsin.Client) -> None:
    assert client.publish(EVENTS[2], key="k").sequence == client.publish(EVENTS[2], key="k").sequence
    assert client.publish(EVENTS[:3], key="bulk") == client.publish(EVENTS[:3], key="bulk")
    with pytest.raises(InvalidInput, match="another body"):
        client.publish(EVENTS[3], key="k")


def test_a_delivery_has_all_its_subscriptions(client: tocsin.Client) -> None:
    client.subscribe_many([{"id": f"{n:05}", "where": "n = 1", "destination": "d"} for n in range(2500)])
    client.publish({"n": 1})
    (found,) = client.deliveries("d", wait_s=0)
    assert [one.subscription for one in found.subscriptions] == [f"{n:05}" for n in range(2500)]


def test_a_stream_goes_on_where_it_was_cut(client: tocsin.Client, server: Served) -> None:
    client.subscribe("all", "n >= 0", destination="d")
    client.publish(EVENTS)
    stream = client.stream("d", start="earliest")
    found = [next(stream).sequence for _ in range(3)]
    server.service.hub.stop()  # cuts all streams
    server.service.hub.is_stopping = False
    client.publish({"n": 7})
    found += [next(stream).sequence for _ in range(3)]
    assert found == [1, 2, 3, 4, 5, 6]
    stream.close()


def test_what_is_gone_is_told(tmp_path: Path) -> None:
    with served(tmp_path / "s", Limits(retain_bytes=1)) as server, tocsin.Client(str(server.client.base_url)) as client:
        client.put_destination("d")
        client.subscribe("all", "n >= 0", destination="d")
        client.publish(EVENTS)
        while client.destination("d")["earliest"] <= 1:
            threading.Event().wait(0.05)
        with pytest.raises(ServiceError) as told:
            next(client.deliveries("d", after=0, wait_s=0))
        assert (told.value.status, told.value.kind) == (410, "gone") and told.value.more["earliest"] > 1
        with pytest.warns(UserWarning, match="not kept any more") as warned:
            list(client.deliveries("d", after=0, wait_s=0, gaps="warn"))
        assert [one.filename for one in warned] == [__file__]


def test_an_asynchronous_client_has_the_same_calls(client: tocsin.Client, server: Served) -> None:
    names = {name for name, _ in inspect.getmembers(tocsin.Client, inspect.isfunction) if not name.startswith("_")}
    others = {name for name in dir(tocsin.AsyncClient) if not name.startswith("_")}
    assert names == others - {"contains"}
    same_calls(tocsin.Client, tocsin.AsyncClient)
    same_calls(tocsin.ServedWindow, tocsin.AsyncServedWindow)

    async def work() -> list[Any]:
        async with tocsin.AsyncClient(str(server.client.base_url)) as asking:
            await asking.subscribe("all", "n >= 0", destination="d")
            await asking.publish(EVENTS)
            found = [one.event async for one in asking.deliveries("d", wait_s=0)]
            listed = [one["id"] async for one in asking.subscriptions()]
            stream = asking.stream("d", start="earliest")
            first = await anext(stream)
            await stream.aclose()
            assert await asking.contains("all") and not await asking.contains("none")
            with pytest.raises(UnknownSubscription):
                await asking.get("none")
            await asking.put_window("news", {"size": 3, "bounds": (0, 0, 8, 4)})
            window = asking.window("news")
            await window.subscribe("u", words=["a"], location=PLACE, destination="d")
            await window.push(MESSAGES[0])
            assert (await window.subscribe_many([{"id": "v", "words": ["a"], "location": PLACE}])).accepted == 1
            best = await window.results("u")
            changes = [change.change async for one in asking.deliveries("d", wait_s=0) for change in one.changes]
            await asking.put_fence("cars", {"key": "car"})
            names = [one["name"] async for one in asking.fences()] + [one["name"] async for one in asking.windows()]
            acknowledged = (await anext(asking.destinations()))["acknowledged"]
            again = await asking.replay("d", first=6)
            return [found, listed, first.sequence, acknowledged, len(best), changes, names, again]

    assert asyncio.run(work()) == [EVENTS, ["all"], 1, 6, 1, ["enter"], ["cars", "news"], 5]


def same_calls(one: type, two: type) -> None:
    """The public calls of two classes have the same names and parameters."""
    names = {name for name, _ in inspect.getmembers(one, inspect.isfunction) if not name.startswith("_")}
    others = {name for name, _ in inspect.getmembers(two, inspect.isfunction) if not name.startswith("_")}
    assert names == others - {"contains"}  # which is `in`
    for name in names:
        blocking, awaiting = (inspect.signature(getattr(kind, name)) for kind in (one, two))
        assert blocking.parameters == awaiting.parameters, name


PLACE = (1.0, 1.0)
MESSAGES = [{"words": ["a", str(number)], "location": PLACE, "title": "x"} for number in range(4)]


def test_windows_are_those_of_the_library(client: tocsin.Client) -> None:
    settings = {"size": 3, "bounds": (0, 0, 8, 4)}
    made = client.put_window("news", settings)
    assert (made["size"], [one["name"] for one in client.windows()]) == (3, ["news"])
    window, memory = client.window("news"), tocsin.Window(**settings)
    for one in (window, memory):
        one.subscribe("u", words=["a", "2"], location=PLACE, k=2, **({"destination": "d"} if one is window else {}))
    pushed = [window.push(MESSAGES[0]), window.push_batch(MESSAGES[1:]), window.push_batch(pa.table({"words": []}))]
    expected = [
        change
        for one in MESSAGES
        for change in memory.push(words=one["words"], location=one["location"])  # type: ignore[arg-type]
    ]
    assert [one.accepted for one in pushed] == [1, 3, 0] and pushed[1].following == 4
    assert sum(one.changes for one in pushed) == len(expected)
    found = list(client.deliveries("d", wait_s=0))
    told = [change for one in found for change in one.changes]
    assert [(one.subscription, one.message, one.change, one.score) for one in told] == [tuple(one) for one in expected]
    assert all(one.subscriptions == [] and one.event["message"]["title"] == "x" for one in found)
    assert window.results("u") == memory.results("u") and window.get("u")["k"] == 2
    assert window.describe()["next"] == 4
    with pytest.raises(RecordError, match="location"):
        window.push({"words": ["a"], "location": (9, 9)})
    assert [one.row for one in window.push_batch([{"words": ["a"], "location": (9, 9)}], changes=False).errors] == [0]
    with pytest.raises(InvalidInput):
        window.advance(5)
    record = {"id": "v", "words": ["a"], "location": PLACE, "throttle_s": 60, "expires_at": "2036-01-31T12:00:00.000Z"}
    report = window.subscribe_many([record, {"id": "w"}])
    assert (report.accepted, [(one.row, one.field) for one in report.errors]) == (1, [(1, "location")])
    found_one = window.get("v")
    window.subscribe("v", words=["a"], location=PLACE, throttle_s=60, expires_at="2036-01-31T12:00:00Z")
    assert window.get("v") == found_one and found_one["throttle_s"] == 60
    window.unsubscribe("u")
    for ask in (window.unsubscribe, window.get, window.results):
        with pytest.raises(UnknownSubscription):
            ask("u")
    client.delete_window("news")
    with pytest.raises(ServiceError):
        window.describe()


def test_changes_of_fences_are_told(client: tocsin.Client) -> None:
    assert client.put_fence("cars", {"key": "car", "time": "t"})["key"] == "car"
    client.subscribe("fast", "speed > 120", destination="d", fence="cars", payload="p")
    client.subscribe("all", "speed >= 0", destination="d")
    client.publish([{"car": 7, "speed": speed, "t": at} for at, speed in enumerate((100, 130, 90))])
    found = list(client.deliveries("d", wait_s=0))
    assert [len(one.subscriptions) for one in found] == [1, 1, 1]
    assert [one.changes for one in found] == [
        [],
        [tocsin.DeliveredChange("fast", "enter", 1.0, "p", None, "cars", 7, 0.0)],
        [tocsin.DeliveredChange("fast", "exit", 1.0, "p", None, "cars", 7, 1.0)],
    ]
    assert client.fence("cars")["subscriptions"] == 1 and [one["name"] for one in client.fences()] == ["cars"]
    with pytest.raises(ServiceError, match="1 subscriptions name it"):
        client.delete_fence("cars")
    client.unsubscribe("fast")
    client.delete_fence("cars")
    assert list(client.fences()) == []


def test_webhooks_are_mended(client: tocsin.Client, server: Served) -> None:
    with receiver(lambda posted: Reply(400)) as one:
        settings = {"url": one.url, "allow_private": True, "max_attempts": 1}
        first = client.put_destination("w", "webhook", settings)["secret"]
        client.subscribe("s", "n >= 0", destination="w")
        client.publish(EVENTS)
        awaited(lambda: len(list(client.dead_letters("w"))) == 5)
        letters = list(client.dead_letters("w"))
        assert [(one["sequence"], one["cause"], one["delivery"]["event"]) for one in letters] == [
            (number, "refused", event) for number, event in enumerate(EVENTS, 1)
        ]
        one.reply = lambda posted: Reply()
        one.got.clear()
        client.retry("w", 2)
        one.await_numbers(2)
        awaited(lambda: len(list(client.dead_letters("w"))) == 4)
        assert client.enable("w")["state"] == "well"
        second = client.rotate_secret("w", keep_s=60)
        given = "whsec_" + "A" * 32
        assert len({first, second}) == 2 and client.rotate_secret("w", secret=given) == given
        assert client.replay("w", first=4) == 3
        awaited(lambda: one.numbers() == [2, 4, 5])
        assert client.replay("w", since="2020-01-01T00:00:00Z") == 0
    with pytest.raises(InvalidInput, match="give first"):
        client.replay("w")


class Failing(BaseHTTPRequestHandler):
    """Answers with the statuses of a list, one after the other, and notes what came."""

    statuses: ClassVar[list[int]] = []
    came: ClassVar[list[tuple[str, str | None]]] = []

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.came.append((self.command, self.headers.get("Idempotency-Key")))
        status = self.statuses.pop(0)
        if not status:
            self.close_connection = True
            return
        body = b'{"sequence": 1, "matches": 0, "deliveries": 0}'
        self.send_response(status)
        self.send_header("Retry-After", "0.01")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_PUT()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def failing() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Failing)
    Failing.came.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_what_may_be_repeated_is_sent_again(failing: str) -> None:
    """A publication has one key in all its tries, so that it happens once."""
    with tocsin.Client(failing) as client:
        Failing.statuses[:] = [503, 0, 429, 202]
        assert client.publish({"n": 1}).sequence == 1
        assert len(Failing.came) == 4 and len(set(Failing.came)) == 1
        Failing.statuses[:] = [503, 502, 500]
        with pytest.raises(ServiceError) as told:
            client.publish({"n": 1})
        assert told.value.status == 500 and Failing.statuses == []


def test_what_may_have_been_done_is_not_sent_again(failing: str) -> None:
    with tocsin.Client(failing) as client:
        Failing.statuses[:] = [429, 0]
        with pytest.raises(ServiceError, match="whether the change was made is not known"):
            client.subscribe("a", "n = 1")
    with tocsin.Client(failing, retry_s=0.5) as client:
        Failing.statuses[:] = [0] * 9
        with pytest.raises(ServiceError, match="could not be reached") as told:
            client.subscribe("a", "n = 1", replace=True)
        assert (told.value.status, told.value.kind) == (0, "unreachable")


def test_wrong_uses_are_told_at_once() -> None:
    with pytest.raises(InvalidInput, match="it is that of a service"):
        tocsin.Client("localhost:8470")
    with tocsin.Client("http://127.0.0.1:1", retry_s=0) as client:
        with pytest.raises(InvalidInput, match="no destination is named"):
            next(client.stream())
        with pytest.raises(InvalidInput, match="it is raise or warn"):
            next(client.deliveries("d", gaps="skip"))
        with pytest.raises(InvalidInput, match="the service takes JSON"):
            client.match({"n": float("nan")})
        with pytest.raises(ServiceError, match="could not be reached"):
            client.match({"n": 1})
