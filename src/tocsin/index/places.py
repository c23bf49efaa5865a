"""Which shapes does a place touch, lie within, or cross? All that are asked of one attribute are in one tree of boxes.

A spatial predicate with a shape is a boolean attribute of the event, of which subscriptions are compiled
(`model.readings`), as conditions about elements are. shapely's tree finds the shapes whose boxes meet that of the
event's place; its prepared predicates decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch, Wanted
from tocsin.columns.events.readings import inserted
from tocsin.errors import SegmentError
from tocsin.index.conditions import blocks_of, numbers_of_names
from tocsin.kernels import codes
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
    places = _geometries_of(bounds)
    found = [tree.truths(places) for tree in blocks_of(wanted, f"places of {name}", asked, _Tree)]
    owners, conditions, truths = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.argsort(owners, kind="stable")
    distinct, which = np.unique(conditions[order], return_inverse=True)
    numbers, names = numbers_of_names(batch, [asked[condition] for condition in distinct.tolist()], wanted)
    kinds = np.full(len(order), codes.BOOLEAN, np.uint8)
    arrays = inserted(batch.arrays, events[owners[order]], numbers[which], kinds, truths[order].astype(np.int64))
    return replace(batch, arrays=arrays, attributes=names)


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


class _Tree:
    """Conditions on one attribute's places, from number `first` on. C of them."""

    def __init__(self, names: Sequence[str], first: int) -> None:
        readings = [reading_of(name) for name in names]
        asked = [one.rest.partition(f"({PLACE}, ") for one in readings]
        self.first, self.stop = first, first + len(names)
        self._says_false = np.flatnonzero([one.kind == PLACED_OR_NOT for one in readings])
        try:
            self._predicates = np.array([_SHAPE_FIRST[name] for name, _, _ in asked])
            self._shapes = _geometries([text[:-1] for _, _, text in asked])
        except (KeyError, ValueError) as error:
            raise SegmentError(f"a spatial predicate was changed on disk: {error}. Compile it again.") from None
        shapely().prepare(self._shapes)
        self._tree = shapely().STRtree(self._shapes)

    def truths(self, places: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Of which places which conditions are TRUE or, where that is asked, FALSE."""
        owners, own = self._holding(places)
        column = np.full(self.stop - self.first, -1)
        column[self._says_false] = np.arange(len(self._says_false))
        is_false = np.ones((len(places), len(self._says_false)), bool)
        told = column[own] >= 0
        is_false[owners[told], column[own[told]]] = False
        more = np.nonzero(is_false)
        return (
            np.concatenate([owners, more[0]]),
            self.first + np.concatenate([own, self._says_false[more[1]]]),
            np.concatenate([np.ones(len(owners), bool), np.zeros(len(more[0]), bool)]),
        )

    def _holding(self, places: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which places fulfil which of its conditions."""
        library = shapely()
        owners, found = self._tree.query(places)
        keep = np.zeros(len(owners), bool)
        for predicate in np.unique(self._predicates[found]).tolist():
            own = np.flatnonzero(self._predicates[found] == predicate)
            keep[own] = getattr(library, predicate)(self._shapes[found[own]], places[owners[own]])
        return owners[keep], found[keep]


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
