"""Which are the best intervals that a value stabs? A scored R-tree: the baseline in order of score.

Neighbours have like scores and may lie anywhere, so that a node's extent says little where intervals are short.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval; time O(n) a query at worst, O(b k log_b n) where nothing is a hole.

Source: Machanavajjhala et al. 2008, section 2.2.3. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

import numpy as np

from tocsin.index.scored.kernels.layouts import Ranges, RTrees
from tocsin.index.scored.r_trees.building import r_trees


def scored_r_trees(ranges: Ranges, branching: int) -> RTrees:
    """One a group, its intervals by place."""
    return r_trees(ranges.starts, np.arange(len(ranges.lows), dtype=np.int32), ranges, branching)
