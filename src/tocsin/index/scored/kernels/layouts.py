"""What do the scored interval indexes hold? Intervals of rank codes in groups, and five structures over them.

A group is what one query stabs: the intervals of one field. An interval's *place* is its rank within all groups, best
first in each: of two places in a group the lower has the higher score or, of equal ones, the lower owner.

Paper: Machanavajjhala, Vee, Garofalakis, Shanmugasundaram 2008, sections 2 and 3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ranges(NamedTuple):
    """Intervals by place. G groups, N intervals."""

    starts: NDArray[np.int64]  # (G + 1,) places [starts[g], starts[g + 1]) are group g's
    lows: NDArray[np.int32]  # (N,) the lowest and the highest code, included
    highs: NDArray[np.int32]  # (N,) at most last[g]
    last: NDArray[np.int64]  # (G,) the highest code that a value of the group can have


EXAMINED: Final = 2
"""Where the state of a cursor, whatever its structure, counts the entries that were looked at."""

ENTRY: Final = 3
PLACE: Final = 2
EXTENT: Final = 2


class RTrees(NamedTuple):
    """An R-tree a group over intervals in some arrangement. G groups, N intervals, M nodes.

    Nodes are level by level from the leaves up to a root; node i of a level has the entries [b i, b i + b) below.
    """

    starts: NDArray[np.int64]  # (G + 1,) entries [starts[g], starts[g + 1]) are group g's
    entries: NDArray[np.int32]  # (3 N,) by arrangement: of each interval its lowest code, its highest, its place
    node_starts: NDArray[np.int64]  # (G + 1,)
    nodes: NDArray[np.int32]  # (2 M,) the extent of all that is below a node: its lowest code, its highest
    branching: NDArray[np.int64]  # (2,) b; groups of at most so many entries have a root alone


MEDIAN: Final = 0  # the code that every interval of the node contains
LEFT: Final = 1  # the node of the intervals below it, -1 for none
RIGHT: Final = 2  # that of those above it
BEST: Final = 3  # the first place of the node's list
NODE: Final = 4


class IntervalTrees(NamedTuple):
    """An interval tree a group, whose nodes are the groups of R-trees. G groups, V nodes."""

    roots: NDArray[np.int32]  # (G,) -1 for a group without intervals
    nodes: NDArray[np.int32]  # (4 V,) of each node MEDIAN, LEFT, RIGHT, BEST
    lists: RTrees  # by node, in order of place


class SegmentTrees(NamedTuple):
    """A segment tree a group over all codes that a value can have. G groups, V nodes, E entries.

    Codes are the atomic segments, each a leaf: with s = sizes[g] leaves, node 1 is the root and s + c the leaf of c.
    """

    sizes: NDArray[np.int64]  # (G,) a power of two
    node_starts: NDArray[np.int64]  # (G + 1,) node i of group g is number node_starts[g] + i, i from 0 to 2 sizes[g]
    entry_starts: NDArray[np.int64]  # (V + 1,)
    places: NDArray[np.int32]  # (E,) ascending within a node
