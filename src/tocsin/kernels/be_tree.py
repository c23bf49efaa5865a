"""Which conjunctions does an event reach in a BE-tree, and which of them hold? From the root down, by stack.

Sadoghi and Jacobsen 2011: a c-node has an l-node of conjunctions and a p-directory of attributes; an attribute's p-node
has a c-directory, c-nodes for ranges of its values, each of which may have two halves. An event goes down wherever it
has the attribute and its value lies in the range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.access_layouts import Fields
from tocsin.kernels.code_sets import CodeSets, holds, scalar_values
from tocsin.kernels.jit import kernel
from tocsin.kernels.layouts import Bound, Events
from tocsin.kernels.ordering import BUCKETS, SPARE, put_in_order
from tocsin.kernels.packing import borrowed
from tocsin.kernels.searching import place_of


class Tree(NamedTuple):
    """A BE-tree as it is matched against. N c-nodes, Q p-nodes; what is below a c-node has a higher number.

    C-node 0 is the root. Conjunctions are numbered in the order of the l-nodes that they are in.
    """

    fields: NDArray[np.int32]  # (N,) the field that a c-node has a range of; -1 for the root
    lows: NDArray[np.int32]  # (N,) the range's codes
    highs: NDArray[np.int32]  # (N,) included
    lefts: NDArray[np.int32]  # (N,) the c-node of the lower half, -1 for none
    rights: NDArray[np.int32]  # (N,) that of the upper half
    member_starts: NDArray[np.int64]  # (N + 1,) the l-node has conjunctions [starts[n], starts[n + 1])
    directory_starts: NDArray[np.int64]  # (N + 1,) the p-directory has p-nodes [starts[n], starts[n + 1])
    p_fields: NDArray[np.int32]  # (Q,) ascending within a directory
    p_tops: NDArray[np.int32]  # (Q,) the c-node of all of the field's values


@kernel
def match_be_tree(
    tree: Tree,
    fields: Fields,
    sets: CodeSets,
    owners: NDArray[np.int32],
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    widest: int,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts`: conjunctions reached, and verified.

    `widest` is `most_scalar_values` of the events.
    """
    tree, fields, sets, owners, events, bound, alive, ends, out, counts = borrowed(
        (tree, fields, sets, owners, events, bound, alive, ends, out, counts)
    )
    own_fields = np.empty(widest, np.int32)
    own_codes = np.empty(widest, np.int32)
    payloads = np.empty(widest, np.int64)
    values = np.full(len(fields.kinds), -1, np.int32)
    stack = np.empty(len(tree.fields), np.int32)
    hits = np.empty(len(owners) + 1, np.int32)
    words = np.zeros(len(alive), np.uint64)
    summary = np.zeros(len(alive) // 64 + 1, np.uint64)
    buckets = np.empty(BUCKETS, np.int32)
    written = np.int64(0)
    for event in range(first, len(events.starts) - 1):
        count = scalar_values(fields, events, bound, event, own_fields, own_codes, payloads)
        for i in range(count):
            values[own_fields[i]] = own_codes[i]
        found, reached = _take(tree, sets, own_fields[:count], values, stack, hits)
        for i in range(count):
            values[own_fields[i]] = -1
        for i in range(found):
            hits[i] = owners[hits[i]]
        if written + found + SPARE > len(out):
            return (event, written) if event > first else (-1 - found - SPARE, np.int64(0))
        counts[0] += reached
        counts[1] += reached
        written += put_in_order(hits, found, alive, words, summary, buckets, out, written)
        ends[event] = written
    return len(events.starts) - 1, written


@kernel
def _take(
    tree: Tree,
    sets: CodeSets,
    own_fields: NDArray[np.int32],
    values: NDArray[np.int32],
    stack: NDArray[np.int32],
    hits: NDArray[np.int32],
) -> tuple[int, int]:
    """Write the conjunctions that hold for an event with these fields and values; how many, and of how many reached."""
    node_fields, lows, highs, lefts, rights, member_starts, directory_starts, p_fields, p_tops = tree
    starts, set_fields, _, range_starts, set_lows, set_highs = sets
    found, reached = np.int64(0), np.int64(0)
    stack[0] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        for conjunction in range(member_starts[node], member_starts[node + 1]):
            hits[found] = conjunction
            found += holds(starts, set_fields, range_starts, set_lows, set_highs, values, conjunction)
        reached += member_starts[node + 1] - member_starts[node]
        for half in (lefts[node], rights[node]):
            if half >= 0:
                value = values[node_fields[node]]
                stack[depth] = half
                depth += lows[half] <= value and value <= highs[half]
        begin, stop = directory_starts[node], directory_starts[node + 1]
        if stop - begin <= len(own_fields):
            for p in range(begin, stop):
                stack[depth] = p_tops[p]
                depth += values[p_fields[p]] >= 0
            continue
        for i in range(len(own_fields)):
            p = place_of(p_fields, begin, stop, own_fields[i])
            if p >= 0:
                stack[depth] = p_tops[p]
                depth += 1
    return found, reached
