"""Intersection of a block's places with boxes. Points and boxes have closed edges; shapes were looked up before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, part
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Walk
from tocsin.kernels.searching import first_at_least, place_of

ONE = np.uint64(1)
NONE = np.uint64(0)


@part
def box_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of S_INTERSECTS with constants, all on one attribute. The block's boxes become columns first."""
    if stop - leaf == 1:
        _one_box(walk, leaf)
        return
    leaves, block, events, masks = walk.leaves, walk.block, walk.events, walk.memo.masks
    edges = np.empty((4, codes.LANES), np.float64)
    owners = np.empty(codes.LANES, np.uint64)
    attribute = leaves.leaf_attributes[leaf]
    known = NONE
    count = 0
    for i in range(block.firsts[attribute], block.stops[attribute]):
        box = box_number(block.types[i], block.payloads[i], events.list_boxes)
        if box >= 0:
            for edge in range(4):
                edges[edge, count] = events.boxes[box, edge]
            owners[count] = np.uint64(block.lanes[i])
            known |= ONE << np.uint64(block.lanes[i])
            count += 1
    of_boxes = known
    for i in range(block.firsts[attribute], block.stops[attribute]):
        known |= np.uint64(block.types[i] == codes.SHAPE) << np.uint64(block.lanes[i])
    left, lower, right, upper = edges[0], edges[1], edges[2], edges[3]
    operands = leaves.boxes
    for f in range(leaf, stop):
        number = leaves.leaf_others[f]
        xmin, ymin = operands[number, 0], operands[number, 1]
        xmax, ymax = operands[number, 2], operands[number, 3]
        held = NONE
        for i in range(count):
            meets = (left[i] <= xmax) & (right[i] >= xmin) & (lower[i] <= ymax) & (upper[i] >= ymin)
            held |= np.uint64(meets) << owners[i]
        masks[2 * f] = held
        masks[2 * f + 1] = known & ~held
    if known != of_boxes:
        _add_shapes(walk, leaf, stop)


@inner
def _one_box(walk: Walk, leaf: int) -> None:
    """The same for one constant, without columns: making these takes most of the time of a single leaf."""
    block, masks, places, attribute = walk.block, walk.memo.masks, walk.events.boxes, walk.leaves.leaf_attributes[leaf]
    operands, number = walk.leaves.boxes, np.int64(walk.leaves.leaf_others[leaf])
    known, held, has_shapes = NONE, NONE, False
    for i in range(block.firsts[attribute], block.stops[attribute]):
        bit = ONE << np.uint64(block.lanes[i])
        box = box_number(block.types[i], block.payloads[i], walk.events.list_boxes)
        if box >= 0:
            known |= bit
            held |= bit if boxes_meet(places, box, operands, number) else NONE
        elif block.types[i] == codes.SHAPE:
            known |= bit
            has_shapes = True
    masks[2 * leaf] = held
    masks[2 * leaf + 1] = known & ~held
    if has_shapes:
        _add_shapes(walk, leaf, leaf + 1)


@inner
def _add_shapes(walk: Walk, leaf: int, stop: int) -> None:
    """Move the lanes of shapes from FALSE to TRUE for the boxes that they meet, known from `Bound.meets`.

    Leaves are nearly always in the order of their boxes. Then the leaves that a shape meets are found by binary search.
    """
    block, starts, meets, others = walk.block, walk.bound.meet_starts, walk.bound.meets, walk.leaves.leaf_others
    masks, attribute = walk.memo.masks, walk.leaves.leaf_attributes[leaf]
    in_order = True
    for f in range(leaf + 1, stop):
        in_order = in_order and others[f] >= others[f - 1]
    for i in range(block.firsts[attribute], block.stops[attribute]):
        if block.types[i] != codes.SHAPE:
            continue
        bit = ONE << np.uint64(block.lanes[i])
        first, last = starts[block.payloads[i]], starts[block.payloads[i] + 1]
        if in_order:
            for at in range(first, last):
                f = np.int64(first_at_least(others, leaf, stop, meets[at]))
                while f < stop and others[f] == meets[at]:
                    masks[2 * f], masks[2 * f + 1] = masks[2 * f] | bit, masks[2 * f + 1] & ~bit
                    f += 1
            continue
        for f in range(leaf, stop):
            if place_of(meets, first, last, others[f]) >= 0:
                masks[2 * f], masks[2 * f + 1] = masks[2 * f] | bit, masks[2 * f + 1] & ~bit


@inlined
def box_number(kind: int, payload: int, list_boxes: NDArray[np.int32]) -> int:
    """The number of the box that a value represents in a spatial function, or -1."""
    if kind == codes.GEOMETRY:
        return payload
    if kind == codes.LIST:
        return np.int64(list_boxes[payload])
    return np.int64(-1)


@inlined
def boxes_meet(left: NDArray[np.float64], i: int, right: NDArray[np.float64], j: int) -> bool:
    """Whether two boxes with closed edges share a point."""
    return (
        left[i, 0] <= right[j, 2]
        and right[j, 0] <= left[i, 2]
        and left[i, 1] <= right[j, 3]
        and right[j, 1] <= left[i, 3]
    )
