"""What do the scored interval indexes run on? Machanavajjhala et al. 2008, section 4, Table 1; and short intervals."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.loads import Intervals, coded
from reproduce.zipfian import Points, short_boxes
from tocsin.index.ranked.intervals import ScoredIntervals

Coded = tuple[ScoredIntervals, NDArray[np.int32]]


def zipfian_intervals(
    *,
    subscriptions: int,
    k: int = 20,
    dimensions: int = 1,
    skew_length: float = 0.75,
    events: int = 1000,
    warm_up: int = 100,
    seed: int = 1,
    **of_points: Any,
) -> Intervals:
    """The paper's: n_intervals `subscriptions`, n_queries `events`, d `dimensions`; `of_points` is for `Points.of`."""
    given = tuple(sorted(of_points.items()))
    made = _zipfian(subscriptions, dimensions, skew_length, warm_up + events, seed, given)
    return _load(made, k, warm_up)


def short_intervals(
    *,
    subscriptions: int,
    k: int = 20,
    dimensions: int = 1,
    mean_length: float = 1e-4,
    events: int = 1000,
    warm_up: int = 100,
    seed: int = 1,
) -> Intervals:
    """Not the paper's: short intervals anywhere, scored at random."""
    return _load(_short(subscriptions, dimensions, mean_length, warm_up + events, seed), k, warm_up)


def _load(made: Coded, k: int, warm_up: int) -> Intervals:
    intervals, codes = made
    return Intervals(intervals, codes, k, range(warm_up), range(warm_up, len(codes)))


@lru_cache(1)
def _zipfian(
    subscriptions: int,
    dimensions: int,
    skew_length: float,
    queries: int,
    seed: int,
    of_points: tuple[tuple[str, Any], ...],
) -> Coded:
    """Made once for all k. Neither draw moves the other, nor the regions."""
    of_regions, of_boxes, of_queries = np.random.default_rng(seed).spawn(3)
    points = Points.of(of_regions, dimensions=dimensions, **dict(of_points))
    return coded(points.draw_boxes(of_boxes, subscriptions, skew_length), points.draw(of_queries, queries))


@lru_cache(1)
def _short(subscriptions: int, dimensions: int, mean_length: float, queries: int, seed: int) -> Coded:
    of_boxes, of_queries = np.random.default_rng(seed).spawn(2)
    boxes = short_boxes(of_boxes, subscriptions, dimensions, mean_length)
    return coded(boxes, of_queries.random((queries, dimensions)))
