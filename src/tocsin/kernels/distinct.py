"""Which numbers does each distinct key get? An open hash table, keys numbered in order of first appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inner, kernel, pasted
from tocsin.kernels.sorting import sort_numbers


@kernel
def number_distinct(keys: NDArray[np.int64], numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """Write each key's number; returns the distinct keys. Expected cost: linear."""
    size = 1024
    table = np.full(size, -1, np.int32)
    distinct = np.empty(size, np.int64)
    count = np.int64(0)
    for i in range(len(keys)):
        if 2 * count >= size:
            size *= 4
            table = _rehashed(distinct, count, size)
            larger = np.empty(size, np.int64)
            larger[:count] = distinct[:count]
            distinct = larger
        place = _slot(keys[i], size)
        while table[place] >= 0 and distinct[table[place]] != keys[i]:
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place] = count
            distinct[count] = keys[i]
            count += 1
        numbers[i] = table[place]
    return distinct[:count].copy()


@pasted
def _slot(key: int, size: int) -> int:
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@inner
def _rehashed(distinct: NDArray[np.int64], count: int, size: int) -> NDArray[np.int32]:
    table = np.full(size, -1, np.int32)
    for number in range(count):
        place = _slot(distinct[number], size)
        while table[place] >= 0:
            place = (place + 1) & (size - 1)
        table[place] = number
    return table


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
