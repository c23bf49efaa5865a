"""Which expressions that are no conjunctions does each event of a block satisfy? Keys narrow, programs decide.

A program is walked once for all events of the block whose keys lead to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.directory import Index
from tocsin.index.boolean.access.kernels.layouts import Scratch, Taking, Wants
from tocsin.index.boolean.access.kernels.lists import take_postings
from tocsin.kernels import codes
from tocsin.kernels.jit import inlined, inner, pasted
from tocsin.kernels.programs.layouts import Walk
from tocsin.kernels.programs.parts import call_address
from tocsin.kernels.programs.verify import count_lanes, write_hits
from tocsin.kernels.programs.walking import compute_ahead, verify_programs

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@pasted
def all_lanes(count: int) -> int:
    """The mask of a block of so many events."""
    return ~_NONE >> np.uint64(codes.LANES - count)


@inner
def match_programs(
    index: Index,
    memory: Scratch,
    wants: Wants,
    walk: Walk,
    taking: Taking,
    stamp: int,
    touched: int,
    first: int,
    stop: int,
) -> NDArray[np.int32]:
    """The subscriptions that each of a block's events, [first, stop), satisfies.

    Those of lane l end at `program_ends[l + 1]`; where there are floors, those whose score is below their event's are
    left out. Writes to `program_counts` how many candidates each event had.
    """
    distinct, masks, ends = memory.distinct, memory.program_masks, memory.program_ends
    owners = index.lists.programs.owners
    number = find_candidates(index, memory, wants, walk, taking, stamp, first, stop)
    compute_ahead(walk, stamp, number, touched)
    found = verify_programs(walk, stamp, distinct, number, memory.program_lanes, masks)
    ends[0] = 0
    out = np.empty(count_lanes(masks, found, ends[1:]), np.int32)
    for i in range(found):
        distinct[i] = owners[distinct[i]]
    write_hits(distinct, masks, found, ends[1:], out)
    return out


@inlined
def find_candidates(
    index: Index, memory: Scratch, wants: Wants, walk: Walk, taking: Taking, stamp: int, first: int, stop: int
) -> int:
    """Write the programs that any event of a block leads to, and its lanes; returns how many."""
    owners, pair_ends, candidates = index.lists.programs.owners, memory.pair_ends, memory.candidates
    distinct, lanes, examined = memory.distinct, memory.program_lanes, memory.program_counts
    floors, scores = wants.floors, wants.scores
    runs, postings = index.lists.program_runs, index.lists.program_postings
    number = np.int64(0)
    for lane in range(stop - first):
        bit = _ONE << np.uint64(lane)
        taken = np.int64(take_postings(runs, postings, memory, pair_ends[lane], pair_ends[lane + 1], candidates))
        if taking.likely != 0:
            memory.taken[0] = taken
            lanes_of = all_lanes(stop - first)
            call_address(
                np.int64(taking.likely),
                (index, memory, walk, wants, np.int64(stamp), lanes_of, np.int64(first + lane), np.int64(lane), False),
            )
            taken = memory.taken[0]
        if len(floors) > 0:
            taken = _at_least(floors[first + lane], scores, owners, candidates, taken)
        for c in range(taken):
            program = np.uint64(candidates[c])
            distinct[number] = program
            number += lanes[program] == _NONE
            lanes[program] |= bit
        examined[lane] = np.int64(taken)
    return _add_uncovered(index, memory, wants, first, stop - first, number)


@inlined
def _add_uncovered(index: Index, memory: Scratch, wants: Wants, first: int, count: int, number: int) -> int:
    """Append the programs that every event leads to; how many candidates there are then."""
    uncovered, owners = index.lists.programs.uncovered, index.lists.programs.owners
    distinct, lanes, examined = memory.distinct, memory.program_lanes, memory.program_counts
    floors, scores, has_floors = wants.floors, wants.scores, len(wants.floors) > 0
    for u in range(len(uncovered)):
        mask = ~_NONE >> np.uint64(codes.LANES - count)
        for lane in range(count if has_floors else 0):
            if scores[owners[uncovered[u]]] < floors[first + lane]:
                mask &= ~(_ONE << np.uint64(lane))
            else:
                examined[lane] += 1
        distinct[number] = uncovered[u]
        number += mask != _NONE
        lanes[uncovered[u]] = mask
    if not has_floors:
        for lane in range(count):
            examined[lane] += len(uncovered)
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
