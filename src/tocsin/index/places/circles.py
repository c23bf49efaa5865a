"""Circles on the sphere that a point lies in or a line enters: boxes in tiles find them, and chord lengths decide.

If a point lies so close to a circle's edge that rounding may matter, the evaluator's own formula decides. So both
always agree.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen_table
from tocsin.columns.events.batch import EventBatch
from tocsin.errors import SegmentError
from tocsin.index.once import Once
from tocsin.index.places.boxes import ConditionBoxes
from tocsin.index.places.gated import Gated
from tocsin.index.places.places import Holding, Places, Tested
from tocsin.index.places.ways import Ways, around, tree_of
from tocsin.kernels.areas import INSIDE, UNDECIDED
from tocsin.kernels.caps import caps, decide_caps, directions
from tocsin.language.distances import EARTH_M, Circle, boxes_around, distance_m
from tocsin.model.readings import reading_of
from tocsin.model.shapes import shape_of_geometry
from tocsin.model.values import Point, Value


class Circles:
    """Circles, in tiles. C circles, B boxes around them; a circle on the antimeridian has two."""

    def __init__(self, names: Sequence[str]) -> None:
        numbers, bounds, counts = array("d"), array("d"), array("q")
        for circle in _read(names):  # kept as objects, they would cost Python's collector as much time again
            numbers.extend((circle.centre.x, circle.centre.y, circle.metres, circle.has_edge))
            boxes = boxes_around(circle.centre, circle.metres)
            bounds.extend(chain.from_iterable(boxes))
            counts.append(len(boxes))
        self._circles = np.array(numbers).reshape(-1, 4)  # (C, 4) longitude, latitude, metres, whether it has its edge
        self._bounds = np.array(bounds).reshape(-1, 4)  # (B, 4)
        self._caps = frozen_table(caps(self._circles[:, :2], self._circles[:, 2] / EARTH_M))
        self._owners = np.repeat(np.arange(len(counts)), counts)  # (B,)
        self._is_split = np.array(counts) > 1  # (C,)
        self.boxes = ConditionBoxes(self._bounds, self._owners)
        self._tree: Once[Any] = Once()

    def holding(self, batch: EventBatch, places: Places, gated: Gated | None) -> Holding:
        """The circles that places lie in. UNKNOWN for other shapes, and outside longitudes and latitudes."""
        bounds = places.bounds
        able = places.are_points() & (np.abs(bounds[:, 0]) <= 180) & (np.abs(bounds[:, 1]) <= 90)
        chosen = np.flatnonzero(able)
        owners, own, examined = self._around(bounds[chosen, :2], None if gated is None else gated.at(chosen))
        owners = chosen[owners]
        shapes = np.flatnonzero(places.are_shapes)
        if len(shapes):
            ways = Ways.of(places.shapes[shapes])
            able[shapes] = ways.able
            met, circles, more = self._met(ways, places.shapes[shapes])
            owners, own = np.concatenate([owners, shapes[met]]), np.concatenate([own, circles])
            examined += more
        return Holding(owners, own, ~able[:, None], examined)

    def _met(self, ways: Ways, geometries: NDArray[Any]) -> Tested:
        """Which lines enter which circles."""
        found, boxes = around(self._tree.get(lambda: tree_of(self._bounds)), ways)
        circles = self._owners[boxes]
        states = ways.states(found, self._caps, circles)
        pairs = ways.owners[found] * len(self._circles) + circles
        inside = set(np.unique(pairs[states == INSIDE]).tolist())
        for pair in set(np.unique(pairs[states == UNDECIDED]).tolist()) - inside:
            line, number = divmod(pair, len(self._circles))
            if self._decided(shape_of_geometry(geometries[line]), number):
                inside.add(pair)
        lines, numbers = np.divmod(np.array(sorted(inside), np.int64), len(self._circles))
        return lines, numbers, len(np.unique(pairs))

    def _around(self, points: NDArray[np.float64], gated: Gated | None) -> Tested:
        """Which points, rows of longitude and latitude, lie in which circles."""
        owners, circles = self.boxes.around(points, gated)
        if self._is_split.any():
            owners, circles = self._each_once(owners, circles)
        states = decide_caps(self._caps, directions(points), owners, circles)
        keep = states == INSIDE
        for close in np.flatnonzero(states == UNDECIDED).tolist():
            keep[close] = self._decided(Point(*points[owners[close]].tolist()), int(circles[close]))
        return owners[keep], circles[keep], len(circles)

    def _each_once(
        self, owners: NDArray[np.int64], circles: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs without duplicates.

        Circles with two boxes may have some: the boxes overlap to allow for rounding.
        """
        split = self._is_split[circles]
        pairs = np.unique(owners[split] * len(self._circles) + circles[split])
        more, some = np.divmod(pairs, len(self._circles))
        return np.concatenate([owners[~split], more]), np.concatenate([circles[~split], some])

    def _decided(self, place: Value, number: int) -> bool:
        lon, lat, limit, has_edge = self._circles[number].tolist()
        metres = cast(float, distance_m(place, Point(lon, lat)))
        return bool(metres <= limit if has_edge else metres < limit)


def _read(names: Sequence[str]) -> Iterator[Circle]:
    try:
        for name in names:
            yield Circle.of_text(reading_of(name).rest)
    except ValueError as error:
        raise SegmentError(f"a condition on a distance was changed on disk: {error}. Compile it again.") from None
