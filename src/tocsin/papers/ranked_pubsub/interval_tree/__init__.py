"""Scored interval trees, a baseline for the best intervals that contain a value; it scans the lists of nodes.

Cost: memory 12 bytes an interval and 36 a node, with at most as many nodes as intervals. A query takes O(entries
skipped + (log n + k) log log n); at worst it reads a whole list.

Source: Machanavajjhala et al. 2008, section 2.2.2, score-sorted. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.index.scored.kernels.cursors import Ranges
from tocsin.index.scored.r_trees import r_trees
from tocsin.papers.ranked_pubsub.interval_tree.kernels import NODE, IntervalTrees, split

_ALL = 2**31 - 1


def interval_trees(ranges: Ranges, branching: int) -> IntervalTrees:
    """One per group. Its R-trees have a single node, with the least and greatest end in the list."""
    return listed_trees(ranges, _ALL, _ALL, 1)


def listed_trees(ranges: Ranges, branching: int, short: int, together: int) -> IntervalTrees:
    """One per group: lists by place, each with its own R-tree, which is only a root for lists up to `short`.

    Sets of at most `together` intervals are not split.
    """
    count = len(ranges.lows)
    order, starts = np.arange(count, dtype=np.int32), np.zeros(count + 1, np.int64)
    roots = np.empty(len(ranges.last), np.int32)
    nodes = np.empty(NODE * count, np.int32)
    made = split(ranges, order, roots, nodes, starts, together)
    return IntervalTrees(
        frozen(roots, np.int32),
        frozen(nodes[: NODE * made].copy(), np.int32),
        r_trees(starts[: made + 1], order, ranges, branching, short),
    )
