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
from tests.service.served import Served, served
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
        with pytest.warns(UserWarning, match="not kept any more"):
            list(client.deliveries("d", after=0, wait_s=0, gaps="warn"))


def test_an_asynchronous_client_has_the_same_calls(client: tocsin.Client, server: Served) -> None:
    names = {name for name, _ in inspect.getmembers(tocsin.Client, inspect.isfunction) if not name.startswith("_")}
    others = {name for name in dir(tocsin.AsyncClient) if not name.startswith("_")}
    assert names == others
    for name in names:
        one, two = (inspect.signature(getattr(kind, name)) for kind in (tocsin.Client, tocsin.AsyncClient))
        assert one.parameters == two.parameters, name

    async def work() -> list[Any]:
        async with tocsin.AsyncClient(str(server.client.base_url)) as asking:
            await asking.subscribe("all", "n >= 0", destination="d")
            await asking.publish(EVENTS)
            found = [one.event async for one in asking.deliveries("d", wait_s=0)]
            listed = [one["id"] async for one in asking.subscriptions()]
            stream = asking.stream("d", start="earliest")
            first = await anext(stream)
            await stream.aclose()
            with pytest.raises(UnknownSubscription):
                await asking.get("none")
            return [found, listed, first.sequence, (await anext(asking.destinations()))["acknowledged"]]

    assert asyncio.run(work()) == [EVENTS, ["all"], 1, 5]


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
        Failing.statuses[:] = [0, 0, 0, 0]
        with pytest.raises(ServiceError, match="could not be reached") as told:
            client.subscribe("a", "n = 1", replace=True)
        assert (told.value.status, told.value.kind) == (0, "unreachable")


def test_wrong_uses_are_told_at_once() -> None:
    with pytest.raises(InvalidInput, match="it is that of a service"):
        tocsin.Client("localhost:8470")
    with tocsin.Client("http://127.0.0.1:1", tries=1) as client:
        with pytest.raises(InvalidInput, match="no destination is named"):
            next(client.stream())
        with pytest.raises(InvalidInput, match="it is raise or warn"):
            next(client.deliveries("d", gaps="skip"))
        with pytest.raises(InvalidInput, match="the service takes JSON"):
            client.match({"n": float("nan")})
        with pytest.raises(ServiceError, match="could not be reached"):
            client.match({"n": 1})
