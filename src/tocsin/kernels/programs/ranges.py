"""Masks of a single range leaf, the most common predicate, computed on demand.

Events may have ranges as values. The code for them is compiled when the first such event arrives.
"""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inlined, part
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions, Walk

NONE = np.uint64(0)
ONE = np.uint64(1)


@inlined
def compute_range(walk: Walk, leaf: int) -> None:
    """Write the TRUE lanes of a range leaf, and the FALSE ones: values of its type outside the range.

    Values that are ranges are handled here, too, because a call to `ranged_part` takes longer.
    """
    leaves, block, masks = walk.leaves, walk.block, walk.memo.masks
    wanted, low, high = leaves.leaf_types[leaf], leaves.leaf_lows[leaf], leaves.leaf_highs[leaf]
    attribute = leaves.leaf_attributes[leaf]
    first, last = block.firsts[attribute], block.stops[attribute]
    lanes, types, payloads = block.lanes, block.types, block.payloads
    held = NONE
    known = NONE
    if wanted == codes.STRING:
        ranks, transform = walk.bound.ranks, leaves.leaf_transforms[leaf]
        for i in range(first, last):
            if types[i] == wanted:
                key = np.int64(ranks[transform, payloads[i]])
                known |= ONE << np.uint64(lanes[i])
                held |= np.uint64((key >= low) & (key <= high)) << np.uint64(lanes[i])
    else:
        for i in range(first, last):
            known |= np.uint64(types[i] == wanted) << np.uint64(lanes[i])
            held |= np.uint64((payloads[i] >= low) & (payloads[i] <= high)) << np.uint64(lanes[i])
    held, failed = held & known, known & ~held
    if len(walk.events.ranges) > 0:
        ranges, kind = walk.events.ranges, codes.RANGED + wanted
        for i in range(first, last):
            if types[i] == kind:
                holds, fails = _ranged_range(low, high, ranges[payloads[i], 1], ranges[payloads[i], 0])
                held |= np.uint64(holds) << np.uint64(lanes[i])
                failed |= np.uint64(fails) << np.uint64(lanes[i])
    masks[2 * leaf], masks[2 * leaf + 1] = held, failed


@part
def ranged_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Add values that are ranges to the masks of range or set leaves on one attribute.

    A range can make a leaf both TRUE and FALSE, so its lane may be in both masks.
    """
    leaves, block, masks, ranges = walk.leaves, walk.block, walk.memo.masks, walk.events.ranges
    attribute, kind = leaves.leaf_attributes[leaf], codes.RANGED + leaves.leaf_types[leaf]
    for f in range(leaf, stop):
        held, failed = masks[2 * f], masks[2 * f + 1]
        for i in range(block.firsts[attribute], block.stops[attribute]):
            if block.types[i] == kind:
                upper, lower = ranges[block.payloads[i], 0], ranges[block.payloads[i], 1]
                if leaves.leaf_kinds[f] == codes.RANGE:
                    holds, fails = _ranged_range(leaves.leaf_lows[f], leaves.leaf_highs[f], lower, upper)
                else:
                    holds, fails = _ranged_set(leaves, f, lower, upper)
                held |= np.uint64(holds) << np.uint64(block.lanes[i])
                failed |= np.uint64(fails) << np.uint64(block.lanes[i])
        masks[2 * f], masks[2 * f + 1] = held, failed


@inlined
def _ranged_range(low: int, high: int, lower: int, upper: int) -> tuple[bool, bool]:
    """Whether values of a range can lie within another range, and whether outside. A reversed range is empty."""
    can_hold = (low <= upper) & (lower <= high) & (low <= high)
    return can_hold, (lower < low) | (upper > high) | (low > high)


@inlined
def _ranged_set(leaves: Expressions, leaf: int, lower: int, upper: int) -> tuple[bool, bool]:
    """Whether IN can be TRUE for a range, and whether it can be FALSE. If `upper < lower`, all values must agree."""
    start, end = leaves.set_starts[leaves.leaf_others[leaf]], leaves.set_starts[leaves.leaf_others[leaf] + 1]
    low, high = min(lower, upper), max(lower, upper)
    first, stop = start, end
    while first < stop:
        middle = (first + stop) >> 1
        if leaves.set_payloads[middle] < low:
            first = middle + 1
        else:
            stop = middle
    has_any = first < end and leaves.set_payloads[first] <= high
    if upper < lower:
        return False, not has_any
    return has_any, not (has_any and low == high)
