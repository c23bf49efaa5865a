"""How does an access index answer a batch? A block of events is activated; then each takes, verifies and sorts.

A candidate that is no conjunction is verified by walking its program; what a leaf says of the 64 events of a block is
computed once, when the first candidate asks for it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.access_layouts import Lists, Scratch, Verifier
from tocsin.kernels.access_match import prefetch_lists, select_conjunctions, take_postings, verify_by_level
from tocsin.kernels.activation import activate, hide, show
from tocsin.kernels.blocks import clear_block, fill_block
from tocsin.kernels.jit import kernel
from tocsin.kernels.layouts import Bound, Events, Expressions
from tocsin.kernels.ordering import SPARE, put_in_order
from tocsin.kernels.verify import satisfied_lanes

CACHED: Final = 1 << 16
"""Lists of so many conjunctions lie in the processor's cache as they are, and are not asked for ahead."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@kernel
def match_access(
    lists: Lists,
    leaves: Expressions | None,
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    scratch: Scratch,
    verifier: Verifier | None,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts`: candidates examined, and verified.

    `leaves` and `verifier` are None where every expression is a conjunction of ranges: the code for the others is then
    left out, and a call costs 5 us less.
    """
    total = len(events.starts) - 1
    uncovered = np.zeros(len(lists.programs.uncovered), np.uint64)
    pair_ends = np.zeros(codes.LANES + 2, np.int64)
    fields, pair_codes, values, presence, survivors, others, hits, _, words, summary = scratch
    single_starts, single_run_starts, single_run_stops, single_run_widths = lists.single_runs
    single_lows, single_highs, single_owners = lists.singles
    starts, run_starts, run_stops, run_widths = lists.conjunction_runs
    bounds, seconds, tails, owners, predicates = lists.conjunctions
    written = np.int64(0)
    begun = first
    while first < total:
        stop = min(first + codes.LANES, total)
        activate(lists.fields, events, bound, first, stop, fields, pair_codes, pair_ends[1:])
        pair_ends[stop - first + 1] = pair_ends[stop - first]
        touched = 0
        if leaves is not None and verifier is not None:
            verifier.clock[0] += 1
            touched = fill_block(verifier.block, events, bound.attributes, first, stop)
            find_uncovered(lists.programs.uncovered, leaves, stop - first, verifier, events, bound, uncovered)
        for lane in range(stop - first):
            begin, end, following = pair_ends[lane], pair_ends[lane + 1], pair_ends[lane + 2]
            if len(owners) > CACHED:
                prefetch_lists(single_starts, single_lows, fields, end, following)
                prefetch_lists(single_starts, single_highs, fields, end, following)
                prefetch_lists(single_starts, single_owners, fields, end, following)
                prefetch_lists(starts, seconds, fields, end, following)
            singles = take_postings(
                single_starts,
                single_run_starts,
                single_run_stops,
                single_run_widths,
                single_lows,
                single_highs,
                single_owners,
                fields,
                pair_codes,
                begin,
                end,
                hits,
            )
            show(fields, pair_codes, begin, end, values, presence)
            sure, doubtful = select_conjunctions(
                starts,
                run_starts,
                run_stops,
                run_widths,
                bounds,
                seconds,
                presence,
                fields,
                pair_codes,
                begin,
                end,
                survivors,
                others,
            )
            found = verify_by_level(tails, owners, predicates, others, doubtful, np.uint64(0), values, hits, singles)
            found = np.int64(
                verify_by_level(tails, owners, predicates, survivors, sure, np.uint64(1), values, hits, found)
            )
            hide(fields, begin, end, values, presence)
            verified = np.int64(sure + doubtful)
            if leaves is not None and verifier is not None:
                found, more = take_programs(
                    lists, leaves, scratch, verifier, events, bound, uncovered, lane, pair_ends, found
                )
                verified += more
            if written + found + SPARE > len(out):
                if leaves is not None and verifier is not None:
                    clear_block(verifier.block, touched)
                return (first + lane, written) if first + lane > begun else (-1 - found - SPARE, np.int64(0))
            counts[0] += np.int64(singles) + verified
            counts[1] += verified
            written += put_in_order(hits, found, alive, words, summary, out, written)
            ends[first + lane] = written
        if leaves is not None and verifier is not None:
            clear_block(verifier.block, touched)
        first = stop
    return total, written


@kernel
def take_programs(
    lists: Lists,
    leaves: Expressions,
    scratch: Scratch,
    verifier: Verifier,
    events: Events,
    bound: Bound,
    uncovered: NDArray[np.uint64],
    lane: int,
    pair_ends: NDArray[np.int64],
    hits: int,
) -> tuple[int, int]:
    """Append the other expressions that one event satisfies; the new count, and how many were verified."""
    programs = lists.programs
    bit = _ONE << np.uint64(lane)
    runs = lists.program_runs
    postings = lists.program_postings
    candidates = np.int64(
        take_postings(
            runs.starts,
            runs.run_starts,
            runs.run_stops,
            runs.run_widths,
            postings.lows,
            postings.highs,
            postings.owners,
            scratch.fields,
            scratch.codes,
            pair_ends[lane],
            pair_ends[lane + 1],
            scratch.candidates,
        )
    )
    for c in range(candidates):
        program = scratch.candidates[c]
        held = satisfied_lanes(leaves, program, bit, verifier.clock[0], verifier.block, events, bound, verifier.memo)
        scratch.hits[hits] = programs.owners[program]
        hits += held != _NONE
    for u in range(len(uncovered)):
        scratch.hits[hits] = programs.owners[programs.uncovered[u]]
        hits += np.int64(uncovered[u] & bit != _NONE)
    return hits, candidates + len(uncovered)


@kernel
def find_uncovered(
    programs: NDArray[np.int32],
    leaves: Expressions,
    count: int,
    verifier: Verifier,
    events: Events,
    bound: Bound,
    out: NDArray[np.uint64],
) -> None:
    """Write the lanes, of the first `count`, that satisfy each expression without a cover: a whole block at once."""
    lanes = ~_NONE >> np.uint64(codes.LANES - count)
    for u in range(len(programs)):
        out[u] = satisfied_lanes(
            leaves, programs[u], lanes, verifier.clock[0], verifier.block, events, bound, verifier.memo
        )
