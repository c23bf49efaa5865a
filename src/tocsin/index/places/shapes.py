"""Which shapes does a place touch, lie within, or cross? Tiles find what is around a point, shapely's tree the rest.

Cells of an area decide most points (`kernels.areas`), its edges most others; shapely's prepared predicates decide what
is left, and all of places that are no points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen_table, starts_of, together
from tocsin.columns.events.batch import EventBatch
from tocsin.errors import SegmentError
from tocsin.index.once import Once
from tocsin.index.places.boxes import Boxes
from tocsin.index.places.places import Holding, Places
from tocsin.kernels.areas import INSIDE, SIDE, UNDECIDED, WORDS, Areas, decide, write_cells
from tocsin.language.spatial import PLACE, of_bounds
from tocsin.model.shapes import shapely

_SHAPE_FIRST: Final = {
    "S_INTERSECTS": "intersects",
    "S_CONTAINS": "within",
    "S_WITHIN": "contains",
    "S_EQUALS": "equals",
    "S_TOUCHES": "touches",
    "S_OVERLAPS": "overlaps",
    "S_CROSSES": "crosses",
}
"""shapely's predicates with the shape as their first argument, which is the prepared one."""


class Shapes:
    """Predicates of shapes: by tiles of their boxes for points, by a tree of them for places that are boxes."""

    def __init__(self, texts: Sequence[str]) -> None:
        asked = [text.partition(f"({PLACE}, ") for text in texts]
        try:
            self._predicates = np.array([_SHAPE_FIRST[name] for name, _, _ in asked])
            self._shapes = _geometries([text[:-1] for _, _, text in asked])
        except (KeyError, ValueError) as error:
            raise SegmentError(f"a spatial predicate was changed on disk: {error}. Compile it again.") from None
        self._boxes = Boxes(shapely().bounds(self._shapes))
        self._areas = areas_of(self._shapes)
        self._decides = np.array([one in _BY_AREA for one in self._predicates.tolist()], bool)
        shapely().prepare(self._shapes)
        self._tree: Once[Any] = Once()

    def holding(self, batch: EventBatch, places: Places) -> Holding:
        """None is UNKNOWN of a place."""
        is_point = places.are_points()
        points, others = np.flatnonzero(is_point), np.flatnonzero(~is_point)
        of_points = self._of_points(places.bounds[points, :2]) if len(points) else _NOTHING
        of_others = self._of_others(places.only(others).geometries()) if len(others) else _NOTHING
        return Holding(
            np.concatenate([points[of_points[0]], others[of_others[0]]]),
            np.concatenate([of_points[1], of_others[1]]),
            np.zeros((len(places.events), 1), bool),
        )

    def _of_points(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of points: most of what is asked of areas needs no library."""
        owners, found = self._boxes.around(points)
        decided = np.full(len(owners), UNDECIDED, np.uint8)
        by_area = np.flatnonzero(self._decides[found])
        by_area = by_area[together(found[by_area], len(self._shapes))]
        decided[by_area] = decide(self._areas, points, owners[by_area], found[by_area])
        keep = decided == INSIDE
        open_pairs = np.flatnonzero(decided == UNDECIDED)
        distinct, which = np.unique(owners[open_pairs], return_inverse=True)
        places = shapely().points(points[distinct])[which]
        keep[open_pairs] = self._decided_by_library(found[open_pairs], places)
        return owners[keep], found[keep]

    def _of_others(self, places: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of boxes and shapes, as geometries."""
        tree = self._tree.get(lambda: shapely().STRtree(self._shapes))
        owners, found = tree.query(places)
        keep = self._decided_by_library(found, places[owners])
        return owners[keep], found[keep]

    def _decided_by_library(self, found: NDArray[np.int64], places: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each of some conditions holds of the place beside it."""
        keep = np.zeros(len(found), bool)
        for predicate in np.unique(self._predicates[found]).tolist():
            own = np.flatnonzero(self._predicates[found] == predicate)
            keep[own] = getattr(shapely(), predicate)(self._shapes[found[own]], places[own])
        return keep


_BY_AREA: Final = ("intersects", "contains")
"""What an area says of a point that is surely inside or surely outside: yes, or no."""
_NOTHING: Final = np.empty(0, np.int64), np.empty(0, np.int64)


def areas_of(shapes: NDArray[Any]) -> Areas:
    """The rings of those that are polygons, one or several."""
    library = shapely()
    kinds = library.get_type_id(shapes)
    is_area = (kinds == _POLYGON) | (kinds == _MULTIPOLYGON)
    parts, owners = library.get_parts(shapes[is_area], return_index=True)
    rings, of_part = library.get_rings(parts, return_index=True)
    corners, of_ring = library.get_coordinates(rings, return_index=True)
    numbers = np.flatnonzero(is_area)[owners[of_part]]
    areas = frozen_table(
        Areas(
            starts_of(np.bincount(numbers, minlength=len(shapes)), len(shapes)),
            starts_of(np.bincount(of_ring, minlength=len(rings)), len(rings)),
            corners[:, 0],
            corners[:, 1],
            _frames(library.bounds(shapes)),
            np.empty((0, WORDS), np.uint64),
        )
    )
    areas = areas._replace(cells=np.zeros((len(shapes), WORDS), np.uint64))
    write_cells(areas)
    return frozen_table(areas)


def _frames(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the cells of boxes begin, and how many there are to a unit; of a side without length, one."""
    sides = bounds[:, 2:] - bounds[:, :2]
    with np.errstate(divide="ignore", over="ignore"):
        scales = np.where(sides > 0, SIDE / sides, 1.0)
    return np.concatenate([bounds[:, :2], np.where(np.isfinite(scales), scales, 1.0)], axis=1)


_POLYGON: Final = 3
_MULTIPOLYGON: Final = 6


def _geometries(texts: Sequence[str]) -> NDArray[Any]:
    """The geometries that canonical texts say: well-known text, and boxes, all at once."""
    library = shapely()
    boxes = {place: text for place, text in enumerate(texts) if text.startswith("BBOX(")}
    try:
        found: NDArray[Any] = library.from_wkt(
            ["POINT(0 0)" if place in boxes else text for place, text in enumerate(texts)]
        )
    except library.errors.ShapelyError as error:
        raise ValueError(str(error)) from None
    for place, text in boxes.items():
        found[place] = of_bounds(cast(Any, tuple(map(float, text[5:-1].split(",")))))
    return found
