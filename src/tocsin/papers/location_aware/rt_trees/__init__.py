"""R-trees for regions with keywords.

`rt_tree`, `rt_plus_tree` and `rt_plus_plus_tree` keep keywords in their nodes; the baseline `spatial_first` does not.
"""

from __future__ import annotations

from tocsin.papers.location_aware.rt_trees.index import (
    RTPlusPlusTreeBuilder,
    RTPlusTreeBuilder,
    RTTreeBuilder,
    SpatialFirstBuilder,
)

__all__ = ["RTPlusPlusTreeBuilder", "RTPlusTreeBuilder", "RTTreeBuilder", "SpatialFirstBuilder"]
