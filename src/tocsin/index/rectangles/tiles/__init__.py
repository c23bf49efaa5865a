"""Which rectangles cover this point? `tiles`: the rectangles over each tile of a map."""

from __future__ import annotations

from tocsin.index.rectangles.tiles.index import TilesBuilder

__all__ = ["TilesBuilder"]
