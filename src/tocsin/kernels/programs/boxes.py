"""Of which of a block's events does a place meet a box? Points and boxes have closed edges; shapes were looked up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.jit import inlined, inner
from tocsin.kernels.programs.layouts import Walk
from tocsin.kernels.searching import place_of

ONE = np.uint64(1)
NONE = np.uint64(0)


@inner
def box_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of S_INTERSECTS with constants, all on one attribute; its boxes are laid side by side first."""
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
        if known != of_boxes:
            held |= _shapes_that_meet(walk, attribute, number)
        masks[2 * f] = held
        masks[2 * f + 1] = known & ~held


@inner
def _shapes_that_meet(walk: Walk, attribute: int, number: int) -> int:
    """The lanes whose shape meets a box of the expressions, which is known beforehand (`Bound.meets`)."""
    block, starts, meets = walk.block, walk.bound.meet_starts, walk.bound.meets
    held = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        if block.types[i] == codes.SHAPE:
            first, stop = starts[block.payloads[i]], starts[block.payloads[i] + 1]
            held |= np.uint64(place_of(meets, first, stop, number) >= 0) << np.uint64(block.lanes[i])
    return held


@inlined
def box_number(kind: int, payload: int, list_boxes: NDArray[np.int32]) -> int:
    """The box that a value is to a spatial function, or -1."""
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
