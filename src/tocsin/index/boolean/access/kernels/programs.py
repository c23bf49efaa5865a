"""Which expressions that are no conjunctions does each event of a block satisfy? Keys narrow, programs decide.

A program is walked once for all events of the block whose keys lead to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.layouts import Lists, Scratch
from tocsin.index.boolean.access.kernels.lists import take_postings
from tocsin.kernels import codes
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.programs.layouts import Bound, Events, Expressions, Verifier
from tocsin.kernels.programs.verify import count_lanes, write_hits
from tocsin.kernels.programs.walking import compute_ahead, verify_programs

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
