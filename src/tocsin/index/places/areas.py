"""Which edges do the polygons among shapes have? Their rings as arrays, from which kernels decide without a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen_table, starts_of
from tocsin.kernels.areas import SIDE, WORDS, Areas, write_cells
from tocsin.model.shapes import shapely

_POLYGON: Final = 3
_MULTIPOLYGON: Final = 6


class Rings(NamedTuple):
    """The rings of some shapes, none of those that are no polygons. S shapes, R rings, V corners."""

    bounds: NDArray[np.float64]  # (S, 4)
    rings: NDArray[np.int64]  # (S,) how many each shape has
    corners: NDArray[np.int64]  # (R,) how many each ring has, its first one again at its end
    places: NDArray[np.float64]  # (V, 2)

    @classmethod
    def of(cls, shapes: NDArray[Any]) -> Rings:
        library = shapely()
        kinds = library.get_type_id(shapes)
        is_area = (kinds == _POLYGON) | (kinds == _MULTIPOLYGON)
        parts, owners = library.get_parts(shapes[is_area], return_index=True)
        rings, of_part = library.get_rings(parts, return_index=True)
        places, of_ring = library.get_coordinates(rings, return_index=True)
        numbers = np.flatnonzero(is_area)[owners[of_part]]
        return cls(
            library.bounds(shapes),
            np.bincount(numbers, minlength=len(shapes)),
            np.bincount(of_ring, minlength=len(rings)),
            places,
        )


def areas_of(pieces: Sequence[Rings]) -> Areas:
    """What kernels ask of shapes that come in pieces. Cost: linear in the corners, and in the cells of each shape."""
    bounds, rings, corners, places = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    cells = np.zeros((len(rings), WORDS), np.uint64)
    starts = starts_of(rings, len(rings)), starts_of(corners, len(corners))
    areas = frozen_table(Areas(*starts, places[:, 0], places[:, 1], _frames(bounds), np.empty((0, WORDS), np.uint64)))
    write_cells(areas._replace(cells=cells))
    return frozen_table(areas._replace(cells=cells))


def _frames(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the cells of boxes begin, and how many there are to a unit; of a side without length, one."""
    sides = bounds[:, 2:] - bounds[:, :2]
    with np.errstate(divide="ignore", over="ignore"):
        scales = np.where(sides > 0, SIDE / sides, 1.0)
    return np.concatenate([bounds[:, :2], np.where(np.isfinite(scales), scales, 1.0)], axis=1)
