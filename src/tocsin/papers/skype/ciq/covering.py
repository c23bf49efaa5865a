"""The cells of a quadtree that cover a subscription: its own, and the siblings of those on the path to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Covering(NamedTuple):
    """The covering cells of some places. N places, K cells of each, 1 + 3 * depth."""

    box: NDArray[np.float64]  # (4,) of all places: xmin, ymin, width, height
    cells: NDArray[np.int32]  # (N, K)
    distances: NDArray[np.float64]  # (N, K) from the place to the cell


def cells_before(level: int) -> int:
    """The number of cells above a level, which is the number of the level's first cell.

    >>> [cells_before(level) for level in range(4)]
    [0, 1, 5, 21]
    """
    return ((1 << 2 * level) - 1) // 3


def covering_of(places: NDArray[np.float64], depth: int) -> Covering:
    """The covering cells of each place, from coarse to fine. Together they cover the box."""
    low, sides = _box(places)
    own = np.clip((places - low) / sides * 2**depth, 0, 2**depth - 1).astype(np.int64)
    cells: list[NDArray[np.int64]] = []
    distances: list[NDArray[np.float64]] = []
    for level in range(depth + 1):
        on_the_way = own >> (depth - level)
        others = [on_the_way ^ np.array(other) for other in ((1, 0), (0, 1), (1, 1))] if level else []
        for corner in [*others, *([on_the_way] if level == depth else [])]:
            cells.append(cells_before(level) + (corner[:, 1] << level) + corner[:, 0])
            lower = low + corner * sides / 2**level
            beside = np.maximum(np.maximum(lower - places, places - lower - sides / 2**level), 0.0)
            distances.append(np.hypot(beside[:, 0], beside[:, 1]))
    box = np.concatenate([low, sides])
    return Covering(box, np.stack(cells, axis=1).astype(np.int32), np.stack(distances, axis=1))


def _box(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lower left corner of all places, and the sides of their box; a side without length becomes 1."""
    if not len(places):
        return np.zeros(2), np.ones(2)
    low, sides = places.min(0), np.ptp(places, 0)
    return low, np.where(sides > 0.0, sides, 1.0)
