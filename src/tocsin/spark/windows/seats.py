"""Keys of partitions in Spark's shuffle, chosen so that Spark's hash spreads them evenly over tasks.

Spark gives a key to the task number hash(key) modulo the number of tasks. Keys 0, 1, 2 could share tasks by chance, and
leave others idle. So the key of partition p is a number with a hash of p modulo 33,600. Then partitions are dealt out
in turn if the number of tasks divides 33,600. The numbers 1 to 8, 10, 12, 16, 24, 32, 48, 64 and 200 do.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_TURNS: Final = 33_600
_TRIED: Final = 1 << 20
_SEED: Final = 42


@cache
def seats(partitions: int) -> tuple[int, ...]:
    """The key of each partition, independent of the number of partitions."""
    turns = hashed(np.arange(_TRIED)).astype(np.int64) % _TURNS
    places, firsts = np.unique(turns, return_index=True)
    return tuple(firsts[np.searchsorted(places, np.arange(partitions))].tolist())


def hashed(numbers: NDArray[np.int64]) -> NDArray[np.int32]:
    """Spark's hash of 32-bit integers: Murmur3 with seed 42."""
    block = numbers.astype(np.uint32) * np.uint32(0xCC9E2D51)
    block = _turned(block, 15) * np.uint32(0x1B873593)
    state = _turned(np.uint32(_SEED) ^ block, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    state ^= np.uint32(4)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ (state >> np.uint32(shift))) * np.uint32(factor)
    return (state ^ (state >> np.uint32(16))).view(np.int32)


def _turned(bits: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
    return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))
