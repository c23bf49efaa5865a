"""How are programs moved? Copied in another order, and their leaves numbered anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel


@kernel
def copy_programs(
    starts: NDArray[np.int64],
    program: NDArray[np.int32],
    order: NDArray[np.int64],
    new_starts: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the programs of some expressions, in that order."""
    for i in range(len(order)):
        at = starts[order[i]]
        for to in range(new_starts[i], new_starts[i + 1]):
            out[to] = program[at]
            at += 1


@kernel
def shift_leaves(program: NDArray[np.int32], by: int) -> None:
    """Add to the number of every leaf, in place."""
    i = 0
    while i < len(program):
        if program[i] >= 0:
            program[i] += 2 * by
            i += 1
        else:
            i += 2
