"""Which distinct keys has each group?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel
from tocsin.kernels.sorting import sort_numbers


@kernel
def sorted_groups(
    groups: NDArray[np.int32], keys: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct keys of each group, ascending, in CSR form: starts and keys. A group below 0 is none."""
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(groups)):
        if groups[i] >= 0:
            starts[groups[i] + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    ordered = np.empty(starts[count], np.int64)
    places = np.empty(count, np.int64)
    for g in range(count):
        places[g] = starts[g]
    for i in range(len(groups)):
        if groups[i] >= 0:
            ordered[places[groups[i]]] = keys[i]
            places[groups[i]] += 1
    kept = 0
    for g in range(count):
        first, stop = starts[g], starts[g + 1]
        sort_numbers(ordered, first, stop)
        starts[g] = kept
        last = np.int64(0)
        for i in range(first, stop):
            key = ordered[i]
            if i == first or key != last:
                ordered[kept] = last = key
                kept += 1
    starts[count] = kept
    return starts, ordered[:kept]
