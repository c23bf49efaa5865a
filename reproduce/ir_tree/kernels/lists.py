"""Insertion into and deletion from the list of a node of an interval tree, which is a B+-tree with extents.

Cost: O(b log_b n) for both, because of the extents. Most of the time is spent moving the entries of a leaf.

Paper: Machanavajjhala et al. 2008, section 3.1. It says that IR-trees can be updated, but not how.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduce.ir_tree.kernels.layouts import (
    BRANCHING,
    FIRST,
    HIGH,
    HOLDER,
    LAST,
    LEAST,
    LINK,
    LOW,
    OWNER,
    ROW,
    ChangingTrees,
    comes_before,
    key_of,
)
from reproduce.ir_tree.kernels.nodes import (
    below,
    close_entry,
    copy_row,
    count_of,
    describe,
    entry_after,
    entry_for,
    fill_up,
    give_back,
    level_of,
    move_rows,
    open_entry,
    room_of,
    set_count,
    set_row,
    size_for,
    split_below,
    take,
    widen,
)
from tocsin.jit.decorators import inlined, inner

LONGEST_PATH = 34
"""An upper bound on the levels of a list: a node has two or more entries, and there are fewer than 2**31 intervals."""


@inner
def put_in_list(trees: ChangingTrees, code: int, place: int) -> None:
    """Insert the interval of a place into the list of a code; full nodes are split on the way down."""
    at = ROW * place
    low, high = np.int64(trees.items[at + FIRST]), np.int64(trees.items[at + LAST])
    key, owner = key_of(trees.scores[place]), np.int64(trees.items[at + HOLDER])
    node = np.int64(trees.roots[code])
    if node < 0:
        node = take(trees, size_for(trees, 1), 0)
        set_row(trees, node, low, high, key, owner)
    else:
        node = _root_with_room(trees, node)
        widen(trees, node, low, high, key, owner)
    trees.roots[code] = node
    while level_of(trees, node) > 0:
        entry = entry_for(trees, node, key, owner)
        if count_of(trees, below(trees, entry)) == trees.state[BRANCHING]:
            split_below(
                trees, node, entry
            )  # this may raise the entry's bound above the interval's, which belongs here all the same
            following = trees.entries[ROW * (entry + 1) + OWNER]
            if not comes_before(key, owner, trees.keys[entry + 1], following):
                entry += 1
        widen(trees, entry, low, high, key, owner)
        node = below(trees, entry)
    entry = entry_after(trees, node, key, owner)
    open_entry(trees, node, entry)
    set_row(trees, entry, low, high, key, owner)
    trees.entries[ROW * entry + LINK] = place


@inlined
def _root_with_room(trees: ChangingTrees, root: int) -> int:
    """The root or, if it is full, its replacement: a larger block, or a node above its halves."""
    count, level, branching = count_of(trees, root), level_of(trees, root), trees.state[BRANCHING]
    if count == branching:
        top = take(trees, size_for(trees, branching), level + 1)
        copy_row(trees, root, top)
        copy_row(trees, root, top + 1)
        set_count(trees, top, 1, level + 1)
        trees.entries[ROW * (top + 1) + LINK] = root
        split_below(trees, top, top + 1)
        return top
    if level == 0 and count == room_of(trees, size_for(trees, count)):
        return _resized(trees, root, size_for(trees, count), size_for(trees, count + 1))
    return root


@inlined
def _resized(trees: ChangingTrees, leaf: int, size: int, new_size: int) -> int:
    """Move a root that is a leaf to a block of another size."""
    count = count_of(trees, leaf)
    new = take(trees, new_size, 0)
    move_rows(trees, leaf, new, count + 1)
    give_back(trees, leaf, size)
    return new


@inner
def take_from_list(trees: ChangingTrees, code: int, place: int, path: NDArray[np.int64]) -> None:
    """Delete the interval of a place from its list. `path` has room for LONGEST_PATH numbers."""
    at = ROW * place
    low, high = trees.items[at + FIRST], trees.items[at + LAST]
    key, owner = key_of(trees.scores[place]), np.int64(trees.items[at + HOLDER])
    root = np.int64(trees.roots[code])
    node, depth = root, 0
    path[0] = root
    while level_of(trees, node) > 0:
        depth += 1
        path[depth] = entry_for(trees, node, key, owner)
        node = below(trees, path[depth])
    close_entry(trees, node, entry_after(trees, node, key, owner) - 1)
    while depth > 0:
        entry = path[depth]
        node, parent = below(trees, entry), root if depth == 1 else below(trees, path[depth - 1])
        if count_of(trees, node) < trees.state[LEAST]:
            fill_up(trees, parent, entry)
        elif trees.entries[ROW * entry + LOW] == low or trees.entries[ROW * entry + HIGH] == high:
            describe(trees, entry, node)
        else:
            return
        depth -= 1
    trees.roots[code] = _settled_root(trees, root)


@inlined
def _settled_root(trees: ChangingTrees, root: int) -> int:
    """The root after a deletion: -1 if empty, an only child, or itself, in a block of fitting size."""
    count, level = count_of(trees, root), level_of(trees, root)
    largest = size_for(trees, trees.state[BRANCHING])
    if level > 0:
        if count == 1:
            child = below(trees, root + 1)
            give_back(trees, root, largest)
            root, count, level = child, count_of(trees, child), level - 1
            if level == 0 and size_for(trees, count) < largest:
                root = _resized(trees, root, largest, size_for(trees, count))
    elif count == 0:
        give_back(trees, root, size_for(trees, 1))
        return np.int64(-1)
    elif size_for(trees, count) < size_for(trees, count + 1):
        root = _resized(trees, root, size_for(trees, count + 1), size_for(trees, count))
    describe(trees, root, root)
    return root
