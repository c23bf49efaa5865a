"""Which are the best intervals that a value stabs? The SOPT-R-tree: an R-tree whose arrangement leaves few holes.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval; a query for k looks at no more than 2 k leaves (Theorem 3.2), O(b k
log_b n) in all; built in O(n log n).

Source: Machanavajjhala et al. 2008, section 3.2, Algorithms 1 and 2. Departs: docs/papers/ranked_pubsub.md.
"""

from tocsin.index.scored.sopt_r_tree.building import ARRANGING, sopt_r_trees

__all__ = ["ARRANGING", "sopt_r_trees"]
