"""Which conjunctions does an event reach in a BE-tree, and which of them hold? From the root down, by stack.

Sadoghi and Jacobsen 2011: a c-node has an l-node of conjunctions and a p-directory of attributes; an attribute's p-node
has a c-directory, c-nodes for ranges of its values, each of which may have two halves. An event goes down wherever it
has the attribute and its value lies in the range.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from tocsin.index.boolean.conjunctions.kernels import find, new_room
from tocsin.index.fields.kernels.code_sets import CodeSets, holds
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import is_table
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


class HeldTree(NamedTuple):
    """A BE-tree, and the conjunctions that its l-nodes have."""

    tree: Tree
    sets: CodeSets


class TreeRoom(NamedTuple):
    """Memory for one event after the other. D fields, N c-nodes."""

    values: NDArray[np.int32]  # (D,) the event's code of each field; -1 between events
    stack: NDArray[np.int32]  # (N,) c-nodes to come to


@kernel
def room_for_tree(held: HeldTree, fields: Fields, widest: int) -> TreeRoom:
    return TreeRoom(np.full(len(fields.kinds), -1, np.int32), np.empty(len(held.tree.fields), np.int32))


@inlined
def find_in_tree(
    held: HeldTree,
    own_fields: NDArray[np.int32],
    own_codes: NDArray[np.int32],
    count: int,
    room: TreeRoom,
    hits: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Write the conjunctions that hold for an event: how many, of how many reached, all of them verified."""
    values, stack = room
    for i in range(count):
        values[own_fields[i]] = own_codes[i]
    found, reached = _take(held.tree, held.sets, own_fields[:count], values, stack, hits)
    for i in range(count):
        values[own_fields[i]] = -1
    return found, reached, reached


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


@overload(new_room, inline="always", strict=False)
def _new_room(structure: Any, fields: Any, widest: Any) -> Any:
    if is_table(structure, HeldTree):
        return lambda structure, fields, widest: room_for_tree(structure, fields, widest)
    return None


@overload(find, inline="always", strict=False)
def _find(
    structure: Any, fields: Any, own_fields: Any, own_codes: Any, payloads: Any, count: Any, room: Any, hits: Any
) -> Any:
    if is_table(structure, HeldTree):
        return lambda structure, fields, own_fields, own_codes, payloads, count, room, hits: find_in_tree(
            structure, own_fields, own_codes, count, room, hits
        )
    return None
