"""Sorting in kernels. Each is one function to compile for a type; Numba's own sorts are four to six."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner

_FEW: Final = 24
"""Up to this many numbers are sorted by insertion."""

_RUN: Final = 16
"""Runs of so many numbers are sorted by insertion before they are merged; a power of two."""


@inner
def sort_numbers(numbers: NDArray[Any], first: int, stop: int) -> None:
    """Sort numbers[first:stop] in place, ascending: quicksort, median of three. Cost: O(n log n) expected."""
    lows, highs = np.empty(64, np.int64), np.empty(64, np.int64)  # the shorter part comes first: 64 suffice
    lows[0], highs[0] = first, stop
    depth = 1
    while depth > 0:
        depth -= 1
        low, high = lows[depth], highs[depth]
        while high - low > _FEW:
            i, j = _divide(numbers, low, high)
            if j + 1 - low < high - i:
                lows[depth], highs[depth] = i, high
                high = j + 1
            else:
                lows[depth], highs[depth] = low, j + 1
                low = i
            depth += 1
        for at in range(low + 1, high):
            number = numbers[at]
            place = at
            while place > low and number < numbers[place - 1]:
                numbers[place] = numbers[place - 1]
                place -= 1
            numbers[place] = number


@inner
def select(numbers: NDArray[Any], count: int, place: int) -> Any:
    """The number that would be at a place if the first `count` were sorted. Moves them. Cost: O(n) expected."""
    low, high = np.int64(0), np.int64(count)
    while high - low > 1:
        i, j = _divide(numbers, low, high)
        if j < place < i:
            break
        low, high = (low, j + 1) if place <= j else (i, high)
    return numbers[place]


@inlined
def _divide(numbers: NDArray[Any], low: int, high: int) -> tuple[int, int]:
    """Move numbers[low:high] so that those before j + 1 are at most those from i on; those between are the pivot."""
    left, middle, right = numbers[low], numbers[(low + high) >> 1], numbers[high - 1]
    pivot = max(min(left, middle), min(max(left, middle), right))
    i, j = low, high - 1
    while i <= j:
        while numbers[i] < pivot:
            i += 1
        while pivot < numbers[j]:
            j -= 1
        if i <= j:
            numbers[i], numbers[j] = numbers[j], numbers[i]
            i += 1
            j -= 1
    return i, j


@inner
def stable_order(keys: NDArray[Any]) -> NDArray[np.int64]:
    """The places of keys in ascending order of the keys; equal ones keep their order. Mergesort: O(n log n)."""
    count = len(keys)
    order, other = np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        at = i
        while at & (_RUN - 1) and keys[i] < keys[order[at - 1]]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    width = _RUN
    while width < count:
        for first in range(0, count, 2 * width):
            middle, stop = min(first + width, count), min(first + 2 * width, count)
            i, j = first, middle
            for at in range(first, stop):
                if j == stop or (i < middle and keys[order[i]] <= keys[order[j]]):
                    other[at] = order[i]
                    i += 1
                else:
                    other[at] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order
