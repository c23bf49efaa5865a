"""Scored segment trees, a baseline for the best intervals that contain a value; it trades memory for speed.

Cost: memory up to 8 log n bytes an interval, and 8 a node. A query takes O(log n log log n + k log log n), and building
O(n log n).

Source: Machanavajjhala et al. 2008, sections 2.1.2 and 2.2.1. Departs: docs/papers/ranked_pubsub.md.
"""

from __future__ import annotations

import numpy as np

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.index.scored.kernels.cursors import Ranges
from tocsin.papers.ranked_pubsub.segment_tree.kernels import SegmentTrees, enter


def segment_trees(ranges: Ranges, branching: int) -> SegmentTrees:
    """One per group, over all codes of the group."""
    sizes = 1 << np.array([int(last).bit_length() for last in ranges.last], np.int64)
    node_starts = starts_of(2 * sizes, len(sizes))
    none = np.empty(0, np.int32)
    trees = SegmentTrees(frozen(sizes, np.int64), node_starts, node_starts, none)
    counts = np.zeros(node_starts[-1], np.int64)
    enter(ranges, trees, counts, none)
    entry_starts = starts_of(counts, len(counts))
    places = np.empty(entry_starts[-1], np.int32)
    enter(ranges, trees, entry_starts[:-1].copy(), places)
    return frozen_table(trees._replace(entry_starts=entry_starts, places=places))
