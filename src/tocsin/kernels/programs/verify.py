"""The verifier: evaluates expressions on a batch, 64 events at a time, with a short-circuit walk.

NOT has been pushed into the leaves. So a program is an AND/OR tree of leaves that must be TRUE or, if negated, FALSE.
UNKNOWN then behaves like "does not hold", and each level needs only a 64-bit mask of lanes. An AND stops when no lane
is left, an OR when every lane holds. A leaf that several expressions share is computed once a block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import lowest_bit
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.blocks import all_lanes, clear_block, fill_block
from tocsin.kernels.programs.eager import clear_eager, compute_eager
from tocsin.kernels.programs.layouts import Bound, Events, Expressions, Verifier, Walk, next_place
from tocsin.kernels.programs.lazy import compute_leaf

ONE = np.uint64(1)
NONE = np.uint64(0)


@inlined
def program_mask(walk: Walk, place: int, end: int, lanes: int, stamp: int) -> tuple[int, int]:
    """The lanes whose events satisfy program[place:end], and -1; or NONE and a leaf that must be computed first.

    A leaf's masks are valid if its stamp is at least `stamp`.
    """
    program, masks, stamps, levels = walk.leaves.program, walk.memo.masks, walk.memo.stamps, walk.memo.levels
    depth = 0
    is_and = True
    live = lanes  # lanes not yet decided at this level
    taken = NONE  # lanes where an OR already holds
    while True:
        if place < end:
            code = program[place]
            if code < 0:
                levels[depth, 0] = np.int64(live)
                levels[depth, 1] = np.int64(taken)
                levels[depth, 2] = end
                levels[depth, 3] = is_and
                depth += 1
                end = next_place(program, place)
                is_and = code == codes.OPEN_AND
                taken = NONE
                place += 2
                continue
            if stamps[code >> 1] < stamp:
                return NONE, np.int64(code >> 1)
            found = masks[code]
            place += 1
        else:
            found = live if is_and else taken
            if depth == 0:
                return found, np.int64(-1)
            depth -= 1
            place = end
            live = np.uint64(levels[depth, 0])
            taken = np.uint64(levels[depth, 1])
            end = levels[depth, 2]
            is_and = levels[depth, 3] != 0
        if is_and:
            live &= found
        else:
            taken |= found & live
            live &= ~found
        if live == NONE:
            place = end


@inlined
def _find_hits(walk: Walk, stamp: int, lanes: int, hits: NDArray[np.int32], found_lanes: NDArray[np.uint64]) -> int:
    """Write the subscriptions that any event of the block satisfies, and their lanes; returns how many."""
    starts, program = walk.leaves.program_starts, walk.leaves.program
    masks, stamps = walk.memo.masks, walk.memo.stamps
    found = 0
    for subscription in range(len(starts) - 1):
        place = starts[subscription]
        end = starts[subscription + 1]
        mask = lanes
        while place < end and mask != NONE and program[place] >= 0 and stamps[program[place] >> 1] >= stamp:
            mask &= masks[program[place]]
            place += 1
        while place < end and mask != NONE:
            rest, wanted = program_mask(walk, place, end, mask, stamp)
            if wanted < 0:
                mask = rest
                break
            compute_leaf(walk, wanted, lanes)
            stamps[wanted] = stamp
        hits[found] = subscription
        found_lanes[found] = mask
        found += mask != NONE
    return found


@kernel
def match_all(
    leaves: Expressions,
    verifier: Verifier,
    events: Events,
    bound: Bound,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Evaluate every expression on the events from `first` on, until the output is full or the events are done.

    Writes each event's subscriptions, in order, and to `ends[event]` the number written so far. Returns the next event
    and the number written. If not even one block of 64 events fits, these are `-1 - room needed` and 0.
    """
    held = viewed(verifier)
    walk = viewed(Walk(viewed(leaves), held.block, held.memo, viewed(events), viewed(bound), held.parts))
    clock, block, starts = held.clock, walk.block, walk.leaves.eager_starts
    total = len(events.starts) - 1
    hits = np.empty(len(leaves.program_starts) - 1, np.int32)
    found_lanes = np.empty(len(hits), np.uint64)
    places = np.empty(codes.LANES, np.int64)
    written = np.int64(0)
    begun = first
    while first < total:
        stop = min(first + codes.LANES, total)
        lanes = all_lanes(stop - first)
        clock[0] += 1
        touched = fill_block(block, walk.events, bound.attributes, first, stop)
        compute_eager(walk, touched)
        found = _find_hits(walk, clock[0], lanes, hits, found_lanes)
        clear_eager(starts, block.touched, touched, walk.memo.masks)
        clear_block(block, touched)
        needed = count_lanes(found_lanes, found, places)
        if written + needed > len(out):
            return (first, written) if first > begun else (-1 - needed, np.int64(0))
        write_hits(hits, found_lanes, found, places, out[written:])
        for event in range(first, stop):
            ends[event] = written + places[event - first]
        written += needed
        first = stop
    return first, written


@inner
def count_lanes(masks: NDArray[np.uint64], found: int, places: NDArray[np.int64]) -> int:
    """Count the set bits of each lane. Writes the running sum to `places` and returns the total."""
    for lane in range(codes.LANES):
        places[lane] = 0
    for i in range(found):
        mask = masks[i]
        while mask != NONE:
            places[lowest_bit(mask)] += 1
            mask &= mask - ONE
    total = np.int64(0)
    for lane in range(codes.LANES):
        count = places[lane]
        places[lane] = total
        total += count
    return total


@inner
def write_hits(
    hits: NDArray[np.int32],
    masks: NDArray[np.uint64],
    found: int,
    places: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write a block's subscriptions lane by lane. `places` holds each lane's start, and afterwards its end."""
    for i in range(found):
        mask = masks[i]
        while mask != NONE:
            lane = lowest_bit(mask)
            out[places[lane]] = hits[i]
            places[lane] += 1
            mask &= mask - ONE
