"""R^t-trees that grow by insertion and shrink by deletion, as in Yu et al. 2015: for an engine's recent subscriptions.

`r_tree` is the R-tree (Guttman 1984), `tracking` adds what nodes know about words, and `recent` changes trees in an
engine.
"""

from tocsin.papers.location_aware.growing_trees.recent import recent_trees
from tocsin.papers.location_aware.growing_trees.tracking import CountedRTree, ListedRTree

__all__ = ["CountedRTree", "ListedRTree", "recent_trees"]
