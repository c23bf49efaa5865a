"""Which rectangles cover this point? `r_tree`: a packed R-tree, a baseline."""

from __future__ import annotations

from tocsin.papers.vcr.r_tree.index import RTreeBuilder

__all__ = ["RTreeBuilder"]
