"""Where events crowd is known by a histogram of their places, and what is asked there costs as much."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tocsin
from tests.index.asking import batch, compiled, pairs
from tocsin.index import matcher_builder
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.access.building import literal_prices
from tocsin.index.boolean.scan import Scan
from tocsin.index.combined import Combined, CombinedBuilder
from tocsin.index.fields.histogram import FINEST, MOST_CELLS, Histogram, added
from tocsin.index.fields.kernels.cells import BIAS
from tocsin.index.statistics import together

RANDOM = np.random.default_rng(20)
CROWD = [
    {"place": [float(x), float(y)], "kind": f"k{n % 8}"} for n, (x, y) in enumerate(RANDOM.normal(10, 1, (2000, 2)))
]
"""About (10, 10), where hardly anything else of the map is."""


def boxes_at(points: Any) -> NDArray[np.float64]:
    return np.tile(np.array(points, np.float64).reshape(-1, 2), 2)


def coordinates() -> st.SearchStrategy[float]:
    return st.one_of(
        st.floats(-180, 180), st.floats(-1e5, 1e5), st.integers(-9, 9).map(float), st.sampled_from([1e300])
    )


@given(st.lists(st.tuples(coordinates(), coordinates()), max_size=60), st.integers(0, 3))
def test_places_are_counted_in_the_cells_that_they_lie_in(points, coarser):
    """Each in one, but for those that are too far out; and a box of whole cells has the share that a count says."""
    counted = Histogram.of(boxes_at(points))
    counted = counted.coarsened(min(counted.level + coarser, BIAS))
    side = 2.0 ** (counted.level - BIAS)
    by_hand = Counter((np.floor(x / side), np.floor(y / side)) for x, y in points if max(abs(x), abs(y)) < 2**29 * side)

    own = {(float(x), float(y)): int(n) for (x, y), n in zip(counted.cells, counted.counts, strict=True)}
    assert by_hand.items() <= own.items()
    assert counted.events == len(points)
    cells = counted.cells.astype(float)
    shares = counted.shares(np.concatenate([cells, cells + 1], axis=1) * side)
    assert shares * max(len(points), 1) == pytest.approx(counted.counts)


def test_a_box_has_as_much_of_a_cell_as_it_covers() -> None:
    counted = Histogram(BIAS + 1, np.array([[-1, 0], [0, 0]]), np.array([3, 1]), 4)

    given_boxes = [[-2, 0, 0, 2], [-1, 0, 0, 2], [-1, 1, 1, 2], [-9, -9, 9, 9], [5, 5, 6, 6], [-1, 1, -1, 1]]

    assert counted.shares(np.array(given_boxes, float)).tolist() == [0.75, 0.375, 0.25, 1.0, 0.0, 0.0]


def test_there_are_some_thousand_cells_at_most() -> None:
    """The finer the closer places lie; sums of places along a line are of larger cells, and as many."""
    spread, close = Histogram.of(boxes_at(RANDOM.uniform(-180, 180, (9000, 2)))), Histogram.of(boxes_at([[7, 7]] * 50))
    line = Histogram.of(boxes_at(np.linspace(0, 4000, 4000).repeat(2)))

    assert 1000 < len(spread.cells) <= MOST_CELLS
    assert (close.level, close.counts.tolist()) == (FINEST, [50])
    assert len(line.cells) > 2000
    assert line.shares(np.array([[0.0, 0.0, 2000.0, 2000.0]])) == pytest.approx([0.5], abs=0.01)


def test_histograms_of_several_samples_are_added() -> None:
    """As if there had been one sample, on the coarser of their grids; they travel from task to task."""
    points = RANDOM.uniform(-90, 90, (6000, 2))
    several = [Histogram.of(boxes_at(own)) for own in (points[:50], points[50:2000], points[2000:])]

    whole, at_once = added(pickle.loads(pickle.dumps(several))), Histogram.of(boxes_at(points))

    assert whole.events == 6000
    for one, other in zip((whole.cells, whole.counts), (at_once.cells, at_once.counts), strict=True):
        assert np.array_equal(one, other)


def test_a_sample_counts_points_and_boxes() -> None:
    """Of each attribute, as far as a value is one; statistics of several lots have those of all."""
    events = [
        {"place": [1.0, 2.0], "way": {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}},
        {"place": {"type": "Point", "coordinates": [1.0, 2.0]}, "n": 3},
        {"place": [0.0, 1.0, 2.0, 3.0]},
        {"place": [-7.0, 8.0]},
        {"place": "nowhere"},
    ]
    statistics = together([tocsin.sample(events[:2]), tocsin.sample(events[2:])])
    places = statistics.values["place"].places

    assert places is not None
    assert (places.events, places.counts.tolist()) == (4, [1, 3])
    assert (places.cells * 2.0 ** (places.level - BIAS)).tolist() == [[-7.0, 8.0], [1.0, 2.0]]
    assert statistics.values["way"].places is statistics.values["n"].places is None


def test_a_box_where_events_crowd_costs_more() -> None:
    """Of two that are as large; a conjunction is found by the box where nobody is, by the other condition elsewhere."""
    crowded, empty = "S_INTERSECTS(place, BBOX(9, 9, 11, 11))", "S_INTERSECTS(place, BBOX(-40, 9, -38, 11))"
    expressions = compiled([crowded, empty, f"{crowded} AND kind = 'k3'", f"{empty} AND kind = 'k3'"])
    known = tocsin.sample(CROWD)

    prices = literal_prices(expressions, known)[expressions.arrays.program[[0, 1]]]
    matcher = Access.build(expressions, known)

    expected = np.mean([9 <= x <= 11 and 9 <= y <= 11 for x, y in (event["place"] for event in CROWD)])
    assert 0.8 * expected < prices[0] <= 1.0
    assert prices[1] < 0.01
    assert "kind" in matcher.place(2)
    assert "place" in matcher.place(3)


def test_rectangles_are_made_where_events_come() -> None:
    """Boxes that many events lie in are found as rectangles; where hardly any does a second structure saves nothing."""
    corners = [(n % 40 / 5, n % 30 / 5) for n in range(4000)]
    whole = compiled([f"S_INTERSECTS(place, BBOX({x}, {y}, {x + 4}, {y + 3}))" for x, y in corners])
    near = [{"place": [n % 13 + 0.3, n % 11 + 0.3]} for n in range(500)]
    far = [{"place": [60.0 + n % 40, 60.0]} for n in range(500)]

    assert isinstance(CombinedBuilder().build(whole, tocsin.sample(near)), Combined)
    assert isinstance(CombinedBuilder().build(whole, tocsin.sample(far)), Access)


SEEN: list[list[dict[str, Any]]] = [
    CROWD,
    [{"place": [-170.0, 80.0]}],
    [{"place": 5, "kind": "k1"}],
    [{"place": [1e300, 0]}],
]


@pytest.mark.parametrize("seen", SEEN)
def test_a_histogram_of_other_data_changes_no_answer(seen: list[dict[str, Any]]) -> None:
    corners = RANDOM.uniform(-20, 20, (900, 2)).round(1).tolist()
    texts = [f"S_INTERSECTS(place, BBOX({x}, {y}, {x + n % 9}, {y + n % 5}))" for n, (x, y) in enumerate(corners)]
    texts += [f"{text} AND kind = 'k{n % 8}'" for n, text in enumerate(texts[:90])]
    matcher = matcher_builder("access", {}).build(compiled(texts), tocsin.sample(seen))
    events = [*CROWD[:100], *({"place": corner, "kind": "k2"} for corner in corners[:60]), {"place": [0, 0, 3, 3]}, {}]

    given_events = batch(matcher, events)

    assert pairs(matcher.match(given_events)) == pairs(Scan.build(compiled(texts)).match(given_events))
