"""Packs many intervals into changing IR-trees at once: list by list, level by level, nodes three quarters full.

Paper: Machanavajjhala et al. 2008, section 3.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduce.ir_tree.kernels.changes import list_of
from reproduce.ir_tree.kernels.layouts import (
    BRANCHING,
    CHANGING,
    FIRST,
    FREE,
    GROUP,
    HOLDER,
    LAST,
    LEAST,
    LINK,
    ROW,
    ChangingTrees,
    key_of,
)
from reproduce.ir_tree.kernels.nodes import describe, set_count, set_row, size_for, take
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import view


@kernel
def lists_of(table: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """Write the number of the list that holds each place's interval, -1 if the place is free."""
    trees = view(table, CHANGING)
    for place in range(len(out)):
        at = ROW * place
        group = np.int64(trees.items[at + GROUP])
        own = group if group == FREE else list_of(trees, group, trees.items[at + FIRST], trees.items[at + LAST])
        out[place] = own


@inlined
def _parts(count: int, branching: int, least: int) -> int:
    """The number of nodes for `count` entries: one if they fit, otherwise evenly filled to about three quarters."""
    if count <= branching:
        return np.int64(1)
    full = max(3 * branching // 4, least)
    return min((count + full - 1) // full, count // least)


@kernel
def rows_needed(lists: NDArray[np.int64], branching: int, least: int) -> int:
    """The number of rows that `pack_lists` needs for intervals with these lists, in order."""
    total, begun = 0, 0
    for i in range(1, len(lists) + 1):
        if i < len(lists) and lists[i] == lists[begun]:
            continue
        count = i - begun
        if count <= branching:
            room = 4
            while room < count:
                room *= 2
            total += 1 + min(room, branching)
        while count > branching:
            count = _parts(count, branching, least)
            total += count * (1 + branching)
            if count <= branching:
                total += 1 + branching
        begun = i
    return total


@kernel
def pack_lists(table: NDArray[np.int64], lists: NDArray[np.int64], order: NDArray[np.int64]) -> None:
    """Make the lists of places in the given order: by list, which `lists` has for each, then best first."""
    trees = view(table, CHANGING)
    nodes = np.empty(len(order) // 2 + 1, np.int64)
    begun = 0
    for i in range(1, len(order) + 1):
        if i < len(order) and lists[i] == lists[begun]:
            continue
        count, level = _leaves(trees, order[begun:i], nodes), 0
        while count > 1:
            level += 1
            count = _above(trees, nodes, count, level)
        root = nodes[0]
        describe(trees, root, root)
        trees.roots[lists[begun]] = root
        begun = i


@inlined
def _leaves(trees: ChangingTrees, places: NDArray[np.int64], nodes: NDArray[np.int64]) -> int:
    """Make leaves of places in order; returns how many."""
    branching = trees.state[BRANCHING]
    parts = _parts(len(places), branching, trees.state[LEAST])
    size = size_for(trees, branching if parts > 1 else len(places))
    for part in range(parts):
        first, stop = part * len(places) // parts, (part + 1) * len(places) // parts
        node = take(trees, size, 0)
        set_count(trees, node, stop - first, 0)
        for i in range(first, stop):
            row, at = node + 1 + i - first, ROW * places[i]
            key, owner = key_of(trees.scores[places[i]]), trees.items[at + HOLDER]
            set_row(trees, row, trees.items[at + FIRST], trees.items[at + LAST], key, owner)
            trees.entries[ROW * row + LINK] = places[i]
        nodes[part] = node
    return parts


@inlined
def _above(trees: ChangingTrees, nodes: NDArray[np.int64], count: int, level: int) -> int:
    """Replace nodes by the nodes above them; returns how many."""
    branching = trees.state[BRANCHING]
    parts = _parts(count, branching, trees.state[LEAST])
    for part in range(parts):
        first, stop = part * count // parts, (part + 1) * count // parts
        node = take(trees, size_for(trees, branching), level)
        set_count(trees, node, stop - first, level)
        for i in range(first, stop):
            row = node + 1 + i - first
            describe(trees, row, nodes[i])
            trees.entries[ROW * row + LINK] = nodes[i]
        nodes[part] = node
    return parts
