"""Of an event with ranges a dimension holds when all its conjuncts can be TRUE; the rest of a ranking is as ever."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.engine.relaxed_samples import INDEXES, Asked, Sub, counted, questions, records, subscriptions, tuples
from tests.engine.samples import pairs
from tests.naive.relaxed import relaxed
from tests.strategies.weighted import GRID
from tocsin import Range

ALL: Final = pytest.mark.parametrize("index", INDEXES)
bad_events = own.bad_events().filter(lambda event: all(type(name) is str for name in event))
mixed_events = st.one_of(own.interval_events(), own.interval_events(), own.python_events(), bad_events)
some_events = st.lists(mixed_events, max_size=6).map(lambda events: [*events, {}])  # one that is not bad
grid_events = st.lists(st.one_of(own.interval_grid_events(), own.grid_events()), min_size=1, max_size=6)


def check(held: Sequence[Sub], events: Sequence[Any], asked: Asked) -> None:
    """Every index's rows are the oracle's, in one call and of an engine that merged: ids, scores, their order."""
    expected = relaxed(held, events, asked.k, asked.combine, asked.drop)
    for index in INDEXES:
        engine = tocsin.Engine(index)
        engine.subscribe_many(records(held))

        assert tuples(tocsin.match(records(held), events, index=index, ranking=asked.ranking())) == expected, index
        assert tuples(engine.match_batch(events, ranking=asked.ranking())) == expected, index
        engine.merge()
        assert tuples(engine.match_batch(events, ranking=asked.ranking())) == expected, index
        engine.close()


@settings(max_examples=max(10, settings.default.max_examples // 4))
@given(held=subscriptions(own.conjunctions_of_ranges(), most=12), events=grid_events, asked=questions((*GRID, "z")))
def test_conjunctions_of_ranges(held: list[Sub], events: list[Any], asked: Asked) -> None:
    """Ranges over few attributes, where ends meet and many scores tie."""
    check(held, events, asked)


@settings(max_examples=max(10, settings.default.max_examples // 4))
@given(held=subscriptions(own.conjunctions()), events=some_events, asked=questions(own.NAMES))
def test_conjunctions_of_anything(held: list[Sub], events: list[Any], asked: Asked) -> None:
    """Expressions of every kind under AND, and events of every kind, bad ones among them."""
    check(held, events, asked)


@settings(max_examples=max(10, settings.default.max_examples // 5))
@given(held=subscriptions(own.expressions(max_depth=5)), events=some_events, asked=questions(own.NAMES))
def test_any_expressions(held: list[Sub], events: list[Any], asked: Asked) -> None:
    """OR, NOT and single conditions at the root are dimensions too."""
    check(held, events, asked)


@ALL
def test_worked_example(index: str) -> None:
    """Scores worked out by hand, for a range that overlaps and one that must be contained."""
    held = [
        {"id": "both", "where": "a BETWEEN 6 AND 8 AND b = 1", "weights": {"a": 2.5}},
        {"id": "apart", "where": "a < 6 AND b = 2 AND a > 8", "weights": {"a": 2}},
        {"id": "ends", "where": "a <= 5 AND b = 2 AND a >= 9", "weights": {"a": 1.5}},
        {"id": "above", "where": "a > 9 AND b = 2", "weights": {"a": 9}},
        {"id": "all", "where": "a >= 5 AND a <= 9", "weights": {"a": 0.5}},
        {"id": "type", "where": "a = 'a' AND b = 1", "weights": {"b": 0.25}},
        {"id": "two", "where": "(a = 7 OR b = 2) AND c IS NULL", "weights": {"a": 9, "c": 0.125}},
    ]
    loose = [("both", 3.5), ("apart", 2.0), ("ends", 1.5), ("two", 1.125), ("all", 0.5), ("type", 0.25)]
    strict = [("both", 1.0), ("all", 0.5), ("type", 0.25), ("two", 0.125)]
    engine = tocsin.Engine(index)
    engine.subscribe_many(held)

    for _ in range(2):
        for contained, expected in ((False, loose), (True, strict)):
            event = {"a": Range(5, 9, contained=contained), "b": 1}
            assert pairs(engine.match(event, ranking=tocsin.Relaxed(9))) == expected
            assert pairs(engine.match(event, ranking=tocsin.Relaxed(2))) == expected[:2]
        engine.merge()


@ALL
def test_ways_to_combine_and_what_is_dropped(index: str) -> None:
    """The highest or the lowest weight that holds, and attributes left out, whether they came as ranges or not."""
    held = [{"id": 1, "where": "a < 6 AND b > 8 AND c = 1", "weights": {"a": 3, "b": 2, "c": 7}}]
    event = {"a": Range(5, 9), "b": Range(5, 9), "c": Range(2, 3)}

    def score(asked: Asked) -> list[Any]:
        return tuples(tocsin.match(held, [event], index=index, ranking=asked.ranking()))

    assert score(Asked(1)) == [(0, 1, 5.0)]
    assert score(Asked(1, "max")) == [(0, 1, 3.0)]
    assert score(Asked(1, "min")) == [(0, 1, 2.0)]
    assert score(Asked(1, drop=["b"])) == [(0, 1, 3.0)]
    assert score(Asked(1, drop=["a", "b"])) == []
    assert score(Asked(1, counted)) == [(0, 1, 2.0)]


@ALL
def test_what_is_unknown_holds_nowhere(index: str) -> None:
    """A dimension that is UNKNOWN of a range, and its NOT, add nothing; IS NOT NULL does."""
    texts = ("a = 'x'", "NOT a = 'x'", "a LIKE '%'", "a > b", "a + 1 > 0", "a", "A_CONTAINS(a, (6))", "a IS NULL")
    held = [{"id": n, "where": f"b = 1 AND {text}"} for n, text in enumerate(texts)]
    held.append({"id": 8, "where": "b = 1 AND a IS NOT NULL"})

    found = tocsin.match(held, [{"a": Range(5, 9), "b": 1}], index=index, ranking=tocsin.Relaxed(9))

    assert tuples(found) == [(0, 8, 2.0), *[(0, n, 1.0) for n in range(8)]]


@cache
def many() -> tuple[list[Sub], list[dict[str, Any]], list[tuple[int, Any, float]]]:
    """Hundreds of subscriptions, more events than fit a block, a few with ranges, and the best nine of each."""
    dice = random.Random(2008)

    def part(name: str) -> str:
        low = dice.randint(0, 40)
        return dice.choice((f"{name} BETWEEN {low} AND {low + dice.choice((0, 3, 20))}", f"{name} IN ({low}, 7)"))

    held: list[Sub] = []
    for number in dice.sample(range(10_000), 300):
        names = dice.sample("abcde", dice.randint(1, 5))
        weights = {name: float(dice.choice(own.WEIGHTS[:-1])) for name in names if dice.random() < 0.5}
        held.append((number, tocsin.parse(" AND ".join(map(part, names))), weights))
    events: list[dict[str, Any]] = [
        {name: dice.randint(0, 60) for name in "abcde" if dice.random() < 0.8} for _ in range(90)
    ]
    for row in (0, 31, 63, 64, 65, 89):
        for name in dice.sample("abcde", dice.randint(1, 4)):
            low = dice.randint(0, 50)
            events[row][name] = Range(low, low + dice.choice((0, 2, 25)), contained=dice.random() < 0.4)
    return held, events, relaxed(held, events, 9)


@ALL
@pytest.mark.parametrize("k", [1, 9])
def test_many_subscriptions_and_a_few_ranges_among_many_events(index: str, k: int) -> None:
    """More subscriptions than a node has room for; ranges in few of the events."""
    held, events, best = many()
    rows = [[one for one in best if one[0] == row][:k] for row in range(len(events))]

    answer = tocsin.match(records(held), events, index=index, ranking=tocsin.Relaxed(k))

    assert tuples(answer) == [one for row in rows for one in row]
