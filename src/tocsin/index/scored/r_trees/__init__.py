"""Which are the best intervals that a value stabs? A scored R-tree: the baseline in order of score.

Neighbours have like scores and may lie anywhere, so that a node's extent says little where intervals are short.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval; time O(n) a query at worst, O(b k log_b n) where nothing is a hole.

Source: Machanavajjhala et al. 2008, section 2.2.3. Departs: docs/papers/ranked_pubsub.md.
"""

from tocsin.index.scored.r_trees.building import scored_r_trees

__all__ = ["scored_r_trees"]
