"""Guides: a lookup table over millions of sorted numbers, so that a search touches few of them in memory.

The span of the numbers is divided into as many equal parts as there are numbers. The guide stores where each part
begins. The part of a number and of a sought value come from the same monotone formula, so the value's place is always
found in its part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.searching import first_at_least


class Guide(NamedTuple):
    """Ascending distinct numbers, and an index into them. N numbers, P parts."""

    numbers: NDArray[np.float64]  # (N,) finite
    starts: NDArray[np.int64]  # (P + 1,) part p has numbers[starts[p]:starts[p + 1]]
    scale: NDArray[np.float64]  # (1,) parts per unit


def guide_to(numbers: NDArray[np.float64]) -> Guide:
    """A guide to one or more ascending numbers. Cost: linear."""
    parts = len(numbers)
    with np.errstate(over="ignore", divide="ignore"):
        scale = parts / (numbers[-1] - numbers[0])
    guide = Guide(numbers, np.zeros(parts + 1, np.int64), np.array([scale if np.isfinite(scale) else 0.0]))
    count_parts(guide)
    np.cumsum(guide.starts, out=guide.starts)
    return guide


@kernel
def count_parts(guide: Guide) -> None:
    """Add to starts[p + 1] the number of elements in part p."""
    held = viewed(guide)
    for i in range(len(held.numbers)):
        held.starts[_part(held, held.numbers[i]) + 1] += 1


@inlined
def _part(guide: Guide, number: float) -> int:
    """The part of a number. Numbers outside the span count to the first or last part, NaN to the first."""
    scaled = (number - guide.numbers[0]) * guide.scale[0]
    return np.int64(min(scaled, len(guide.starts) - 2.0)) if scaled > 0 else np.int64(0)


@kernel
def codes_by(guide: Guide, sought: NDArray[np.float64]) -> NDArray[np.int32]:
    """Rank codes: 2 r + 1 for the number of rank r, and 2 r for a value just before it."""
    held = viewed(guide)
    numbers, starts = held.numbers, held.starts
    out = np.empty(len(sought), np.int32)
    for i in range(len(sought)):
        part = np.uint64(_part(held, sought[i]))
        at = first_at_least(numbers, starts[part], starts[part + np.uint64(1)], sought[i])
        out[i] = 2 * np.int64(at) + np.int64(at < len(numbers) and numbers[at] == sought[i])
    return out
