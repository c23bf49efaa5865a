"""Best-first search of a segment tree: merges the lists of all ancestors of a value's segment.

Paper: Machanavajjhala et al. 2008, sections 2.1.2 and 2.2.1. Every interval in a node's list contains all segments of
the node, so every entry read is a match. An interval is in up to two lists per level.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.scored.kernels.cursors import DONE, EXAMINED, Ranges, least, register
from tocsin.jit.decorators import inlined, kernel


class SegmentTrees(NamedTuple):
    """A segment tree per group, over all codes that a value can have. G groups, V nodes, E entries.

    Codes are the atomic segments, each a leaf. With s = sizes[g] leaves, node 1 is the root and s + c the leaf of code
    c.
    """

    sizes: NDArray[np.int64]  # (G,) a power of two
    node_starts: NDArray[np.int64]  # (G + 1,) node i of group g is number node_starts[g] + i, i from 0 to 2 sizes[g]
    entry_starts: NDArray[np.int64]  # (V + 1,)
    places: NDArray[np.int32]  # (E,) ascending within a node


MOST_PATH: Final = 33
"""The number of nodes from a leaf to the root, both included: there are fewer than 2**32 codes."""

_COUNT: Final = 0
_STREAMS: Final = 3  # places, each << 8 | slot
_NEXT: Final = _STREAMS + MOST_PATH  # the entry after the current one, by slot
_STOP: Final = _NEXT + MOST_PATH
_WIDTH: Final = _STOP + MOST_PATH


@kernel
def enter(ranges: Ranges, trees: SegmentTrees, places: NDArray[np.int64], entries: NDArray[np.int32]) -> None:
    """Count the entries of each node in `places` or, with room in `entries`, write them from `places` on.

    Places come in ascending order, so every list is sorted. Cost: O(n log n).
    """
    for group in range(len(ranges.starts) - 1):
        size, base = trees.sizes[group], trees.node_starts[group]
        for place in range(ranges.starts[group], ranges.starts[group + 1]):
            low = np.int64(ranges.lows[place]) + size
            behind = np.int64(ranges.highs[place]) + size + 1
            while low < behind:
                if low & 1:
                    _enter(places, entries, base + low, place)
                    low += 1
                if behind & 1:
                    behind -= 1
                    _enter(places, entries, base + behind, place)
                low >>= 1
                behind >>= 1


@inlined
def _enter(places: NDArray[np.int64], entries: NDArray[np.int32], node: int, place: int) -> None:
    if len(entries):
        entries[places[node]] = place
    places[node] += 1


@inlined
def open_lists(trees: SegmentTrees, group: int, code: int, state: NDArray[np.int64]) -> None:
    """Start with the first entry of the leaf of a code and of all its ancestors."""
    node, slot = trees.sizes[group] + np.int64(code), 0
    while node > 0:
        number = trees.node_starts[group] + node
        first, stop = trees.entry_starts[number], trees.entry_starts[number + 1]
        if first < stop:
            state[_STREAMS + slot] = np.int64(trees.places[first]) << 8 | slot
            state[_NEXT + slot] = first + 1
            state[_STOP + slot] = stop
            slot += 1
        node >>= 1
    state[_COUNT] = slot
    state[EXAMINED] = 0


@inlined
def next_in_lists(trees: SegmentTrees, code: int, state: NDArray[np.int64]) -> int:
    """The place of the next best interval; -1 if there is none left."""
    top = least(state, _STREAMS, state[_COUNT])
    if top == DONE:
        return np.int64(-1)
    slot = top & 255
    entry = state[_NEXT + slot]
    if entry < state[_STOP + slot]:
        state[_NEXT + slot] = entry + 1
        state[_STREAMS + slot] = np.int64(trees.places[entry]) << 8 | slot
    else:
        state[_STREAMS + slot] = DONE
    state[EXAMINED] += 1
    return top >> 8


register(SegmentTrees, lambda trees: _WIDTH, open_lists, next_in_lists)
