"""The Matcher over tiles of the map: each lists the rectangles over it, and compares four sides at once.

Ranges of two attributes, or a box on a map, are a rectangle of rank codes (`index.rectangles.rectangles`). So any
domain is a small grid of integers, unbounded sides end with it, and crowded parts are wide. Rectangles of similar size
share a grid whose tiles are about as large as they are. An event visits one tile of each grid.

Cost: O(grids + entries of the tiles) an event, less than a nanosecond an entry; 8 bytes an entry, some 8 entries a
rectangle. Built in O(entries). `candidates_examined` counts the subscriptions whose rectangle the event meets.

Source: ours. Compared with VCR (Wu, Chen, Yu 2004), an event reads one list instead of hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.index.expressions import RebuiltOnLoad
from tocsin.index.filtering import FilterAndRefine
from tocsin.index.filtering.kernels.layouts import Coming
from tocsin.index.found import Found
from tocsin.index.rectangles.kernels.layouts import Seen
from tocsin.index.rectangles.rectangles import Held
from tocsin.index.rectangles.tiles.batches import find_by_tile
from tocsin.index.rectangles.tiles.grids import Grid, choose_grids
from tocsin.index.rectangles.tiles.kernels import Tiles, count_entries, write_entries
from tocsin.index.statistics import Statistics

BATCH: Final = 64
"""Batches of more events are matched tile by tile."""


@dataclass(frozen=True, slots=True)
class TilesBuilder(RebuiltOnLoad):
    """Builds tiles."""

    def build(self, compiled: CompiledExpressions, statistics: Statistics | None = None) -> OverTiles:
        """Choose grids, and list the rectangles over each tile; statistics are not used. Raises `UnsuitableIndex`."""
        held = Held.of(compiled)
        return OverTiles(held, build_tiles(held), stamps=True)


class OverTiles(FilterAndRefine[Held]):
    """The Matcher over tiles."""

    def find(self, coming: Coming, seen: Seen) -> Found:
        """Match tile by tile if there are many events and each lies in one tile, else event by event."""
        if len(coming.events.starts) > BATCH:
            found = find_by_tile(self.structure, self.held, coming, seen)
            if found is not None:
                return found
        return super().find(coming, seen)

    def place(self, number: int) -> str:
        if not self.finds()[number]:
            return super().place(number)
        grids = int(np.diff(self.structure.grid_starts)[self.held.pair_of(number)])
        return f"{super().place(number)}; in {grids} grid{'s' if grids > 1 else ''} of tiles"


def build_tiles(held: Held) -> Tiles:
    """The tiles of all pairs of axes."""
    groups = held.groups
    pairs = range(len(groups.axes))
    sizes = [(int(held.sizes[groups.axes[pair]]), int(held.sizes[groups.seconds[pair]])) for pair in pairs]
    return tiles_of([_grids_of(held, pair, sizes[pair]) for pair in pairs], sizes, groups.rectangles)


def tiles_of(grids: list[list[Grid]], sizes: list[tuple[int, int]], rectangles: NDArray[np.int32]) -> Tiles:
    """The tiles of the grids of pairs of axes with that many codes. Cost: linear in the entries."""
    flat = [grid for own in grids for grid in own]
    sides = np.array([size for size, own in zip(sizes, grids, strict=True) for _ in own], np.int64).reshape(-1, 2)
    shifts = np.array([(grid.shift_x, grid.shift_y) for grid in flat], np.int64).reshape(-1, 2)
    counts = ((sides - 1) >> shifts) + 1
    tile_starts = starts_of(counts.prod(axis=1), len(flat))
    tiles = Tiles(
        grid_starts=starts_of([len(own) for own in grids], len(grids)).astype(np.int32),
        shifts_x=shifts[:, 0],
        shifts_y=shifts[:, 1],
        columns=counts[:, 0],
        rows=counts[:, 1],
        tile_starts=tile_starts,
        starts=np.zeros(int(tile_starts[-1]) + 1, np.int64),
        owners=np.empty(0, np.int32),
        packed=np.empty(0, np.uint32),
    )
    return _with_entries(tiles, flat, rectangles)


def _grids_of(held: Held, pair: int, sizes: tuple[int, int]) -> list[Grid]:
    """The grids of a pair of axes; their positions are subscriptions."""
    groups = held.groups
    members = groups.members[groups.starts[pair] : groups.starts[pair + 1]]
    grids = choose_grids(groups.rectangles[members], sizes)
    return [Grid(grid.shift_x, grid.shift_y, members[grid.places].astype(np.int64)) for grid in grids]


def _with_entries(tiles: Tiles, grids: list[Grid], rectangles: NDArray[np.int32]) -> Tiles:
    """The tiles with their entries."""
    tiles = frozen_table(tiles)
    counts = np.zeros(len(tiles.starts) - 1, np.int64)
    for number, grid in enumerate(grids):
        count_entries(tiles, number, frozen(grid.places, np.int32), rectangles, counts)
    starts = starts_of(counts, len(counts))
    owners, packed = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    tiles = tiles._replace(starts=starts, owners=owners, packed=packed)
    places = starts[:-1].copy()
    for number, grid in enumerate(grids):
        write_entries(tiles, number, frozen(grid.places, np.int32), rectangles, places)
    return frozen_table(tiles)
