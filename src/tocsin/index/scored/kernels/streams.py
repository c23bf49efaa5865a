"""Which of some streams has the best interval to give next? Each has one number, and all are looked at.

The papers take a heap; there are as many streams as a path has nodes, some twenty, whose least number is a few
instructions when they lie side by side.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inlined

DONE: Final = np.int64(2**63 - 1)
"""The number of a stream that has nothing more."""

_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@inlined
def least(numbers: NDArray[np.int64], first: int, count: int) -> int:
    """The least of numbers[first:first + count]; DONE where there is none. Four at a time: none waits for another."""
    a = b = c = d = DONE
    i, stop = np.uint64(first), np.uint64(first + count)
    while i + _THREE < stop:
        a, b = min(a, numbers[i]), min(b, numbers[i + _ONE])
        c, d = min(c, numbers[i + _TWO]), min(d, numbers[i + _THREE])
        i += _FOUR
    while i < stop:
        a = min(a, numbers[i])
        i += _ONE
    return min(min(a, b), min(c, d))
