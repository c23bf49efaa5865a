"""Clients that work while a server is killed, and the ledger: what was acknowledged to them, and what reached whom.

A client sends a request with the same idempotency key until it is answered. Some give up after one try, and come back
later or never: such a request was made once or not at all. Some send again what was answered long ago.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx
import pyarrow as pa

import tocsin
from tests.service.served import events_of
from tests.waiting import HANG_S, awaited
from tocsin.client import calls
from tocsin.client.calls import Ask, Published
from tocsin.errors import ServiceError, UnknownSubscription

Result = TypeVar("Result")
Document = dict[str, Any]


class Worker:
    """A thread that repeats a step until it is stopped."""

    def __init__(self, address: str, seed: int) -> None:
        self.draw, self.name = random.Random(seed), f"{type(self).__name__.lower()}{seed}"
        self.client = tocsin.Client(address, retry_s=0.5)
        self.hasty = tocsin.Client(address, retry_s=0)
        self.http = httpx.Client(base_url=address, timeout=HANG_S, trust_env=False)
        self.answers = 0  # requests that were acknowledged
        self._ends, self._error = threading.Event(), list[BaseException]()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def step(self) -> None:
        """Do a part of the work."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            with self.client, self.hasty, self.http:
                while not self._ends.is_set():
                    self.step()
        except BaseException as error:  # the test raises it  # noqa: BLE001
            self._error.append(error)

    def check(self) -> None:
        """Raise the error that ended the thread."""
        for error in self._error:
            raise error

    def end(self) -> None:
        """Let the current step be the last one."""
        self._ends.set()

    def stop(self) -> None:
        """Wait until the last step is done."""
        self.end()
        self._thread.join(HANG_S)
        assert not self._thread.is_alive()
        self.check()

    def settled(self, call: Callable[[], Result]) -> Result:
        """The answer to a request, which is sent until there is one."""
        while True:
            try:
                answer = call()
            except ServiceError as error:
                if error.status not in (0, 503):
                    raise
                time.sleep(self.draw.uniform(0.02, 0.1))
            else:
                self.answers += 1
                return answer


class _Request(NamedTuple):
    """A request to publish events. It has the same key each time that it is called."""

    events: list[Document]
    call: Callable[[], Published]


class Publisher(Worker):
    """Publishes events of every form. Each has an id, and a number `n` from 0 to 999, or one that nobody wants."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, seed)
        self.sent: dict[str, Document] = {}
        self.acknowledged: set[str] = set()
        self._doubtful: list[_Request] = []  # without an answer
        self._answered: list[tuple[_Request, Published]] = []

    def event(self, **members: Any) -> Document:
        """A new event."""
        event = {"id": f"{self.name}-{len(self.sent)}", **members}
        self.sent[event["id"]] = event
        return event

    def publish(self, *events: Document) -> None:
        """Publish events with a key, until they are acknowledged."""
        key = events[0]["id"]
        what = events[0] if len(events) == 1 else list(events)
        self.note(events, self.settled(lambda: self.client.publish(what, key=key)))

    def note(self, events: Iterable[Document], answer: Published) -> None:
        assert not answer.errors
        self.acknowledged.update(event["id"] for event in events)

    def step(self) -> None:
        chance = self.draw.random()
        if chance < 0.1 and self._doubtful:
            self._settle(self._doubtful.pop(self.draw.randrange(len(self._doubtful))))
        elif chance > 0.95 and self._answered:
            request, answer = self.draw.choice(self._answered)
            assert self.settled(request.call) == answer
        elif chance > 0.85:
            self._try(self._request(self.hasty))
        else:
            self._settle(self._request(self.client))

    def _settle(self, request: _Request) -> None:
        """Send a request until it is answered."""
        answer = self.settled(request.call)
        self._answered.append((request, answer))
        self.note(request.events, answer)

    def _try(self, request: _Request) -> None:
        """Send a request once."""
        try:
            self.note(request.events, request.call())
        except ServiceError as error:
            assert error.status in (0, 503), error
            self._doubtful.append(request)
            time.sleep(0.05)

    def _request(self, client: tocsin.Client) -> _Request:
        """A request with new events, in some form."""
        size = self.draw.choices((1, 20, 5000), (60, 39.5, 0.5))[0]
        events = [self.event(n=self.draw.randrange(1000 if size < 5000 else 30_000)) for _ in range(size)]
        key = events[0]["id"]
        form = self.draw.choice(("event", "lines", "arrow", "keys"))
        if form == "keys":
            return _Request(events, lambda: client._ask(_with_own_keys(events)))
        what: Any = pa.Table.from_pylist(events) if form == "arrow" else events
        return _Request(events, lambda: client.publish(events[0] if (form, size) == ("event", 1) else what, key=key))


def _with_own_keys(events: list[Document]) -> Ask[Published]:
    """A bulk in which each event's id is its key."""

    def read(status: int, body: bytes) -> Published:
        found = json.loads(body)
        return Published(found["sequence"], found["matches"], found["deliveries"], calls.rejects_of(found["errors"]))

    return Ask("POST", "/v1/events", read, params={"key": "id"}, **calls.many_body(events))


class Driver(Publisher):
    """Publishes where vehicles are. Nobody else publishes of its vehicles, so that their order is known."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, seed)
        self._inside = {f"{self.name}-{number}": False for number in range(3)}
        self.changes: dict[str, list[tuple[str, str]]] = {vehicle: [] for vehicle in self._inside}

    def step(self) -> None:
        events = [self._moved(self.draw.choice(list(self._inside))) for _ in range(self.draw.choice((1, 5)))]
        self.publish(*events)

    def _moved(self, vehicle: str) -> Document:
        is_inside = self.draw.random() < 0.5
        event = self.event(vehicle=vehicle, inside=is_inside)
        if is_inside != self._inside[vehicle]:
            self._inside[vehicle] = is_inside
            self.changes[vehicle].append((event["id"], "enter" if is_inside else "exit"))
        return event


class Pusher(Worker):
    """Pushes messages into the window, one by one and many at once."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, seed)
        self._count = 0
        self.acknowledged: list[str] = []

    def step(self) -> None:
        keys = [f"{self.name}-{self._count + number}" for number in range(self.draw.choice((1, 1, 5)))]
        self._count += len(keys)
        messages = [{"words": ["a"], "location": [1, 1], "key": key} for key in keys]
        window = self.client.window("news")
        if len(messages) == 1:
            answer = self.settled(lambda: window.push(messages[0], key=keys[0]))
        else:
            answer = self.settled(lambda: window.push_batch(messages, key=keys[0]))
        assert answer.accepted == len(messages) and not answer.errors
        self.acknowledged += keys


class Subscriber(Publisher):
    """Changes subscriptions of events and of the window. Events show that what was acknowledged is in force."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, seed)
        self._ids = [f"{self.name}.{number}" for number in range(8)]
        self._version = 0
        self.versions: dict[str, int] = {}  # of the subscriptions that are there
        self.sizes: dict[str, int] = {}  # the k of those of the window
        self.expected: dict[str, tuple[str, int]] = {}  # subscription and version by the event that matches
        self.audited: Counter[tuple[str, str]] = Counter()  # changes that were acknowledged

    def step(self) -> None:
        self._version += 1
        changes = (self._put, self._put_many, self._put_table, self._remove, self._put_in_window, self._leave_window)
        self.draw.choice(changes)()
        for id in self.draw.sample(self._ids, 2):
            event = self.event(to=id)
            if id in self.versions:
                self.expected[event["id"]] = id, self.versions[id]
            self.publish(event)

    def _record(self, id: str) -> Document:
        return {"where": f"to = '{id}'", "payload": {"version": self._version}, "destination": "changed"}

    def _put(self) -> None:
        id = self.draw.choice(self._ids)
        self.settled(lambda: self.client.subscribe(id, **self._record(id), replace=True))
        self.versions[id] = self._version
        self.audited["PUT", f"/v1/subscriptions/{id}"] += 1

    def _put_many(self) -> None:
        self._put_all([{"id": id, **self._record(id)} for id in self._ids])

    def _put_table(self) -> None:
        self._put_all(pa.Table.from_pylist([{"id": id, **self._record(id)} for id in self._ids]))

    def _put_all(self, records: Any) -> None:
        report = self.settled(lambda: self.client.subscribe_many(records, replace=True))
        assert report.accepted == len(self._ids) and not report.errors
        self.versions = dict.fromkeys(self._ids, self._version)
        self.audited["POST", "/v1/subscriptions"] += 1

    def _remove(self) -> None:
        if self.versions:
            id = self.draw.choice(list(self.versions))
            self.settled(lambda: _gone(self.client.unsubscribe, id))
            del self.versions[id]
            self.audited["DELETE", f"/v1/subscriptions/{id}"] += 1

    def _put_in_window(self) -> None:
        k = self.draw.randint(1, 2000)
        ids = self.draw.sample(self._ids, 4)
        records = [{"id": id, "words": ["never"], "location": [1, 1], "k": k, "destination": "d"} for id in ids]
        report = self.settled(lambda: self.client.window("news").subscribe_many(records))
        assert report.accepted == len(ids) and not report.errors
        self.sizes |= dict.fromkeys(ids, k)
        self.audited["POST", "/v1/windows/news/subscriptions"] += 1

    def _leave_window(self) -> None:
        if self.sizes:
            id = self.draw.choice(list(self.sizes))
            self.settled(lambda: _gone(self.client.window("news").unsubscribe, id))
            del self.sizes[id]
            self.audited["DELETE", f"/v1/windows/news/subscriptions/{id}"] += 1


def _gone(remove: Callable[[str], None], id: str) -> None:
    """Remove a subscription that an earlier try may have removed."""
    try:
        remove(id)
    except UnknownSubscription:
        """The answer to an earlier try was lost."""


class Receiver(Worker):
    """Receives the deliveries of the destination that its class is named for."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, seed)
        self.received: list[Document] = []

    def step(self) -> None:
        try:
            self.receive()
        except httpx.HTTPError:
            time.sleep(0.05)

    def receive(self) -> None:
        raise NotImplementedError

    def await_last(self, newest: int) -> None:
        """Wait until it has the last delivery."""

        def has_last() -> bool:
            self.check()
            return bool(self.received) and self.received[-1]["sequence"] >= newest

        awaited(has_last)


class Puller(Receiver):
    """Pulls deliveries and acknowledges them. What it has acknowledged never comes again."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, seed)
        self._done = 0

    def receive(self) -> None:
        answer = self.http.get("/v1/destinations/pulled/deliveries", params={"wait": 1})
        answer.raise_for_status()
        if page := answer.json()["deliveries"]:
            assert page[0]["sequence"] > self._done
            self.received += page
            last = page[-1]["sequence"]
            self.http.post("/v1/destinations/pulled/ack", json={"sequence": last}).raise_for_status()
            self._done = last
            self.answers += 1


class Follower(Receiver):
    """Follows a stream, which goes on behind the last delivery."""

    _last = ""

    def receive(self) -> None:
        headers = {"Last-Event-ID": self._last} if self._last else {}
        path = "/v1/destinations/streamed/stream?from=earliest"
        with self.http.stream("GET", path, headers=headers) as response:
            response.raise_for_status()
            for one in events_of(response):
                assert one.kind in ("open", "message"), one
                if one.kind == "message":
                    self.received.append(one.data)
                self._last = one.id


def written(file: Path, destination: str) -> list[Document]:
    """The deliveries of a destination that an endpoint has written."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [one for one in map(json.loads, lines) if one["destination"] == destination]


def stored(client: httpx.Client, destination: str) -> list[Document]:
    """All deliveries of a destination, which are numbered from 1 without gaps and have different keys."""
    deliveries: list[Document] = []
    while True:
        params = {"after": len(deliveries), "limit": 1000}
        answer = client.get(f"/v1/destinations/{destination}/deliveries", params=params)
        assert answer.status_code == 200, answer.text
        if not (page := answer.json()["deliveries"]):
            break
        deliveries += page
    assert [one["sequence"] for one in deliveries] == list(range(1, len(deliveries) + 1))
    assert len({one["key"] for one in deliveries}) == len(deliveries)
    return deliveries


def check_received(received: list[Document], deliveries: list[Document], *, is_ordered: bool = True) -> int:
    """Every delivery came, in order, and nothing else; returns how many came again."""
    last = 0
    for one in received:
        assert one == deliveries[one["sequence"] - 1]
        assert not is_ordered or one["sequence"] <= last + 1
        last = max(last, one["sequence"])
    assert {one["sequence"] for one in received} == set(range(1, len(deliveries) + 1))
    return len(received) - len(deliveries)


def check_published(deliveries: list[Document], publishers: Iterable[Publisher], least: int) -> None:
    """Of events that match, each that was acknowledged is there once. The others are events that were sent, once."""
    sent = {id: event for one in publishers for id, event in one.sent.items()}
    acknowledged = {id for one in publishers for id in one.acknowledged if least <= sent[id].get("n", -1) < 1000}
    ids = [one["event"]["id"] for one in deliveries]
    assert len(set(ids)) == len(ids)
    assert acknowledged <= set(ids)
    for one in deliveries:
        assert one["event"] == sent[one["event"]["id"]] and least <= one["event"]["n"] < 1000
        assert [match["id"] for match in one["subscriptions"]] == [one["destination"]]
