"""The scored R-tree: the baseline for stabbing queries, with intervals in order of score.

Neighbours have similar scores but may lie anywhere, so that a node's extent says little if intervals are short.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval; time O(n) a query at worst, O(b k log_b n) if there are no holes.

Source: Machanavajjhala et al. 2008, section 2.2.3. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table
from tocsin.index.scored.kernels.cursors import Ranges
from tocsin.index.scored.r_trees.kernels import EXTENT, RTrees, count_nodes, pack


def r_trees(
    starts: NDArray[np.int64], order: NDArray[np.int32], ranges: Ranges, branching: int, short: int = 0
) -> RTrees:
    """R-trees over groups of places in an arrangement; groups of at most `short` have only a root.

    Cost: linear; 12 bytes an interval and 8 a node.
    """
    widths = frozen([branching, short], np.int64)
    node_starts = count_nodes(starts, widths)
    entries = np.stack([ranges.lows[order], ranges.highs[order], order], axis=1).reshape(-1)
    nodes = np.empty(EXTENT * int(node_starts[-1]), np.int32)
    trees = RTrees(frozen(starts, np.int64), entries, frozen(node_starts, np.int64), nodes, widths)
    pack(trees)
    return frozen_table(trees)


def scored_r_trees(ranges: Ranges, branching: int) -> RTrees:
    """One tree a group, with its intervals by place."""
    return r_trees(ranges.starts, np.arange(len(ranges.lows), dtype=np.int32), ranges, branching)
