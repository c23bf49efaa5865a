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


@inlined
def least(numbers: NDArray[np.int64], first: int, count: int) -> int:
    """The least of numbers[first:first + count]; DONE where there is none."""
    found = DONE
    for i in range(np.uint64(first), np.uint64(first + count)):
        found = min(found, numbers[i])
    return found
