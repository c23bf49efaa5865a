"""Leaves computed on demand: dispatch by kind."""

from __future__ import annotations

import numpy as np

from tocsin.jit.addresses import call_part
from tocsin.jit.decorators import inlined, inner
from tocsin.kernels import codes
from tocsin.kernels.programs.eager import compute_run
from tocsin.kernels.programs.layouts import ALWAYS, Block, Walk

ONE = np.uint64(1)
NONE = np.uint64(0)


@inner
def compute_leaf(walk: Walk, leaf: int, lanes: int) -> None:
    """Write the masks of a leaf for the lanes of a block."""
    kind, masks = walk.leaves.leaf_kinds[leaf], walk.memo.masks
    if kind <= codes.LAST_EAGER:
        if walk.memo.stamps[leaf] != ALWAYS:  # else it was computed ahead, or is TRUE nowhere
            compute_run(walk, leaf, leaf + 1)
        return
    held, failed = NONE, NONE
    if kind == codes.IS_NULL:
        failed = _present(walk.block, walk.leaves.leaf_attributes[leaf])
        held = lanes & ~failed
    elif kind == codes.TRUE_LEAF:
        held = lanes
    elif kind == codes.FALSE_LEAF:
        failed = lanes
    elif kind != codes.UNKNOWN_LEAF:
        call_part(walk.parts, np.int64(kind), walk, np.int64(leaf), np.int64(leaf) + 1, np.uint64(lanes))
        return
    masks[2 * leaf] = held
    masks[2 * leaf + 1] = failed


@inlined
def _present(block: Block, attribute: int) -> int:
    """The lanes that have an attribute."""
    present = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        present |= ONE << np.uint64(block.lanes[i])
    return present
