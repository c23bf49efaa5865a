"""Kernels of R-trees for stabbing queries: depth first from the left, with a state between calls.

Paper: Machanavajjhala et al. 2008, section 2.2.3. This is `getnext()` if the better of any two overlapping entries
comes first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.scored.kernels.cursors import EXAMINED, register
from tocsin.jit.decorators import inlined, kernel

ENTRY: Final = 3
PLACE: Final = 2
EXTENT: Final = 2


class RTrees(NamedTuple):
    """One R-tree a group over intervals in some arrangement. G groups, N intervals, M nodes.

    Nodes are stored level by level from the leaves up to a root. Node i of a level has the entries [b i, b i + b) below
    it.
    """

    starts: NDArray[np.int64]  # (G + 1,) entries [starts[g], starts[g + 1]) are group g's
    entries: NDArray[np.int32]  # (3 N,) by arrangement, for each interval: lowest code, highest code, place
    node_starts: NDArray[np.int64]  # (G + 1,)
    nodes: NDArray[np.int32]  # (2 M,) the extent of all intervals below a node: lowest code, highest code
    branching: NDArray[np.int64]  # (2,) b; groups of at most so many entries have only a root


# A state has the level of the search, the highest level, EXAMINED, and three numbers a level. Level 0 are the entries
# themselves.
LEVEL: Final = 0
TOP: Final = 1
BRANCHING: Final = 3  # entries of a node
AT: Final = 4  # + 3 level: the position of the search
PART: Final = 5  # + 3 level: the end of the part being searched
BEGIN: Final = 6  # + 3 level: where the group's part of the level begins; it ends where the next one begins, and
STOP: Final = 4  # + 3 (TOP + 1): where the entries end

SHORTEST: Final = 16
"""At most this many entries are scanned without reading the root."""

_ONE = np.uint64(1)
_THREE = np.uint64(3)
_ENTRY = np.uint64(ENTRY)
_EXTENT = np.uint64(EXTENT)


def state_width(trees: RTrees) -> int:
    """The length of a state."""
    return AT + 3 * (int(count_levels(trees.starts, trees.branching)) + 2)


@inlined
def branching_of(branching: NDArray[np.int64], count: int) -> int:
    """Entries of a node in the tree of a group of that many entries."""
    return max(branching[0], branching[1]) if count <= branching[1] else branching[0]


@kernel
def count_levels(starts: NDArray[np.int64], branching: NDArray[np.int64]) -> int:
    """The number of levels of the largest group."""
    levels = 0
    for group in range(len(starts) - 1):
        count, own = starts[group + 1] - starts[group], 0
        width = branching_of(branching, count)
        while count > 1 or own == 0:
            count = (count + width - 1) // width
            own += 1
        levels = max(levels, own)
    return levels


@kernel
def pack(trees: RTrees) -> None:
    """Write the extents of all nodes, each level from the one below. Cost: linear."""
    for group in range(len(trees.starts) - 1):
        first, stop = trees.starts[group], trees.starts[group + 1]
        branching = branching_of(trees.branching, stop - first)
        at = trees.node_starts[group]
        below, width = trees.entries, ENTRY
        while stop > first:
            begun = at
            for begin in range(first, stop, branching):
                low, high = below[width * begin], below[width * begin + 1]
                for i in range(begin + 1, min(begin + branching, stop)):
                    low, high = min(low, below[width * i]), max(high, below[width * i + 1])
                trees.nodes[EXTENT * at], trees.nodes[EXTENT * at + 1] = low, high
                at += 1
            if at - begun == 1:
                break
            below, width, first, stop = trees.nodes, EXTENT, begun, at


@kernel
def count_nodes(starts: NDArray[np.int64], branching: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the nodes of each group begin."""
    out = np.zeros(len(starts), np.int64)
    for group in range(len(starts) - 1):
        count, total = starts[group + 1] - starts[group], 0
        width = branching_of(branching, count)
        while count > 0:
            count = (count + width - 1) // width
            total += count
            if count == 1:
                break
        out[group + 1] = out[group] + total
    return out


@inlined
def open_tree(trees: RTrees, group: int, state: NDArray[np.int64]) -> None:
    """Begin a search at the root; nothing is examined yet."""
    first, stop = trees.starts[group], trees.starts[group + 1]
    count = np.uint64(stop - first)
    branching = np.uint64(branching_of(trees.branching, np.int64(count)))
    state[BEGIN] = first
    state[EXAMINED] = 0
    state[BRANCHING] = np.int64(branching)
    if count <= min(branching, np.uint64(SHORTEST)):
        state[LEVEL], state[TOP] = 0, 0
        state[AT], state[PART] = first, stop
        return
    base = trees.node_starts[group]
    at = np.uint64(0)
    while True:
        count = (count + branching - _ONE) // branching
        at += _THREE
        state[at + np.uint64(BEGIN)] = base
        base += np.int64(count)
        if count == _ONE:
            break
    state[LEVEL] = np.int64(at // _THREE)
    state[TOP] = state[LEVEL]
    state[at + np.uint64(AT)] = base - 1
    state[at + np.uint64(PART)] = base
    state[at + np.uint64(STOP + 3)] = stop


@inlined
def _is_within(ends: NDArray[np.int32], at: int, code: int) -> bool:
    return ends[at] <= code <= ends[at + _ONE]


@inlined
def place_of_entry(trees: RTrees, entry: int) -> int:
    """The place of an entry's interval."""
    return np.int64(trees.entries[_ENTRY * np.uint64(entry) + np.uint64(PLACE)])


@inlined
def next_in_tree(trees: RTrees, code: int, state: NDArray[np.int64]) -> int:
    """The next entry that a code stabs; -1 at the end."""
    at, top = _THREE * np.uint64(state[LEVEL]), _THREE * np.uint64(state[TOP])
    branching, entries, nodes = np.uint64(state[BRANCHING]), trees.entries, trees.nodes
    while at <= top:
        i, stop = np.uint64(state[at + np.uint64(AT)]), np.uint64(state[at + np.uint64(PART)])
        if at == np.uint64(0):
            begun = i
            while i < stop and not _is_within(entries, _ENTRY * i, code):
                i += _ONE
            if i < stop:
                state[EXAMINED] += np.int64(i - begun) + 1
                state[AT] = np.int64(i + _ONE)
                state[LEVEL] = 0
                return np.int64(i)
            state[EXAMINED] += np.int64(i - begun)
            at = _THREE
            continue
        while i < stop and not _is_within(nodes, _EXTENT * i, code):
            i += _ONE
        if i == stop:
            at += _THREE
            continue
        state[at + np.uint64(AT)] = np.int64(i + _ONE)
        child = (i - np.uint64(state[at + np.uint64(BEGIN)])) * branching
        end = np.uint64(state[at + np.uint64(BEGIN)] if at > _THREE else state[top + np.uint64(STOP + 3)])
        at -= _THREE
        child += np.uint64(state[at + np.uint64(BEGIN)])
        state[at + np.uint64(AT)] = np.int64(child)
        state[at + np.uint64(PART)] = np.int64(min(child + branching, end))
    state[LEVEL] = np.int64(top // _THREE) + 1
    return np.int64(-1)


@inlined
def _open(trees: RTrees, group: int, code: int, state: NDArray[np.int64]) -> None:
    open_tree(trees, group, state)


@inlined
def _next(trees: RTrees, code: int, state: NDArray[np.int64]) -> int:
    entry = next_in_tree(trees, code, state)
    return np.int64(-1) if entry < 0 else place_of_entry(trees, entry)


register(RTrees, state_width, _open, _next)
