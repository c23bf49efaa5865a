"""Cheap predicates on one attribute, computed for a whole block at once.

Every function takes a run of leaves [leaf, stop) of one kind on one attribute and writes their masks: TRUE lanes at `2
* leaf`, FALSE lanes at `2 * leaf + 1`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.addresses import call_part
from tocsin.jit.decorators import inlined, inner
from tocsin.kernels import codes
from tocsin.kernels.programs.arrays import in_set
from tocsin.kernels.programs.layouts import Walk
from tocsin.kernels.programs.parts import RANGED

ONE = np.uint64(1)
NONE = np.uint64(0)


@inner
def compute_eager(walk: Walk, touched: int) -> None:
    """Write the masks of all eager leaves on the attributes that a block touches; all other masks are zero already."""
    leaves = walk.leaves
    starts, kinds, types, transforms = leaves.eager_starts, leaves.leaf_kinds, leaves.leaf_types, leaves.leaf_transforms
    attributes = walk.block.touched
    for t in range(touched):
        leaf = starts[attributes[t]]
        last_leaf = starts[attributes[t] + 1]
        while leaf < last_leaf:
            stop = leaf + 1
            while (
                stop < last_leaf
                and kinds[stop] == kinds[leaf]
                and types[stop] == types[leaf]
                and transforms[stop] == transforms[leaf]
            ):
                stop += 1
            compute_run(walk, leaf, stop)
            leaf = stop


@inner
def compute_run(walk: Walk, leaf: int, stop: int) -> None:
    """Write the masks of a run of leaves of the same attribute, kind, type and transform."""
    leaves, block, masks = walk.leaves, walk.block, walk.memo.masks
    for i in range(2 * leaf, 2 * stop):
        masks[i] = NONE
    attribute, kind = leaves.leaf_attributes[leaf], leaves.leaf_kinds[leaf]
    first, last = block.firsts[attribute], block.stops[attribute]
    if first == last:
        return
    if kind == codes.INTERSECTS:
        call_part(walk.parts, np.int64(kind), walk, np.int64(leaf), np.int64(stop), ~NONE)
        return
    lanes, types, payloads = block.lanes[first:last], block.types[first:last], block.payloads[first:last]
    if leaves.leaf_types[leaf] == codes.STRING:
        payloads = _ranked(types, payloads, walk.bound.ranks[leaves.leaf_transforms[leaf]])
    known = _lanes_of_type(lanes, types, leaves.leaf_types[leaf])
    if known != NONE and kind == codes.RANGE:
        _range_run(walk, leaf, stop, lanes, payloads, known)
    elif known != NONE:
        _set_run(walk, leaf, stop, lanes, types, payloads, known)
    if len(walk.events.ranges) > 0:
        call_part(walk.parts, np.int64(RANGED), walk, np.int64(leaf), np.int64(stop), ~NONE)


@inlined
def _ranked(types: NDArray[np.uint8], payloads: NDArray[np.int64], ranks: NDArray[np.int32]) -> NDArray[np.int64]:
    """The payloads, with rank codes for strings. Entries of other types are meaningless."""
    codes_of = np.empty(len(payloads), np.int64)
    for i in range(len(payloads)):
        codes_of[i] = np.int64(ranks[payloads[i]]) if types[i] == codes.STRING else np.int64(0)
    return codes_of


@inner
def clear_eager(
    eager_starts: NDArray[np.int64], touched: NDArray[np.int32], count: int, masks: NDArray[np.uint64]
) -> None:
    """Reset the masks of the eager leaves on the touched attributes to zero."""
    for t in range(count):
        attribute = touched[t]
        for i in range(2 * eager_starts[attribute], 2 * eager_starts[attribute + 1]):
            masks[i] = NONE


@inlined
def _range_run(
    walk: Walk, leaf: int, stop: int, lanes: NDArray[np.uint8], payloads: NDArray[np.int64], known: int
) -> None:
    """`low <= value <= high` on payloads; for strings, on rank codes."""
    lows, highs, masks = walk.leaves.leaf_lows, walk.leaves.leaf_highs, walk.memo.masks
    for f in range(leaf, stop):
        low = lows[f]
        high = highs[f]
        held = NONE
        for i in range(len(lanes)):
            held |= np.uint64((payloads[i] >= low) & (payloads[i] <= high)) << np.uint64(lanes[i])
        masks[2 * f] = held & known
        masks[2 * f + 1] = known & ~held


@inlined
def _set_run(
    walk: Walk,
    leaf: int,
    stop: int,
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    known: int,
) -> None:
    """`value IN (...)` with operands of one type."""
    leaves, masks = walk.leaves, walk.memo.masks
    wanted = leaves.leaf_types[leaf]
    starts, set_types, set_payloads, others = (
        leaves.set_starts,
        leaves.set_types,
        leaves.set_payloads,
        leaves.leaf_others,
    )
    for f in range(leaf, stop):
        start, end = starts[others[f]], starts[others[f] + 1]
        held = NONE
        for i in range(len(lanes)):
            if types[i] == wanted and in_set(set_types, set_payloads, start, end, wanted, payloads[i]):
                held |= ONE << np.uint64(lanes[i])
        masks[2 * f] = held
        masks[2 * f + 1] = known & ~held


@inlined
def _lanes_of_type(lanes: NDArray[np.uint8], types: NDArray[np.uint8], wanted: int) -> int:
    """The lanes whose value has a type."""
    known = NONE
    for i in range(len(lanes)):
        known |= np.uint64(types[i] == wanted) << np.uint64(lanes[i])
    return known
