"""Array functions on a block's events. A list is treated as a set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, part
from tocsin.kernels import codes
from tocsin.kernels.programs.blocks import find_lane
from tocsin.kernels.programs.layouts import Events, Walk

ONE = np.uint64(1)
NONE = np.uint64(0)


@part
def array_set_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of an array function of a list attribute and a constant set."""
    leaves, block, events, bound = walk.leaves, walk.block, walk.events, walk.bound
    attribute = leaves.leaf_attributes[leaf]
    start = leaves.set_starts[leaves.leaf_others[leaf]]
    end = leaves.set_starts[leaves.leaf_others[leaf] + 1]
    held = NONE
    known = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        if block.types[i] != codes.LIST:
            continue
        bit = ONE << np.uint64(block.lanes[i])
        known |= bit
        first = events.list_starts[block.payloads[i]]
        last = events.list_starts[block.payloads[i] + 1]
        common = np.int64(0)
        for j in range(first, last):
            key = events.list_payloads[j]
            if events.list_types[j] == codes.STRING:
                key = np.int64(bound.ranks[0, key])
            if in_set(leaves.set_types, leaves.set_payloads, start, end, events.list_types[j], key):
                common += 1
        if sets_relate(leaves.leaf_operations[leaf], last - first, end - start, common):
            held |= bit
    walk.memo.masks[2 * leaf], walk.memo.masks[2 * leaf + 1] = held, known & ~held


@part
def array_pair_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of an array function of two list attributes. One merge of both counts common elements."""
    leaves, block, events = walk.leaves, walk.block, walk.events
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
    walk.memo.masks[2 * leaf], walk.memo.masks[2 * leaf + 1] = held, known & ~held


@inlined
def _count_common(events: Events, i: int, i_stop: int, j: int, j_stop: int) -> int:
    common = np.int64(0)
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


@inlined
def sets_relate(operation: int, left: int, right: int, common: int) -> bool:
    """Evaluate an array operation from the sizes of two sets and of their intersection."""
    if operation == codes.EQUALS:
        return left == right and common == left
    if operation == codes.CONTAINS:
        return common == right
    if operation == codes.CONTAINED_BY:
        return common == left
    return common > 0


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
