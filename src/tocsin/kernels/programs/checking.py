"""Is a program that came from a file well formed?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel


@kernel
def valid_programs(program: NDArray[np.int32], starts: NDArray[np.int64], leaves: int, depth_limit: int) -> bool:
    """Whether every group of every program ends within the one around it and every leaf exists."""
    ends = np.empty(depth_limit + 1, np.int64)
    for s in range(len(starts) - 1):
        depth = 0
        ends[0] = starts[s + 1]
        place = starts[s]
        while place < starts[s + 1]:
            while place == ends[depth] and depth > 0:
                depth -= 1
            if program[place] >= 0:
                if program[place] >> 1 >= leaves:
                    return False
                place += 1
                continue
            if program[place] < -2 or place + 1 >= ends[depth] or depth == depth_limit:
                return False
            end = place + 2 + program[place + 1]
            if program[place + 1] <= 0 or end > ends[depth]:
                return False
            depth += 1
            ends[depth] = end
            place += 2
    return True
