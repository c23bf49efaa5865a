"""Which of a few, changing expressions does each event satisfy? Chains of access predicates by attribute.

What was subscribed lately is not worth sorting. Each expression hangs on the chain of an attribute for each literal of
its cover; a block of 64 events walks the chains of the attributes that it has. A literal is tested on all events at
once, and only the expressions that have an event left are verified.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import NEVER
from tocsin.kernels import codes
from tocsin.kernels.jit import count_bits, kernel
from tocsin.kernels.packing import borrowed
from tocsin.kernels.programs.blocks import clear_block, fill_block
from tocsin.kernels.programs.covers import choose_cover, cover_literals
from tocsin.kernels.programs.layouts import Bound, Events, Expressions, Verifier
from tocsin.kernels.programs.lazy import compute_leaf
from tocsin.kernels.programs.ranges import range_masks
from tocsin.kernels.programs.verify import count_lanes, write_hits
from tocsin.kernels.programs.walking import verify_programs

_NONE = np.uint64(0)
_ONE = np.uint64(1)


class Chains(NamedTuple):
    """Expressions by attribute. A attributes, E entries, U expressions without a cover."""

    heads: NDArray[np.int32]  # (A,) the entry that an attribute's chain begins with, -1 for none
    following: NDArray[np.int32]  # (E,) the entry behind it, -1 for none
    literals: NDArray[np.int32]  # (E,) the access predicate
    owners: NDArray[np.int32]  # (E,) the expression
    uncovered: NDArray[np.int32]  # (U,) expressions to verify on every event


@kernel
def cover_of(program: NDArray[np.int32], costs: NDArray[np.float64], out: NDArray[np.int32]) -> int:
    """Write the literals of a program's cheapest cover; returns how many, -1 where it has none."""
    picks = np.empty(len(program), np.int32)
    stack = np.empty(len(program), np.int64)
    levels = np.empty((codes.STACK, 4), np.float64)
    cost, root = choose_cover(program, 0, len(program), costs, picks, levels)
    if cost == np.inf:
        return -1
    return cover_literals(program, 0, root, picks, stack, out)


@kernel
def cover_all(
    leaves: Expressions, costs: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The literals of all programs' cheapest covers that can hold, whose each is, and the programs without a cover."""
    starts = leaves.program_starts
    literals, owners = np.empty(len(leaves.program), np.int32), np.empty(len(leaves.program), np.int32)
    uncovered, out = np.empty(len(starts) - 1, np.int32), np.empty(len(leaves.program), np.int32)
    count, without = 0, 0
    for owner in range(len(starts) - 1):
        found = cover_of(leaves.program[starts[owner] : starts[owner + 1]], costs, out)
        if found < 0:
            uncovered[without] = owner
            without += 1
        for i in range(found):
            if costs[out[i]] != NEVER:
                literals[count], owners[count] = out[i], owner
                count += 1
    return literals[:count].copy(), owners[:count].copy(), uncovered[:without].copy()


@kernel
def match_chains(
    leaves: Expressions,
    chains: Chains,
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    verifier: Verifier,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on, by event and the expressions' numbers. Returns like `match_all`.

    Adds to `counts`: candidates examined, and verified.
    """
    leaves, chains, events, bound, verifier = borrowed((leaves, chains, events, bound, verifier))
    total = len(events.starts) - 1
    room = len(leaves.program_starts)
    candidates, lanes_of, masks = np.empty(room, np.int32), np.zeros(room, np.uint64), np.empty(room, np.uint64)
    places = np.empty(codes.LANES, np.int64)
    written = np.int64(0)
    begun = first
    while first < total:
        stop = min(first + codes.LANES, total)
        lanes = ~_NONE >> np.uint64(codes.LANES - (stop - first))
        verifier.clock[0] += 1
        touched = fill_block(verifier.block, events, bound.attributes, first, stop)
        number = walk_chains(leaves, chains, verifier, touched, events, bound, alive, lanes, candidates, lanes_of)
        candidates[:number].sort()
        examined = np.uint64(0)
        for i in range(number):
            examined += count_bits(lanes_of[candidates[i]])
        found = verify_programs(leaves, candidates, lanes_of, masks, number, verifier, events, bound)
        clear_block(verifier.block, touched)
        needed = count_lanes(masks, found, places)
        if written + needed > len(out):
            return (first, written) if first > begun else (-1 - needed, np.int64(0))
        write_hits(candidates, masks, found, places, out[written:])
        ends[first:stop] = written + places[: stop - first]
        counts += np.int64(examined)
        written += needed
        first = stop
    return total, written


@kernel
def walk_chains(
    leaves: Expressions,
    chains: Chains,
    verifier: Verifier,
    touched: int,
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    lanes: int,
    candidates: NDArray[np.int32],
    lanes_of: NDArray[np.uint64],
) -> int:
    """Write the living expressions with a literal on a chain that holds for any of a block's events; how many.

    `lanes_of` gets, by expression, the events that it is to be verified for.
    """
    block, memo, clock = verifier
    stamp = clock[0]
    heads, following, literals, owners, uncovered = chains
    touched_attributes = block.touched
    kinds, types, transforms = leaves.leaf_kinds, leaves.leaf_types, leaves.leaf_transforms
    attributes, lows, highs = leaves.leaf_attributes, leaves.leaf_lows, leaves.leaf_highs
    firsts, stops, ranks = block.firsts, block.stops, bound.ranks
    block_lanes, block_types, payloads = block.lanes, block.types, block.payloads
    stamps, masks = memo.stamps, memo.masks
    spans = events.ranges
    number = 0
    for t in range(touched):
        entry = heads[touched_attributes[t]]
        while entry >= 0:
            literal = literals[entry]
            leaf = literal >> 1
            owner = owners[entry]
            entry = following[entry]
            if stamps[leaf] < stamp:
                stamps[leaf] = stamp
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
            mask = masks[literal] & lanes
            if mask != _NONE and alive[owner >> 6] >> np.uint64(owner & 63) & _ONE:
                candidates[number] = owner
                number += lanes_of[owner] == _NONE
                lanes_of[owner] |= mask
    for u in range(len(uncovered)):
        owner = uncovered[u]
        if alive[owner >> 6] >> np.uint64(owner & 63) & _ONE:
            candidates[number] = owner
            number += lanes_of[owner] == _NONE
            lanes_of[owner] |= lanes
    return number
