"""Is a value among the elements of a constant set?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inlined


@inlined
def in_set(types: NDArray[np.uint8], payloads: NDArray[np.int64], low: int, high: int, kind: int, key: int) -> bool:
    """Whether (kind, key) is among the elements [low, high), sorted by (type, payload)."""
    stop = high
    while low < high:
        middle = (low + high) >> 1
        if types[middle] < kind or (types[middle] == kind and payloads[middle] < key):
            low = middle + 1
        else:
            high = middle
    return low < stop and types[low] == kind and payloads[low] == key
