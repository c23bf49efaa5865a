"""Relaxed rankings by cursors are those by a look at everything, and the threshold algorithm stops early where it can.

Machanavajjhala et al. 2008, section 4; Fagin, Lotem, Naor 2003. Thousands of subscriptions, so that tiles are full,
cursors give too much or little, and R-trees have levels.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tocsin
from tests.index.asking import compiled
from tests.naive import relaxed as naive
from tests.naive.flatten import flatten
from tests.sizes import sized
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.index import Chosen, Found, Part, Plan, build_structure, question_of, registrations
from tocsin.index.alive import bitmap
from tocsin.index.protocols import THE_BEST_FIRST
from tocsin.index.registry import ranker_builder
from tocsin.index.relaxed.index import RelaxedIndex, build_relaxed
from tocsin.index.relaxed.question import RANKER, dimensions_of
from tocsin.index.relaxed.tables import ROOM

RANKERS: Final = [r.name for r in registrations() if r.question == "the best first"]
NAMES: Final = ("a", "b", "c", "d", "e", "f")
COMBINATIONS: Final = ("sum", "max", "min")

Weights = dict[str, float]
Sub = tuple[str, Weights]
Event = dict[str, Any]


def plan_of(index: str) -> Plan:
    return Plan("scan", "") if index == "scan" else Plan("access", "", others={THE_BEST_FIRST: Chosen(index)})


def relaxed_of(subscriptions: Sequence[Sub], index: str, room: int = ROOM) -> RelaxedIndex:
    """With no `room` in columns all is in lists; with any amount of it in tiles."""
    texts = [text for text, _ in subscriptions]
    weights = pa.array([json.dumps(own) if own else None for _, own in subscriptions], pa.large_string())
    numbers, sources = np.arange(len(texts)), pa.array(texts, pa.large_string())
    part = Part(pa.array(numbers), compiled(texts), sources, np.ones(len(texts)), weights=weights)
    if room == ROOM:
        return build_structure(question_of(tocsin.Relaxed(1)), part, plan_of(index))
    return build_relaxed(dimensions_of(part), ranker_builder(RANKER, {}), is_scan=index == "scan", room=room)


def ask(
    index: RelaxedIndex, events: Sequence[Event], ranking: tocsin.Relaxed, alive: NDArray[np.uint64] | None = None
) -> Found:
    return index.match(encode_objects(enumerate(events), Wanted(index.attributes)), ranking, alive)


def rows(found: Found) -> list[tuple[int, int, float]]:
    """(event, subscription, score), in order."""
    return list(zip(found.events.tolist(), found.subscriptions.tolist(), found.scores.tolist(), strict=True))


def best(subscriptions: Sequence[Sub], event: Event, ranking: tocsin.Relaxed, gone: set[int] = frozenset()) -> list:
    """The oracle's answer to one event."""
    values, _ = flatten(event)
    scores = [
        (number, naive.score_of(_dimensions(text), weights, values, ranking.combine, ranking.drop))
        for number, (text, weights) in enumerate(subscriptions)
        if number not in gone
    ]
    ranked = sorted((-score, number) for number, score in scores if score is not None)
    return [(number, -negative) for negative, number in ranked[: ranking.k]]


@cache
def _dimensions(text: str) -> list:
    return naive.dimensions(tocsin.parse(text))


def check(
    subscriptions: Sequence[Sub],
    events: Sequence[Event],
    rankings: Sequence[tocsin.Relaxed],
    gone: set[int] = frozenset(),
    rankers: Sequence[str] = RANKERS,
    by_oracle: int = 2,
) -> dict[str, Found]:
    """Every ranker answers as scan does, by tiles and by lists, and the oracle to some events.

    Returns what each found for the last ranking.
    """
    indexes = {name: relaxed_of(subscriptions, name) for name in ("scan", *rankers)}
    indexes["lists"] = relaxed_of(subscriptions, "scan", room=0)
    alive = bitmap(~np.isin(np.arange(len(subscriptions)), list(gone))) if gone else None
    for ranking in rankings:
        found = {name: ask(index, events, ranking, alive) for name, index in indexes.items()}
        expected = rows(found["scan"])
        for name in (*rankers, "lists"):
            assert rows(found[name]) == expected, (name, ranking)
        for event in range(0, len(events), max(1, len(events) // by_oracle) if by_oracle else len(events) + 1):
            own = [pair for number, *pair in expected if number == event]
            assert [tuple(pair) for pair in own] == best(subscriptions, events[event], ranking, gone), ranking
    return found


def all_rankings(*ks: int) -> list[tocsin.Relaxed]:
    return [tocsin.Relaxed(k, combine=combine) for k in ks for combine in COMBINATIONS]


def ranges(
    dice: random.Random, count: int, weigh: Callable[[random.Random], float], most: int = 3, width: float = 0.2
) -> list[Sub]:
    """ANDs of ranges of one to `most` attributes, all weighted."""
    made = []
    for _ in range(count):
        names = dice.sample(NAMES, dice.randint(1, most))
        lows = [dice.random() * (1 - width) for _ in names]
        parts = [
            f"{name} BETWEEN {low:.4f} AND {low + dice.random() * width:.4f}"
            for name, low in zip(names, lows, strict=True)
        ]
        made.append((" AND ".join(parts), {name: weigh(dice) for name in names}))
    return made


def points(dice: random.Random, count: int) -> list[Event]:
    """Events with all attributes, and some that nobody asks for."""
    return [
        {name: round(dice.random(), 4) for name in NAMES} | ({"z": 1, "y.x": "red"} if i % 3 else {})
        for i in range(count)
    ]


# How far cursors go


def few_are_great(dice: random.Random) -> float:
    """So that the best of two or three dimensions are above whatever comes behind."""
    return 2.0 ** -dice.randint(0, 20)


def alike(dice: random.Random, count: int) -> list[Sub]:
    """Whose own weights are equal, and no two subscriptions'."""
    made = []
    for number in range(count):
        text = f"a < {dice.random():.4f}" + (f" AND b > {dice.random():.4f}" if number % 2 else "")
        made.append((text, dict.fromkeys("ab", dice.random())))
    return made


@pytest.mark.parametrize("combine", ["sum", "max"])
def test_cursors_stop_early(combine: str) -> None:
    """Where a subscription's weights are alike, and no two subscriptions', a few of the first intervals are enough."""
    dice = random.Random(1)
    subscriptions = alike(dice, 6000)
    events = [{"a": 0.8 * dice.random(), "b": 0.2 + 0.8 * dice.random(), "z": 1} for _ in range(60)]
    found = check(subscriptions, events, [tocsin.Relaxed(1, combine=combine)])
    every = 9000 * len(events)

    assert found["scan"].candidates_examined == every
    assert found["scan"].verified == len(subscriptions) * len(events)
    for name in RANKERS:
        assert 0 < found[name].verified <= found[name].candidates_examined < every, name
        assert found[name].verified < found["scan"].verified / 100, name
    for name in ("sopt_r_tree", "segment_tree"):
        assert found[name].candidates_examined < every / 50, name


def test_an_event_finds_what_an_earlier_one_found() -> None:
    """Events have 255 marks in turn, for what came up: the same mark is not the same event."""
    dice = random.Random(6)
    subscriptions = alike(dice, 3000)
    events = [{"a": 0.4, "b": 0.6}, *[{"a": 2, "b": -1}] * 254] * 3
    found = check(subscriptions, events, [tocsin.Relaxed(1)])

    for name in RANKERS:
        assert found[name].events.tolist() == [0, 255, 510]
        assert len(set(found[name].subscriptions.tolist())) == 1
        assert found[name].verified < len(subscriptions) / 100, name  # not by a look at everything


def test_nothing_is_looked_at_in_vain_for_the_best_alone() -> None:
    """One subscription weighs more than all others together: in a segment tree one interval a field is enough."""
    subscriptions = [(f"{name} >= 0", {name: 1.0}) for name in NAMES for _ in range(2000)]
    subscriptions[777] = (" AND ".join(f"{name} >= 0" for name in NAMES), dict.fromkeys(NAMES, 2.0))
    events = points(random.Random(2), 10)
    found = check(subscriptions, events, [tocsin.Relaxed(1)], by_oracle=0)

    assert rows(found["scan"]) == [(event, 777, 12.0) for event in range(10)]
    assert found["segment_tree"].candidates_examined <= 10 * len(NAMES) * 2
    for name in RANKERS:
        assert found[name].verified <= 10 * (1 + len(NAMES)), name


def test_cursors_give_up() -> None:
    """Where all weights are 1 over six attributes, sums tie and all is looked at; no more than a few times as much."""
    dice = random.Random(3)
    subscriptions = ranges(dice, 4000, lambda dice: 1.0, most=6, width=0.6)
    events = points(dice, 20)
    found = check(subscriptions, events, [tocsin.Relaxed(10)])
    every = found["scan"].candidates_examined

    assert every == sum(len(weights) for _, weights in subscriptions) * len(events)
    for name in RANKERS:
        assert every <= found[name].candidates_examined < 3 * every, name
        assert found[name].verified >= found["scan"].verified, name


def test_ties_stop_early_where_sums_are_exact() -> None:
    """All weigh 1 and all hold: once the first has come up in every list, whatever comes behind has a higher number."""
    where = " AND ".join(f"{name} >= 0" for name in NAMES)
    subscriptions: list[Sub] = [(where, {}) for _ in range(3000)]
    found = check(subscriptions, points(random.Random(4), 5), [tocsin.Relaxed(3)], by_oracle=1)

    assert [number for _, number, _ in rows(found["scan"])] == [0, 1, 2] * 5
    assert found["segment_tree"].candidates_examined < 5 * 100
    assert found["sopt_r_tree"].verified < 5 * 50


# Both ways agree


def exact(dice: random.Random) -> float:
    return dice.randint(0, 64) / 8


def not_dyadic(dice: random.Random) -> float:
    return dice.choice((0.1, 0.2, 0.3, 0.7, 1e-9, 1.1, 3.3, 1e16))


def subnormal(dice: random.Random) -> float:
    return dice.choice((5e-324, 1e-320, 2.2250738585072014e-308, 1e-310, 0.0))


def overflowing(dice: random.Random) -> float:
    return dice.choice((1e308, 1.7e308, 1.0, 0.0))


def nothing(dice: random.Random) -> float:
    return 0.0


def one_of_few(dice: random.Random) -> float:
    return dice.choice((0.0, 1.0, 1.0, 2.0))


WEIGHINGS: Final = (exact, not_dyadic, subnormal, nothing, one_of_few, few_are_great)


WIDTHS: Final = {"narrow": 0.01, "wide": 0.6}
TURNS: Final = list(zip(WEIGHINGS, itertools.cycle(WIDTHS)))
"""Each way to weigh with one of the widths, in turns."""


@pytest.mark.parametrize(("weigh", "width"), sized(TURNS, list(itertools.product(WEIGHINGS, WIDTHS))))
def test_ranges_of_any_weights(weigh: Callable[[random.Random], float], width: str) -> None:
    """Sum, max and min; the best, some and many; narrow ranges that cursors exhaust, wide ones that tiles look at."""
    dice = random.Random(f"{weigh.__name__} {width}")
    subscriptions = ranges(dice, 2500, weigh, most=4, width=WIDTHS[width])

    rankings = [*all_rankings(1, 7, 400), tocsin.Relaxed(5, drop=["a", "d", "unknown"])]

    check(subscriptions, points(dice, 8), rankings, by_oracle=1)


def test_sums_that_overflow() -> None:
    """Infinite scores tie like any."""
    dice = random.Random(6)
    subscriptions = ranges(dice, 1500, overflowing, most=4, width=0.6)

    found = check(subscriptions, points(dice, 8), [*all_rankings(9, 400), tocsin.Relaxed(9)])
    assert np.isinf(found["scan"].scores).any()


def test_those_that_are_gone_do_not_count() -> None:
    """Tombstones of the best, of nearly all and of all."""
    dice = random.Random(7)
    subscriptions = ranges(dice, 2100, one_of_few, most=4, width=0.5)
    events = points(dice, 6)
    everybody = set(range(len(subscriptions)))
    first = {number for _, number, _ in rows(ask(relaxed_of(subscriptions, "scan"), events, tocsin.Relaxed(50)))}

    for gone in (first, everybody - {5, 300, 2099}, everybody):
        found = check(subscriptions, events, all_rankings(1, 20), gone)
        assert not set(found["scan"].subscriptions.tolist()) & gone


CONJUNCTS: Final = (
    "s LIKE 're%'",
    "s = 'red'",
    "s IN ('red', 'blue', 'x')",
    "NOT s IN ('red', 'green')",
    "(a < 0.2 OR b > 0.7)",
    "(s = 'blue' OR c > 0.5)",
    "a IN (0.1, 0.3, 0.5, 0.7)",
    "b IN (0.1, 0.2, 0.3) AND b > 0.15",
    "a <> 0.5",
    "b NOT BETWEEN 0.3 AND 0.6",
    "(c < 0.2 OR c BETWEEN 0.4 AND 0.5 OR c > 0.9)",
    "d IS NULL",
    "d > 0.5",
    "e BETWEEN 0.2 AND 0.6",
    "f <= 0.3",
    "a > b",
    "A_OVERLAPS(words, ('red', 'x'))",
    "c > 0.9 AND c < 0.1",
    "TRUE",
    "FALSE",
)


def of_every_kind(dice: random.Random, count: int) -> list[Sub]:
    """General dimensions, those of several ranges, and those that never hold, each by itself or with others."""
    made = []
    for _ in range(count):
        parts = dice.sample(CONJUNCTS, dice.randint(1, 4))
        named = [name for name in (*NAMES, "s", "words") if any(name in part for part in parts)]
        made.append(
            (" AND ".join(parts), {name: dice.choice((0.0, 0.1, 1.0, 2.5)) for name in named if dice.random() < 0.6})
        )
    return made


def events_of_every_kind(dice: random.Random, count: int) -> list[Event]:
    """Values on ends and between; attributes that are absent, null, of another type, or that nobody asks for."""
    made = []
    for _ in range(count):
        event: Event = {name: dice.randint(0, 20) / 20 for name in dice.sample(NAMES, dice.randint(0, 6))}
        event |= {"s": dice.choice(("red", "green", "blue", "rex", 5))} if dice.random() < 0.7 else {}
        event |= {"words": dice.sample(("red", "green", "x"), dice.randint(0, 2))} if dice.random() < 0.5 else {}
        event |= {dice.choice(("a", "d", "s")): dice.choice((None, True, "x"))} if dice.random() < 0.3 else {}
        made.append(event | ({"unasked": 1, "z": {"deep": "er"}} if dice.random() < 0.3 else {}))
    return made


@pytest.mark.parametrize("seed", range(sized(1, 2)))
def test_dimensions_of_every_kind(seed: int) -> None:
    """LIKE, OR of two attributes, IN and negations beside ranges, alone and with tombstones."""
    dice = random.Random(seed)
    subscriptions = of_every_kind(dice, 2000)
    events = events_of_every_kind(dice, 40)
    rankings = [*all_rankings(1, 12), tocsin.Relaxed(12, drop=["a", "s"]), tocsin.Relaxed(3000)]

    check(subscriptions, events, rankings)
    check(subscriptions, events, rankings[:4], set(dice.sample(range(2000), 900)), by_oracle=1)


@settings(max_examples=max(10, settings.default.max_examples // 6))
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.sampled_from([0, 1, 5, 64, 300]),
    weigh=st.sampled_from(WEIGHINGS),
    k=st.integers(1, 12),
    combine=st.sampled_from(COMBINATIONS),
    drop=st.sets(st.sampled_from(("a", "b", "s", "unknown")), max_size=2),
    ranker=st.sampled_from(RANKERS),
)
def test_whatever_is_drawn(seed, count, weigh, k, combine, drop, ranker) -> None:
    """Of few of every kind, some of them gone."""
    dice = random.Random(seed)
    subscriptions = of_every_kind(dice, count // 2) + ranges(dice, count - count // 2, weigh, most=6, width=0.9)
    dice.shuffle(subscriptions)
    gone = {number for number in range(count) if dice.random() < dice.choice((0, 0.5))}
    events = events_of_every_kind(dice, 4) + points(dice, 4)

    check(subscriptions, events, [tocsin.Relaxed(k, combine, drop)], gone, [ranker], by_oracle=4)


@pytest.mark.parametrize("index", ["scan", *RANKERS])
def test_nothing_in_nothing_out(index: str) -> None:
    """No subscriptions, no events, only dimensions that never hold."""
    for held, events in (
        ([], [{"a": 1}]),
        ([("a = 1", {})], []),
        ([], []),
        ([("FALSE", {}), ("a < 1 AND a > 1", {})], [{"a": 1}]),
    ):
        found = ask(relaxed_of(held, index), events, tocsin.Relaxed(3))
        assert rows(found) == []
        assert len(found.starts) == len(events) + 1


def test_weights_of_one_attribute_are_looked_up_by_its_name() -> None:
    """A weight is for the dimension of its attribute alone, not for one of several, wherever it stands in the text."""
    subscriptions: list[Sub] = [("b = 1 AND a = 1 AND (a = 2 OR b = 1)", {"a": 4.0, "b": 2.0})] * 300
    held: Mapping[str, Found] = check(subscriptions, [{"a": 1, "b": 1}, {"b": 1}], [tocsin.Relaxed(1)])

    assert rows(held["scan"]) == [(0, 0, 7.0), (1, 0, 3.0)]
