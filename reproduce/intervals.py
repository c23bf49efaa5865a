"""Workloads for the scored interval indexes: Machanavajjhala et al. 2008, section 4, Table 1; and short intervals.

Each dimension is queried by itself. With `relaxed`, subscriptions are queried by the sum of their scores.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from reproduce.loads import Intervals, RelaxedBoxes, coded, dimensions_of
from reproduce.zipfian import Boxes, Floats, Points, short_boxes

Ranked: TypeAlias = Intervals | RelaxedBoxes


def zipfian_intervals(
    *,
    subscriptions: int,
    k: int = 20,
    dimensions: int = 1,
    skew_length: float = 0.75,
    relaxed: bool = False,
    events: int = 1000,
    warm_up: int = 100,
    seed: int = 1,
    **of_points: Any,
) -> Ranked:
    """The paper's: n_intervals `subscriptions`, n_queries `events`, d `dimensions`; `of_points` is for `Points.of`."""
    given = tuple(sorted(of_points.items()))
    made = _zipfian(subscriptions, dimensions, skew_length, relaxed, range(warm_up, warm_up + events), seed, given)
    return replace(made, k=k)


def short_intervals(
    *,
    subscriptions: int,
    k: int = 20,
    dimensions: int = 1,
    mean_length: float = 1e-4,
    relaxed: bool = False,
    events: int = 1000,
    warm_up: int = 100,
    seed: int = 1,
) -> Ranked:
    """Short intervals anywhere with random scores, which are not in the paper."""
    made = _short(subscriptions, dimensions, mean_length, relaxed, range(warm_up, warm_up + events), seed)
    return replace(made, k=k)


def _load(boxes: Boxes, points: Floats, relaxed: bool, events: range) -> Ranked:
    if relaxed:
        return RelaxedBoxes(dimensions_of(boxes), points, 1, range(events.start), events)
    return Intervals(*coded(boxes, points), 1, range(events.start), events)


@lru_cache(1)
def _zipfian(
    subscriptions: int,
    dimensions: int,
    skew_length: float,
    relaxed: bool,
    events: range,
    seed: int,
    of_points: tuple[tuple[str, Any], ...],
) -> Ranked:
    """Cached, because it is the same for all k. Each part has its own random stream."""
    of_regions, of_boxes, of_queries = np.random.default_rng(seed).spawn(3)
    points = Points.of(of_regions, dimensions=dimensions, **dict(of_points))
    boxes = points.draw_boxes(of_boxes, subscriptions, skew_length)
    return _load(boxes, points.draw(of_queries, events.stop), relaxed, events)


@lru_cache(1)
def _short(subscriptions: int, dimensions: int, mean_length: float, relaxed: bool, events: range, seed: int) -> Ranked:
    of_boxes, of_queries = np.random.default_rng(seed).spawn(2)
    boxes = short_boxes(of_boxes, subscriptions, dimensions, mean_length)
    return _load(boxes, of_queries.random((events.stop, dimensions)), relaxed, events)
