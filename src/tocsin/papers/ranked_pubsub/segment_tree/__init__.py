"""Which are the best intervals that a value stabs? A scored segment tree: the baseline that takes the room for speed.

Cost: memory up to 8 log n bytes an interval, and 8 a node; time O(log n log log n + k log log n) a query; built in
O(n log n).

Source: Machanavajjhala et al. 2008, sections 2.1.2 and 2.2.1. Departs: docs/papers/ranked_pubsub.md.
"""

from tocsin.papers.ranked_pubsub.segment_tree.building import segment_trees

__all__ = ["segment_trees"]
