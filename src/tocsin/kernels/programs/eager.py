"""Which of a block's events satisfy each cheap predicate on one attribute? All of an attribute's at once.

Every function takes a run of leaves [leaf, stop) of one kind on one attribute, whose entries are [first, last) of the
block, and writes each leaf's masks: TRUE lanes at `2 * leaf`, FALSE lanes behind. Plain arrays as arguments, and few:
passing tuples of arrays costs more than the work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.jit import kernel
from tocsin.kernels.programs.layouts import Block, Bound, Events, Expressions
from tocsin.kernels.programs.ranges import add_ranges

ONE = np.uint64(1)
NONE = np.uint64(0)


@kernel
def compute_eager(
    leaves: Expressions, block: Block, touched: int, events: Events, bound: Bound, masks: NDArray[np.uint64]
) -> None:
    """Write the masks of all eager leaves on the attributes that a block touches; the others' are zero already."""
    kinds = leaves.leaf_kinds
    types = leaves.leaf_types
    transforms = leaves.leaf_transforms
    for t in range(touched):
        leaf = leaves.eager_starts[block.touched[t]]
        last_leaf = leaves.eager_starts[block.touched[t] + 1]
        while leaf < last_leaf:
            stop = leaf + 1
            while (
                stop < last_leaf
                and kinds[stop] == kinds[leaf]
                and types[stop] == types[leaf]
                and transforms[stop] == transforms[leaf]
            ):
                stop += 1
            compute_run(leaves, leaf, stop, block, events, bound, masks)
            leaf = stop


@kernel
def compute_run(
    leaves: Expressions, leaf: int, stop: int, block: Block, events: Events, bound: Bound, masks: NDArray[np.uint64]
) -> None:
    """Write the masks of a run of leaves of one attribute, kind, type and transform."""
    masks[2 * leaf : 2 * stop] = NONE
    attribute = leaves.leaf_attributes[leaf]
    first = block.firsts[attribute]
    last = block.stops[attribute]
    if first == last:
        return
    lane = block.lanes[first:last]
    kind = block.types[first:last]
    key = block.payloads[first:last]
    if leaves.leaf_types[leaf] == codes.STRING:
        key = ranked(kind, key, bound.ranks[leaves.leaf_transforms[leaf]], np.empty(codes.LANES, np.int64))
    if len(events.ranges) > 0:
        ranged_run(leaf, stop, leaves, lane, kind, key, events.ranges, masks)
    if leaves.leaf_kinds[leaf] == codes.INTERSECTS:
        others = leaves.leaf_others
        box_run(leaf, stop, others, leaves.boxes, lane, kind, key, events.list_boxes, events.boxes, masks)
    elif leaves.leaf_kinds[leaf] == codes.RANGE:
        range_run(leaf, stop, leaves.leaf_types[leaf], leaves.leaf_lows, leaves.leaf_highs, lane, kind, key, masks)
    else:
        set_run(leaf, stop, leaves, lane, kind, key, masks)


@kernel
def ranked(
    types: NDArray[np.uint8], payloads: NDArray[np.int64], ranks: NDArray[np.int32], scratch: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The payloads with rank codes for strings; what stands for other types means nothing."""
    for i in range(len(payloads)):
        scratch[i] = np.int64(ranks[payloads[i]]) if types[i] == codes.STRING else np.int64(0)
    return scratch[: len(payloads)]


@kernel
def clear_eager(
    eager_starts: NDArray[np.int64], touched: NDArray[np.int32], count: int, masks: NDArray[np.uint64]
) -> None:
    """Make the masks of the eager leaves on the touched attributes zero again."""
    for t in range(count):
        attribute = touched[t]
        for i in range(2 * eager_starts[attribute], 2 * eager_starts[attribute + 1]):
            masks[i] = NONE


@kernel
def range_run(
    leaf: int,
    stop: int,
    wanted: int,
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    masks: NDArray[np.uint64],
) -> None:
    """`low <= value <= high` on payloads, of strings on rank codes."""
    known = lanes_of_type(lanes, types, wanted)
    if known == NONE:
        return
    for f in range(leaf, stop):
        low = lows[f]
        high = highs[f]
        held = NONE
        for i in range(len(lanes)):
            held |= np.uint64((payloads[i] >= low) & (payloads[i] <= high)) << np.uint64(lanes[i])
        masks[2 * f] |= held & known
        masks[2 * f + 1] |= known & ~held


@kernel
def set_run(
    leaf: int,
    stop: int,
    leaves: Expressions,
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    masks: NDArray[np.uint64],
) -> None:
    """`value IN (...)` where all operands are of one type."""
    wanted = leaves.leaf_types[leaf]
    known = lanes_of_type(lanes, types, wanted)
    if known == NONE:
        return
    set_starts = leaves.set_starts
    set_types = leaves.set_types
    set_payloads = leaves.set_payloads
    others = leaves.leaf_others
    for f in range(leaf, stop):
        start = set_starts[others[f]]
        end = set_starts[others[f] + 1]
        held = NONE
        for i in range(len(lanes)):
            if types[i] == wanted and in_set(set_types, set_payloads, start, end, wanted, payloads[i]):
                held |= ONE << np.uint64(lanes[i])
        masks[2 * f] |= held
        masks[2 * f + 1] |= known & ~held


@kernel
def ranged_run(
    leaf: int,
    stop: int,
    leaves: Expressions,
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    ranges: NDArray[np.int64],
    masks: NDArray[np.uint64],
) -> None:
    """Leaves of ranges or sets where the value is a range itself: where they can be TRUE, and where FALSE."""
    wanted = leaves.leaf_types[leaf]
    for f in range(leaf, stop):
        held, failed = masks[2 * f], masks[2 * f + 1]
        if leaves.leaf_kinds[f] == codes.RANGE:
            low, high = leaves.leaf_lows[f], leaves.leaf_highs[f]
            held, failed = add_ranges(wanted, low, high, lanes, types, payloads, ranges, 0, len(lanes), held, failed)
        else:
            for i in range(len(lanes)):
                if types[i] == codes.RANGED + wanted:
                    holds, fails = _ranged_set(leaves, f, ranges[payloads[i], 1], ranges[payloads[i], 0])
                    held |= np.uint64(holds) << np.uint64(lanes[i])
                    failed |= np.uint64(fails) << np.uint64(lanes[i])
        masks[2 * f], masks[2 * f + 1] = held, failed


@kernel
def _ranged_set(leaves: Expressions, leaf: int, lower: int, upper: int) -> tuple[bool, bool]:
    """Whether IN can be TRUE of a range, and whether it can be FALSE. Where `upper` is below, all must agree."""
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


@kernel
def box_run(
    leaf: int,
    stop: int,
    others: NDArray[np.int32],
    operands: NDArray[np.float64],
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    list_boxes: NDArray[np.int32],
    boxes: NDArray[np.float64],
    masks: NDArray[np.uint64],
) -> None:
    """S_INTERSECTS with a constant point or box. The events' edges are laid side by side first."""
    edges = np.empty((4, codes.LANES), np.float64)
    owners = np.empty(codes.LANES, np.uint64)
    known = NONE
    count = 0
    for i in range(len(lanes)):
        box = box_number(types[i], payloads[i], list_boxes)
        if box >= 0:
            for edge in range(4):
                edges[edge, count] = boxes[box, edge]
            owners[count] = np.uint64(lanes[i])
            known |= ONE << np.uint64(lanes[i])
            count += 1
    left, lower, right, upper = edges[0], edges[1], edges[2], edges[3]
    for f in range(leaf, stop):
        number = others[f]
        xmin = operands[number, 0]
        ymin = operands[number, 1]
        xmax = operands[number, 2]
        ymax = operands[number, 3]
        held = NONE
        for i in range(count):
            meets = (left[i] <= xmax) & (right[i] >= xmin) & (lower[i] <= ymax) & (upper[i] >= ymin)
            held |= np.uint64(meets) << owners[i]
        masks[2 * f] = held
        masks[2 * f + 1] = known & ~held


@kernel
def lanes_of_type(lanes: NDArray[np.uint8], types: NDArray[np.uint8], wanted: int) -> int:
    """The lanes whose value is of a type."""
    known = NONE
    for i in range(len(lanes)):
        known |= np.uint64(types[i] == wanted) << np.uint64(lanes[i])
    return known


@kernel
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


@kernel
def box_number(kind: int, payload: int, list_boxes: NDArray[np.int32]) -> int:
    """The box that a value is to a spatial function, or -1."""
    if kind == codes.GEOMETRY:
        return payload
    if kind == codes.LIST:
        return np.int64(list_boxes[payload])
    return np.int64(-1)


@kernel
def boxes_meet(left: NDArray[np.float64], i: int, right: NDArray[np.float64], j: int) -> bool:
    """Whether two boxes with closed edges share a point."""
    return (
        left[i, 0] <= right[j, 2]
        and right[j, 0] <= left[i, 2]
        and left[i, 1] <= right[j, 3]
        and right[j, 1] <= left[i, 3]
    )
