"""Which leaf of a quadtree is each place in? A cell with too many places has four parts."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_DEEPEST: Final = 24
"""Equal places are never parted; so deep is as good as equal."""


def quadtree(places: NDArray[np.float64], most: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The leaf of each place, and the box of each leaf: xmin, ymin, xmax, ymax. None has more than `most` places.

    Source: Finkel and Bentley 1974, of which the paper says no more than its name; cells are halved in the middle.
    """
    leaf_of = np.zeros(len(places), np.int32)
    boxes: list[tuple[float, ...]] = []
    whole = (*places.min(0, initial=np.inf), *places.max(0, initial=-np.inf))
    waiting = [(np.arange(len(places)), whole, 0)] if len(places) else []
    while waiting:
        own, box, depth = waiting.pop()
        if len(own) <= most or depth == _DEEPEST:
            leaf_of[own] = len(boxes)
            boxes.append(box)
            continue
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        is_right, is_upper = places[own, 0] > x, places[own, 1] > y
        for right in (False, True):
            for upper in (False, True):
                part = own[(is_right == right) & (is_upper == upper)]
                sides = (x if right else box[0], y if upper else box[1], box[2] if right else x, box[3] if upper else y)
                if len(part):
                    waiting.append((part, sides, depth + 1))
    return leaf_of, np.array(boxes, np.float64).reshape(-1, 4)
