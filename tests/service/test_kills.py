"""A server is killed again and again, at random moments and while its clock is set: the ledger has everything once."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.service.killed import KilledEndpoint, KilledServer, free_port
from tests.service.ledger import (
    Document,
    Driver,
    Follower,
    Publisher,
    Puller,
    Pusher,
    Subscriber,
    Worker,
    check_published,
    check_received,
    stored,
    written,
)
from tests.waiting import HANG_S, awaited

LEAST: Final = {"pulled": 0, "streamed": 500, "strict": 500, "any": 0, "digest": 500, "dead": 900}
"""Destinations of events, and from which number on these match."""
WEBHOOKS: Final[dict[str, Document]] = {
    "strict": {"order": "strict"},
    "any": {"order": "any"},
    "digest": {"digest_s": 1},
    "dead": {"order": "strict", "url": f"http://127.0.0.1:{free_port()}/"},  # nobody listens
}
SIZE: Final = 50
HOUR, DAY = 3600, 86_400
CLOCKS: Final = (0, 0, HOUR // 2, 3 * HOUR, 40 * DAY, -3 * HOUR, -40 * DAY)
"""Seconds by which the wall clock is ahead."""


class Load:
    """A server that is killed, an endpoint that is killed, and everybody who uses them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw, self._file = random.Random(seed), folder / "posted"
        self.server, self.endpoint = KilledServer(folder / "alerts"), KilledEndpoint(self._file)
        address = self.server.address
        self.http = httpx.Client(base_url=address, timeout=HANG_S, trust_env=False)
        self._prepare()
        self.publishers = [Publisher(address, number) for number in range(2)]
        self.driver, self.subscriber = Driver(address, 2), Subscriber(address, 3)
        self.pushers = [Pusher(address, number) for number in (4, 5)]
        self.senders: list[Worker] = [*self.publishers, self.driver, self.subscriber, *self.pushers]
        self.puller, self.follower = Puller(address, 6), Follower(address, 7)
        for worker in (*self.senders, self.puller, self.follower):
            worker.start()

    def put(self, path: str, **record: Any) -> None:
        self.http.put(f"/v1/{path}", json=record).raise_for_status()

    def _prepare(self) -> None:
        for name, least in LEAST.items():
            record: Document = {"kind": "stream"}
            if name in WEBHOOKS:
                record = {"kind": "webhook", "url": self.endpoint.url, "allow_private": True, **WEBHOOKS[name]}
            self.put(f"destinations/{name}", **record)
            self.put(f"subscriptions/{name}", where=f"n BETWEEN {least} AND 999", destination=name)
        for name in ("d", "fenced", "changed"):
            self.put(f"destinations/{name}", kind="stream")
        self.put("fences/vehicles", key="vehicle")
        self.put("subscriptions/fenced", where="inside = TRUE", fence="vehicles", destination="fenced")
        self.put("windows/news", size=SIZE, bounds=[0, 0, 8, 4])
        self.put("windows/news/subscriptions/u", words=["a"], location=[1, 1], k=1000, destination="d")
        expires_at = (datetime.now(UTC) + timedelta(days=2)).isoformat()
        self.put("subscriptions/lasting", where="never = 1", expires_at=expires_at)

    def kill(self, number: int) -> None:
        """Kill the server, and start it again. The clock may be set before, and while there is no server."""
        draw = self.draw
        if number % 2:
            self.server.set_clock(draw.choice(CLOCKS))
        self.await_answers(draw.randint(1, 30))
        time.sleep(
            draw.uniform(0, 0.02) if draw.random() < 0.6 else draw.uniform(0, 3)
        )  # the clock is seen after a second
        if number % 10 == 1:
            self.endpoint.kill()
        self.server.kill()
        if draw.random() < 0.3:
            self.server.set_clock(draw.choice(CLOCKS))
        self.server.restart(draw)
        if number % 10 == 1:
            self.endpoint.start()

    def await_answers(self, count: int) -> None:
        """Wait until so many more requests are acknowledged, one of each sender among them."""
        before = {worker: worker.answers for worker in self.senders}

        def is_there() -> bool:
            self.server.require_running()
            for worker in self.senders:
                worker.check()
            more = [worker.answers - answers for worker, answers in before.items()]
            return min(more) >= 1 and sum(more) >= count

        awaited(is_there, step_s=0.002)

    def settle(self) -> None:
        """Let the clock be right, the senders end, and all receivers get what is theirs."""
        self.server.set_clock(0)
        self.await_answers(1)
        for worker in self.senders:
            worker.end()
        for worker in self.senders:
            worker.stop()
        expires_at = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
        self.put("subscriptions/passing", where="never = 1", expires_at=expires_at)
        awaited(self._has_expired)  # what is old, by the clock that is right again, was deleted before
        self.puller.await_last(self.newest("pulled"))
        self.follower.await_last(self.newest("streamed"))
        awaited(self._has_posted_all, step_s=1)

    def newest(self, destination: str) -> int:
        newest: int = self.http.get(f"/v1/destinations/{destination}").json()["newest"]
        return newest

    def _has_expired(self) -> bool:
        return self.http.get("/v1/subscriptions/passing").status_code == 404

    def _has_posted_all(self) -> bool:
        """Whether webhooks have posted all. What an endpoint that was down has missed is posted at once."""
        waiting = [name for name in WEBHOOKS if name != "dead" and self._waiting(name)]
        for name in waiting:
            self.http.post(f"/v1/destinations/{name}/enable").raise_for_status()
        return not waiting

    def _waiting(self, name: str) -> int:
        waiting: int = self.http.get(f"/v1/destinations/{name}").json()["waiting"]
        return waiting

    def posted(self, name: str) -> list[Document]:
        return written(self._file, name)

    def close(self) -> None:
        self.server.kill()
        self.endpoint.kill()
        for worker in (*self.senders, self.puller, self.follower):
            worker.end()
        self.http.close()


@pytest.mark.slow("a server is killed under load")
@pytest.mark.parametrize("kills", [2, pytest.param(200, marks=pytest.mark.long)])
def test_what_was_acknowledged_is_there_once(tmp_path: Path, kills: int) -> None:
    load = Load(tmp_path, kills)
    try:
        for number in range(kills):
            load.kill(number)
        load.settle()

        counts = check_events(load) + check_fence(load) + check_subscriptions(load) + check_window(load)
        assert "Traceback" not in load.server.log.read_text()
    finally:
        load.close()
    print(f"{kills} kills: {dict(counts)}")


def check_events(load: Load) -> Counter[str]:
    """Every acknowledged event is a delivery of each destination that wants it, and came to each receiver."""
    deliveries = {name: stored(load.http, name) for name in LEAST}
    for name, least in LEAST.items():
        check_published(deliveries[name], load.publishers, least)
    again = check_received(load.puller.received, deliveries["pulled"])
    again += check_received(load.follower.received, deliveries["streamed"])
    for name in ("strict", "digest", "any"):
        again += check_received(load.posted(name), deliveries[name], is_ordered=name != "any")
    assert load.http.get("/v1/destinations/pulled").json()["acknowledged"] == len(deliveries["pulled"])
    for name in WEBHOOKS:
        dead = load.http.get(f"/v1/destinations/{name}/dead-letters").json()["dead_letters"]
        assert not dead
    assert load._waiting("dead") == len(deliveries["dead"])
    acknowledged = sum(len(one.acknowledged) for one in load.publishers)
    return Counter(events=acknowledged, deliveries=sum(map(len, deliveries.values())), received_again=again)


def check_fence(load: Load) -> Counter[str]:
    """Every change of an object is there once, in order."""
    assert load.driver.acknowledged == load.driver.sent.keys()
    changes: dict[str, list[tuple[str, str]]] = {vehicle: [] for vehicle in load.driver.changes}
    for one in stored(load.http, "fenced"):
        [change] = one["subscriptions"]
        changes[change["object"]].append((one["event"]["id"], change["change"]))
    assert changes == load.driver.changes
    return Counter(events=len(load.driver.sent), fence_changes=sum(map(len, changes.values())))


def check_subscriptions(load: Load) -> Counter[str]:
    """The last acknowledged change of each subscription is in force, was in force since, and is in the audit log."""
    subscriber = load.subscriber
    assert subscriber.acknowledged == subscriber.sent.keys()
    there = {one["id"]: one.get("payload") for one in pages(load, "subscriptions", "subscriptions")}
    versions = {id: payload["version"] for id, payload in there.items() if payload is not None}
    assert versions == subscriber.versions
    assert there.keys() - versions.keys() == {*LEAST, "fenced", "lasting"}
    hosted = {one["id"]: one["k"] for one in pages(load, "windows/news/subscriptions", "subscriptions")}
    assert hosted == {"u": 1000, **subscriber.sizes}
    deliveries = {
        one["event"]["id"]: [(match["id"], match["payload"]["version"]) for match in one["subscriptions"]]
        for one in stored(load.http, "changed")
    }
    assert deliveries == {id: [version] for id, version in subscriber.expected.items()}
    audited = Counter((one["method"], one["path"]) for one in pages(load, "audit", "records"))
    assert subscriber.audited <= audited
    return Counter(events=len(subscriber.sent), subscription_changes=subscriber.audited.total())


def pages(load: Load, path: str, member: str) -> list[Document]:
    """All that a call lists."""
    records: list[Document] = []
    after: dict[str, Any] = {}
    while True:
        document = load.http.get(f"/v1/{path}", params={"limit": 1000, **after}).json()
        records += document[member]
        if document.get("next") is None:
            return records
        after = {"after": document["next"]}


def check_window(load: Load) -> Counter[str]:
    """Every acknowledged message is in the window once, and so is every change that it made."""
    taken = load.http.get("/v1/windows/news").json()["next"]
    deliveries = stored(load.http, "d")
    keys = [one["event"]["message"]["key"] for one in deliveries]
    assert [one["event"]["number"] for one in deliveries] == list(range(taken))
    assert len(set(keys)) == taken
    assert set(keys) == {key for one in load.pushers for key in one.acknowledged}
    for number, one in enumerate(deliveries):
        changes = [(change["change"], change["message"]) for change in one["subscriptions"]]
        left = [("exit", keys[number - SIZE])] if number >= SIZE else []
        assert changes == [*left, ("enter", keys[number])]
    results = load.http.get("/v1/windows/news/results/u").json()["results"]
    assert {one["message"] for one in results} == set(keys[-SIZE:])
    return Counter(messages=taken)
