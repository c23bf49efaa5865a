"""Which are the best intervals that a value stabs? The IR-tree: an interval tree whose lists are R-trees.

Cost: memory 12 (1 + 2 / (b - 1)) bytes an interval and 36 a node of the interval tree, of which there are at most as
many; a query for k takes O((k + log n) b log_b n) (Theorem 3.1); built in O(n log n).

Source: Machanavajjhala et al. 2008, section 3.1. Departs: docs/papers/ranked_pubsub.md.
"""

from tocsin.papers.ranked_pubsub.ir_tree.building import ir_trees

__all__ = ["ir_trees"]
