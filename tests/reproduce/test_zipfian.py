"""The data generator of ranked publish/subscribe has every parameter of the paper's Table 1."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduce.zipfian import Points, Region, short_boxes

from reproduce import zipfian

COUNT = 40_000


def points_of(seed: int = 3, **given: Any) -> Points:
    return Points.of(np.random.default_rng(seed), **given)


def shares_by_cell(sides: NDArray[np.int64], skew: float) -> dict[tuple[int, ...], float]:
    """What each cell of a region is due: ranked by distance from the middle, equal distances sharing."""
    cells = list(product(*(range(side) for side in sides.tolist())))
    rings = defaultdict(list)
    for cell in cells:
        rings[sum((2 * c - side + 1) ** 2 for c, side in zip(cell, sides.tolist(), strict=True))].append(cell)
    weights, rank = {}, 0
    for distance in sorted(rings):
        ring = rings[distance]
        mass = sum((rank + i + 1) ** -skew for i in range(len(ring)))
        weights.update({cell: mass / len(ring) for cell in ring})
        rank += len(ring)
    total = sum(weights.values())
    return {cell: weight / total for cell, weight in weights.items()}


def drawn_by_cell(points: Points, region: Region) -> dict[tuple[int, ...], float]:
    drawn = np.floor(points.draw(np.random.default_rng(4), COUNT) * points.cells).astype(int) - region.first
    cells, counts = np.unique(drawn, axis=0, return_counts=True)
    return {tuple(cell): count / COUNT for cell, count in zip(cells.tolist(), counts.tolist(), strict=True)}


@pytest.mark.parametrize("skew", [0.0, 1.0, 1.7])
@pytest.mark.parametrize(("dimensions", "cells"), [(1, 100), (1, 30), (2, (8, 20)), (3, (5, 6, 9))])
def test_cells_of_a_region_are_drawn_by_the_rank_of_their_distance(dimensions: int, cells: Any, skew: float) -> None:
    points = points_of(dimensions=dimensions, cells=cells, regions=1, least_share=0.1, most_share=0.2, skew_within=skew)
    (region,) = points.regions
    expected, found = shares_by_cell(region.sides, skew), drawn_by_cell(points, region)

    assert set(found) <= set(expected)
    for cell, share in expected.items():
        assert abs(found.get(cell, 0.0) - share) < 5 * np.sqrt(share / COUNT) + 1e-4


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_points_are_dealt_to_regions_by_their_number(skew: float) -> None:
    """Regions that do not overlap, so that a point tells its own: 4 of 5 cells each."""
    points = points_of(regions=4, skew_across=skew)
    apart = tuple(Region(np.array([10 * i]), r.sides, r.offsets, r.weights) for i, r in enumerate(points.regions))
    drawn = Points(points.cells, apart, skew).draw(np.random.default_rng(5), COUNT)[:, 0]

    shares = np.bincount((drawn * 10).astype(int), minlength=4) / COUNT
    due = np.arange(1, 5.0) ** -skew
    assert np.abs(shares - due / due.sum()).max() < 0.015


@pytest.mark.parametrize("dimensions", [1, 2, 4, 8])
def test_regions_are_as_many_and_as_large_as_asked(dimensions: int) -> None:
    points = points_of(dimensions=dimensions, regions=6, least_share=0.02, most_share=0.3)
    volumes = [np.prod(region.sides / points.cells) for region in points.regions]

    assert len(volumes) == 6
    assert max(volumes) > 1.5 * min(volumes)
    assert 0.02 / 1.05 <= min(volumes) <= max(volumes) <= 0.3 * 1.05
    for region in points.regions:
        assert (region.first >= 0).all()
        assert (region.first + region.sides <= points.cells).all()
    assert {np.prod(region.sides) for region in points_of().regions} == {5}, "the default is 100^d / 20"


def test_sampled_shells_have_the_distances_that_all_cells_have(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"dimensions": 3, "cells": 40, "regions": 1, "least_share": 0.2, "most_share": 0.3}
    whole = points_of(**given)
    monkeypatch.setattr(zipfian, "_MOST_CELLS", 1000)
    sampled = points_of(**given)
    (a,), (b,) = whole.regions, sampled.regions
    assert np.array_equal(a.sides, b.sides)
    assert len(b.offsets) < len(a.offsets) / 2

    distances = [np.linalg.norm(p.draw(np.random.default_rng(6), COUNT) - _middle(p), axis=1) for p in (whole, sampled)]
    quantiles = [np.quantile(d, np.linspace(0.05, 1, 20)) for d in distances]
    assert np.abs(quantiles[0] - quantiles[1]).max() < 0.03


def _middle(points: Points) -> NDArray[np.float64]:
    (region,) = points.regions
    middle: NDArray[np.float64] = (region.first + region.sides / 2) / points.cells
    return middle


def test_points_are_uniform_within_their_cells() -> None:
    points = points_of(dimensions=2, cells=(10, 7))
    drawn = points.draw(np.random.default_rng(7), COUNT)
    within = drawn * points.cells % 1

    assert drawn.shape == (COUNT, 2)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert np.abs(np.quantile(within, [0.25, 0.5, 0.75], axis=0).T - [0.25, 0.5, 0.75]).max() < 0.02


def test_points_are_the_same_for_the_same_seed() -> None:
    drawn = [points_of(seed).draw(np.random.default_rng(8), 100) for seed in (1, 1, 2)]

    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


@pytest.mark.parametrize("skew", [0.0, 0.75, 2.0])
def test_lengths_are_drawn_by_class_the_shortest_most_often(skew: float) -> None:
    points = points_of(dimensions=2, cells=(10, 4))
    boxes = points.draw_boxes(np.random.default_rng(9), COUNT, skew)
    lengths = (boxes.highs - boxes.lows) / 2
    assert (lengths > 0).all()
    assert (lengths <= 1 + 1e-12).all()
    assert np.allclose(boxes.scores, 1 - lengths)

    for dimension, classes in enumerate((10, 4)):
        own = np.minimum((lengths[:, dimension] * classes).astype(int), classes - 1)
        due = np.arange(1, classes + 1.0) ** -skew
        assert np.abs(np.bincount(own, minlength=classes) / COUNT - due / due.sum()).max() < 0.015


def test_boxes_lie_around_points() -> None:
    points = points_of(dimensions=2)
    boxes = points.draw_boxes(np.random.default_rng(10), 500)

    assert np.allclose((boxes.lows + boxes.highs) / 2, points.draw(np.random.default_rng(10), 500))


def test_short_intervals_have_lengths_and_scores_that_say_nothing_of_each_other() -> None:
    boxes = short_boxes(np.random.default_rng(11), COUNT, 2, 0.001)
    lengths = boxes.highs - boxes.lows

    assert abs(lengths.mean() - 0.001) < 5e-5
    assert abs(lengths.std() - 0.001) < 1e-4
    assert abs(np.corrcoef(lengths[:, 0], boxes.scores[:, 0])[0, 1]) < 0.03
    assert abs(boxes.lows.mean() - 0.5) < 0.02
