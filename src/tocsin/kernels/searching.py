"""Binary search in ascending numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined

_ONE = np.uint64(1)


@inlined
def first_at_least(numbers: NDArray[Any], first: int, stop: int, wanted: int) -> int:
    """The first place in [first, stop) whose number is at least `wanted`, as a uint64."""
    low = np.uint64(first)
    high = np.uint64(stop)
    while low < high:
        middle = (low + high) >> _ONE
        if numbers[middle] < wanted:
            low = middle + _ONE
        else:
            high = middle
    return low


@inlined
def place_of(numbers: NDArray[Any], first: int, stop: int, wanted: int) -> int:
    """The place of a number in numbers[first:stop], or -1."""
    at = first_at_least(numbers, first, stop, wanted)
    return np.int64(at) if at < np.uint64(stop) and numbers[at] == wanted else np.int64(-1)
