"""`tocsin.match` with a relaxed ranking answers like the oracle, by every index that ranks, and by scan."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.engine.relaxed_samples import (
    INDEXES,
    STRING_IDS,
    Asked,
    Sub,
    counted,
    questions,
    records,
    subscriptions,
    tuples,
)
from tests.naive.relaxed import relaxed
from tests.naive.relaxed_examples import WORKED, Worked
from tests.sizes import sized
from tests.strategies.weighted import GRID

ALL: Final = pytest.mark.parametrize("index", INDEXES)


def with_a_good_one(events: list[Any]) -> list[Any]:
    """Where all events are bad, `match` raises."""
    return [*events, {}]


bad_events = own.bad_events().filter(lambda event: all(type(name) is str for name in event))
odd_events = st.lists(st.one_of(own.python_events(), own.python_events(), bad_events), max_size=6).map(with_a_good_one)
WORD_NAMES: Final = ("s", "t", "words", "n", "m", "flag", "place", "z")


def check(held: Sequence[Sub], events: Sequence[Any], asked: Asked) -> None:
    """Every index's rows are the oracle's: events, ids, scores to the last bit, and their order."""
    expected = relaxed(held, events, asked.k, asked.combine, asked.drop)
    for index in INDEXES:
        answer = tocsin.match(records(held), events, index=index, ranking=asked.ranking())

        assert tuples(answer) == expected, index
        assert answer.subscription_errors == []


@ALL
@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.told)
def test_worked_examples(worked: Worked, index: str) -> None:
    """What was worked out by hand, one event at a time and in a batch."""
    held = [{"id": name, "where": text, "weights": w} for name, (text, w) in worked.subscriptions.items()]
    ranking = Asked(worked.k, worked.combine, worked.drop).ranking()
    engine = tocsin.Engine(index)
    engine.subscribe_many(held)

    answer = tocsin.match(held, [worked.event, {"zz": 1}, worked.event], index=index, ranking=ranking)
    one = engine.match(worked.event, ranking=ranking)

    rows = tuples(answer)
    assert [row[1:] for row in rows if row[0] == 0] == [row[1:] for row in rows if row[0] == 2] == worked.answer
    assert [(match.subscription, match.score) for match in one] == worked.answer


@settings(max_examples=max(10, settings.default.max_examples // 2))
@given(held=subscriptions(own.conjunctions()), events=odd_events, asked=questions(own.NAMES))
def test_conjunctions_of_anything(held: list[Sub], events: list[Any], asked: Asked) -> None:
    """Expressions of every kind under AND, and events of every kind, bad ones among them."""
    check(held, events, asked)


@settings(max_examples=max(10, settings.default.max_examples // 4))
@given(held=subscriptions(own.expressions(max_depth=5)), events=odd_events, asked=questions(own.NAMES))
def test_any_expressions(held: list[Sub], events: list[Any], asked: Asked) -> None:
    """OR, NOT and single conditions at the root are dimensions too."""
    check(held, events, asked)


@given(
    held=subscriptions(own.conjunctions_of_ranges(), most=12),
    events=st.lists(own.grid_events(), max_size=6),
    asked=questions((*GRID, "z")),
)
def test_conjunctions_of_ranges(held: list[Sub], events: list[Any], asked: Asked) -> None:
    """Ranges over few attributes, where many scores tie."""
    check(held, events, asked)


@settings(max_examples=max(10, settings.default.max_examples // 2))
@given(
    held=subscriptions(own.conjunctions_of_words()),
    events=st.lists(own.word_events(), max_size=6),
    asked=questions(WORD_NAMES),
)
def test_conjunctions_of_words(held: list[Sub], events: list[Any], asked: Asked) -> None:
    """Strings, IN, patterns, lists, a place, booleans, and dimensions of two attributes or none."""
    check(held, events, asked)


def random_subscription(dice: random.Random) -> tuple[str, dict[str, float]]:
    """A conjunction of ranges and words over eight attributes, the text of a few shapes."""
    names = dice.sample(("a", "b", "c", "d", "e", "s", "t", "u"), dice.randint(1, 5))
    parts = []
    for name in names:
        low = dice.randint(0, 40)
        if name in "stu":
            part = dice.choice((f"{name} = '{low % 7}'", f"{name} IN ('{low % 7}', '{low % 5}')"))
        else:
            part = f"{name} BETWEEN {low} AND {low + dice.choice((0, 3, 20))}"
        parts.append(part)
    if not dice.randint(0, 20):
        parts.append(dice.choice(("TRUE", "(a = 1 OR b > 20)", "c IS NULL")))
    weighed = [name for name in names if dice.randint(0, 1)]
    return " AND ".join(parts), {name: float(dice.choice(own.WEIGHTS[:-1])) for name in weighed}


def random_event(dice: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {name: dice.randint(0, 60) for name in "abcde"} | {
        n: str(dice.randint(0, 6)) for n in "stu"
    }
    return {name: value for name, value in event.items() if dice.randint(0, 4)}


@cache
def many() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[tuple[int, Any, float]]]:
    """Hundreds of subscriptions, more events than fit a block of the verifier, and the best twelve of each."""
    dice = random.Random(2016)
    events = [random_event(dice) for _ in range(70)]
    drawn = [random_subscription(dice) for _ in range(400)]
    ids = dice.sample(range(10_000), len(drawn))
    held = [{"id": n, "where": text, "weights": w} for n, (text, w) in zip(ids, drawn, strict=True)]
    trees = [(one["id"], tocsin.parse(one["where"]), one["weights"]) for one in held]
    return held, events, relaxed(trees, events, 12)


@ALL
@pytest.mark.parametrize("k", [1, 12])
def test_many_subscriptions_and_events(index: str, k: int) -> None:
    """More subscriptions than a node has room for, with ties by the dozen."""
    held, events, best = many()
    first = {row: [one for one in best if one[0] == row][:k] for row in range(len(events))}

    answer = tocsin.match(held, events, index=index, ranking=Asked(k).ranking())

    assert tuples(answer) == [one for row in range(len(events)) for one in first[row]]


@ALL
def test_ties_at_the_last_place_go_to_the_lower_ids(index: str) -> None:
    """Of hundreds of one score the lowest ids are in, whatever the order they came in."""
    dice = random.Random(1)
    held = [{"id": n, "where": f"a >= {n % 5} AND b = {n % 3}"} for n in dice.sample(range(900), 900)]

    answer = tocsin.match(held, [{"a": 9, "b": 1}, {"a": 9}, {"b": 2}], index=index, ranking=Asked(5).ranking())

    both, one = [(n, 2.0) for n in (1, 4, 7, 10, 13)], [(n, 1.0) for n in range(5)]
    of_b = [(n, 1.0) for n in (2, 5, 8, 11, 14)]
    assert tuples(answer) == [(row, *pair) for row, pairs in enumerate((both, one, of_b)) for pair in pairs]


@settings(max_examples=sized(12, 40))
@given(
    held=subscriptions(own.conjunctions_of_ranges()),
    events=st.lists(st.one_of(own.grid_events(), st.sampled_from([{"a": {"b": 1}, "a.b": 2}])), max_size=5).map(
        with_a_good_one
    ),
    k=st.integers(1, 3),
)
def test_lists_say_the_same_as_rows(held: list[Sub], events: list[Any], k: int) -> None:
    """One row an event: its best, an empty list, or null where the event is bad."""
    for index in INDEXES:
        check_lists(held, events, k, index)


def check_lists(held: list[Sub], events: list[Any], k: int, index: str) -> None:
    """Of one index."""
    flat = tocsin.match(records(held), events, index=index, ranking=Asked(k).ranking())
    listed = tocsin.match(records(held), events, index=index, ranking=Asked(k).ranking(), lists=True)

    rows = listed.table.to_pylist()
    assert [row["event"] for row in rows] == list(range(len(events)))
    assert [row["score"] is None for row in rows] == ["a.b" in event for event in events]
    assert [
        (row["event"], *pair)
        for row in rows
        for pair in zip(row["subscription"] or [], row["score"] or [], strict=True)
    ] == tuples(flat)


@pytest.mark.parametrize("index", ["auto", "sopt_r_tree"])
def test_a_function_is_given_the_weights_that_hold_in_order(index: str) -> None:
    """A list of floats: no name first, then by name; weights of what does not hold are not in it."""
    given: list[list[float]] = []

    def combine(weights: list[float]) -> float:
        given.append(list(weights))
        return math.fsum(weights)

    where, weights = "d = 1 AND c = 1 AND TRUE AND b = 1 AND (a = 1 OR b = 1)", {"b": 2, "c": 3, "d": 4}
    answer = tocsin.match(
        [{"id": 1, "where": where, "weights": weights}],
        [{"b": 1, "d": 1}],
        index=index,
        ranking=Asked(1, combine).ranking(),
    )

    assert tuples(answer) == [(0, 1, 8.0)]
    assert [1.0, 1.0, 2.0, 4.0] in given
    assert all(type(weight) is float for weights in given for weight in weights)


@ALL
def test_every_form_of_subscriptions_and_events_is_weighed(index: str) -> None:
    """Dicts, JSON lines and Arrow tables, where weights are a map."""
    held: list[dict[str, Any]] = [
        {"id": "x", "where": "a = 1 AND b = 1", "weights": {"a": 2.5}},
        {"id": "y", "where": "a = 1 AND b = 1", "weights": None},
        {"id": "z", "where": "b = 1 AND c = 1", "weights": {"c": 0.25, "b": 1.0}},
    ]
    events = [{"a": 1.0, "b": 2.0}, {"b": 1.0, "c": 1.0}]
    weights = pa.array([list((one["weights"] or {}).items()) for one in held], pa.map_(pa.string(), pa.float64()))
    columns = pa.table({"a": [1.0, None], "b": [2.0, 1.0], "c": [None, 1.0]})
    table = pa.table({"id": ["x", "y", "z"], "where": [one["where"] for one in held], "weights": weights})

    def lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    for source, batch in ((held, lines(events)), (lines(held), columns), (table, events)):
        answer = tocsin.match(source, batch, index=index, ranking=Asked(2).ranking())

        assert tuples(answer) == [(0, "x", 2.5), (0, "y", 1.0), (1, "z", 1.25), (1, "x", 1.0)]


@ALL
def test_nothing_is_answered_for_nothing(index: str) -> None:
    """Without subscriptions or without events the table is empty, and has its three columns."""
    for held, events in (([], [{"a": 1}]), ([{"id": 1, "where": "a = 1"}], []), ([], [])):
        table = tocsin.match(held, events, index=index, ranking=Asked(3).ranking()).table
        assert (table.num_rows, table.column_names) == (0, ["event", "subscription", "score"])


def test_weights_are_nothing_to_other_rankings() -> None:
    """`Top` goes by the score, and what matches matches whole."""
    held = [
        {"id": name, "where": "a = 1 AND b = 1", "score": float(place), "weights": {"a": 9 - place}}
        for place, name in enumerate(STRING_IDS[:4])
    ]

    best = tocsin.match(held, [{"a": 1, "b": 1}, {"a": 1}], ranking=tocsin.Top(2))
    every = tocsin.match(held, [{"a": 1, "b": 1}, {"a": 1}])

    assert tuples(best) == [(0, "é", 3.0), (0, "B", 2.0)]
    assert tuples(every) == [(0, "B"), (0, "a"), (0, "b"), (0, "é")]


@ALL
def test_what_is_counted_is_what_holds(index: str) -> None:
    """With a function that counts, the best of many is the one of which most holds."""
    held = [{"id": n, "where": " AND ".join(f"a{i} = 1" for i in range(n))} for n in range(1, 12)]
    event = {f"a{i}": 1 for i in range(0, 12, 2)}

    answer = tocsin.match(held, [event], index=index, ranking=Asked(3, counted, ("a0", "a1")).ranking())

    assert tuples(answer) == [(0, 11, 5.0), (0, 9, 4.0), (0, 10, 4.0)]
