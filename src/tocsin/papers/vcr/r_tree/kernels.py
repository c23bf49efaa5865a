"""Search of a packed R-tree for the rectangles that an event meets, from the root with a stack."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, meets
from tocsin.index.rectangles.kernels.layouts import EventRanges, Groups, Seen
from tocsin.index.rectangles.kernels.matching import register
from tocsin.jit.decorators import inner, kernel

_DEEPEST: Final = 32


class RTrees(NamedTuple):
    """A packed R-tree for each pair of axes, with all nodes of a level full but the last. G pairs, M entries, N nodes.

    A pair's nodes are stored level by level, the leaves first, the root last.
    """

    branching: NDArray[np.int64]  # (1,)
    starts: NDArray[np.int64]  # (G + 1,) a pair's entries
    entries: NDArray[np.int32]  # (M,) subscriptions, in the order of the leaves
    boxes: Annotated[NDArray[np.int32], 2]  # (M, 4) their rectangles
    level_starts: NDArray[np.int64]  # (G + 1,) a pair's levels
    node_starts: NDArray[np.int64]  # (levels + 1,)
    nodes: Annotated[NDArray[np.int32], 2]  # (N, 4) the bounding rectangle of everything below


@kernel
def bound_level(below: NDArray[np.int32], branching: int) -> NDArray[np.int32]:
    """The bounding rectangles of each `branching` neighbouring ones."""
    count = (len(below) + branching - 1) // branching
    out = np.empty((count, 4), np.int32)
    for node in range(count):
        first = node * branching
        for side in range(4):
            out[node, side] = below[first, side]
        for i in range(first + 1, min(first + branching, len(below))):
            out[node, LEFT], out[node, LOWER] = (
                min(out[node, LEFT], below[i, LEFT]),
                min(out[node, LOWER], below[i, LOWER]),
            )
            out[node, RIGHT] = max(out[node, RIGHT], below[i, RIGHT])
            out[node, UPPER] = max(out[node, UPPER], below[i, UPPER])
    return out


@inner
def find_in_trees(trees: RTrees, groups: Groups, group: int, asked: EventRanges, seen: Seen, found: int) -> int:
    """`find`, depth first."""
    branching = trees.branching[0]
    base, top = trees.level_starts[group], trees.level_starts[group + 1] - 1
    first, stop = trees.starts[group], trees.starts[group + 1]
    nodes, boxes, entries, hits, node_starts = trees.nodes, trees.boxes, trees.entries, seen.hits, trees.node_starts
    at, end = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    level = top - base
    at[level], end[level] = node_starts[top], node_starts[top + 1]
    while level <= top - base:
        if at[level] == end[level]:
            level += 1
            continue
        node = at[level]
        at[level] = node + 1
        if not meets(nodes, np.uint64(node), asked):
            continue
        below = (node - node_starts[base + level]) * branching
        if level > 0:
            level -= 1
            at[level] = node_starts[base + level] + below
            end[level] = min(at[level] + branching, node_starts[base + level + 1])
            continue
        for i in range(np.uint64(first + below), np.uint64(min(first + below + branching, stop))):
            hits[found] = entries[i]
            found += np.int64(meets(boxes, i, asked))
    return np.int64(found)


register(RTrees, find_in_trees)
