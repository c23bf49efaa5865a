"""Which expressions that are no conjunctions does each event of a block satisfy? Keys narrow, programs decide.

A program is walked once for all events of the block whose keys lead to it, and what a leaf says of the block is
computed once, when the first program asks for it: masks of 64 lanes, as in `verify`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.access_layouts import Lists, Scratch, Verifier
from tocsin.kernels.access_match import take_postings
from tocsin.kernels.eager import compute_eager
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.layouts import Bound, Events, Expressions
from tocsin.kernels.lazy import compute_leaf
from tocsin.kernels.ranges import range_masks
from tocsin.kernels.verify import count_lanes, program_mask, write_hits

LEAVES_PER_CANDIDATE: Final = 4
"""With fewer leaves than so many a candidate, they are computed ahead."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@kernel
def match_programs(
    lists: Lists,
    leaves: Expressions,
    scratch: Scratch,
    verifier: Verifier,
    events: Events,
    bound: Bound,
    touched: int,
    pair_ends: NDArray[np.int64],
    count: int,
    floors: NDArray[np.float64],
    scores: NDArray[np.float64],
    ends: NDArray[np.int64],
    examined: NDArray[np.int64],
) -> NDArray[np.int32]:
    """The subscriptions that each of a block's `count` events satisfies: event l's are those up to ends[l + 1].

    Where there are `floors`, those whose score is below their event's are left out. Writes to `examined` how many
    candidates each event had.
    """
    distinct = scratch.distinct
    masks = scratch.program_masks
    owners = lists.programs.owners
    number = find_candidates(lists, scratch, pair_ends, count, floors, scores, examined)
    compute_ahead(leaves, number, touched, verifier, events, bound)
    found = verify_programs(leaves, distinct, scratch.program_lanes, masks, number, verifier, events, bound)
    ends[0] = 0
    total = count_lanes(masks, found, ends[1:])
    out = np.empty(total, np.int32)
    for i in range(found):
        distinct[i] = owners[distinct[i]]
    write_hits(distinct, masks, found, ends[1:], out)
    return out


@kernel
def find_candidates(
    lists: Lists,
    scratch: Scratch,
    pair_ends: NDArray[np.int64],
    count: int,
    floors: NDArray[np.float64],
    scores: NDArray[np.float64],
    examined: NDArray[np.int64],
) -> int:
    """Write the programs that any event of a block leads to, and its lanes; returns how many."""
    starts, run_starts, run_stops, run_widths = lists.program_runs
    lows, highs, programs = lists.program_postings
    fields, pair_codes, candidates = scratch.fields, scratch.codes, scratch.candidates
    distinct, lanes = scratch.distinct, scratch.program_lanes
    uncovered, owners = lists.programs.uncovered, lists.programs.owners
    has_floors = len(floors) > 0
    number = 0
    for lane in range(count):
        bit = _ONE << np.uint64(lane)
        taken = take_postings(
            starts,
            run_starts,
            run_stops,
            run_widths,
            lows,
            highs,
            programs,
            fields,
            pair_codes,
            pair_ends[lane],
            pair_ends[lane + 1],
            candidates,
        )
        if has_floors:
            taken = _at_least(floors[lane], scores, owners, candidates, taken)
        for c in range(taken):
            program = np.uint64(candidates[c])
            distinct[number] = program
            number += lanes[program] == _NONE
            lanes[program] |= bit
        examined[lane] = np.int64(taken)
    for u in range(len(uncovered)):
        mask = ~_NONE >> np.uint64(codes.LANES - count)
        for lane in range(count if has_floors else 0):
            if scores[owners[uncovered[u]]] < floors[lane]:
                mask &= ~(_ONE << np.uint64(lane))
            else:
                examined[lane] += 1
        distinct[number] = uncovered[u]
        number += mask != _NONE
        lanes[uncovered[u]] = mask
    if not has_floors:
        examined[:count] += len(uncovered)
    return number


@inlined
def _at_least(
    floor: float, scores: NDArray[np.float64], owners: NDArray[np.int32], programs: NDArray[np.int32], count: int
) -> int:
    """Keep the programs whose score is no lower than a floor, in place; returns how many."""
    kept = np.uint64(0)
    for c in range(count):
        program = programs[c]
        programs[kept] = program
        kept += np.uint64(scores[owners[program]] >= floor)
    return kept


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
