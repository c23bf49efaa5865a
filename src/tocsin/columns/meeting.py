"""Spatial lookups on a batch before kernels run: which values are places, and which boxes a shape intersects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import empty_runs, frozen, starts_of
from tocsin.kernels import codes
from tocsin.language.operators.spatial import of_bounds
from tocsin.model.shapes import shapely


class BoxFinder:
    """Finds the boxes that shapes intersect, with an R-tree from shapely.

    The tree is built when the first shape comes.
    """

    def __init__(self, boxes: NDArray[np.float64]) -> None:
        self._boxes = boxes
        self._tree: Any = None

    def find(self, shapes: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """For each shape the boxes that it intersects, ascending, in CSR form."""
        if not len(shapes) or not len(self._boxes):
            return empty_runs(len(shapes)), frozen(np.empty(0), np.int32)
        if self._tree is None:  # two threads may both build it
            self._tree = shapely().STRtree(geometries_of(self._boxes))
        given = np.empty(len(shapes), object)
        given[:] = shapes
        owners, numbers = self._tree.query(given, predicate="intersects")
        order = np.lexsort((numbers, owners))
        starts = starts_of(np.bincount(owners, minlength=len(shapes)), len(shapes))
        return starts, frozen(numbers[order], np.int32)


def box_numbers(
    types: NDArray[np.uint8], payloads: NDArray[np.int64], list_boxes: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(V,) the box of each value that is a point, a box, or a list readable as one; -1 for any other value."""
    boxes: NDArray[np.int64] = np.where(types == codes.GEOMETRY, payloads, -1)
    lists = np.flatnonzero(types == codes.LIST)
    boxes[lists] = list_boxes[payloads[lists]]
    return boxes


def geometries_of(bounds: NDArray[np.float64]) -> NDArray[Any]:
    """(B, 4) points and boxes as shapely geometries."""
    is_point = (bounds[:, 0] == bounds[:, 2]) & (bounds[:, 1] == bounds[:, 3])
    places = np.empty(len(bounds), object)
    places[is_point] = shapely().points(bounds[is_point, :2])
    places[~is_point] = [of_bounds(cast(Any, tuple(one))) for one in bounds[~is_point].tolist()]
    return places
