"""Search of boxes around points: boxes as rectangles of rank codes in tiles, by number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table
from tocsin.index.places.gated import Gated
from tocsin.index.rectangles.tiles import choose_grids, entries_around, points_in_tiles, tiles_of
from tocsin.kernels.guides import codes_by, guide_to


class Boxes:
    """Boxes (B, 4) with closed edges: xmin, ymin, xmax, ymax. Immutable."""

    def __init__(self, boxes: NDArray[np.float64]) -> None:
        self._able = np.flatnonzero(np.isfinite(boxes).all(axis=1))  # empty shapes have no box
        self.most = 0  # the most that `crowd` returns
        if not len(self._able):
            return
        columns = [np.unique(boxes[self._able][:, (axis, axis + 2)], return_inverse=True) for axis in range(2)]
        self._guides = [frozen_table(guide_to(edges)) for edges, _ in columns]
        codes = [2 * ranks.reshape(-1, 2) + 1 for _, ranks in columns]
        rectangles = frozen(np.stack(codes, axis=2).reshape(-1, 4), np.int32)  # LEFT .. UPPER
        sizes = 2 * len(columns[0][0]) + 1, 2 * len(columns[1][0]) + 1
        self._tiles = tiles_of([choose_grids(rectangles, sizes)], [sizes], rectangles)
        self._largest = int(np.diff(self._tiles.starts).max())
        self.most = self._largest * len(self._tiles.columns)

    def around(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which points (rows of x and y) lie in which boxes, or so close that their tile cannot tell.

        Each pair is returned once, by point if one grid has all boxes.
        """
        if not len(self._able):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        owners, found = points_in_tiles(self._tiles, self._largest, *self._coded(points))
        return owners, self._able[found]

    def crowd(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """(P,) how many boxes share a tile with each point: at least as many as `around` finds."""
        if not len(self._able):
            return np.zeros(len(points), np.int64)
        return entries_around(self._tiles, *self._coded(points))

    def _coded(self, points: NDArray[np.float64]) -> list[NDArray[np.int32]]:
        """The rank codes of points on both axes."""
        return [codes_by(guide, np.ascontiguousarray(points[:, axis])) for axis, guide in enumerate(self._guides)]


class ConditionBoxes:
    """The boxes outside of which conditions on places are not TRUE. C conditions, B boxes. Threads may share it."""

    def __init__(self, boxes: NDArray[np.float64], owners: NDArray[np.int64] | None = None) -> None:
        self._bounds = boxes  # (B, 4)
        self._owners = np.arange(len(boxes)) if owners is None else owners  # (B,) the condition of each, ascending
        self._all = Boxes(boxes)
        self._others: tuple[NDArray[np.bool_], Boxes] | None = None

    def bounds(self) -> NDArray[np.float64]:
        """(C, 4) the box around all boxes of each condition; NaN if there is none."""
        firsts = np.flatnonzero(np.diff(self._owners, prepend=-1))
        low, high = (reduce.reduceat(self._bounds, firsts) for reduce in (np.minimum, np.maximum))
        found: NDArray[np.float64] = np.concatenate([low[:, :2], high[:, 2:]], axis=1)
        return found

    @property
    def most(self) -> int:
        """As `Boxes.most`."""
        return self._all.most

    def crowd(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """As `Boxes.crowd`."""
        return self._all.crowd(points)

    def around(
        self, points: NDArray[np.float64], gated: Gated | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Points and conditions to decide. A condition with several boxes may be found in each of them."""
        if gated is None:
            owners, boxes = self._all.around(points)
            return owners, self._owners[boxes]
        parts = np.flatnonzero(~gated.is_crowded), np.flatnonzero(gated.is_crowded)
        searched = self._all, self._without(gated.is_gated)
        found = [own.around(points[part]) for own, part in zip(searched, parts, strict=True)]
        return (
            np.concatenate([*(part[own] for part, (own, _) in zip(parts, found, strict=True)), gated.owners]),
            np.concatenate([*(self._owners[own] for _, own in found), gated.conditions]),
        )

    def _without(self, is_gated: NDArray[np.bool_]) -> Boxes:
        """The boxes of conditions that are not gated, under their numbers. Rebuilt if others are gated than before."""
        kept = self._others
        if kept is None or not (kept[0] is is_gated or np.array_equal(kept[0], is_gated)):
            others = np.where(is_gated[self._owners, None], np.nan, self._bounds)
            kept = self._others = is_gated, Boxes(others) if is_gated.any() else self._all
        return kept[1]
