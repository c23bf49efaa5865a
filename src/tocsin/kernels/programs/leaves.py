"""For which of a block's events is one predicate TRUE, and for which FALSE? The rest is UNKNOWN.

These are the leaves that wait to be asked. Every function here answers with two 64-bit masks, one bit a lane: `held`
and `failed`.
"""

from __future__ import annotations

import numpy as np

from tocsin.kernels import codes
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.programs.blocks import find_lane
from tocsin.kernels.programs.eager import box_number, boxes_meet, in_set
from tocsin.kernels.programs.layouts import Block, Bound, Events, Expressions
from tocsin.kernels.searching import place_of
from tocsin.kernels.text.strings import is_like

ONE = np.uint64(1)
NONE = np.uint64(0)


@kernel
def null_masks(attribute: int, block: Block, lanes: int) -> tuple[int, int]:
    """Absent lanes hold, present ones fail."""
    present = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        present |= ONE << np.uint64(block.lanes[i])
    return lanes & ~present, present


@kernel
def text_masks(leaves: Expressions, leaf: int, block: Block, bound: Bound) -> tuple[int, int]:
    """LIKE and MATCHES."""
    attribute = leaves.leaf_attributes[leaf]
    held = NONE
    known = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        if block.types[i] != codes.STRING:
            continue
        bit = ONE << np.uint64(block.lanes[i])
        known |= bit
        if fits_pattern(leaves, leaf, block.payloads[i], bound):
            held |= bit
    return held, known & ~held


@inlined
def fits_pattern(leaves: Expressions, leaf: int, string: int, bound: Bound) -> bool:
    """Whether a string of the batch fits the pattern of a LIKE, or a MATCHES is found in it."""
    pattern = np.int64(leaves.leaf_others[leaf])
    text = np.int64(leaves.leaf_transforms[leaf]) * bound.ranks.shape[1] + string
    by_regex = leaves.leaf_kinds[leaf] == codes.REGEX
    if by_regex or bound.listed[pattern] != 0:
        number = 2 * pattern + np.int64(by_regex)
        return place_of(bound.fits, bound.fit_starts[text], bound.fit_starts[text + 1], number) >= 0
    start, stop = bound.text_starts[text], bound.text_starts[text + 1]
    first, last = leaves.pattern_starts[pattern], leaves.pattern_starts[pattern + 1]
    return is_like(bound.text_bytes, start, stop, leaves.pattern_tokens, first, last)


@kernel
def box_pair_masks(leaves: Expressions, leaf: int, block: Block, events: Events) -> tuple[int, int]:
    """S_INTERSECTS of two attributes."""
    attribute = leaves.leaf_attributes[leaf]
    other = leaves.leaf_others[leaf]
    held = NONE
    known = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        left = box_number(block.types[i], block.payloads[i], events.list_boxes)
        j = find_lane(block, other, block.lanes[i])
        if left < 0 or j < 0:
            continue
        right = box_number(block.types[j], block.payloads[j], events.list_boxes)
        if right < 0:
            continue
        bit = ONE << np.uint64(block.lanes[i])
        known |= bit
        if boxes_meet(events.boxes, left, events.boxes, right):
            held |= bit
    return held, known & ~held


@kernel
def array_set_masks(leaves: Expressions, leaf: int, block: Block, events: Events, bound: Bound) -> tuple[int, int]:
    """An array function of a list attribute and a constant set."""
    attribute = leaves.leaf_attributes[leaf]
    start = leaves.set_starts[leaves.leaf_others[leaf]]
    stop = leaves.set_starts[leaves.leaf_others[leaf] + 1]
    held = NONE
    known = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        if block.types[i] != codes.LIST:
            continue
        bit = ONE << np.uint64(block.lanes[i])
        known |= bit
        first = events.list_starts[block.payloads[i]]
        last = events.list_starts[block.payloads[i] + 1]
        common = 0
        for j in range(first, last):
            key = events.list_payloads[j]
            if events.list_types[j] == codes.STRING:
                key = np.int64(bound.ranks[0, key])
            if in_set(leaves.set_types, leaves.set_payloads, start, stop, events.list_types[j], key):
                common += 1
        if sets_relate(leaves.leaf_operations[leaf], last - first, stop - start, common):
            held |= bit
    return held, known & ~held


@kernel
def array_pair_masks(leaves: Expressions, leaf: int, block: Block, events: Events) -> tuple[int, int]:
    """An array function of two list attributes: both are sorted, so one walk counts what they share."""
    attribute = leaves.leaf_attributes[leaf]
    other = leaves.leaf_others[leaf]
    held = NONE
    known = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        j = find_lane(block, other, block.lanes[i])
        if block.types[i] != codes.LIST or j < 0 or block.types[j] != codes.LIST:
            continue
        bit = ONE << np.uint64(block.lanes[i])
        known |= bit
        left = events.list_starts[block.payloads[i]]
        left_stop = events.list_starts[block.payloads[i] + 1]
        right = events.list_starts[block.payloads[j]]
        right_stop = events.list_starts[block.payloads[j] + 1]
        common = _count_common(events, left, left_stop, right, right_stop)
        if sets_relate(leaves.leaf_operations[leaf], left_stop - left, right_stop - right, common):
            held |= bit
    return held, known & ~held


@kernel
def _count_common(events: Events, i: int, i_stop: int, j: int, j_stop: int) -> int:
    common = 0
    while i < i_stop and j < j_stop:
        left_type, right_type = events.list_types[i], events.list_types[j]
        left, right = events.list_payloads[i], events.list_payloads[j]
        if left_type == right_type and left == right:
            common += 1
            i += 1
            j += 1
        elif left_type < right_type or (left_type == right_type and left < right):
            i += 1
        else:
            j += 1
    return common


@kernel
def sets_relate(operation: int, left: int, right: int, common: int) -> bool:
    """An array operation from the sizes of two sets and of what they share."""
    if operation == codes.EQUALS:
        return left == right and common == left
    if operation == codes.CONTAINS:
        return common == right
    if operation == codes.CONTAINED_BY:
        return common == left
    return common > 0
