"""Matching of a batch by an access index: a block is activated at once, then each event is matched and its hits sorted.

Expressions that are not conjunctions of ranges are verified for a whole block at once, by `programs`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.activation import activate
from tocsin.index.boolean.access.kernels.best import the_best
from tocsin.index.boolean.access.kernels.compounds import SURE, Place, add_compounds
from tocsin.index.boolean.access.kernels.directory import INDEX, Index
from tocsin.index.boolean.access.kernels.layouts import SCRATCH, Scratch, Wants
from tocsin.index.boolean.access.kernels.lists import NO_FLOOR, prefetch_lists, take_conjunctions, take_postings
from tocsin.index.boolean.access.kernels.programs import match_programs
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import view, viewed
from tocsin.kernels import codes
from tocsin.kernels.answers.ordering import SPARE, put_in_order
from tocsin.kernels.programs.blocks import clear_block, fill_block
from tocsin.kernels.programs.layouts import EXPRESSIONS, VERIFIER, Bound, Events, Walk

CACHED: Final = 1 << 16
"""Lists of up to this many conjunctions fit in the processor's cache, and are not prefetched."""


@kernel
def match_access(
    index: NDArray[np.int64],
    memory: NDArray[np.int64],
    expressions: NDArray[np.int64] | None,
    walking: NDArray[np.int64] | None,
    events: Events,
    bound: Bound,
    wants: Wants,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds candidates examined and verified to `counts`.

    The first four are packed: an `Index`, a `Scratch`, the index's `Expressions` and a `Verifier`. The last two are
    None if every expression is a conjunction of ranges; the code for others is then left out.
    """
    held, room, batch, names, wanted = (
        view(index, INDEX),
        view(memory, SCRATCH),
        viewed(events),
        viewed(bound),
        viewed(wants),
    )
    heap = np.empty(min(wanted.k, len(wanted.scores)), np.int32)
    program_hits = np.empty(0, np.int32)
    pair_ends, program_ends, program_counts = room.pair_ends, room.program_ends, room.program_counts
    hits, is_large = room.hits, len(held.lists.conjunctions.owners) > CACHED
    total = len(events.starts) - 1
    written = np.int64(0)
    begun = first
    pair_ends[0] = 0
    for lane in range(codes.LANES):
        program_ends[lane] = program_ends[lane + 1] = program_counts[lane] = 0
    while first < total:
        stop = min(first + codes.LANES, total)
        activate(held, room, batch, names, first, stop)
        if expressions is not None and walking is not None:
            verifier = view(walking, VERIFIER)
            block, clock = verifier.block, verifier.clock
            walk = viewed(Walk(view(expressions, EXPRESSIONS), block, verifier.memo, batch, names, verifier.parts))
            clock[0] += 1
            touched = fill_block(block, batch, names.attributes, first, stop)
            program_hits = match_programs(held, room, wanted, walk, clock[0], touched, first, stop - first)
        for event in range(first, stop):
            lane = event - first
            if is_large:
                prefetch_lists(held, room, pair_ends[lane + 1], pair_ends[lane + 2])
            singles, found, verified = _take(held, room, wanted, event, pair_ends[lane], pair_ends[lane + 1])
            if expressions is not None and len(held.lists.sure.sorted_by) > 0:
                place = Place(clock[0], np.int64(first), np.int64(stop - first), np.int64(lane))
                found = add_compounds(held, room, wanted, walk, place, SURE, found)
                singles += room.taken[1] - room.taken[2]
                verified += room.taken[2]
            for i in range(program_ends[lane], program_ends[lane + 1]):
                hits[found] = program_hits[i]
                found += 1
            verified += program_counts[lane]
            needed = SPARE + (found if wanted.k == 0 else min(found, wanted.k))
            if written + needed > len(out):
                if expressions is not None:
                    clear_block(block, touched)
                return (event, written) if event > begun else (-1 - needed, np.int64(0))
            counts[0] += singles + verified
            counts[1] += verified
            written += _put(room, wanted, heap, found, out, written)
            ends[event] = written
        if expressions is not None:
            clear_block(block, touched)
        first = stop
    return total, written


@inlined
def _take(
    index: Index, memory: Scratch, wants: Wants, event: int, first_pair: int, last_pair: int
) -> tuple[int, int, int]:
    """Write an event's hits from its lists; returns the number of singles, of all hits, and of verified candidates."""
    floor = NO_FLOOR
    if len(wants.chosen_starts) > 1:
        floor = wants.floors[event]
        singles = _copy(wants.chosen, wants.chosen_starts[event], wants.chosen_starts[event + 1], memory.hits)
    else:
        lists = index.lists
        singles = take_postings(lists.single_runs, lists.singles, memory, first_pair, last_pair, memory.hits)
    found, verified = take_conjunctions(index, memory, wants.list_maxima, floor, first_pair, last_pair, singles)
    return np.int64(singles), found, verified


@inlined
def _put(
    memory: Scratch, wants: Wants, heap: NDArray[np.int32], found: int, out: NDArray[np.int32], written: int
) -> int:
    """Write the distinct live hits, or the best of them, to out[written:]; returns how many."""
    hits, words = memory.hits, memory.words
    if wants.k == 0 or found <= wants.k:
        return put_in_order(hits, found, wants.alive, words, memory.summary, memory.buckets, out, written)
    return the_best(memory, wants, heap, found, out, written)


@inlined
def _copy(numbers: NDArray[np.int32], first: int, stop: int, out: NDArray[np.int32]) -> int:
    """Write numbers[first:stop]; returns how many, as a uint64."""
    for i in range(stop - first):
        out[i] = numbers[first + i]
    return np.uint64(stop - first)
