"""Compaction: writes the flagged numbers one after the other, sixteen at a time if the processor can.

AVX-512 has an instruction for this. It is three times as fast as the best alternative found: store each number, then
advance by its flag.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined
from tocsin.jit.intrinsics import write_sixteen

AT_ONCE: Final = 16
"""Up to this many places after the last number may be overwritten."""


@inlined
def write_flagged(numbers: NDArray[np.int32], flags: NDArray[np.uint8], out: NDArray[np.int32], at: int) -> int:
    """Write the numbers whose flag is 1 to out[at:] and return how many. `out` has room for all and AT_ONCE more."""
    written = np.uint64(at)
    count = np.uint64(len(numbers))
    i = np.uint64(0)
    while i + np.uint64(AT_ONCE) <= count:
        written += write_sixteen(numbers, flags, i, out, written)
        i += np.uint64(AT_ONCE)
    while i < count:
        out[written] = numbers[i]
        written += np.uint64(flags[i])
        i += np.uint64(1)
    return np.int64(written) - np.int64(at)
