"""The IR-tree, for the best intervals that contain a value: an interval tree whose lists are R-trees.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval and 36 a node of the interval tree, with at most as many nodes as
intervals. A query for k takes O((k + log n) b log_b n) (Theorem 3.1). Built in O(n log n).

Source: Machanavajjhala et al. 2008, section 3.1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

from tocsin.index.scored.kernels.cursors import Ranges
from tocsin.papers.ranked_pubsub.interval_tree import listed_trees
from tocsin.papers.ranked_pubsub.interval_tree.kernels import IntervalTrees

_WALKED = 4
"""A list of up to this many R-tree nodes gets only a root, because inner nodes would cost more than they save."""

_TOGETHER = 64
"""Up to this many intervals stay in one list, with or without a common value. A path then has fewer nodes to open."""


def ir_trees(ranges: Ranges, branching: int, together: int = _TOGETHER) -> IntervalTrees:
    """One per group. Sets of at most `together` intervals are not split."""
    return listed_trees(ranges, branching, _WALKED * branching, together)
