"""What are the masks of one range, without the rest? Most predicates are ranges, asked for one at a time.

Made part of the caller, and with as few arrays as can be: counting references to one costs 10 ns, as much as the work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.jit import inlined

NONE = np.uint64(0)
ONE = np.uint64(1)


@inlined
def range_masks(
    wanted: int,
    low: int,
    high: int,
    transform: int,
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    ranks: NDArray[np.int32],
    ranges: NDArray[np.int64],
    first: int,
    last: int,
) -> tuple[int, int]:
    """The lanes of entries [first, last) whose values lie in a range, and those of that type where they do not.

    `ranges` are the batch's own: values that are ranges themselves.
    """
    held = NONE
    known = NONE
    if wanted == codes.STRING:
        for i in range(first, last):
            if types[i] == wanted:
                key = np.int64(ranks[transform, payloads[i]])
                known |= ONE << np.uint64(lanes[i])
                held |= np.uint64((key >= low) & (key <= high)) << np.uint64(lanes[i])
        return held, known & ~held
    for i in range(first, last):
        known |= np.uint64(types[i] == wanted) << np.uint64(lanes[i])
        held |= np.uint64((payloads[i] >= low) & (payloads[i] <= high)) << np.uint64(lanes[i])
    held, failed = held & known, known & ~held
    if len(ranges) > 0:
        return add_ranges(wanted, low, high, lanes, types, payloads, ranges, first, last, held, failed)
    return held, failed


@inlined
def add_ranges(
    wanted: int,
    low: int,
    high: int,
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    ranges: NDArray[np.int64],
    first: int,
    last: int,
    held: int,
    failed: int,
) -> tuple[int, int]:
    """The masks of a range with the lanes of entries [first, last) whose values are ranges themselves.

    Such a lane may be in both: values lie within, and values do not. A range that is reversed is empty.
    """
    kind = codes.RANGED + wanted
    for i in range(first, last):
        if types[i] == kind:
            upper, lower = ranges[payloads[i], 0], ranges[payloads[i], 1]
            held |= np.uint64((low <= upper) & (lower <= high) & (low <= high)) << np.uint64(lanes[i])
            failed |= np.uint64((lower < low) | (upper > high) | (low > high)) << np.uint64(lanes[i])
    return held, failed
