"""Which are the best intervals that a value stabs? A scored interval tree: the baseline whose lists are walked.

Cost: memory 12 bytes an interval and 36 a node, of which there are at most as many; time O(what is passed over + (log n
+ k) log log n) a query: all of a list, at worst.

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
    """One a group, whose R-trees have one node, which knows a list's least and greatest end, and no more."""
    return listed_trees(ranges, _ALL, _ALL, 1)


def listed_trees(ranges: Ranges, branching: int, short: int, together: int) -> IntervalTrees:
    """One a group: lists by place, each with an R-tree of its own, which has a root alone if it is `short`.

    At most `together` intervals are not split.
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
