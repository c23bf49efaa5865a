"""How are the answers of two structures laid in one order? Event by event, the lower number first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel


@kernel
def merge_found(
    starts: NDArray[np.int64],
    numbers: NDArray[np.int32],
    other_starts: NDArray[np.int64],
    others: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the numbers of both, ascending within each event; no event has one in both."""
    at = np.uint64(0)
    one = np.uint64(1)
    for event in range(len(starts) - 1):
        i, stop = np.uint64(starts[event]), np.uint64(starts[event + 1])
        j, other_stop = np.uint64(other_starts[event]), np.uint64(other_starts[event + 1])
        while i < stop and j < other_stop:
            number, other = numbers[i], others[j]
            is_first = np.uint64(number < other)
            out[at] = min(number, other)
            i += is_first
            j += one - is_first
            at += one
        while i < stop:
            out[at] = numbers[i]
            i += one
            at += one
        while j < other_stop:
            out[at] = others[j]
            j += one
            at += one
