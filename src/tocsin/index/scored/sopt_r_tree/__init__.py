"""The SOPT-R-tree for stabbing queries by score: an R-tree whose arrangement leaves few holes.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval. A query for k examines at most 2 k leaves (Theorem 3.2), O(b k
log_b n) in all. Built in O(n log n).

Source: Machanavajjhala et al. 2008, section 3.2, Algorithms 1 and 2. Departs: docs/papers/ranked_pubsub.md.
"""

from tocsin.index.scored.sopt_r_tree.building import ARRANGING, sopt_r_trees

__all__ = ["ARRANGING", "sopt_r_trees"]
