"""How do intervals become an IR-tree? As an interval tree whose longer lists have R-trees of several nodes."""

from __future__ import annotations

from tocsin.index.scored.kernels.layouts import Ranges
from tocsin.papers.ranked_pubsub.interval_tree.building import listed_trees
from tocsin.papers.ranked_pubsub.interval_tree.kernels import IntervalTrees

_WALKED = 4
"""Lists of so many nodes have a root alone: what lies between costs more than it saves."""

_TOGETHER = 64
"""So few intervals are one list, whether they have a value in common or not: a path has fewer nodes to open."""


def ir_trees(ranges: Ranges, branching: int, together: int = _TOGETHER) -> IntervalTrees:
    """One a group; at most `together` intervals are not split."""
    return listed_trees(ranges, branching, _WALKED * branching, together)
