"""Nodes of a changing IR-tree, as blocks of rows: splitting, joining and maintaining extents.

A node is identified by its header's row, an entry by its own row. A node is described by the entry that leads to it; a
root by its header.

Paper: Machanavajjhala et al. 2008, section 3.1; nodes as in a B+-tree (Bayer and McCreight 1972).
"""

from __future__ import annotations

import numpy as np

from reproduce.ir_tree.kernels.layouts import (
    BRANCHING,
    FREE_BLOCKS,
    HIGH,
    LEVEL_BITS,
    LINK,
    LOW,
    OWNER,
    ROW,
    SMALLEST,
    USED,
    ChangingTrees,
    comes_before,
)
from tocsin.jit.decorators import inlined, inner

_LEVELS = np.int64((1 << LEVEL_BITS) - 1)


@inlined
def count_of(trees: ChangingTrees, node: int) -> int:
    """The number of entries of a node."""
    return np.int64(trees.entries[ROW * node + LINK]) >> LEVEL_BITS


@inlined
def level_of(trees: ChangingTrees, node: int) -> int:
    """The level of a node above the leaves."""
    return np.int64(trees.entries[ROW * node + LINK]) & _LEVELS


@inlined
def set_count(trees: ChangingTrees, node: int, count: int, level: int) -> None:
    """Set the number of entries of a node, and its level."""
    trees.entries[ROW * node + LINK] = count << LEVEL_BITS | level


@inlined
def below(trees: ChangingTrees, entry: int) -> int:
    """The node below an entry or, in a leaf, the entry's place."""
    return np.int64(trees.entries[ROW * entry + LINK])


@inlined
def size_for(trees: ChangingTrees, count: int) -> int:
    """The size of the smallest block for `count` entries."""
    size = np.int64(0)
    most = min(count, trees.state[BRANCHING])
    while SMALLEST << size < most:
        size += 1
    return size


@inlined
def room_of(trees: ChangingTrees, size: int) -> int:
    """The number of entries that fit in a block of a size."""
    return min(np.int64(SMALLEST << size), trees.state[BRANCHING])


@inner
def take(trees: ChangingTrees, size: int, level: int) -> int:
    """A node without entries in a block of a size; the caller ensures that there is room."""
    node = trees.state[FREE_BLOCKS + size]
    if node >= 0:
        trees.state[FREE_BLOCKS + size] = trees.entries[ROW * node + LINK]
    else:
        node = trees.state[USED]
        trees.state[USED] += 1 + room_of(trees, size)
    set_count(trees, node, 0, level)
    return node


@inlined
def give_back(trees: ChangingTrees, node: int, size: int) -> None:
    """Free a block."""
    trees.entries[ROW * node + LINK] = trees.state[FREE_BLOCKS + size]
    trees.state[FREE_BLOCKS + size] = node


@inlined
def copy_row(trees: ChangingTrees, source: int, target: int) -> None:
    """Copy an entry."""
    for i in range(ROW):
        trees.entries[ROW * target + i] = trees.entries[ROW * source + i]
    trees.keys[target] = trees.keys[source]


@inner
def move_rows(trees: ChangingTrees, source: int, target: int, count: int) -> None:
    """Copy adjacent entries; source and target may overlap."""
    if source < target:
        for i in range(count - 1, -1, -1):
            copy_row(trees, source + i, target + i)
    else:
        for i in range(count):
            copy_row(trees, source + i, target + i)


@inlined
def set_row(trees: ChangingTrees, entry: int, low: int, high: int, key: int, owner: int) -> None:
    """Write an entry, except for its link."""
    at = ROW * entry
    trees.entries[at + LOW], trees.entries[at + HIGH], trees.entries[at + OWNER] = low, high, owner
    trees.keys[entry] = key


@inner
def describe(trees: ChangingTrees, entry: int, node: int) -> None:
    """Write a node's extent and bound into its description. Cost: O(b)."""
    first = node + 1
    low, high = trees.entries[ROW * first + LOW], trees.entries[ROW * first + HIGH]
    for row in range(first + 1, first + count_of(trees, node)):
        low, high = min(low, trees.entries[ROW * row + LOW]), max(high, trees.entries[ROW * row + HIGH])
    set_row(trees, entry, low, high, trees.keys[first], trees.entries[ROW * first + OWNER])


@inlined
def widen(trees: ChangingTrees, entry: int, low: int, high: int, key: int, owner: int) -> None:
    """Extend the description of a node to include one more interval below it."""
    at = ROW * entry
    trees.entries[at + LOW] = min(trees.entries[at + LOW], low)
    trees.entries[at + HIGH] = max(trees.entries[at + HIGH], high)
    if comes_before(key, owner, trees.keys[entry], trees.entries[at + OWNER]):
        trees.keys[entry], trees.entries[at + OWNER] = key, owner


@inlined
def entry_after(trees: ChangingTrees, node: int, key: int, owner: int) -> int:
    """The first entry of a node that comes after (key, owner), or the end of its entries. Cost: O(log b)."""
    first, stop = node + 1, node + 1 + count_of(trees, node)
    while first < stop:
        middle = (first + stop) >> 1
        if comes_before(key, owner, trees.keys[middle], trees.entries[ROW * middle + OWNER]):
            stop = middle
        else:
            first = middle + 1
    return first


@inlined
def entry_for(trees: ChangingTrees, node: int, key: int, owner: int) -> int:
    """The entry of an inner node below which (key, owner) is, or would be inserted."""
    return max(entry_after(trees, node, key, owner) - 1, node + 1)


@inlined
def open_entry(trees: ChangingTrees, node: int, entry: int) -> None:
    """Make room for an entry in a node that is not full; the following entries move on."""
    count = count_of(trees, node)
    move_rows(trees, entry, entry + 1, node + 1 + count - entry)
    set_count(trees, node, count + 1, level_of(trees, node))


@inlined
def close_entry(trees: ChangingTrees, node: int, entry: int) -> None:
    """Remove an entry from a node; the following entries move up."""
    count = count_of(trees, node) - 1
    move_rows(trees, entry + 1, entry, node + 1 + count - entry)
    set_count(trees, node, count, level_of(trees, node))


@inner
def split_below(trees: ChangingTrees, node: int, entry: int) -> None:
    """Split the full node below an entry of `node`, which has room; the new half comes after it."""
    left = below(trees, entry)
    level, count = level_of(trees, left), count_of(trees, left)
    right = take(trees, size_for(trees, trees.state[BRANCHING]), level)
    kept = count >> 1
    move_rows(trees, left + 1 + kept, right + 1, count - kept)
    set_count(trees, left, kept, level)
    set_count(trees, right, count - kept, level)
    open_entry(trees, node, entry + 1)
    trees.entries[ROW * (entry + 1) + LINK] = right
    describe(trees, entry, left)
    describe(trees, entry + 1, right)


@inner
def fill_up(trees: ChangingTrees, node: int, entry: int) -> None:
    """Balance the node below an entry of `node` with a neighbour, or join the two if they fit in one."""
    left = max(entry - 1, node + 1)
    one, other = below(trees, left), below(trees, left + 1)
    count, others, level = count_of(trees, one), count_of(trees, other), level_of(trees, one)
    total = count + others
    if total <= trees.state[BRANCHING]:
        move_rows(trees, other + 1, one + 1 + count, others)
        set_count(trees, one, total, level)
        give_back(trees, other, size_for(trees, trees.state[BRANCHING]))
        close_entry(trees, node, left + 1)
        describe(trees, left, one)
        return
    kept = total >> 1
    if count < kept:
        move_rows(trees, other + 1, one + 1 + count, kept - count)
        move_rows(trees, other + 1 + kept - count, other + 1, total - kept)
    else:
        move_rows(trees, other + 1, other + 1 + count - kept, others)
        move_rows(trees, one + 1 + kept, other + 1, count - kept)
    set_count(trees, one, kept, level)
    set_count(trees, other, total - kept, level)
    describe(trees, left, one)
    describe(trees, left + 1, other)
