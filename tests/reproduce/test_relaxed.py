"""Boxes are asked for the sum of the scores around a point, by the threshold algorithm alone or as tocsin does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduce.figure import Series
from reproduce.loads import Ask, Intervals, RelaxedBoxes, dimensions_of
from reproduce.measuring import measure
from reproduce.workloads import load_of
from reproduce.zipfian import Boxes

from tocsin.index import parse_index

RANKERS = ["interval_tree", "segment_tree", "scored_r_tree(branching=3)", "ir_tree(branching=3)", "sopt_r_tree"]
KINDS: list[dict[str, Any]] = [
    {"kind": "zipfian_intervals", "subscriptions": 400, "events": 30, "warm_up": 7, "dimensions": 3},
    {"kind": "short_intervals", "subscriptions": 400, "events": 30, "warm_up": 7, "dimensions": 3, "mean_length": 0.1},
]


def some_load(k: int, dimensions: int = 3) -> tuple[RelaxedBoxes, Boxes]:
    """Boxes on a coarse grid, so that ends meet, and points on it, between its lines and beyond them."""
    random = np.random.default_rng(2)
    lows = random.integers(0, 10, (300, dimensions)) / 10
    boxes = Boxes(lows, lows + random.integers(0, 3, lows.shape) / 10, random.integers(0, 50, lows.shape) / 50)
    points = random.integers(-2, 34, (60, dimensions)) / 20
    return RelaxedBoxes(dimensions_of(boxes), points, k, range(10), range(10, 60)), boxes


def asked(load: RelaxedBoxes, index: str) -> Ask:
    registration, options = parse_index(index)
    return load.ask(load.build(registration, options), load.events)


def best_boxes(boxes: Boxes, point: NDArray[np.float64], k: int) -> list[tuple[int, float]]:
    """By a look at every box."""
    held = (boxes.lows <= point) & (point <= boxes.highs)
    scores = [sum(own[inside].tolist()) for own, inside in zip(boxes.scores, held, strict=True)]
    ranked = sorted((-score, number) for number, score in enumerate(scores) if held[number].any())
    return [(number, -negative) for negative, number in ranked[:k]]


@pytest.mark.parametrize("index", [*RANKERS, "access", "scan"])
@pytest.mark.parametrize("k", [1, 5, 1000])
def test_an_index_finds_the_boxes_of_the_highest_sums(index: str, k: int) -> None:
    """Ties by number."""
    load, boxes = some_load(k)
    found = asked(load, index)()

    for number, point in enumerate(load.points[10:]):
        own = slice(found.starts[number], found.starts[number + 1])
        answer = list(zip(found.subscriptions[own].tolist(), found.scores[own].tolist(), strict=True))
        assert answer == best_boxes(boxes, point, k)


@pytest.mark.parametrize("index", RANKERS)
def test_a_ranker_is_never_given_up(index: str) -> None:
    """Of no more boxes than a point stabs in any dimension is the sum made, however many it stabs; `scan` makes all."""
    load, boxes = some_load(1000, 8)
    points = load.points[10:, None]
    stabbed = ((boxes.lows <= points) & (points <= boxes.highs)).any(axis=2)

    assert asked(load, index)().verified == stabbed.sum()
    assert asked(load, "scan")().verified == 50 * 300


@pytest.mark.parametrize("given", KINDS, ids=lambda given: given["kind"])
def test_relaxed_workloads_are_of_the_same_intervals(given: dict[str, Any]) -> None:
    """As many, with the same scores; warming up is apart; k and more queries move no subscription."""
    load, plain = load_of({**given, "relaxed": True}, set()), load_of(given, set())
    assert isinstance(load, RelaxedBoxes)
    assert isinstance(plain, Intervals)
    assert (load.warm_up, load.events, load.k) == (plain.warm_up, plain.events, plain.k)
    assert load.points.shape == (37, 3)
    assert load.subscriptions.subscriptions == 400
    assert np.array_equal(np.sort(load.subscriptions.weights), np.sort(plain.subscriptions.scores))

    other = load_of({**given, "relaxed": True, "k": 2, "events": 9}, set())
    assert isinstance(other, RelaxedBoxes)
    assert other.k == 2
    assert np.array_equal(load.subscriptions.weights, other.subscriptions.weights)


def test_memory_is_that_of_the_structures_of_all_dimensions() -> None:
    """12 bytes an interval, and nodes of 50: two dimensions have what one has twice."""
    given = {**KINDS[0], "relaxed": True, "subscriptions": 5000}
    one, two = (
        measure("memory", Series("r", "scored_r_tree(branching=50)"), {**given, "dimensions": size}) for size in (1, 2)
    )
    assert one.value is not None
    assert two.value is not None
    assert one.value * 1e6 >= 12 * 5000
    assert abs(two.value - 2 * one.value) * 1e6 < 200
