"""Best-first search of an interval tree: a path of nodes, each with a list under an R-tree.

Paper: Machanavajjhala et al. 2008, sections 2.1.1, 2.2.2 and 3.1. All intervals of a node contain its median, so its
R-tree has no holes (Lemma 3.1): if a value stabs a node's extent, it stabs an interval below. Only the last node of a
path may be a short list that was not split. A node is opened only when the best of its list could be next.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.scored.kernels.cursors import DONE, EXAMINED, Ranges, least, register, state_width
from tocsin.index.scored.r_trees.kernels import ENTRY, RTrees, next_in_tree, open_tree, place_of_entry
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import prefetch
from tocsin.kernels.sorting import select

MEDIAN: Final = 0  # the code that every interval of the node contains
LEFT: Final = 1  # the node of the intervals below it, or -1
RIGHT: Final = 2  # the node of the intervals above it, or -1
BEST: Final = 3  # the first place of the node's list
NODE: Final = 4


class IntervalTrees(NamedTuple):
    """An interval tree per group, whose nodes are the groups of R-trees. G groups, V nodes."""

    roots: NDArray[np.int32]  # (G,) -1 for a group without intervals
    nodes: NDArray[np.int32]  # (4 V,) MEDIAN, LEFT, RIGHT, BEST for each node
    lists: RTrees  # by node, in order of place


MOST_PATH: Final = 64
"""More nodes than a path can have, because each step down halves the remaining ends."""

_COUNT: Final = 0  # number of nodes on the path; EXAMINED is as in the state of an R-tree
_STREAMS: Final = 3  # places, each << 8 | slot << 1 | whether the slot's tree is open
_NODES: Final = _STREAMS + MOST_PATH  # the node of each slot
_TREES: Final = _NODES + MOST_PATH  # the states of their R-trees


@kernel
def split(
    ranges: Ranges,
    order: NDArray[np.int32],
    roots: NDArray[np.int32],
    nodes: NDArray[np.int32],
    starts: NDArray[np.int64],
    together: int,
) -> int:
    """Write the nodes, and in `order` their places, node by node; returns how many. Cost: O(n log n).

    A node's median is that of the ends of its intervals. Intervals that do not contain it go left or right. A set of at
    most `together` intervals is not split.
    """
    left_room, right_room = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    ends = np.empty(2 * len(order), np.int32)
    stack = np.empty((2 * MOST_PATH, 4), np.int64)  # first and stop in `order`; parent; LEFT or RIGHT
    count = 0
    for group in range(len(ranges.starts) - 1):
        roots[group] = -1
        _push(stack, 0, ranges.starts[group], ranges.starts[group + 1], -1, group)
        depth = 1 if ranges.starts[group + 1] > ranges.starts[group] else 0
        while depth > 0:
            depth -= 1
            first, stop, parent, side = stack[depth]
            median = _median(ranges, order, first, stop, ends)
            kept, below, above = first, 0, 0
            for i in range(first, stop):
                place = order[i]
                if stop - first <= together:
                    kept += 1
                elif ranges.highs[place] < median:
                    left_room[below] = place
                    below += 1
                elif ranges.lows[place] > median:
                    right_room[above] = place
                    above += 1
                else:
                    order[kept] = place
                    kept += 1
            for i in range(below):
                order[kept + i] = left_room[i]
            for i in range(above):
                order[kept + below + i] = right_room[i]
            node = NODE * count
            nodes[node + MEDIAN], nodes[node + BEST] = median, order[first]
            nodes[node + LEFT], nodes[node + RIGHT] = -1, -1
            starts[count] = first
            if parent < 0:
                roots[side] = count
            else:
                nodes[NODE * parent + side] = count
            if above:
                _push(stack, depth, kept + below, stop, count, RIGHT)
                depth += 1
            if below:
                _push(stack, depth, kept, kept + below, count, LEFT)
                depth += 1
            count += 1
    starts[count] = len(order)
    return count


@inlined
def _push(stack: NDArray[np.int64], depth: int, first: int, stop: int, parent: int, side: int) -> None:
    stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = first, stop, parent, side


@inner
def _median(ranges: Ranges, order: NDArray[np.int32], first: int, stop: int, ends: NDArray[np.int32]) -> int:
    """The median of the ends of some intervals."""
    size = stop - first
    for i in range(size):
        ends[2 * i] = ranges.lows[order[first + i]]
        ends[2 * i + 1] = ranges.highs[order[first + i]]
    return select(ends, 2 * size, size)


@inlined
def open_path(trees: IntervalTrees, group: int, code: int, state: NDArray[np.int64]) -> None:
    """Start at the root: collect the nodes on the path to a code, keyed by the best entry of each list."""
    nodes, lists = trees.nodes, trees.lists
    node, slot = np.int64(trees.roots[group]), np.uint64(0)
    while node >= 0:
        at = np.uint64(NODE * node)
        state[np.uint64(_NODES) + slot] = node
        state[np.uint64(_STREAMS) + slot] = np.int64(nodes[at + np.uint64(BEST)]) << 8 | np.int64(slot) << 1
        prefetch(lists.starts, node)
        prefetch(lists.node_starts, node)
        slot += np.uint64(1)
        median = nodes[at + np.uint64(MEDIAN)]
        if code == median:
            break
        node = np.int64(nodes[at + np.uint64(LEFT if code < median else RIGHT)])
    state[_COUNT] = np.int64(slot)
    state[EXAMINED] = 0
    for i in range(slot):
        prefetch(lists.entries, ENTRY * lists.starts[state[np.uint64(_NODES) + i]])


@inlined
def next_on_path(trees: IntervalTrees, code: int, state: NDArray[np.int64]) -> int:
    """The place of the next best interval that a code stabs; -1 if there is none left."""
    width = (len(state) - _TREES) // MOST_PATH
    while True:
        top = least(state, _STREAMS, state[_COUNT])
        if top == DONE:
            return np.int64(-1)
        slot = top >> 1 & 127
        own = state[_TREES + slot * width : _TREES + (slot + 1) * width]
        if top & 1 == 0:
            open_tree(trees.lists, state[_NODES + slot], own)
        before = own[EXAMINED]
        entry = next_in_tree(trees.lists, code, own)
        state[EXAMINED] += own[EXAMINED] - before
        following = DONE if entry < 0 else place_of_entry(trees.lists, entry) << 8 | slot << 1 | 1
        state[_STREAMS + slot] = following
        if top & 1:
            return top >> 8


register(IntervalTrees, lambda trees: _TREES + MOST_PATH * state_width(trees.lists), open_path, next_on_path)
