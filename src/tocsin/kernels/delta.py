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
from tocsin.kernels.verify import count_lanes, satisfied_lanes, write_hits

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
        found, examined, verified = walk_chains(
            leaves, chains, verifier, touched, events, bound, alive, lanes, found_lanes, hits
        )
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
        counts[1] += verified
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
) -> tuple[int, int, int]:
    """Write the expressions that any event of a block satisfies, and the lanes of each.

    Returns how many, and how many candidates (event and expression) were examined and verified.
    """
    block = verifier.block
    memo = verifier.memo
    stamp = verifier.clock[0]
    heads = chains.heads
    following = chains.following
    literals = chains.literals
    owners = chains.owners
    stamps = memo.stamps
    masks = memo.masks
    found = 0
    examined = 0
    verified = 0
    for t in range(touched):
        entry = heads[block.touched[t]]
        while entry >= 0:
            literal = literals[entry]
            if stamps[literal >> 1] < stamp:
                compute_leaf(leaves, literal >> 1, block, events, bound, memo, ~_NONE)
                stamps[literal >> 1] = stamp
            owner = owners[entry]
            wanted = masks[literal] & lanes & ~found_lanes[owner]
            if wanted != _NONE and alive[owner >> 6] >> np.uint64(owner & 63) & _ONE:
                held = satisfied_lanes(leaves, owner, wanted, stamp, block, events, bound, memo)
                examined += 1
                verified += 1
                hits[found] = owner
                found += held != _NONE and found_lanes[owner] == _NONE
                found_lanes[owner] |= held
            entry = following[entry]
    for u in range(len(chains.uncovered)):
        owner = chains.uncovered[u]
        if alive[owner >> 6] >> np.uint64(owner & 63) & _ONE:
            held = satisfied_lanes(leaves, owner, lanes, stamp, block, events, bound, memo)
            examined += 1
            verified += 1
            hits[found] = owner
            found += held != _NONE and found_lanes[owner] == _NONE
            found_lanes[owner] |= held
    return found, examined, verified
