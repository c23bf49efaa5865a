"""Verification of candidate programs on a block, for the events that lead to them.

A program is walked once for all its events. A leaf is computed for the whole block when the first program needs it, as
masks of 64 lanes (see `verify`).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inner, kernel
from tocsin.kernels import codes
from tocsin.kernels.programs.eager import compute_eager
from tocsin.kernels.programs.layouts import Walk, next_place
from tocsin.kernels.programs.lazy import compute_leaf
from tocsin.kernels.programs.ranges import compute_range
from tocsin.kernels.programs.verify import program_mask

LEAVES_PER_CANDIDATE: Final = 4
"""With at most this many leaves per candidate, all are computed ahead."""

_NONE = np.uint64(0)


@inner
def compute_ahead(walk: Walk, stamp: int, candidates: int, touched: int) -> None:
    """Compute all cheap leaves of the block's attributes, run by run, if there are enough candidates to need them.

    A single leaf costs a call, 1-2 us; a leaf in a run about 60 ns.
    """
    starts, attributes, stamps = walk.leaves.eager_starts, walk.block.touched, walk.memo.stamps
    ahead = 0
    for t in range(touched):
        ahead += starts[attributes[t] + 1] - starts[attributes[t]]
    if ahead > LEAVES_PER_CANDIDATE * candidates:
        return
    compute_eager(walk, touched)
    for t in range(touched):
        for leaf in range(starts[attributes[t]], starts[attributes[t] + 1]):
            stamps[leaf] = stamp


@inner
def verify_programs(
    walk: Walk,
    stamp: int,
    candidates: NDArray[np.int32],
    number: int,
    lanes: NDArray[np.uint64],
    found_masks: NDArray[np.uint64],
) -> int:
    """Walk the first `number` candidate programs. Keeps those that hold for any of their lanes, and returns how many.

    `lanes`, by program, is cleared. `found_masks` holds, by candidate kept, the lanes where it holds. Leaves computed
    for this block have a stamp of at least `stamp`.
    """
    starts, kinds, stamps = walk.leaves.program_starts, walk.leaves.leaf_kinds, walk.memo.stamps
    found = 0
    for i in range(number):
        one = candidates[i]
        mask = lanes[one]
        lanes[one] = _NONE
        while True:
            held, leaf = program_mask(walk, starts[one], starts[one + 1], mask, stamp)
            if leaf < 0:
                break
            if kinds[leaf] == codes.RANGE:
                compute_range(walk, leaf)
            else:
                compute_leaf(walk, leaf, ~_NONE)
            stamps[leaf] = stamp
        candidates[found] = one
        found_masks[found] = held
        found += held != _NONE
    return found


@kernel
def valid_programs(program: NDArray[np.int32], starts: NDArray[np.int64], leaves: int, depth_limit: int) -> bool:
    """Whether every group of every program ends within the enclosing one, and every leaf exists."""
    ends = np.empty(depth_limit + 1, np.int64)
    for s in range(len(starts) - 1):
        depth = 0
        ends[0] = starts[s + 1]
        place = starts[s]
        while place < starts[s + 1]:
            while place == ends[depth] and depth > 0:
                depth -= 1
            if program[place] >= 0:
                if program[place] >> 1 >= leaves:
                    return False
                place += 1
                continue
            if program[place] < -2 or place + 1 >= ends[depth] or depth == depth_limit:
                return False
            end = next_place(program, place)
            if program[place + 1] <= 0 or end > ends[depth]:
                return False
            depth += 1
            ends[depth] = end
            place += 2
    return True
