"""Scored interval indexes are asked what their values say, and measured like any index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduce.__main__ import HERE, run
from reproduce.figure import Series, read_figure
from reproduce.loads import Intervals, coded, rank_codes
from reproduce.measuring import measure
from reproduce.workloads import load_of
from reproduce.zipfian import Boxes, Points

from reproduce import measuring
from tocsin.index import parse_index

RANKERS = ["interval_tree", "segment_tree", "scored_r_tree(branching=3)", "ir_tree(branching=3)", "sopt_r_tree"]
ZIPFIAN = {"kind": "zipfian_intervals", "subscriptions": 400, "events": 30, "warm_up": 7}
SHORT = {"kind": "short_intervals", "subscriptions": 400, "events": 30, "warm_up": 7, "mean_length": 0.01}


def intervals_of(given: dict[str, Any]) -> Intervals:
    load = load_of(given, set())
    assert isinstance(load, Intervals)
    return load


def some_boxes(dimensions: int) -> tuple[Boxes, NDArray[np.float64]]:
    """Boxes on a coarse grid, so that ends meet, and points on it, between its lines and beyond them."""
    random = np.random.default_rng(2)
    lows = random.integers(0, 10, (300, dimensions)) / 10
    highs = lows + random.integers(0, 5, lows.shape) / 10
    return Boxes(lows, highs, random.integers(0, 50, lows.shape) / 50), random.integers(-2, 34, (60, dimensions)) / 20


def test_codes_say_before_at_and_behind_an_operand() -> None:
    assert rank_codes(np.array([1.0, 2.5]), np.array([0.0, 1.0, 2.0, 2.5, 3.0])).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("index", RANKERS)
@pytest.mark.parametrize("k", [1, 5, 1000])
def test_an_index_finds_the_best_intervals_around_each_value(index: str, k: int) -> None:
    """In each dimension by itself; ties by subscription."""
    boxes, points = some_boxes(2)
    intervals, codes = coded(boxes, points)
    load = Intervals(intervals, codes, k, range(10), range(10, 60))
    registration, options = parse_index(index)
    built = registration.builder(**options).build(load.subscriptions)
    (found,) = load.ask(built, load.events)()

    answers = [built.owners[found.places[a:b]].tolist() for a, b in zip(found.starts, found.starts[1:], strict=False)]
    for number, (point, d) in enumerate((point, d) for point in points[10:] for d in range(2)):
        stabbed = np.flatnonzero((boxes.lows[:, d] <= point[d]) & (point[d] <= boxes.highs[:, d]))
        best = sorted(stabbed.tolist(), key=lambda owner: (-boxes.scores[owner, d], owner))
        assert answers[number] == best[:k]


def test_many_points_are_asked_in_batches() -> None:
    load = intervals_of({**ZIPFIAN, "events": 2500})
    registration, options = parse_index("ir_tree")
    answers = load.ask(registration.builder(**options).build(load.subscriptions), load.events)()

    assert [len(found.starts) - 1 for found in answers] == [1000, 1000, 500]


@pytest.mark.parametrize("given", [ZIPFIAN, SHORT], ids=lambda given: given["kind"])
def test_workloads_are_what_they_say(given: dict[str, Any]) -> None:
    """Sizes as asked; warming up is apart; the same for the same seed; k and more queries move no subscription."""
    load = intervals_of({**given, "dimensions": 3})
    assert len(load.subscriptions) == 3 * 400
    assert load.codes.shape == (37, 3)
    assert (load.warm_up, load.events, load.k) == (range(7), range(7, 37), 20)

    other = intervals_of({**given, "dimensions": 3, "k": 2, "events": 9})
    assert other.k == 2
    assert np.array_equal(load.subscriptions.scores, other.subscriptions.scores)
    again = intervals_of({**given, "dimensions": 3, "seed": 2})
    assert not np.array_equal(load.subscriptions.scores, again.subscriptions.scores)


@pytest.mark.parametrize(
    "other",
    [
        {"dimensions": 2},
        {"cells": 50},
        {"regions": 3},
        {"least_share": 0.01},
        {"most_share": 0.2},
        {"skew_across": 1.0},
        {"skew_within": 0.0},
        {"skew_length": 2.0},
        {"warm_up": 8},
        {"events": 31},
        {"subscriptions": 399},
        {"k": 1},
    ],
    ids=str,
)
def test_every_parameter_does_something(other: dict[str, Any]) -> None:
    load, changed = intervals_of(ZIPFIAN), intervals_of({**ZIPFIAN, **other})

    same = np.array_equal(load.codes, changed.codes) and (load.k, load.events) == (changed.k, changed.events)
    assert not same


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="skew_witin"):
        load_of({**ZIPFIAN, "skew_witin": 1.0}, set())


def test_memory_is_that_of_the_structure() -> None:
    """12 bytes an interval and 8 a node of 50, of 50 nodes, of what is above: beside them only where groups begin."""
    point = measure("memory", Series("r", "scored_r_tree(branching=50)"), {**ZIPFIAN, "subscriptions": 5000})
    assert point.value is not None
    assert 0 <= point.value * 1e6 - (12 * 5000 + 8 * (100 + 2 + 1)) < 100


@pytest.mark.parametrize("name", ["table-2", "fig-6", "fig-7-8", "fig-9", "dimensions"])
def test_figures_of_ranked_pubsub_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer rounds of fewer queries than would be worth measuring."""
    monkeypatch.setattr(measuring, "_ENOUGH_S", 1e-4)
    figure = read_figure(HERE / "ranked_pubsub" / f"{name}.toml")
    run(figure, 0.0003, tmp_path / "out")

    text = (tmp_path / "out.txt").read_text()
    assert "sopt_r_tree" in text
    assert "not to be told" not in text


def test_a_middle_is_more_often_stabbed_than_an_edge() -> None:
    """That subscriptions and queries come from the same points."""
    points = Points.of(np.random.default_rng(1), regions=1)
    boxes = points.draw_boxes(np.random.default_rng(2), 2000, 3.0)
    own, anywhere = points.draw(np.random.default_rng(3), 500), np.random.default_rng(3).random((500, 1))
    stabs = [((some >= boxes.lows.T) & (some <= boxes.highs.T)).mean() for some in (own, anywhere)]

    assert stabs[0] > 2 * stabs[1]
