"""Which of some candidate programs hold for the events of a block that lead to them?

A program is walked once for all its events, and what a leaf says of the block is computed once, when the first program
asks for it: masks of 64 lanes, as in `verify`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.jit import kernel
from tocsin.kernels.programs.eager import compute_eager
from tocsin.kernels.programs.layouts import Bound, Events, Expressions, Verifier
from tocsin.kernels.programs.lazy import compute_leaf
from tocsin.kernels.programs.ranges import range_masks
from tocsin.kernels.programs.verify import program_mask

LEAVES_PER_CANDIDATE: Final = 4
"""With fewer leaves than so many a candidate, they are computed ahead."""

_NONE = np.uint64(0)


@kernel
def compute_ahead(
    leaves: Expressions, candidates: int, touched: int, verifier: Verifier, events: Events, bound: Bound
) -> None:
    """Compute all cheap leaves of the block's attributes, run by run, where so many programs would ask for them anyway.

    A leaf alone costs a call, 1-2 us; in a run, some 60 ns.
    """
    block, memo, clock = verifier
    eager_starts = leaves.eager_starts
    stamps = memo.stamps
    ahead = 0
    for t in range(touched):
        ahead += eager_starts[block.touched[t] + 1] - eager_starts[block.touched[t]]
    if ahead > LEAVES_PER_CANDIDATE * candidates:
        return
    compute_eager(leaves, block, touched, events, bound, memo.masks)
    for t in range(touched):
        stamps[eager_starts[block.touched[t]] : eager_starts[block.touched[t] + 1]] = clock[0]


@kernel
def verify_programs(
    leaves: Expressions,
    candidates: NDArray[np.int32],
    lanes: NDArray[np.uint64],
    found_masks: NDArray[np.uint64],
    number: int,
    verifier: Verifier,
    events: Events,
    bound: Bound,
) -> int:
    """Walk the first so many candidate programs; keeps those that hold for any of their lanes, and returns how many.

    `lanes`, by program, is cleared; `found_masks` says, by candidate kept, which lanes it holds for.
    """
    block, memo, clock = verifier
    starts, program = leaves.program_starts, leaves.program
    stamps, masks, levels = memo.stamps, memo.masks, memo.levels
    kinds, types, transforms = leaves.leaf_kinds, leaves.leaf_types, leaves.leaf_transforms
    attributes, lows, highs = leaves.leaf_attributes, leaves.leaf_lows, leaves.leaf_highs
    firsts, stops, ranks = block.firsts, block.stops, bound.ranks
    block_lanes, block_types, payloads = block.lanes, block.types, block.payloads
    stamp = clock[0]
    spans = events.ranges
    found = 0
    for i in range(number):
        one = candidates[i]
        mask = lanes[one]
        lanes[one] = _NONE
        while True:
            held, leaf = program_mask(program, starts[one], starts[one + 1], mask, masks, stamps, stamp, levels)
            if leaf < 0:
                break
            if kinds[leaf] == codes.RANGE:
                first, last = firsts[attributes[leaf]], stops[attributes[leaf]]
                held, failed = range_masks(
                    types[leaf],
                    lows[leaf],
                    highs[leaf],
                    transforms[leaf],
                    block_lanes,
                    block_types,
                    payloads,
                    ranks,
                    spans,
                    first,
                    last,
                )
                masks[2 * leaf] = held
                masks[2 * leaf + 1] = failed
            else:
                compute_leaf(leaves, leaf, block, events, bound, memo, ~_NONE)
            stamps[leaf] = stamp
        candidates[found] = one
        found_masks[found] = held
        found += held != _NONE
    return found
