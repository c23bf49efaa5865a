"""Verification of expressions that are not conjunctions of ranges, for a block of events: keys narrow, programs decide.

A program is walked once for all events of the block whose keys lead to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.compounds import LIKELY, Place, add_compounds
from tocsin.index.boolean.access.kernels.directory import Index
from tocsin.index.boolean.access.kernels.layouts import Scratch, Wants
from tocsin.index.boolean.access.kernels.lists import take_postings
from tocsin.jit.decorators import inlined, inner
from tocsin.kernels.programs.blocks import all_lanes
from tocsin.kernels.programs.layouts import Walk
from tocsin.kernels.programs.verify import count_lanes, write_hits
from tocsin.kernels.programs.walking import compute_ahead, verify_programs

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@inner
def match_programs(
    index: Index, memory: Scratch, wants: Wants, walk: Walk, stamp: int, touched: int, first: int, count: int
) -> NDArray[np.int32]:
    """The subscriptions that each event of a block satisfies; the block begins at event `first`.

    Those of lane l end at `program_ends[l + 1]`. If there are floors, those that score below their event's are left
    out. Writes the number of each event's candidates to `program_counts`.
    """
    distinct, masks, ends = memory.distinct, memory.program_masks, memory.program_ends
    owners = index.lists.programs.owners
    number = find_candidates(index, memory, wants, walk, stamp, first, count)
    compute_ahead(walk, stamp, number, touched)
    found = verify_programs(walk, stamp, distinct, number, memory.program_lanes, masks)
    ends[0] = 0
    out = np.empty(count_lanes(masks, found, ends[1:]), np.int32)
    for i in range(found):
        distinct[i] = owners[distinct[i]]
    write_hits(distinct, masks, found, ends[1:], out)
    return out


@inlined
def find_candidates(index: Index, memory: Scratch, wants: Wants, walk: Walk, stamp: int, first: int, count: int) -> int:
    """Write the programs that any event of a block leads to, and their lanes; returns how many."""
    owners, pair_ends, candidates = index.lists.programs.owners, memory.pair_ends, memory.candidates
    distinct, lanes, examined = memory.distinct, memory.program_lanes, memory.program_counts
    floors, scores = wants.floors, wants.scores
    runs, postings = index.lists.program_runs, index.lists.program_postings
    number = np.int64(0)
    for lane in range(count):
        bit = _ONE << np.uint64(lane)
        taken = np.int64(take_postings(runs, postings, memory, pair_ends[lane], pair_ends[lane + 1], candidates))
        if len(index.lists.likely.sorted_by) > 0:
            place = Place(np.int64(stamp), np.int64(first), np.int64(count), np.int64(lane))
            taken = add_compounds(index, memory, wants, walk, place, LIKELY, taken)
        if len(floors) > 0:
            taken = _at_least(floors[first + lane], scores, owners, candidates, taken)
        for c in range(taken):
            program = np.uint64(candidates[c])
            distinct[number] = program
            number += lanes[program] == _NONE
            lanes[program] |= bit
        examined[lane] = np.int64(taken)
    return _add_uncovered(index, memory, wants, first, count, number)


@inlined
def _add_uncovered(index: Index, memory: Scratch, wants: Wants, first: int, count: int, number: int) -> int:
    """Append the programs that every event leads to; returns the new number of candidates."""
    uncovered, owners = index.lists.programs.uncovered, index.lists.programs.owners
    distinct, lanes, examined = memory.distinct, memory.program_lanes, memory.program_counts
    floors, scores, has_floors = wants.floors, wants.scores, len(wants.floors) > 0
    for u in range(len(uncovered)):
        mask = all_lanes(count)
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
    """Keep the programs that score at least the floor, in place; returns how many."""
    kept = np.uint64(0)
    for c in range(count):
        program = programs[c]
        programs[kept] = program
        kept += np.uint64(scores[owners[program]] >= floor)
    return kept
