"""Kernels for chains of access predicates by attribute, over a small set of expressions that changes.

Recent subscriptions are too few to be worth sorting. Each expression is put on the chain of an attribute for each
literal of its cover. A block of 64 events walks the chains of the attributes that it has. A literal is tested on all
events at once, and only expressions with an event left are verified.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import NEVER
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import count_bits
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.blocks import all_lanes, clear_block, fill_block
from tocsin.kernels.programs.covers import choose_cover, cover_literals
from tocsin.kernels.programs.layouts import Bound, Events, Expressions, Verifier, Walk
from tocsin.kernels.programs.lazy import compute_leaf
from tocsin.kernels.programs.ranges import compute_range
from tocsin.kernels.programs.verify import count_lanes, write_hits
from tocsin.kernels.programs.walking import verify_programs
from tocsin.kernels.sorting import sort_numbers

_NONE = np.uint64(0)
_ONE = np.uint64(1)


class Chains(NamedTuple):
    """Expressions by attribute. A attributes, E entries, U expressions without a cover."""

    heads: NDArray[np.int32]  # (A,) the first entry of an attribute's chain, -1 for none
    following: NDArray[np.int32]  # (E,) the next entry, -1 for none
    literals: NDArray[np.int32]  # (E,) the access predicate
    owners: NDArray[np.int32]  # (E,) the expression
    uncovered: NDArray[np.int32]  # (U,) expressions to verify on every event


@kernel
def cover_of(program: NDArray[np.int32], costs: NDArray[np.float64], out: NDArray[np.int32]) -> int:
    """Write the literals of a program's cheapest cover; returns how many, or -1 if it has no cover."""
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
    """The literals of all programs' cheapest covers that can hold, their programs, and the programs without a cover."""
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
    verifier: Verifier,
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on, by event and expression number. Returns like `match_all`.

    Adds to `counts`: candidates examined, verified, and predicates on chains that were tested on a block of events.
    """
    held = viewed(verifier)
    walk = viewed(Walk(viewed(leaves), held.block, held.memo, viewed(events), viewed(bound), held.parts))
    hung, block, clock = viewed(chains), walk.block, held.clock
    total = len(events.starts) - 1
    room = len(leaves.program_starts)
    candidates, lanes_of, masks = np.empty(room, np.int32), np.zeros(room, np.uint64), np.empty(room, np.uint64)
    places = np.empty(codes.LANES, np.int64)
    written = np.int64(0)
    begun = first
    while first < total:
        stop = min(first + codes.LANES, total)
        lanes = all_lanes(stop - first)
        clock[0] += 1
        touched = fill_block(block, walk.events, bound.attributes, first, stop)
        number, tested = walk_chains(walk, hung, clock[0], touched, alive, lanes, candidates, lanes_of)
        counts[2] += tested
        sort_numbers(candidates, np.int64(0), np.int64(number))
        examined = np.uint64(0)
        for i in range(number):
            examined += count_bits(lanes_of[candidates[i]])
        found = verify_programs(walk, clock[0], candidates, number, lanes_of, masks)
        clear_block(block, touched)
        needed = count_lanes(masks, found, places)
        if written + needed > len(out):
            return (first, written) if first > begun else (-1 - needed, np.int64(0))
        write_hits(candidates, masks, found, places, out[written:])
        for event in range(first, stop):
            ends[event] = written + places[event - first]
        counts[0] += np.int64(examined)
        counts[1] += np.int64(examined)
        written += needed
        first = stop
    return total, written


@inner
def walk_chains(
    walk: Walk,
    chains: Chains,
    stamp: int,
    touched: int,
    alive: NDArray[np.uint64],
    lanes: int,
    candidates: NDArray[np.int32],
    lanes_of: NDArray[np.uint64],
) -> tuple[int, int]:
    """Write the live expressions with a literal on a chain that holds for any event of a block.

    Returns how many, and how many literals were tested. `lanes_of` gets, for each expression, the events to verify it
    on.
    """
    heads, following, literals, owners = chains.heads, chains.following, chains.literals, chains.owners
    kinds, stamps, masks = walk.leaves.leaf_kinds, walk.memo.stamps, walk.memo.masks
    touched_attributes = walk.block.touched
    number, tested = np.int64(0), np.int64(0)
    for t in range(touched):
        entry = heads[touched_attributes[t]]
        while entry >= 0:
            literal = literals[entry]
            leaf = literal >> 1
            owner = owners[entry]
            entry = following[entry]
            tested += 1
            if stamps[leaf] < stamp:
                stamps[leaf] = stamp
                if kinds[leaf] == codes.RANGE:
                    compute_range(walk, leaf)
                else:
                    compute_leaf(walk, leaf, ~_NONE)
            number = _lead_to(owner, masks[literal] & lanes, alive, candidates, lanes_of, number)
    for u in range(len(chains.uncovered)):
        number = _lead_to(chains.uncovered[u], lanes, alive, candidates, lanes_of, number)
    return number, tested


@inlined
def _lead_to(
    owner: int,
    lanes: int,
    alive: NDArray[np.uint64],
    candidates: NDArray[np.int32],
    lanes_of: NDArray[np.uint64],
    number: int,
) -> int:
    """Add a live expression to the candidates for some events, if there are any; returns the number of candidates."""
    if lanes != _NONE and alive[owner >> 6] >> np.uint64(owner & 63) & _ONE:
        candidates[number] = owner
        number += lanes_of[owner] == _NONE
        lanes_of[owner] |= lanes
    return number
