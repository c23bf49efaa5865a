"""`Top(k)` over long lists stops early: by cursors over singles in order of score, whatever has changed since."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tocsin
from tests.naive.engine import Reference
from tocsin.engine.store import Store

ALWAYS = "access(cursors_from=0)"
"""Lists of any length are left for cursors."""


@pytest.fixture(params=[1000, 3], ids=lambda most: f"{most} may change")
def new_engine(request: pytest.FixtureRequest) -> Callable[..., tocsin.Engine]:
    """Makes engines of which so many scores may change before others become the base."""

    def new_engine(**options: int) -> tocsin.Engine:
        engine = tocsin.Engine(ALWAYS, **options)
        engine._begin(Store(most_changed=request.param))
        return engine

    return new_engine


def _subscription(dice: random.Random) -> tuple[str, float]:
    low = dice.randint(0, 20)
    singles = (f"a >= {low}", f"a BETWEEN {low} AND {low + 4}", f"b < {low}", f"b = {low}", f"s > 'w{low}'")
    others = (f"a > {low} AND b < {low + 3}", f"a IN (1, {low})", f"NOT (a = 1 OR b = {low})", "c IS NULL")
    return dice.choice(singles * 3 + others), float(dice.randint(-2, 4))


def _event(dice: random.Random) -> dict[str, Any]:
    event = {"a": dice.randint(0, 24), "b": dice.randint(0, 24), "s": f"w{dice.randint(0, 20)}", "c": 1}
    return {name: value for name, value in event.items() if dice.random() < 0.8}


@pytest.mark.parametrize("seed", range(6))
def test_the_best_are_the_references_after_any_changes(seed: int, new_engine: Callable[..., tocsin.Engine]) -> None:
    """Scores change, subscriptions go and come and are replaced, and segments merge."""
    dice = random.Random(seed)
    engine, reference = new_engine(delta_limit=64), Reference()
    for name in range(150):
        where, score = _subscription(dice)
        for one in (engine, reference):
            one.subscribe(name, where, score=score)
    engine.merge()
    for step in range(300):
        name, (where, score) = dice.randrange(150), _subscription(dice)
        kind = dice.choices(("rescore", "replace", "drop", "merge"), (70, 10, 10, 1))[0]
        if kind == "merge":
            engine.merge()
        for one in (engine, reference) if kind != "merge" else ():
            if kind == "replace" or name not in reference.held:
                one.subscribe(name, where, score=score, replace=True)
            elif kind == "drop" and one is engine:
                one.unsubscribe(name)
            elif kind == "rescore":
                one.rescore(name, score)
        if kind == "drop" and name in reference.held and name not in engine:
            reference.unsubscribe(name)
        if step % 7 == 0:
            event, ranking = _event(dice), tocsin.Top(dice.randint(1, 12))
            assert [tuple(m) for m in engine.match(event, ranking=ranking)] == reference.match(event, ranking)
    engine.close()


def test_several_segments_in_one_call() -> None:
    """A folder of several parts, string ids, ties everywhere."""
    dice = random.Random(7)
    held = [
        {"id": f"s{n}", "where": where, "score": score} for n in range(300) for where, score in [_subscription(dice)]
    ]
    events = [_event(dice) for _ in range(70)]
    reference = Reference()
    reference.subscribe_many(held)

    answer = tocsin.match(held, events, index=ALWAYS, ranking=tocsin.Top(5))

    rows = answer.table.to_pylist()
    for row, event in enumerate(events):
        found = [(one["subscription"], one["score"]) for one in rows if one["event"] == row]
        assert found == reference.match(event, tocsin.Top(5))


def test_few_are_looked_at() -> None:
    """Of ten thousand that an event satisfies, about as many as are wanted."""
    count = 20_000
    table = pa.table(
        {
            "id": np.arange(count),
            "where": [f"price <= {price}" for price in range(count)],
            "score": np.random.default_rng(1).random(count),
        }
    )
    best = tocsin.match(table, [{"price": count // 2}], ranking=tocsin.Top(20))
    every = tocsin.match(table, [{"price": count // 2}])

    assert every.table.num_rows == count // 2
    assert best.table.num_rows == 20
    assert best.stats.candidates_examined < 1000
    chosen = np.array(table["score"])[count // 2 :]
    assert best.table["score"].to_pylist() == sorted(chosen.tolist(), reverse=True)[:20]


def _conjunction(dice: random.Random) -> str:
    low, width = dice.randint(0, 80), dice.randint(1, 40)
    return f"price BETWEEN {low} AND {low + width} AND size >= {dice.randint(0, 60)} AND kind = 'a'"


def _other(dice: random.Random) -> str:
    """A cover of two keys, or none."""
    low = dice.randint(0, 80)
    return f"price = {low} OR size >= {low}" if dice.random() < 0.9 else f"missing IS NULL AND NOT price = {low}"


def _mixed(dice: random.Random, count: int, among: tuple = (_conjunction,)) -> list[dict[str, Any]]:
    """Singles and others, scores with ties among the best."""
    return [
        {
            "id": n,
            "where": f"price >= {dice.randint(0, 80)}" if n % 2 else dice.choice(among)(dice),
            "score": min(dice.random(), 0.995),
        }
        for n in range(count)
    ]


@pytest.mark.parametrize("other", [_conjunction, _other])
def test_what_is_below_the_floor_is_not_verified(other: Callable[[random.Random], str]) -> None:
    """The singles that an event satisfies say what others must score; blocks of conjunctions know their best."""
    held = _mixed(random.Random(3), 20_000, (other,))
    event = {"price": 90, "size": 90, "kind": "a"}
    engine = tocsin.Engine()
    engine.subscribe_many(held)
    engine.merge()

    (told,) = (segment.best_first for segment in engine.stats.segments)
    assert told.startswith("subscriptions with one range by descending score") and "have 10,000.0 entries" in told

    none = tocsin.Engine()
    none.subscribe(1, "a IN (1, 2) OR b = 1")
    none.merge()
    assert none.stats.segments[0].best_first == "all matches, then ranked: no subscription consists of one range"

    every = engine.match_batch([event])
    best = engine.match_batch([event], ranking=tocsin.Top(10))

    scores = {one["id"]: one["score"] for one in held}
    rows = sorted((-scores[name], name) for name in every.table["subscription"].to_pylist())[:10]
    assert [(-score, name) for score, name in rows] == [
        (row["score"], row["subscription"]) for row in best.table.to_pylist()
    ]
    assert every.stats.verified > 1000
    assert best.stats.verified < every.stats.verified / 4
    engine.close()


@pytest.mark.parametrize("seed", range(3))
def test_conjunctions_rise_above_the_floor_and_fall(seed: int) -> None:
    """Scores of others than singles are raised, lowered and raised again between searches."""
    dice = random.Random(seed)
    held = _mixed(dice, 6000, (_conjunction, _other))
    engine = tocsin.Engine()
    engine.subscribe_many(held)
    engine.merge()
    scores = {one["id"]: one["score"] for one in held}
    events = [{"price": dice.randint(0, 100), "size": dice.randint(0, 80), "kind": "a"} for _ in range(20)]
    every = [engine.match(event) for event in events]
    for _ in range(30):
        for name in [*dice.choices(range(6000), k=40), 0, 2, 4]:
            scores[name] = dice.choice((dice.random(), 0.995, 2.0, -1.0))
            engine.rescore(name, scores[name])
        for event, found in zip(events, every, strict=True):
            rows = sorted((-scores[match.subscription], match.subscription) for match in found)[:7]
            best = engine.match(event, ranking=tocsin.Top(7))
            assert [(-match.score, match.subscription) for match in best] == rows
    engine.close()


def test_the_best_are_found_while_others_change(new_engine: Callable[..., tocsin.Engine]) -> None:
    """Readers on several threads, at different moments of the changes: who is best all the time is never missed."""
    dice = random.Random(9)
    held = _mixed(dice, 3000)
    always = {2900: 9.0, 2901: 8.0, 2902: 7.0}  # two conjunctions and a single, the last ones of their lists
    for name, score in always.items():
        held[name] |= {"where": "price >= 1 AND size >= 1" if name % 2 == 0 else "price >= 1", "score": score}
    engine = new_engine()
    engine.subscribe_many(held)
    engine.merge()
    event, stop, wrong = {"price": 90, "size": 90, "kind": "a"}, threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            best = [(match.subscription, match.score) for match in engine.match(event, ranking=tocsin.Top(4))]
            if best[:3] != list(always.items()) or len(best) != 4:
                wrong.append(best)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(4000):
        engine.rescore(dice.randrange(2900), dice.choice((-1.0, dice.random(), 6.0)))
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    engine.close()
