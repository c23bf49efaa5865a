"""Which shapes does a place touch, lie within, or cross? All that are asked of one attribute are in one tree of boxes.

A spatial predicate with a shape is a boolean attribute of the event, of which subscriptions are compiled
(`model.readings`), as conditions about elements are. Tiles find the shapes whose boxes are around a point, and cells of
an area decide most (`kernels.areas`); shapely decides the rest, and finds the shapes that meet a box. Circles on the
sphere are `circles`'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen_table, starts_of, together
from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.errors import SegmentError
from tocsin.index.boxes import Boxes
from tocsin.index.circles import Circles
from tocsin.index.conditions import blocks_of, with_truths
from tocsin.index.once import Once
from tocsin.kernels import codes
from tocsin.kernels.areas import INSIDE, SIDE, UNDECIDED, WORDS, Areas, decide, write_cells
from tocsin.language.distances import DISTANCE, Circle
from tocsin.language.spatial import PLACE, of_bounds, shapely
from tocsin.model.readings import PLACED_OR_NOT, reading_of

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


def with_places(batch: EventBatch, wanted: Wanted) -> EventBatch:
    """The batch, with the truth of what is asked of its places. Cost: nothing where nothing is asked."""
    for name in wanted.places.copy():
        batch = _answered(batch, wanted, name)
    return batch


def _answered(batch: EventBatch, wanted: Wanted, name: str) -> EventBatch:
    asked = wanted.places[name]
    events, bounds = _places(batch, name)
    if not len(events):
        return batch
    found = [block.truths(bounds) for block in blocks_of(wanted, f"places of {name}", asked, _Block)]
    owners, conditions, truths = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return with_truths(batch, wanted, asked, events[owners], conditions, truths)


def _places(batch: EventBatch, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The events that have a place under an attribute, and its bounds: a geometry, or a list that is read as one."""
    arrays = batch.arrays
    number = batch.attributes.index(name) if name in batch.attributes else -1
    entries = np.flatnonzero(arrays.attributes == number)
    types, payloads = arrays.types[entries], arrays.payloads[entries]
    boxes = np.where(types == codes.GEOMETRY, payloads, -1)
    lists = np.flatnonzero(types == codes.LIST)
    boxes[lists] = arrays.list_boxes[payloads[lists]]
    entries, boxes = entries[boxes >= 0], boxes[boxes >= 0]
    return np.searchsorted(arrays.starts, entries, side="right") - 1, arrays.boxes[boxes]


def _geometries_of(bounds: NDArray[np.float64]) -> NDArray[Any]:
    is_point = (bounds[:, 0] == bounds[:, 2]) & (bounds[:, 1] == bounds[:, 3])
    places = np.empty(len(bounds), object)
    places[is_point] = shapely().points(bounds[is_point, :2])
    places[~is_point] = [of_bounds(cast(Any, tuple(one))) for one in bounds[~is_point].tolist()]
    return places


class _Block:
    """Conditions on one attribute's places, from number `first` on: shapes in a tree, circles in tiles. C of them."""

    def __init__(self, names: Sequence[str], first: int) -> None:
        readings = [reading_of(name) for name in names]
        self.first, self.stop = first, first + len(names)
        circles = np.array([one.rest.startswith(DISTANCE) for one in readings], bool)
        says_false = np.array([one.kind == PLACED_OR_NOT for one in readings], bool)
        self._kinds: list[tuple[NDArray[np.int64], NDArray[np.int64], _Tree | Circles]] = []
        for own, make in ((~circles, _Tree), (circles, _circles_of)):
            if own.any():
                numbers = np.flatnonzero(own)
                held = make([readings[number].rest for number in numbers.tolist()])
                self._kinds.append((numbers, np.flatnonzero(own & says_false), held))

    def truths(self, bounds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Of which places which conditions are TRUE or, where that is asked, FALSE."""
        parts = [_truths_of(bounds, *kind) for kind in self._kinds]
        owners, own, truths = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return owners, self.first + own, truths


def _truths_of(
    bounds: NDArray[np.float64], numbers: NDArray[np.int64], says_false: NDArray[np.int64], held: _Tree | Circles
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Those of conditions of one kind, by number in their block."""
    if isinstance(held, Circles):
        able = np.flatnonzero(_are_on_globe(bounds))
        owners, own = held.holding(bounds[able, :2])
        owners = able[owners]
    else:
        able = np.arange(len(bounds))
        owners, own = held.holding(bounds)
    own = numbers[own]
    is_false = np.zeros((len(bounds), len(says_false)), bool)
    is_false[able] = True
    place = np.full(int(numbers[-1]) + 1, -1)
    place[says_false] = np.arange(len(says_false))
    told = place[own] >= 0
    is_false[owners[told], place[own[told]]] = False
    more = np.nonzero(is_false)
    return (
        np.concatenate([owners, more[0]]),
        np.concatenate([own, says_false[more[1]]]),
        np.concatenate([np.ones(len(owners), bool), np.zeros(len(more[0]), bool)]),
    )


def _are_on_globe(bounds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which bounds are points with a longitude and a latitude."""
    is_point = (bounds[:, 0] == bounds[:, 2]) & (bounds[:, 1] == bounds[:, 3])
    are: NDArray[np.bool_] = is_point & (np.abs(bounds[:, 0]) <= 180) & (np.abs(bounds[:, 1]) <= 90)
    return are


def _circles_of(texts: Sequence[str]) -> Circles:
    try:
        return Circles([Circle.of_text(text) for text in texts])
    except ValueError as error:
        raise SegmentError(f"a condition on a distance was changed on disk: {error}. Compile it again.") from None


class _Tree:
    """Predicates of shapes: by tiles of their boxes for points, by a tree of them for places that are boxes."""

    def __init__(self, texts: Sequence[str]) -> None:
        asked = [text.partition(f"({PLACE}, ") for text in texts]
        try:
            self._predicates = np.array([_SHAPE_FIRST[name] for name, _, _ in asked])
            self._shapes = _geometries([text[:-1] for _, _, text in asked])
        except (KeyError, ValueError) as error:
            raise SegmentError(f"a spatial predicate was changed on disk: {error}. Compile it again.") from None
        self._boxes = Boxes(shapely().bounds(self._shapes))
        self._areas = _areas_of(self._shapes)
        self._decides = np.array([one in _BY_AREA for one in self._predicates.tolist()], bool)
        shapely().prepare(self._shapes)
        self._tree: Once[Any] = Once()

    def holding(self, bounds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which places fulfil which of its conditions."""
        is_point = (bounds[:, 0] == bounds[:, 2]) & (bounds[:, 1] == bounds[:, 3])
        points, others = np.flatnonzero(is_point), np.flatnonzero(~is_point)
        of_points = self._of_points(bounds[points, :2]) if len(points) else _NOTHING
        of_others = self._of_others(_geometries_of(bounds[others])) if len(others) else _NOTHING
        return (
            np.concatenate([points[of_points[0]], others[of_others[0]]]),
            np.concatenate([of_points[1], of_others[1]]),
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
        """Of boxes, as geometries."""
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


def _areas_of(shapes: NDArray[Any]) -> Areas:
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
