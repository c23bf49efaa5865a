"""Distinct keys of groups, and repeated ones."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.intrinsics import lowest_bit
from tocsin.kernels.sorting import sort_numbers


@kernel
def sorted_groups(
    groups: NDArray[np.int32], keys: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct keys of each group, ascending, in CSR form: starts and keys. Negative groups are ignored."""
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
def order_runs(lengths: NDArray[np.int64], numbers: NDArray[np.int64], words: NDArray[np.uint64]) -> int:
    """Sort the distinct numbers of each run in place, close up the runs, and write their lengths; returns the total.

    `words` have a bit for each possible number, 0 before and after. A short run is sorted. For a long one, each number
    sets a bit, and the words from the first to the last are walked: 4 ns a number, where sorting takes 40.
    """
    kept, first = np.int64(0), np.int64(0)
    for run in range(len(lengths)):
        stop = first + lengths[run]
        begin = kept
        if stop - first <= _FEW:
            sort_numbers(numbers, first, stop)
            for i in range(first, stop):
                if i == first or numbers[i] != numbers[kept - 1]:
                    numbers[kept] = numbers[i]
                    kept += 1
        else:
            kept = _by_bits(numbers, first, stop, words, kept)
        lengths[run] = kept - begin
        first = stop
    return kept


_FEW: Final = 48
_ONE, _SIX, _LOW_SIX, _NONE = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)


@inlined
def _by_bits(numbers: NDArray[np.int64], first: int, stop: int, words: NDArray[np.uint64], at: int) -> int:
    """Write the distinct numbers of a run, ascending, from `at` on; returns where they end."""
    low, high = np.uint64(len(words)), _NONE
    for i in range(first, stop):
        word = np.uint64(numbers[i]) >> _SIX
        words[word] |= _ONE << (np.uint64(numbers[i]) & _LOW_SIX)
        low, high = min(low, word), max(high, word)
    while low <= high:
        bits = words[low]
        words[low] = _NONE
        while bits != _NONE:
            numbers[at] = np.int64((low << _SIX) | np.uint64(lowest_bit(bits)))
            at += 1
            bits &= bits - _ONE
        low += _ONE
    return at


@kernel
def repeated(groups: NDArray[np.int64], keys: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of keys that occurred before in their group. `last` has an entry for each key, all -1 before.

    Groups must be runs.
    """
    again = np.empty(len(groups), np.int64)
    count = 0
    for i in range(len(groups)):
        if last[keys[i]] == groups[i]:
            again[count] = i
            count += 1
        last[keys[i]] = groups[i]
    return again[:count]
