"""Workloads of rectangles: Wu, Chen and Yu 2004, section 3.1, with an alpha-beta rule for positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduce.loads import Expressions, ranges
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.rectangles.rectangles import Held


@dataclass(frozen=True, slots=True)
class Rectangles(Expressions):
    """Rectangles as `x BETWEEN .. AND y BETWEEN ..`, and points."""

    def nbytes(self, index: FilterAndRefine[Held]) -> int:  # type: ignore[override]
        """Bytes of the structure alone: lists and their array or table, or nodes."""
        return int(sum(part.nbytes for part in index.structure))


def rectangles(
    *,
    subscriptions: int,
    width: int = 300,
    height: int = 200,
    widest: int = 40,
    highest: int = 20,
    alpha: float = 0.9,
    beta: float = 0.1,
    events: int = 4096,
    seed: int = 1,
) -> Rectangles:
    """`alpha` of the corners, and of the events, lie in the middle `beta` of an integer map.

    A rectangle has a width of 1 to `widest`, and a height of 1 to `highest`.
    """
    random = np.random.default_rng(seed)
    corners = places(random, subscriptions, (width, height), alpha, beta)
    sizes = random.integers(1, [widest + 1, highest + 1], (subscriptions, 2))
    starts = 2 * np.arange(subscriptions + 1)
    chosen = np.tile(np.array([0, 1], np.int32), subscriptions)
    lows, highs = corners.reshape(-1).astype(float), (corners + sizes - 1).reshape(-1).astype(float)
    points = places(random, events, (width, height), alpha, beta)
    rows = [{"x": float(x), "y": float(y)} for x, y in points.tolist()]
    return Rectangles(ranges(["x", "y"], starts, chosen, lows, highs), rows)


def places(
    random: np.random.Generator, count: int, sides: tuple[int, int], alpha: float, beta: float
) -> NDArray[np.int64]:
    """(count, 2) corners or points, `alpha` of them in the middle `beta`, which has the proportions of the map."""
    drawn = random.random((count, 2))
    inside = random.random(count) < alpha
    middle = np.sqrt(beta)
    drawn[inside] = (1 - middle) / 2 + middle * drawn[inside]
    found: NDArray[np.int64] = (drawn * sides).astype(np.int64)
    return found
