"""Which region-and-keyword subscriptions does this message satisfy? `inverted_r_tree`: an R-tree with an inverted file
at every node, a baseline."""

from __future__ import annotations

from tocsin.papers.location_aware.inverted_r_tree.index import InvertedRTreeBuilder

__all__ = ["InvertedRTreeBuilder"]
