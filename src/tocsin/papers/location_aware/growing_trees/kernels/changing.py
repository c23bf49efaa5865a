"""Updates of the tokens at nodes as subscriptions are inserted and deleted: counts, or entries of lists.

`nodes` is a path upwards. The first node is `depth` below the root, each following one a level higher.

Source: Yu et al. 2015, sections 3.1, 4.1 and 5.1, Updates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.index.spatial_text.kernels.layouts import Regions
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import choose, viewed
from tocsin.papers.location_aware.growing_trees.kernels.layouts import (
    HIGHEST,
    Chains,
    CountedTree,
    ListedTree,
    Turns,
)
from tocsin.papers.location_aware.growing_trees.kernels.r_tree import Nodes, put_in_leaf, take_from_leaf
from tocsin.papers.location_aware.growing_trees.kernels.tables import Table, slot_for


@kernel
def below(growing: Nodes, node: int, out: NDArray[np.int32]) -> int:
    """Write the subscriptions below a node; returns how many there are."""
    tree = viewed(growing)
    places = len(tree.children) // len(tree.counts)
    stack = np.empty(len(tree.counts), np.int32)
    stack[0] = node
    depth, found = 1, 0
    while depth > 0:
        depth -= 1
        at = np.int64(stack[depth])
        for place in range(at * places, at * places + tree.counts[at]):
            if tree.heights[at] > 0:
                stack[depth] = tree.children[place]
                depth += 1
            else:
                out[found] = tree.children[place]
                found += 1
    return np.int64(found)


def note(held: Any, one: int, nodes: NDArray[np.int32], length: int, depth: int, comes: bool) -> None:
    """Note a subscription's tokens at the first nodes, or take them away."""
    raise NotImplementedError("for kernels")


@kernel
def note_all(structure: Any, ones: NDArray[np.int32], nodes: NDArray[np.int32], depth: int, comes: bool) -> None:
    """Note the tokens of some subscriptions at all nodes, or take them away. There must be free slots."""
    held = viewed(structure)
    for one in ones:
        note(held, np.int64(one), nodes, len(nodes), depth, comes)


@kernel
def insert_many(structure: Any, given: Regions, numbers: NDArray[np.int32], first: int) -> int:
    """Insert subscriptions from numbers[first] on, until one needs a split or more slots; returns where it stops."""
    held, regions = viewed(structure), viewed(given)
    path = np.empty(HIGHEST, np.int32)
    for i in range(first, len(numbers)):
        one = np.int64(numbers[i])
        if not _has_room(held.table, held.tree, regions, held.turns, one):
            return np.int64(i)
        length = put_in_leaf(held.tree, np.int64(regions.owners[one]), regions.boxes[one], one, path)
        if length < 0:
            return np.int64(i)
        note(held, one, path, length, length - 1, True)
    return np.int64(len(numbers))


@kernel
def delete_many(structure: Any, given: Regions, fewest: int, numbers: NDArray[np.int32], first: int) -> int:
    """Delete subscriptions from numbers[first] on, until a leaf would be too small; returns where it stops."""
    held, regions = viewed(structure), viewed(given)
    path = np.empty(HIGHEST, np.int32)
    for i in range(first, len(numbers)):
        one = np.int64(numbers[i])
        length = take_from_leaf(held.tree, np.int64(regions.owners[one]), regions.boxes[one], one, fewest, path)
        if length < 0:
            return np.int64(i)
        note(held, one, path, length, length - 1, False)
    return np.int64(len(numbers))


@inlined
def _has_room(table: Table, tree: Nodes, regions: Regions, turns: Turns, one: int) -> bool:
    """Whether a subscription's tokens leave half of the slots free."""
    levels = np.int64(tree.heights[tree.roots[regions.owners[one]]]) + 1
    return 2 * (table.used[0] + levels * (turns.stops[one] - turns.firsts[one])) <= len(table.keys)


@inner
def _count(held: CountedTree, one: int, nodes: NDArray[np.int32], length: int, depth: int, comes: bool) -> None:
    """`note`: counts each token of a subscription at the first nodes. The level does not matter."""
    by = np.int64(1) if comes else np.int64(-1)
    turns, table = held.turns, held.table
    for i in range(length):
        for turn in range(turns.firsts[one], turns.stops[one]):
            table.values[slot_for(table, np.int64(nodes[i]), np.int64(turns.tokens[turn]))] += by


@inner
def _list(held: ListedTree, one: int, nodes: NDArray[np.int32], length: int, depth: int, comes: bool) -> None:
    """`note`: a subscription is on the nodes' lists by its token of the level; in a leaf, by all remaining tokens."""
    heights = held.tree.heights
    for i in range(length):
        node = np.int64(nodes[i])
        first, stop = _turns_at(held, one, max(depth - i, np.int64(depth == 0)), heights[node] == 0)
        for turn in range(first, stop):
            token = np.int64(held.turns.tokens[turn])
            if comes:
                _link(held.table, held.chains, node, token, turn)
            else:
                _unlink(held.table, held.chains, node, token, turn)


@inlined
def _turns_at(held: ListedTree, one: int, level: int, is_leaf: bool) -> tuple[int, int]:
    """The turns of a subscription at its ancestor of a level. A root, level 0, has none unless it is a leaf."""
    first, stop = held.turns.firsts[one], held.turns.stops[one]
    if level == 0:
        return np.int64(stop), np.int64(stop)
    own = min(first + level - 1, stop)
    return np.int64(own), np.int64(stop if is_leaf else min(own + 1, stop))


@inner
def _link(table: Table, chains: Chains, node: int, token: int, turn: int) -> None:
    slot = slot_for(table, node, token)
    head = table.values[slot]
    chains.nexts[turn], chains.befores[turn] = head, 0
    if head:
        chains.befores[head - 1] = turn + 1
    table.values[slot] = turn + 1


@inner
def _unlink(table: Table, chains: Chains, node: int, token: int, turn: int) -> None:
    after, before = chains.nexts[turn], chains.befores[turn]
    if after:
        chains.befores[after - 1] = before
    if before:
        chains.nexts[before - 1] = after
    else:
        table.values[slot_for(table, node, token)] = after


choose(note, CountedTree, _count)
choose(note, ListedTree, _list)
