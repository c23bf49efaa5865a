"""`inverted_r_tree`, a baseline for regions with keywords: an R-tree with an inverted file at every node."""

from __future__ import annotations

from tocsin.papers.location_aware.inverted_r_tree.index import InvertedRTreeBuilder

__all__ = ["InvertedRTreeBuilder"]
