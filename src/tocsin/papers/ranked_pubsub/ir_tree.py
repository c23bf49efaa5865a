"""Which are the best intervals that a value stabs? The IR-tree: an interval tree whose lists are R-trees.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval and 36 a node of the interval tree, of which there are at most as
many; a query for k takes O((k + log n) b log_b n) (Theorem 3.1); built in O(n log n).

Source: Machanavajjhala et al. 2008, section 3.1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

from tocsin.index.scored.kernels.cursors import Ranges
from tocsin.papers.ranked_pubsub.interval_tree import listed_trees
from tocsin.papers.ranked_pubsub.interval_tree.kernels import IntervalTrees

_WALKED = 4
"""Lists of so many nodes have a root alone: what lies between costs more than it saves."""

_TOGETHER = 64
"""So few intervals are one list, whether they have a value in common or not: a path has fewer nodes to open."""


def ir_trees(ranges: Ranges, branching: int, together: int = _TOGETHER) -> IntervalTrees:
    """One a group; at most `together` intervals are not split."""
    return listed_trees(ranges, branching, _WALKED * branching, together)
