"""Where does a number stand among millions? A guide says where to look, so that few of them are fetched from memory.

The span of the numbers is cut into as many equal parts as there are numbers, and it is known where each part's begin. A
number's part is computed in the same way for what is sought, and never falls as the number rises: so it stands there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import viewed
from tocsin.kernels.searching import first_at_least


class Guide(NamedTuple):
    """Ascending numbers, each once, and where to find them. N numbers, P parts."""

    numbers: NDArray[np.float64]  # (N,) finite
    starts: NDArray[np.int64]  # (P + 1,) part p has numbers[starts[p]:starts[p + 1]]
    scale: NDArray[np.float64]  # (1,) parts to a unit


def guide_to(numbers: NDArray[np.float64]) -> Guide:
    """A guide to at least one number, ascending. Cost: linear."""
    parts = len(numbers)
    with np.errstate(over="ignore", divide="ignore"):
        scale = parts / (numbers[-1] - numbers[0])
    guide = Guide(numbers, np.zeros(parts + 1, np.int64), np.array([scale if np.isfinite(scale) else 0.0]))
    count_parts(guide)
    np.cumsum(guide.starts, out=guide.starts)
    return guide


@kernel
def count_parts(guide: Guide) -> None:
    """Add to starts[p + 1] how many numbers are in part p."""
    held = viewed(guide)
    for i in range(len(held.numbers)):
        held.starts[_part(held, held.numbers[i]) + 1] += 1


@inlined
def _part(guide: Guide, number: float) -> int:
    """What lies outside is in the first or the last, and what is no number in the first."""
    scaled = (number - guide.numbers[0]) * guide.scale[0]
    return np.int64(min(scaled, len(guide.starts) - 2.0)) if scaled > 0 else np.int64(0)


@kernel
def codes_by(guide: Guide, sought: NDArray[np.float64]) -> NDArray[np.int32]:
    """Rank codes: 2 r + 1 of the number of rank r, and 2 r of what lies just before it."""
    held = viewed(guide)
    numbers, starts = held.numbers, held.starts
    out = np.empty(len(sought), np.int32)
    for i in range(len(sought)):
        part = np.uint64(_part(held, sought[i]))
        at = first_at_least(numbers, starts[part], starts[part + np.uint64(1)], sought[i])
        out[i] = 2 * np.int64(at) + np.int64(at < len(numbers) and numbers[at] == sought[i])
    return out
