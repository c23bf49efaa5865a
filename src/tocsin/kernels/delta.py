"""Which of a few, changing expressions does each event satisfy? Chains of access predicates by attribute.

What was subscribed lately is not worth sorting. Each expression hangs on the chain of an attribute for each literal of
its cover; a block of 64 events walks the chains of the attributes that it has. A literal is tested on all events at
once, and only the expressions that have an event left are verified.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.access_layouts import Verifier
from tocsin.kernels.blocks import clear_block, fill_block
from tocsin.kernels.covers import choose_cover, cover_literals
from tocsin.kernels.jit import kernel
from tocsin.kernels.layouts import Bound, Events, Expressions
from tocsin.kernels.lazy import compute_leaf
from tocsin.kernels.verify import count_lanes, range_masks, satisfied_lanes, write_hits

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
    total = len(events.starts) - 1
    found_lanes = np.zeros(len(leaves.program_starts), np.uint64)
    hits = np.empty(len(leaves.program_starts), np.int32)
    places = np.empty(codes.LANES, np.int64)
    written = np.int64(0)
    begun = first
    while first < total:
        stop = min(first + codes.LANES, total)
        lanes = ~_NONE >> np.uint64(codes.LANES - (stop - first))
        verifier.clock[0] += 1
        touched = fill_block(verifier.block, events, bound.attributes, first, stop)
        found, examined = walk_chains(leaves, chains, verifier, touched, events, bound, alive, lanes, found_lanes, hits)
        clear_block(verifier.block, touched)
        hits[:found].sort()
        masks = found_lanes[hits[:found]]
        for i in range(found):
            found_lanes[hits[i]] = _NONE
        needed = count_lanes(masks, found, places)
        if written + needed > len(out):
            return (first, written) if first > begun else (-1 - needed, np.int64(0))
        write_hits(hits, masks, found, places, out[written:])
        ends[first:stop] = written + places[: stop - first]
        counts[0] += examined
        counts[1] += examined
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
    found_lanes: NDArray[np.uint64],
    hits: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the expressions that any event of a block satisfies, and the lanes of each.

    Returns how many, and how many candidates were examined; all of them were verified.
    """
    block, memo, clock = verifier
    stamp = clock[0]
    heads, following, literals, owners, uncovered = chains
    touched_attributes = block.touched
    starts, program = leaves.program_starts, leaves.program
    kinds, types, transforms = leaves.leaf_kinds, leaves.leaf_types, leaves.leaf_transforms
    attributes, lows, highs = leaves.leaf_attributes, leaves.leaf_lows, leaves.leaf_highs
    firsts, stops = block.firsts, block.stops
    lane, entry_types, payloads = block.lanes, block.types, block.payloads
    ranks = bound.ranks
    stamps, masks = memo.stamps, memo.masks
    found = 0
    examined = 0
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
                    first = firsts[attributes[leaf]]
                    last = stops[attributes[leaf]]
                    held, failed = range_masks(
                        types[leaf],
                        lows[leaf],
                        highs[leaf],
                        transforms[leaf],
                        lane,
                        entry_types,
                        payloads,
                        ranks,
                        first,
                        last,
                    )
                    masks[2 * leaf] = held
                    masks[2 * leaf + 1] = failed
                else:
                    compute_leaf(leaves, leaf, block, events, bound, memo, ~_NONE)
            mask = masks[literal] & lanes & ~found_lanes[owner]
            if mask == _NONE or alive[owner >> 6] >> np.uint64(owner & 63) & _ONE == _NONE:
                continue
            examined += 1
            place = starts[owner]
            stop = starts[owner + 1]
            while place < stop and mask != _NONE and program[place] >= 0 and kinds[program[place] >> 1] == codes.RANGE:
                leaf = program[place] >> 1
                if stamps[leaf] < stamp:
                    stamps[leaf] = stamp
                    first = firsts[attributes[leaf]]
                    last = stops[attributes[leaf]]
                    held, failed = range_masks(
                        types[leaf],
                        lows[leaf],
                        highs[leaf],
                        transforms[leaf],
                        lane,
                        entry_types,
                        payloads,
                        ranks,
                        first,
                        last,
                    )
                    masks[2 * leaf] = held
                    masks[2 * leaf + 1] = failed
                mask &= masks[program[place]]
                place += 1
            if place < stop and mask != _NONE:
                mask = satisfied_lanes(leaves, owner, mask, stamp, block, events, bound, memo)
            hits[found] = owner
            found += mask != _NONE and found_lanes[owner] == _NONE
            found_lanes[owner] |= mask
    for u in range(len(uncovered)):
        owner = uncovered[u]
        if alive[owner >> 6] >> np.uint64(owner & 63) & _ONE:
            mask = satisfied_lanes(leaves, owner, lanes, stamp, block, events, bound, memo)
            examined += 1
            hits[found] = owner
            found += mask != _NONE and found_lanes[owner] == _NONE
            found_lanes[owner] |= mask
    return found, examined
