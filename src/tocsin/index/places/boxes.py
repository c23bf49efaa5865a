"""Search of boxes around points: boxes as rectangles of rank codes in tiles, by number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table
from tocsin.index.rectangles.tiles import choose_grids, points_in_tiles, tiles_of
from tocsin.kernels.guides import codes_by, guide_to


class Boxes:
    """Boxes (B, 4) with closed edges: xmin, ymin, xmax, ymax. Immutable."""

    def __init__(self, boxes: NDArray[np.float64]) -> None:
        self._able = np.flatnonzero(np.isfinite(boxes).all(axis=1))  # empty shapes have no box
        if not len(self._able):
            return
        columns = [np.unique(boxes[self._able][:, (axis, axis + 2)], return_inverse=True) for axis in range(2)]
        self._guides = [frozen_table(guide_to(edges)) for edges, _ in columns]
        codes = [2 * ranks.reshape(-1, 2) + 1 for _, ranks in columns]
        rectangles = frozen(np.stack(codes, axis=2).reshape(-1, 4), np.int32)  # LEFT .. UPPER
        sizes = 2 * len(columns[0][0]) + 1, 2 * len(columns[1][0]) + 1
        self._tiles = tiles_of([choose_grids(rectangles, sizes)], [sizes], rectangles)
        self._largest = int(np.diff(self._tiles.starts).max())

    def around(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which points (rows of x and y) lie in which boxes, or so close that their tile cannot tell.

        Each pair is returned once, by point if one grid has all boxes.
        """
        if not len(self._able):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        xs, ys = (codes_by(guide, np.ascontiguousarray(points[:, axis])) for axis, guide in enumerate(self._guides))
        owners, found = points_in_tiles(self._tiles, self._largest, xs, ys)
        return owners, self._able[found]
