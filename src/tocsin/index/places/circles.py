"""Which circles on the sphere does a point lie in? Their boxes are rectangles in tiles; the distance decides.

Distances are computed for all candidates at once. Where one lies so close to a circle's edge that rounding might tell,
the evaluator's own formula is asked; so both say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.events.batch import EventBatch
from tocsin.errors import SegmentError
from tocsin.index.places.boxes import Boxes
from tocsin.index.places.places import Holding, Places
from tocsin.language.distances import EARTH_M, Circle, boxes_around, distance_m
from tocsin.model.values import Point

_NEAR_EDGE_M: Final = 1e-3


class Circles:
    """Circles, in tiles. C circles, B boxes around them, of which one on the antimeridian has two."""

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            circles = [Circle.of_text(text) for text in texts]
        except ValueError as error:
            raise SegmentError(f"a condition on a distance was changed on disk: {error}. Compile it again.") from None
        self._circles = circles
        self._centres = np.array([(one.centre.x, one.centre.y) for one in circles])
        self._metres = np.array([one.metres for one in circles])
        boxes = [boxes_around(one.centre, one.metres) for one in circles]
        self._owners = np.repeat(np.arange(len(boxes)), [len(own) for own in boxes])  # (B,)
        self._boxes = Boxes(np.array([box for own in boxes for box in own]))

    def holding(self, batch: EventBatch, places: Places) -> Holding:
        """UNKNOWN of what is no point with a longitude and a latitude."""
        bounds = places.bounds
        able = places.are_points() & (np.abs(bounds[:, 0]) <= 180) & (np.abs(bounds[:, 1]) <= 90)
        chosen = np.flatnonzero(able)
        owners, own = self._around(bounds[chosen, :2])
        return Holding(chosen[owners], own, ~able[:, None])

    def _around(self, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which points, rows of longitude and latitude, lie in which circles."""
        found, boxes = self._boxes.around(points)
        pairs = np.unique(found * len(self._circles) + self._owners[boxes])
        owners, circles = np.divmod(pairs, len(self._circles))
        metres = _distances(points[owners], self._centres[circles])
        margins = metres - self._metres[circles]
        keep = margins < 0
        for close in np.flatnonzero(np.abs(margins) < _NEAR_EDGE_M).tolist():
            keep[close] = self._decided(points[owners[close]].tolist(), int(circles[close]))
        return owners[keep], circles[keep]

    def _decided(self, point: Sequence[float], number: int) -> bool:
        circle = self._circles[number]
        metres = cast(float, distance_m(Point(*point), circle.centre))
        return metres <= circle.metres if circle.has_edge else metres < circle.metres


def _distances(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """The haversine formula of pairs of longitude and latitude."""
    (lon, lat), (other_lon, other_lat) = np.radians(points).T, np.radians(centres).T
    part = np.sin((other_lat - lat) / 2) ** 2
    part += np.cos(lat) * np.cos(other_lat) * np.sin((other_lon - lon) / 2) ** 2
    metres: NDArray[np.float64] = 2 * EARTH_M * np.arcsin(np.sqrt(np.minimum(part, 1.0)))
    return metres
