"""Which region-and-keyword subscriptions does this message satisfy? `rt_tree`, `rt_plus_tree`, `rt_plus_plus_tree`:
R-trees whose nodes know keywords; `spatial_first`: one whose nodes know none, a baseline."""

from __future__ import annotations

from tocsin.papers.location_aware.rt_trees.index import (
    RTPlusPlusTreeBuilder,
    RTPlusTreeBuilder,
    RTTreeBuilder,
    SpatialFirstBuilder,
)

__all__ = ["RTPlusPlusTreeBuilder", "RTPlusTreeBuilder", "RTTreeBuilder", "SpatialFirstBuilder"]
