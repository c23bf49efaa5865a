"""Which distinct keys has each group, and which come again?"""

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


@kernel
def repeated(groups: NDArray[np.int64], keys: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of keys that came before in their group; groups are runs. `last` has a place for each key, -1 each."""
    again = np.empty(len(groups), np.int64)
    count = 0
    for i in range(len(groups)):
        if last[keys[i]] == groups[i]:
            again[count] = i
            count += 1
        last[keys[i]] = groups[i]
    return again[:count]
