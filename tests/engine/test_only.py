"""A part of the subscriptions for one call answers as an engine of that part would."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tocsin

_SUBSCRIPTIONS = 300


def subscriptions(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "where": rng.choice([f"p < {rng.randrange(100)}", f"p BETWEEN {rng.randrange(50)} AND 60", "q IS NULL"]),
            "score": round(rng.random(), 3),
            "payload": rng.choice([None, 3, {"team": rng.choice("ab"), "tags": rng.choice([[], ["x"]])}]),
        }
        for number in range(_SUBSCRIPTIONS)
    ]


def teams(record: dict[str, Any]) -> bool:
    return isinstance(record["payload"], dict) and record["payload"]["team"] == "a"


def tagged(record: dict[str, Any]) -> bool:
    return isinstance(record["payload"], dict) and "x" in record["payload"]["tags"]


PARTS: list[tuple[Any, Callable[[dict[str, Any]], bool]]] = [
    ("team = 'a'", teams),
    ("A_CONTAINS(tags, ('x'))", tagged),
    ("team = 'nobody'", lambda _: False),
    ([1, 2, 250, 299, 1000, "1"], lambda record: record["id"] in (1, 2, 250, 299)),
    ((), lambda _: False),
]


@pytest.mark.parametrize(("only", "keeps"), PARTS)
@pytest.mark.parametrize("ranking", [None, tocsin.Top(4), tocsin.Relaxed(4)])
def test_a_part_answers_alone(only: Any, keeps: Callable[[dict[str, Any]], bool], ranking: Any) -> None:
    """With segments, recent subscriptions and removed ones; for one event, many, and in pieces."""
    rng = random.Random(1)
    records = subscriptions(rng)
    engine, alone = tocsin.Engine(), tocsin.Engine()
    engine.subscribe_many(records[:250])
    for one in records[250:]:
        engine.subscribe(one["id"], one["where"], score=one["score"], payload=one["payload"])
    for number in range(0, _SUBSCRIPTIONS, 7):
        engine.unsubscribe(number)
    alone.subscribe_many([one for one in records if keeps(one) and one["id"] % 7])
    events = [{"p": rng.randrange(100), **({"q": 1} if rng.random() < 0.5 else {})} for _ in range(30)]
    expected = alone.match_batch(events, ranking=ranking).table.to_pylist()
    assert engine.match_batch(events, ranking=ranking, only=only).table.to_pylist() == expected
    pieces = engine.match_batches(events, ranking=ranking, only=only)
    assert [row for answer in pieces for row in answer.table.to_pylist()] == expected
    for event in events[:5]:
        assert engine.match(event, ranking=ranking, only=only) == alone.match(event, ranking=ranking)


def test_a_change_is_seen_by_the_next_call() -> None:
    engine = tocsin.Engine()
    engine.subscribe("a", "p > 0", payload={"team": "x"})
    assert [one.subscription for one in engine.match({"p": 1}, only="team = 'x'")] == ["a"]
    engine.subscribe("b", "p > 0", payload={"team": "x"})
    engine.subscribe("a", "p > 0", payload={"team": "y"}, replace=True)
    assert [one.subscription for one in engine.match({"p": 1}, only="team = 'x'")] == ["b"]


@pytest.mark.parametrize("only", [5, "team =", "team +"])
def test_what_names_no_part_is_refused(only: Any) -> None:
    engine = tocsin.Engine()
    with pytest.raises(tocsin.InvalidInput):
        engine.match({"p": 1}, only=only)
