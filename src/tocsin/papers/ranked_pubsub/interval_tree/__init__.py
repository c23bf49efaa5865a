"""Which are the best intervals that a value stabs? A scored interval tree: the baseline whose lists are walked.

Cost: memory 12 bytes an interval and 36 a node, of which there are at most as many; time O(what is passed over + (log n
+ k) log log n) a query: all of a list, at worst.

Source: Machanavajjhala et al. 2008, section 2.2.2, score-sorted. Departs: docs/papers/ranked_pubsub.md.
"""

from tocsin.papers.ranked_pubsub.interval_tree.building import interval_trees

__all__ = ["interval_trees"]
