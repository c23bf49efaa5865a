"""`Similar` on an R-tree with weighted inverted files: a walk into children with a sufficient bound.

Source: Cong, Jensen and Wu 2009, section 4, with files of the greatest weight of a word in each child; Yu et al. 2015,
section 6, for the question.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.spatial_text.kernels.layouts import ABSENT, Message, Seen
from tocsin.index.spatial_text.kernels.resembling import Similarity, register_alike, spatial_share
from tocsin.jit.decorators import inlined, inner
from tocsin.papers.location_aware.rt_trees.kernels.bounds import SLACK, most_in_common
from tocsin.papers.location_aware.rt_trees.kernels.token_sets import TokenLists, next_common
from tocsin.papers.location_aware.rt_trees.kernels.trees import DEEPEST, Trees, descend, next_node


class WeighedTrees(NamedTuple):
    """R-trees; for each token of a node, the children that have it, with shares. N nodes, E entries."""

    trees: Trees
    files: TokenLists  # for a leaf, subscriptions instead of children
    shares: NDArray[np.float64]  # (E,) the greatest share of a subscription's weight that the token has there
    areas: NDArray[np.float64]  # (N,) the least area of a region below
    most: NDArray[np.int64]  # (1,) children of a node


@inner
def find_by_shares(
    structure: WeighedTrees,
    asked: Similarity,
    place: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """`find_alike`, depth first: into children with enough of the message's tokens, by share, and enough area."""
    trees = structure.trees
    sums = np.zeros((DEEPEST + 1, structure.most[0]))
    at, end = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    at[0], end[0] = trees.roots[place], trees.roots[place] + 1
    base = np.zeros(DEEPEST, np.int64)
    base[0], sums[0, 0] = at[0], 1.0
    found, depth = np.int64(found), np.int64(0)
    while True:
        node, depth = next_node(at, end, depth)
        if node == ABSENT:
            return found
        child = node - base[depth]
        textual = min(sums[depth, child], 1.0)
        sums[depth, child] = 0.0
        spatial = most_in_common(trees, structure.areas, node, message)
        if asked.alpha * spatial + (1.0 - asked.alpha) * textual < asked.threshold - SLACK:
            continue
        if trees.is_leaf[node]:
            found = _read_leaf(structure, asked, node, message, seen, found)
            continue
        _add_shares(structure, node, message, seen, sums[depth + 1])
        depth = descend(trees, node, at, end, depth)
        base[depth] = at[depth]


@inlined
def _add_shares(structure: WeighedTrees, node: int, message: Message, seen: Seen, sums: NDArray[np.float64]) -> None:
    """Add the shares of common tokens to the sums of a node's children, which must be 0 before."""
    files, first, at = structure.files, structure.trees.firsts[node], np.int64(0)
    while True:
        slot, at = next_common(files.sets, node, message, seen, at)
        if slot == ABSENT:
            return
        number = files.numbers[slot]
        for i in range(files.starts[number], files.starts[number + 1]):
            sums[files.entries[i] - first] += structure.shares[i]


@inlined
def _read_leaf(
    structure: WeighedTrees,
    asked: Similarity,
    node: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """Write the entries of a leaf that may be similar enough to `seen.hits`."""
    trees, files, at = structure.trees, structure.files, np.int64(0)
    for i in range(trees.firsts[node], trees.stops[node]):
        seen.sums[trees.entries[i]] = 0.0
    while True:
        slot, at = next_common(files.sets, node, message, seen, at)
        if slot == ABSENT:
            break
        number = files.numbers[slot]
        for i in range(files.starts[number], files.starts[number + 1]):
            seen.sums[files.entries[i]] += structure.shares[i]
    for i in range(trees.firsts[node], trees.stops[node]):
        one = np.int64(trees.entries[i])
        spatial = spatial_share(asked, one, message)
        seen.hits[found] = one
        found += asked.alpha * spatial + (1.0 - asked.alpha) * seen.sums[one] >= asked.threshold - SLACK
    return np.int64(found)


register_alike(WeighedTrees, find_by_shares)
