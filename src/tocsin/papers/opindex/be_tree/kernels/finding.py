"""Matching against a BE-tree: a walk from the root, with a stack.

Sadoghi and Jacobsen 2011. A c-node has an l-node of conjunctions and a p-directory with a p-node per attribute. A
p-node has a c-directory: c-nodes for ranges of the attribute's values, each with up to two halves. An event descends
wherever it has the attribute and its value lies in the range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import CodeSets, holds
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.decorators import inlined, inner
from tocsin.jit.views import choose
from tocsin.kernels.searching import place_of
from tocsin.papers.opindex.conjunctions.kernels import Values, find


class Tree(NamedTuple):
    """A BE-tree laid out for matching. N c-nodes, Q p-nodes; nodes below a c-node have higher numbers.

    C-node 0 is the root. Conjunctions are numbered in the order of their l-nodes.
    """

    fields: NDArray[np.int32]  # (N,) the field of a c-node's range; -1 for the root
    lows: NDArray[np.int32]  # (N,) the range's codes
    highs: NDArray[np.int32]  # (N,) included
    lefts: NDArray[np.int32]  # (N,) the c-node of the lower half, or -1
    rights: NDArray[np.int32]  # (N,) the c-node of the upper half, or -1
    member_starts: NDArray[np.int64]  # (N + 1,) the l-node has conjunctions [starts[n], starts[n + 1])
    directory_starts: NDArray[np.int64]  # (N + 1,) the p-directory has p-nodes [starts[n], starts[n + 1])
    p_fields: NDArray[np.int32]  # (Q,) ascending within a directory
    p_tops: NDArray[np.int32]  # (Q,) the c-node for all values of the field


class HeldTree(NamedTuple):
    """A BE-tree, and the conjunctions in its l-nodes."""

    tree: Tree
    sets: CodeSets


class TreeRoom(NamedTuple):
    """Memory for matching events one after the other. D fields, N c-nodes."""

    codes: NDArray[np.int32]  # (D,) the event's code of each field; -1 between events
    stack: NDArray[np.int32]  # (N,) c-nodes still to visit


@inlined
def find_in_tree(
    held: HeldTree, fields: Fields, values: Values, count: int, room: TreeRoom, hits: NDArray[np.int32]
) -> tuple[int, int, int]:
    """Write the conjunctions that hold for an event. Returns how many, and how many it reached and verified."""
    codes = room.codes
    for i in range(count):
        codes[values.fields[i]] = values.codes[i]
    found, reached = _take(held, values.fields[:count], room, hits)
    for i in range(count):
        codes[values.fields[i]] = -1
    return found, reached, reached


@inner
def _take(held: HeldTree, own_fields: NDArray[np.int32], room: TreeRoom, hits: NDArray[np.int32]) -> tuple[int, int]:
    """Write the conjunctions that hold for an event with these fields. Returns how many, and how many it reached."""
    tree, sets, codes, stack = held.tree, held.sets, room.codes, room.stack
    node_fields, lows, highs, lefts, rights = tree.fields, tree.lows, tree.highs, tree.lefts, tree.rights
    member_starts, directory_starts = tree.member_starts, tree.directory_starts
    p_fields, p_tops = tree.p_fields, tree.p_tops
    starts, range_starts, set_fields = sets.starts, sets.range_starts, sets.fields
    set_lows, set_highs = sets.lows, sets.highs
    found, reached = np.int64(0), np.int64(0)
    stack[0] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        for conjunction in range(member_starts[node], member_starts[node + 1]):
            hits[found] = conjunction
            found += holds(starts, set_fields, range_starts, set_lows, set_highs, codes, conjunction)
        reached += member_starts[node + 1] - member_starts[node]
        for half in (lefts[node], rights[node]):
            if half >= 0:
                code = codes[node_fields[node]]
                stack[depth] = half
                depth += lows[half] <= code and code <= highs[half]
        begin, stop = directory_starts[node], directory_starts[node + 1]
        if stop - begin <= len(own_fields):
            for p in range(begin, stop):
                stack[depth] = p_tops[p]
                depth += codes[p_fields[p]] >= 0
            continue
        for i in range(len(own_fields)):
            p = place_of(p_fields, begin, stop, own_fields[i])
            if p >= 0:
                stack[depth] = p_tops[p]
                depth += 1
    return found, reached


choose(find, HeldTree, find_in_tree)
