"""`r_tree`, a baseline for rectangles: a packed R-tree."""

from __future__ import annotations

from tocsin.papers.vcr.r_tree.index import RTreeBuilder

__all__ = ["RTreeBuilder"]
