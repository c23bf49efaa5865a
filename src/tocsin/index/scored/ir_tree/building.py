"""Which are the best intervals that a value stabs? The IR-tree: an interval tree whose lists are R-trees.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval and 36 a node of the interval tree, of which there are at most as
many; a query for k takes O((k + log n) b log_b n) (Theorem 3.1); built in O(n log n).

Source: Machanavajjhala et al. 2008, section 3.1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

import numpy as np

from tocsin.columns.arrays import frozen
from tocsin.index.scored.interval_tree.kernels import split
from tocsin.index.scored.kernels.layouts import NODE, IntervalTrees, Ranges
from tocsin.index.scored.r_trees.building import r_trees

_WALKED = 4
"""Lists of so many nodes have a root alone: what lies between costs more than it saves."""


_TOGETHER = 64
"""So few intervals are one list, whether they have a value in common or not: a path has fewer nodes to open."""


def ir_trees(ranges: Ranges, branching: int, together: int = _TOGETHER) -> IntervalTrees:
    """One a group: lists by place, each with an R-tree of its own. At most `together` intervals are not split."""
    count = len(ranges.lows)
    order, starts = np.arange(count, dtype=np.int32), np.zeros(count + 1, np.int64)
    roots = np.empty(len(ranges.last), np.int32)
    nodes = np.empty(NODE * count, np.int32)
    made = split(ranges, order, roots, nodes, starts, together)
    return IntervalTrees(
        frozen(roots, np.int32),
        frozen(nodes[: NODE * made].copy(), np.int32),
        r_trees(starts[: made + 1], order, ranges, branching, _WALKED * branching),
    )
