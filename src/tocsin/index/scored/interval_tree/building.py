"""Which are the best intervals that a value stabs? A scored interval tree: the baseline whose lists are walked.

Cost: memory 12 bytes an interval and 36 a node, of which there are at most as many; time O(what is passed over + (log n
+ k) log log n) a query: all of a list, at worst.

Source: Machanavajjhala et al. 2008, section 2.2.2, score-sorted. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

from tocsin.index.scored.ir_tree.building import ir_trees
from tocsin.index.scored.kernels.layouts import IntervalTrees, Ranges

_ALL = 2**31 - 1


def interval_trees(ranges: Ranges, branching: int) -> IntervalTrees:
    """One a group: an IR-tree whose R-trees have one node, which knows a list's least and greatest end, and no more."""
    return ir_trees(ranges, _ALL, 1)
