"""How does an access index answer a batch? A block of events is activated; then each takes, verifies and sorts.

Expressions that are no conjunctions are verified for a whole block at once, by `access_programs`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.activation import activate
from tocsin.index.boolean.access.kernels.directory import INDEX
from tocsin.index.boolean.access.kernels.filters import asked_bits
from tocsin.index.boolean.access.kernels.layouts import SCRATCH
from tocsin.index.boolean.access.kernels.lists import NO_FLOOR, prefetch_lists, take_conjunctions, take_postings
from tocsin.index.boolean.access.kernels.programs import match_programs
from tocsin.kernels import codes
from tocsin.kernels.answers.ordering import SPARE, put_best, put_in_order
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import borrowed, unpacked
from tocsin.kernels.programs.blocks import clear_block, fill_block
from tocsin.kernels.programs.layouts import EXPRESSIONS, VERIFIER, Bound, Events

CACHED: Final = 1 << 16
"""Lists of so many conjunctions lie in the processor's cache as they are, and are not asked for ahead."""


@kernel
def match_access(
    index: NDArray[np.int64],
    expressions: NDArray[np.int64] | None,
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    memory: NDArray[np.int64],
    walking: NDArray[np.int64] | None,
    first: int,
    k: int,
    scores: NDArray[np.float64],
    maxima: NDArray[np.float64],
    chosen_starts: NDArray[np.int64],
    chosen: NDArray[np.int32],
    floors: NDArray[np.float64],
    list_maxima: NDArray[np.float64],
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts`: candidates examined, and verified.

    `index`, `expressions`, `memory` and `walking` are packed: an `Index`, its `Expressions`, a `Scratch` and a
    `Verifier`. The second and the last are None where every expression is a conjunction of ranges: the code for others
    is left out. With k above 0, of an event's matches only the k best are written. Where `chosen_starts` has offsets,
    event e's singles are chosen[chosen_starts[e] : chosen_starts[e + 1]], and their lists are not looked at; what else
    has a score below floors[e] may be left out; of conjunctions `list_maxima` tells it of blocks of their lists.
    """
    lists, directory = unpacked(index, INDEX)
    rows, words, steps = directory
    scratch = unpacked(memory, SCRATCH)
    events, bound, alive, scores, maxima, out = borrowed((events, bound, alive, scores, maxima, out))
    chosen_starts, chosen, floors, list_maxima = borrowed((chosen_starts, chosen, floors, list_maxima))
    heap = np.empty(min(k, len(scores)), np.int32)
    total = len(events.starts) - 1
    program_ends = np.zeros(codes.LANES + 1, np.int64)
    program_hits = np.empty(0, np.int32)
    program_counts = np.zeros(codes.LANES, np.int64)
    pair_ends = np.zeros(codes.LANES + 2, np.int64)
    (
        fields,
        pair_codes,
        payloads,
        values,
        satisfiable,
        survivors,
        others,
        hits,
        _,
        _,
        _,
        _,
        found_words,
        summary,
        buckets,
    ) = scratch
    operand_starts, operands = lists.fields.operand_starts, lists.fields.operands
    single_starts, single_run_starts, single_run_stops, single_run_widths = lists.single_runs
    single_lows, single_highs, single_owners = lists.singles
    _, run_starts, run_stops, run_widths = lists.conjunction_runs
    bounds, filters, tails, owners, predicates, strides = lists.conjunctions
    stride = np.uint64(strides[0])
    bits = asked_bits(len(operand_starts) - 1)
    written = np.int64(0)
    begun = first
    while first < total:
        stop = min(first + codes.LANES, total)
        activate(lists.fields, directory, events, bound, first, stop, scratch, pair_ends[1:])
        pair_ends[stop - first + 1] = pair_ends[stop - first]
        if expressions is not None and walking is not None:
            leaves = unpacked(expressions, EXPRESSIONS)
            verifier = unpacked(walking, VERIFIER)
            verifier.clock[0] += 1
            touched = fill_block(verifier.block, events, bound.attributes, first, stop)
            program_hits = match_programs(
                lists,
                leaves,
                scratch,
                verifier,
                events,
                bound,
                touched,
                pair_ends,
                stop - first,
                floors[first:stop],
                scores,
                program_ends,
                program_counts,
            )
            clear_block(verifier.block, touched)
        for lane in range(stop - first):
            begin, end, following = pair_ends[lane], pair_ends[lane + 1], pair_ends[lane + 2]
            if len(owners) > CACHED:
                prefetch_lists(
                    rows,
                    steps,
                    single_lows,
                    single_highs,
                    single_owners,
                    filters,
                    fields,
                    pair_codes,
                    end,
                    following,
                )
            floor = NO_FLOOR
            if len(chosen_starts) > 1:
                floor = floors[first + lane]
                singles = _copy(chosen, chosen_starts[first + lane], chosen_starts[first + lane + 1], hits)
            else:
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
            found, verified = take_conjunctions(
                run_starts,
                run_stops,
                run_widths,
                bounds,
                filters,
                tails,
                owners,
                predicates,
                stride,
                bits,
                rows,
                words,
                steps,
                operand_starts,
                operands,
                fields,
                pair_codes,
                payloads,
                begin,
                end,
                list_maxima,
                floor,
                values,
                satisfiable,
                survivors,
                others,
                hits,
                singles,
            )
            for i in range(program_ends[lane], program_ends[lane + 1]):
                hits[found] = program_hits[i]
                found += 1
            verified += program_counts[lane]
            room = SPARE + (found if k == 0 else min(found, k))
            if written + room > len(out):
                return (first + lane, written) if first + lane > begun else (-1 - room, np.int64(0))
            counts[0] += np.int64(singles) + verified
            counts[1] += verified
            if k == 0 or found <= k:
                written += put_in_order(hits, found, alive, found_words, summary, buckets, out, written)
            else:
                written += put_best(hits, found, alive, found_words, scores, maxima, heap, out, written)
            ends[first + lane] = written
        first = stop
    return total, written


@inlined
def _copy(numbers: NDArray[np.int32], first: int, stop: int, out: NDArray[np.int32]) -> int:
    """Write numbers[first:stop]; how many, as a uint64."""
    for i in range(stop - first):
        out[i] = numbers[first + i]
    return np.uint64(stop - first)
