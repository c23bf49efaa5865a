"""The walk over the nodes of a packed R-tree that a message meets, with a stack.

Each structure adds its own filter of nodes. Source: Yu et al. 2015, section 3.2, Algorithm 1. Departs: boxes are
compared by their sides, because a box may meet another without containing one of its corners.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import RIGHT, meets
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Message, Regions, Seen
from tocsin.index.spatial_text.kernels.reading import has_all_tokens
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import choose, viewed

DEEPEST: Final = 32
"""The largest number of levels of a tree: each has at least twice the nodes of the one above."""


class Trees(NamedTuple):
    """A packed R-tree for each place. P places, N nodes, M entries.

    A place's nodes are stored level by level from its root. So children have greater numbers than their parent.
    """

    roots: NDArray[np.int32]  # (P,)
    boxes: Annotated[NDArray[np.float64], 2]  # (N, 4) around everything below
    firsts: NDArray[np.int32]  # (N,) child nodes, or a leaf's entries: [firsts[n], stops[n])
    stops: NDArray[np.int32]  # (N,)
    is_leaf: NDArray[np.uint8]  # (N,)
    levels: NDArray[np.int32]  # (N,) 1 for a child of the root, and for a root that is a leaf
    entries: NDArray[np.int32]  # (M,) subscriptions


@kernel
def bound_nodes(trees: Trees, boxes: NDArray[np.float64]) -> None:
    """Write the bounding box of everything below each node."""
    held = viewed(trees)
    for node in range(len(held.firsts) - 1, -1, -1):
        for side in range(4):
            best = np.inf if side < RIGHT else -np.inf
            for i in range(held.firsts[node], held.stops[node]):
                own = boxes[held.entries[i], side] if held.is_leaf[node] else held.boxes[i, side]
                best = min(best, own) if side < RIGHT else max(best, own)
            held.boxes[node, side] = best


def enter(trees: Any, regions: Regions, node: int, message: Message, seen: Seen, found: int) -> tuple[bool, int]:
    """Whether any subscription below a node that a message meets may match. Writes those that do to `seen.hits`."""
    raise NotImplementedError("for kernels")


def register_entering(layout: type, entering: Any) -> None:
    """Register the kernel that implements `enter` for the layout of a structure."""
    choose(enter, layout, entering)


@inlined
def find_in_tree(
    structure: Any, boxes: NDArray[np.float64], regions: Regions, place: int, message: Message, seen: Seen, found: int
) -> int:
    """`find`, depth first. `boxes` are those of the entries."""
    trees = structure.trees
    at, end = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    begin(trees, place, at, end)
    found, depth = np.int64(found), np.int64(0)
    while True:
        node, depth = next_node(at, end, depth)
        if node == ABSENT:
            return found
        if not meets(trees.boxes, node, message):
            continue
        goes_on, found = enter(structure, regions, node, message, seen, found)
        if goes_on and trees.is_leaf[node]:
            first, stop = np.int64(trees.firsts[node]), np.int64(trees.stops[node])
            found = verify_entries(trees.entries, boxes, first, stop, regions, message, seen, found)
        elif goes_on:
            depth = descend(trees, node, at, end, depth)


@inlined
def begin(trees: Trees, place: int, at: NDArray[np.int64], end: NDArray[np.int64]) -> None:
    """Start the walk with the children of a place's root, or with the root if it is a leaf."""
    root = np.int64(trees.roots[place])
    at[0], end[0] = root, root + 1
    if not trees.is_leaf[root]:
        descend(trees, root, at, end, np.int64(-1))


@inlined
def next_node(at: NDArray[np.int64], end: NDArray[np.int64], depth: int) -> tuple[int, int]:
    """The next node to visit, deepest first, or ABSENT, and its depth on the stack."""
    while depth >= 0 and at[depth] == end[depth]:
        depth -= 1
    if depth < 0:
        return np.int64(ABSENT), np.int64(depth)
    at[depth] += 1
    return np.int64(at[depth] - 1), np.int64(depth)


@inlined
def descend(trees: Trees, node: int, at: NDArray[np.int64], end: NDArray[np.int64], depth: int) -> int:
    """Push the children of a node onto the stack; returns their depth."""
    at[depth + 1], end[depth + 1] = trees.firsts[node], trees.stops[node]
    return np.int64(depth + 1)


@inlined
def verify_entries(
    entries: NDArray[np.int32],
    boxes: NDArray[np.float64],
    first: int,
    stop: int,
    regions: Regions,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """Write the entries in [first, stop) that match a message to `seen.hits`; returns where they end."""
    seen.examined[0] += stop - first
    for i in range(first, stop):
        if meets(boxes, i, message):
            one = np.int64(entries[i])
            if has_all_tokens(regions, one, seen):
                seen.hits[found] = one
                found += 1
    return np.int64(found)
