"""Places the tokens of subscriptions at nodes of a tree: at all ancestors, or one token per level."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.papers.location_aware.rt_trees.kernels.trees import DEEPEST, Trees

ALL: Final = 2**31
"""More tokens than any subscription has."""


class Placed(NamedTuple):
    """Tokens at nodes. R rows."""

    nodes: NDArray[np.int32]  # (R,)
    tokens: NDArray[np.int32]  # (R,)
    below: NDArray[np.int32]  # (R,) the child of the node that it comes from; at a leaf, the subscription
    turns: NDArray[np.int64]  # (R,) the token's place among all subscriptions' tokens


@kernel
def parents_of(trees: Trees) -> NDArray[np.int32]:
    """(N,) the parent of each node; for a root, itself."""
    held = viewed(trees)
    parents = np.arange(len(held.firsts)).astype(np.int32)
    for node in range(len(parents)):
        if not held.is_leaf[node]:
            parents[held.firsts[node] : held.stops[node]] = node
    return parents


@kernel
def place_on_paths(
    trees: Trees, parents: NDArray[np.int32], starts: NDArray[np.int64], tokens: NDArray[np.int32], top: int, most: int
) -> Placed:
    """The first `most` tokens of each subscription, at every ancestor node from level `top` on. Cost: linear."""
    held = viewed(trees)
    rows = np.int64(0)
    out = _room(0)
    for writes in range(2):
        if writes:
            out, rows = _room(rows), np.int64(0)
        for leaf in range(len(held.firsts)):
            if not held.is_leaf[leaf]:
                continue
            for i in range(held.firsts[leaf], held.stops[leaf]):
                one = held.entries[i]
                for turn in range(starts[one], min(starts[one + 1], starts[one] + most)):
                    node, below = np.int32(leaf), one
                    while held.levels[node] >= top:
                        if writes:
                            _put(out, rows, node, tokens[turn], below, turn)
                        rows += 1
                        if parents[node] == node:
                            break
                        node, below = parents[node], node
    return out


@kernel
def place_by_level(
    trees: Trees, parents: NDArray[np.int32], starts: NDArray[np.int64], tokens: NDArray[np.int32]
) -> Placed:
    """The i-th token of each subscription at its ancestor of level i, surplus ones in the leaf. Cost: linear."""
    held = viewed(trees)
    out = _room(len(tokens))
    rows = np.int64(0)
    path = np.empty(DEEPEST + 1, np.int32)
    for leaf in range(len(held.firsts)):
        if not held.is_leaf[leaf]:
            continue
        node, height = np.int32(leaf), np.int64(held.levels[leaf])
        for level in range(height, 0, -1):
            path[level] = node
            node = parents[node]
        for i in range(held.firsts[leaf], held.stops[leaf]):
            one = held.entries[i]
            for turn in range(starts[one], starts[one + 1]):
                level = min(turn - starts[one] + 1, height)
                _put(out, rows, path[level], tokens[turn], one, turn)
                rows += 1
    return out


@inlined
def _room(rows: int) -> Placed:
    return Placed(
        np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int64)
    )


@inlined
def _put(out: Placed, row: int, node: int, token: int, below: int, turn: int) -> None:
    out.nodes[row], out.tokens[row], out.below[row], out.turns[row] = node, token, below, turn
