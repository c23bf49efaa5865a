"""Whatever endpoints answer, and whatever owners do meanwhile: a delivery is posted, or it is a dead letter."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.service.receivers import Clock, Posted, Reply, dead_letters, hook, receiver, shown
from tests.service.served import Served, served
from tests.waiting import awaited

PATH = "/v1/destinations/w"
_COUNT = 300


class Endpoint:
    """Answers anything, until it is `good`. `done` has what it took, in order."""

    def __init__(self, seed: int) -> None:
        self._draw, self.done, self.is_good = random.Random(seed), list[int](), False

    def reply(self, posted: Posted) -> Reply | None:
        chance = 1.0 if self.is_good else self._draw.random()
        if chance < 0.12:
            return None
        if chance < 0.4:
            return Reply(self._draw.choice((400, 404, 429, 500, 503)))
        data = posted.document["data"]
        self.done += [int(one["sequence"]) for one in data.get("deliveries", [data])]
        return Reply(self._draw.choice((200, 204)))


def meddle(server: Served, draw: random.Random) -> None:
    """What the owner of a webhook may do at any time."""
    what = draw.randrange(6)
    if what == 0:
        server.client.post(f"{PATH}/enable")
    elif what == 1:
        server.client.post(f"{PATH}/replay", json={"from": draw.randrange(1, _COUNT)})
    elif what == 2 and (letters := dead_letters(server)):
        server.client.post(f"{PATH}/dead-letters/{draw.choice(letters)['sequence']}/retry")
    elif what == 3:
        server.client.patch(PATH, json={"order": draw.choice(("strict", "any"))})
    elif what == 4:
        server.client.patch(PATH, json={"digest_s": draw.choice((None, 0.2))})


def settled(server: Served, clock: Clock) -> None:
    """Wait until nothing waits any more."""

    def are_all_done() -> bool:
        clock.advance(3600)
        now = shown(server)
        return now["acknowledged"] == now["newest"] and not now["waiting"]

    awaited(are_all_done, step_s=0.05)


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 40))])
def test_each_delivery_is_posted_or_a_dead_letter(tmp_path: Path, seed: int) -> None:
    draw, endpoint = random.Random(seed), Endpoint(seed)
    options: dict[str, Any] = {"order": draw.choice(("strict", "any")), "max_attempts": draw.choice((2, 10))}
    with receiver(endpoint.reply) as one:
        for first in range(0, _COUNT, 100):  # the server is stopped twice
            with served(tmp_path) as server:
                clock = Clock(server)
                hook(server, one.url, **options)
                for number in range(first, first + 100, 20):
                    server.lines([{"n": number + more} for more in range(20)])
                    for _ in range(10):
                        clock.advance(draw.choice((1, 10, 400, 4000)))
                        time.sleep(draw.uniform(0, 0.03))
                        if draw.random() < 0.2:
                            meddle(server, draw)
                if first == _COUNT - 100:
                    endpoint.is_good = True
                    server.client.post(f"{PATH}/enable")
                    settled(server, clock)
                    dead = {letter["sequence"] for letter in dead_letters(server, limit=1000)}

    assert set(endpoint.done) | dead == set(range(1, _COUNT + 1))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 20))])
def test_strict_order_is_kept(tmp_path: Path, seed: int) -> None:
    """Without owners who meddle, numbers only rise: what is left out is a dead letter."""
    draw, endpoint = random.Random(seed), Endpoint(seed)
    with receiver(endpoint.reply) as one, served(tmp_path) as server:
        clock = Clock(server)
        hook(server, one.url, max_attempts=draw.choice((2, 10)), digest_s=draw.choice((None, 0.1)))
        server.lines([{"n": number} for number in range(_COUNT)])
        for _ in range(100):
            clock.advance(draw.choice((1, 10, 400, 4000)))
            time.sleep(0.01)
        endpoint.is_good = True
        server.client.post(f"{PATH}/enable")
        settled(server, clock)
        dead = {letter["sequence"] for letter in dead_letters(server, limit=1000)}

    assert endpoint.done == sorted(endpoint.done)
    assert set(endpoint.done) | dead == set(range(1, _COUNT + 1))
    assert one.most_together <= 2  # a receiver that dies may still count the one before
