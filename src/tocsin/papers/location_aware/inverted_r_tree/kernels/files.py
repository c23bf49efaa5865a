"""A walk down an R-tree by inverted files, into the children that a node's file lists.

Source: Cong, Jensen and Wu 2009 for the tree; Yu et al. 2015, section 2.3, for the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.filtering.kernels.matching import register
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Message, Regions, Seen
from tocsin.jit.decorators import inlined, inner
from tocsin.papers.location_aware.rt_trees.kernels.token_sets import TokenLists, next_common
from tocsin.papers.location_aware.rt_trees.kernels.trees import DEEPEST, Trees


class InvertedTrees(NamedTuple):
    """R-trees; for each token of a node, the children that have it, or for a leaf, the subscriptions."""

    trees: Trees
    files: TokenLists
    most: NDArray[np.int64]  # (1,) children of a node


@inner
def find_by_files(
    structure: InvertedTrees, regions: Regions, place: int, message: Message, seen: Seen, found: int
) -> int:
    """`find`, depth first: into children that have any of the message's tokens and meet its region."""
    trees, root = structure.trees, np.int64(structure.trees.roots[place])
    is_named = np.zeros((DEEPEST, structure.most[0]), np.uint8)
    parents, at = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    found, depth = np.int64(found), np.int64(-1)
    if meets(trees.boxes, root, message):
        found, depth = _open(structure, regions, root, message, is_named, parents, at, depth, seen, found)
    while depth >= 0:
        node = at[depth]
        if node == trees.stops[parents[depth]]:
            depth -= 1
            continue
        at[depth] = node + 1
        child = node - trees.firsts[parents[depth]]
        if is_named[depth, child]:
            is_named[depth, child] = 0
            if meets(trees.boxes, node, message):
                found, depth = _open(structure, regions, node, message, is_named, parents, at, depth, seen, found)
    return found


@inlined
def _open(
    structure: InvertedTrees,
    regions: Regions,
    node: int,
    message: Message,
    is_named: NDArray[np.uint8],
    parents: NDArray[np.int64],
    at: NDArray[np.int64],
    depth: int,
    seen: Seen,
    found: int,
) -> tuple[int, int]:
    """Read a node's file: queue its children, or count a leaf's entries."""
    trees, files = structure.trees, structure.files
    is_leaf, base = trees.is_leaf[node] != 0, np.int64(trees.firsts[node])
    next_at = np.int64(0)
    while True:
        slot, next_at = next_common(files.sets, node, message, seen, next_at)
        if slot == ABSENT:
            break
        number = files.numbers[slot]
        for i in range(files.starts[number], files.starts[number + 1]):
            below = np.int64(files.entries[i])
            if is_leaf:
                found = _count(regions, below, message, seen, found)
            else:
                is_named[depth + 1, below - base] = 1
    if not is_leaf:
        depth += 1
        parents[depth], at[depth] = node, base
    return np.int64(found), np.int64(depth)


@inlined
def _count(regions: Regions, one: int, message: Message, seen: Seen, found: int) -> int:
    """Count one token of a subscription. At its last token, write it to `seen.hits` if its region meets the message."""
    count = np.int64(seen.counts[one]) + 1 if seen.stamps[one] == message.stamp else np.int64(1)
    seen.stamps[one], seen.counts[one] = message.stamp, count
    if count == regions.token_starts[one + 1] - regions.token_starts[one]:
        seen.examined[0] += 1
        seen.hits[found] = one
        found += meets(regions.boxes, one, message)
    return np.int64(found)


register(InvertedTrees, find_by_files)
