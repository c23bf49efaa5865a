"""Updates of the tokens at nodes as subscriptions are inserted and deleted: counts, or entries of lists.

`nodes` is a path upwards. The first node is `depth` below the root, each following one a level higher.

Source: Yu et al. 2015, sections 3.1, 4.1 and 5.1, Updates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduce.r_tree.kernels import Growing
from reproduce.rt_tree.kernels.layouts import Chains, CountedTree, ListedTree
from reproduce.rt_tree.kernels.tables import Table, slot_for
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed


@kernel
def below(growing: Growing, node: int, out: NDArray[np.int32]) -> int:
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


@kernel
def count(structure: CountedTree, ones: NDArray[np.int32], nodes: NDArray[np.int32], by: int) -> None:
    """Add `by` for each token of some subscriptions at some nodes. There must be free slots."""
    held = viewed(structure)
    turns, table = held.turns, held.table
    for one in ones:
        for node in nodes:
            for turn in range(turns.firsts[one], turns.stops[one]):
                table.values[slot_for(table, np.int64(node), np.int64(turns.tokens[turn]))] += by


@kernel
def link(structure: ListedTree, ones: NDArray[np.int32], nodes: NDArray[np.int32], depth: int) -> None:
    """Put subscriptions on the nodes' lists, by their token of the level; in a leaf, by all remaining tokens."""
    held = viewed(structure)
    heights = held.tree.heights
    for one in ones:
        for i in range(len(nodes)):
            first, stop = _turns_at(held, np.int64(one), max(depth - i, np.int64(depth == 0)), heights[nodes[i]] == 0)
            for turn in range(first, stop):
                _link(held.table, held.chains, np.int64(nodes[i]), np.int64(held.turns.tokens[turn]), turn)


@kernel
def unlink(structure: ListedTree, ones: NDArray[np.int32], nodes: NDArray[np.int32], depth: int) -> None:
    """Remove subscriptions from these lists."""
    held = viewed(structure)
    heights = held.tree.heights
    for one in ones:
        for i in range(len(nodes)):
            first, stop = _turns_at(held, np.int64(one), max(depth - i, np.int64(depth == 0)), heights[nodes[i]] == 0)
            for turn in range(first, stop):
                _unlink(held.table, held.chains, np.int64(nodes[i]), np.int64(held.turns.tokens[turn]), turn)


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
