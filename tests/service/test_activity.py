"""Activity: the counts of subscriptions are those of the matches that were published, and of nothing else."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from tests.service.served import Served
from tocsin.service.activity import Activity


def activity(server: Served, **options: Any) -> dict[str, Any]:
    answer = server.client.get("/v1/activity", params=options)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_counts_are_those_of_an_oracle(server: Served) -> None:
    draw = random.Random(1)
    server.destination()
    limits = {f"s{number:02}": draw.randint(0, 120) for number in range(30)}
    for id, limit in limits.items():
        server.subscribe(id, f"n >= {limit}", **({"destination": "d"} if draw.random() < 0.5 else {}))
    values = [draw.randint(0, 100) for _ in range(50)]
    for value in values[:10]:
        server.publish({"n": value})
    server.lines([{"n": value} for value in values[10:]])

    expected = Counter({id: sum(value >= limit for value in values) for id, limit in limits.items()})
    found = activity(server, limit=1000)
    counts = {one["id"]: one["matches"] for one in found["busiest"]}
    assert counts == {id: count for id, count in expected.items() if count}
    assert [one["matches"] for one in found["busiest"]] == sorted(counts.values(), reverse=True)
    silent = sorted(id for id, count in expected.items() if not count)
    assert silent and (found["silent"], found["first_silent"]) == (len(silent), silent)
    assert all(found["since"] <= one["last"] for one in found["busiest"])


def test_what_is_not_published_is_not_counted(server: Served) -> None:
    server.subscribe("s", "n = 1")
    server.client.post("/v1/match", json={"n": 1})
    for _ in range(3):
        server.publish({"n": 1}, **{"Idempotency-Key": "one"})

    assert activity(server)["busiest"][0]["matches"] == 1


def test_a_removed_subscription_is_forgotten(server: Served) -> None:
    server.subscribe("a", "n = 1")
    server.subscribe("b", "n = 1")
    server.publish({"n": 1})
    server.client.delete("/v1/subscriptions/a")
    found = activity(server)
    assert ([one["id"] for one in found["busiest"]], found["silent"]) == (["b"], 0)

    server.subscribe("a", "n = 1")
    assert activity(server)["first_silent"] == ["a"]
    server.publish({"n": 1})
    assert activity(server)["silent"] == 0


def test_events_in_flight_do_not_bring_a_removed_subscription_back() -> None:
    counts = Activity()
    counts.forget("a")
    counts.count([["a", "b"]], 1)
    assert "a" not in counts and "b" in counts

    counts.known("a")
    counts.count([["a", "b"]], 2)
    assert [(one.id, one.matches, one.last) for one in counts.busiest(5)] == [("b", 2, 2), ("a", 1, 2)]


def test_a_limit_is_kept(server: Served) -> None:
    for number in range(5):
        server.subscribe(f"s{number}", f"n = {number // 3}")
    server.publish({"n": 0})
    found = activity(server, limit=1)

    assert (len(found["busiest"]), found["silent"], found["first_silent"]) == (1, 2, ["s3"])
    assert server.client.get("/v1/activity", params={"limit": 1001}).status_code == 400
