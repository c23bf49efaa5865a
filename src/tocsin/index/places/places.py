"""Places of a batch: points, boxes and shapes under one attribute, and the conditions that they fulfil."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.meeting import box_numbers, geometries_of
from tocsin.kernels import codes
from tocsin.model.shapes import shapely


class Places(NamedTuple):
    """The places of a batch under one attribute: geometries, and lists that are read as such. P places."""

    events: NDArray[np.int64]  # (P,) ascending
    bounds: NDArray[np.float64]  # (P, 4)
    are_shapes: NDArray[np.bool_]  # (P,) whether each is more than a point or a box
    shapes: NDArray[Any]  # (P,) shapely's geometries of shapes

    @classmethod
    def of(cls, batch: EventBatch, name: str) -> Places:
        arrays = batch.arrays
        number = batch.present().get(name, -1)
        entries = np.flatnonzero(arrays.attributes == number)
        types, payloads = arrays.types[entries], arrays.payloads[entries]
        boxes = box_numbers(types, payloads, arrays.list_boxes)
        is_shape = types == codes.SHAPE
        kept = np.flatnonzero((boxes >= 0) | is_shape)
        shapes = np.full(len(kept), None, object)
        bounds = np.empty((len(kept), 4))
        of_shapes = np.flatnonzero(is_shape[kept])
        if len(of_shapes):
            shapes[of_shapes] = [batch.shapes[number] for number in payloads[kept[of_shapes]].tolist()]
            bounds[of_shapes] = shapely().bounds(shapes[of_shapes])
        others = np.flatnonzero(~is_shape[kept])
        bounds[others] = arrays.boxes[boxes[kept[others]]]
        return cls(np.searchsorted(arrays.starts, entries[kept], side="right") - 1, bounds, is_shape[kept], shapes)

    def only(self, chosen: NDArray[np.int64]) -> Places:
        return Places(self.events[chosen], self.bounds[chosen], self.are_shapes[chosen], self.shapes[chosen])

    def are_points(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self.bounds[:, :2] == self.bounds[:, 2:]).all(axis=1) & ~self.are_shapes
        return found

    def geometries(self) -> NDArray[Any]:
        """(P,) all places as shapely's geometries."""
        found = self.shapes.copy()
        others = np.flatnonzero(~self.are_shapes)
        found[others] = geometries_of(self.bounds[others])
        return found


class Holding(NamedTuple):
    """Which places fulfil which conditions, and which conditions are UNKNOWN."""

    owners: NDArray[np.int64]
    conditions: NDArray[np.int64]
    unknown: NDArray[np.bool_]  # (P, 1), or (P, C) if conditions differ
    examined: int  # pairs of a place and a condition that were tested


Tested: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], int]"
"""Places, the condition that each fulfils, and how many pairs were tested."""
