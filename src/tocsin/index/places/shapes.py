"""Spatial predicates on shapes: tiles find the shapes around a point, shapely's tree those around other places.

Cells of an area decide most points (`kernels.areas`), and its edges most others. shapely's prepared predicates decide
the rest, and all places that are not points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import together
from tocsin.columns.events.batch import EventBatch
from tocsin.errors import SegmentError
from tocsin.index.places.areas import areas_of
from tocsin.index.places.boxes import ConditionBoxes
from tocsin.index.places.forms import Forms
from tocsin.index.places.gated import Gated
from tocsin.index.places.geometries import Geometries
from tocsin.index.places.places import Holding, Places, Tested
from tocsin.kernels.areas import INSIDE, UNDECIDED, decide
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
_PREDICATES: Final = tuple(_SHAPE_FIRST.values())
_BY_AREA: Final = [_PREDICATES.index(name) for name in ("intersects", "contains")]
"""Predicates that an area decides for a point that is surely inside (yes) or surely outside (no)."""
_NOTHING: Final[Tested] = np.empty(0, np.int64), np.empty(0, np.int64), 0


class Shapes:
    """Predicates on shapes: by tiles of their boxes for points, by a tree of them for other places."""

    def __init__(self, names: Sequence[str], forms: Forms) -> None:
        self._predicates = _predicates_of(forms)  # numbers in _PREDICATES
        self._geometries = Geometries(names)
        rings = list(self._geometries.rings(forms.begins))
        self.boxes = ConditionBoxes(np.concatenate([one.bounds for one in rings]))
        self._areas = areas_of(rings)
        self._decides = np.isin(self._predicates, _BY_AREA) & (np.diff(self._areas.starts) > 0)

    def holding(self, batch: EventBatch, places: Places, gated: Gated | None) -> Holding:
        """The predicates that hold. None is UNKNOWN of a place."""
        is_point = places.are_points()
        points, others = np.flatnonzero(is_point), np.flatnonzero(~is_point)
        at = None if gated is None else gated.at(points)
        of_points = self._of_points(places.bounds[points, :2], at) if len(points) else _NOTHING
        of_others = self._of_others(places.only(others).geometries()) if len(others) else _NOTHING
        return Holding(
            np.concatenate([points[of_points[0]], others[of_others[0]]]),
            np.concatenate([of_points[1], of_others[1]]),
            np.zeros((len(places.events), 1), bool),
            of_points[2] + of_others[2],
        )

    def _of_points(self, points: NDArray[np.float64], gated: Gated | None) -> Tested:
        """The predicates that hold for points; most of those on areas need no library."""
        owners, found = self.boxes.around(points, gated)
        decided = np.full(len(owners), UNDECIDED, np.uint8)
        by_area = np.flatnonzero(self._decides[found])
        by_area = by_area[together(found[by_area], len(self._predicates))]
        decided[by_area] = decide(self._areas, points, owners[by_area], found[by_area])
        keep = decided == INSIDE
        open_pairs = np.flatnonzero(decided == UNDECIDED)
        distinct, which = np.unique(owners[open_pairs], return_inverse=True)
        places = shapely().points(points[distinct])[which]
        keep[open_pairs] = self._decided_by_library(found[open_pairs], places)
        return owners[keep], found[keep], len(found)

    def _of_others(self, places: NDArray[Any]) -> Tested:
        """The predicates that hold for boxes and shapes, as geometries."""
        owners, found = self._geometries.tree().query(places)
        keep = self._decided_by_library(found, places[owners])
        return owners[keep], found[keep], len(found)

    def _decided_by_library(self, found: NDArray[np.int64], places: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each of some conditions holds for the place beside it."""
        keep = np.zeros(len(found), bool)
        with self._geometries.lent() as prepared:
            for predicate in np.unique(self._predicates[found]).tolist():
                own = np.flatnonzero(self._predicates[found] == predicate)
                keep[own] = getattr(shapely(), _PREDICATES[predicate])(prepared.of(found[own]), places[own])
        return keep


def _predicates_of(forms: Forms) -> NDArray[np.uint8]:
    """The number of each condition's predicate."""
    distinct, which = np.unique(forms.numbers, return_inverse=True)
    functions = [forms.functions[form] for form in distinct.tolist()]
    unknown = [function for function in functions if function not in _SHAPE_FIRST]
    if unknown:
        raise SegmentError(f"a spatial predicate was changed on disk: {unknown[0]!r}. Compile it again.")
    return np.array([_PREDICATES.index(_SHAPE_FIRST[function]) for function in functions], np.uint8)[which]
