"""The `tiles` index: the rectangles over each tile of a map."""

from __future__ import annotations

from tocsin.index.rectangles.tiles.batches import entries_around, points_in_tiles
from tocsin.index.rectangles.tiles.grids import choose_grids
from tocsin.index.rectangles.tiles.index import TilesBuilder, tiles_of

__all__ = ["TilesBuilder", "choose_grids", "entries_around", "points_in_tiles", "tiles_of"]
