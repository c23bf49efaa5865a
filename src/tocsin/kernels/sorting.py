"""Sorting in kernels. It is one function to compile; Numba's own sort is six for each type."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inner

_FEW: Final = 24
"""Up to this many numbers are sorted by insertion."""


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
