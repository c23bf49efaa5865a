"""Lines on the globe and the circles that they enter: a tree of boxes, then each great circle's distance to the centre.

As for points, the evaluator's own formula decides what is so close to an edge that rounding may matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.areas import INSIDE, OUTSIDE, UNDECIDED
from tocsin.kernels.caps import Caps, directions
from tocsin.language.distances import SHORTEST, Line, lines_on_globe
from tocsin.model.shapes import shapely

_SLACK: Final = 1e-6
"""Degrees, about 10 cm."""


class Ways(NamedTuple):
    """Great circles between the vertices of lines; a line of one vertex has one of no length.

    W of them, for P places.
    """

    owners: NDArray[np.int64]  # (W,) the place, ascending
    ends: NDArray[np.float64]  # (W, 2, 2) longitudes and latitudes
    directions: NDArray[np.float64]  # (W, 2, 3)
    poles: NDArray[np.float64]  # (W, 3) perpendicular to both, as long as the sine of the angle between them
    able: NDArray[np.bool_]  # (P,) whether each place is a line on the globe

    @classmethod
    def of(cls, geometries: Iterable[Any]) -> Ways:
        """The great circles of shapely's geometries."""
        lines = [lines_on_globe(geometry) for geometry in geometries]
        able = np.array([line is not None for line in lines], bool)
        found = [(number, ends) for number, own in enumerate(lines) for line in own or () for ends in _steps(line)]
        owners = np.array([number for number, _ in found], np.int64)
        ends = np.array([ends for _, ends in found], np.float64).reshape(-1, 2, 2)
        towards = directions(ends.reshape(-1, 2)).reshape(-1, 2, 3)
        return cls(owners, ends, towards, np.cross(towards[:, 0], towards[:, 1]), able)

    def boxes(self) -> NDArray[np.float64]:
        """(W, 4) the box around each, with all longitudes if it crosses the antimeridian or passes a pole."""
        low, high = self.ends.min(axis=1), self.ends.max(axis=1)
        wide = high[:, 0] - low[:, 0] > 179
        low[wide, 0], high[wide, 0] = -180, 180
        sizes = np.linalg.norm(self.poles, axis=1)
        drawn = np.flatnonzero(sizes > SHORTEST)
        units = self.poles[drawn] / sizes[drawn, None]
        highest = np.array([0.0, 0.0, 1.0]) - units[:, 2:] * units
        for sign, edge in ((1.0, high), (-1.0, low)):
            passes = self._between(drawn, sign * highest)
            tops = sign * np.degrees(np.arccos(np.minimum(np.abs(units[:, 2]), 1.0)))
            edge[drawn[passes], 1] = tops[passes]
        return np.concatenate([low - _SLACK, high + _SLACK], axis=1)

    def states(self, ways: NDArray[np.int64], circles: Caps, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
        """INSIDE, OUTSIDE or UNDECIDED for pairs of a way and a circle."""
        centres = circles.centres[numbers]
        towards, poles = self.directions[ways], self.poles[ways]
        squares = ((towards - centres[:, None]) ** 2).sum(axis=2).min(axis=1)
        doubts = np.zeros(len(ways))
        sizes = np.linalg.norm(poles, axis=1)
        near = np.flatnonzero((sizes > SHORTEST) & self._between(ways, centres))
        sines = np.minimum(np.abs((poles[near] * centres[near]).sum(axis=1)) / sizes[near], 1.0)
        passing = 2 * sines**2 / (1 + np.sqrt(1 - sines**2))
        error = 1e-12 + 1e-15 / sizes[near]
        doubts[near] = np.where(passing <= squares[near], 4 * (sines + error) * error, 0.0)
        squares[near] = np.minimum(squares[near], passing)
        states = np.where(squares + doubts < circles.inner[numbers], INSIDE, UNDECIDED)
        return np.where(squares - doubts > circles.outer[numbers], OUTSIDE, states).astype(np.uint8)

    def _between(self, ways: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each way's whole great circle comes nearest to a direction between the way's ends."""
        poles, (first, last) = self.poles[ways], self.directions[ways].swapaxes(0, 1)
        behind = (np.cross(poles, first) * points).sum(axis=1) > 0
        found: NDArray[np.bool_] = behind & ((np.cross(last, poles) * points).sum(axis=1) > 0)
        return found


def _steps(line: Line) -> Sequence[tuple[tuple[float, float], tuple[float, float]]]:
    return list(pairwise(line)) if len(line) > 1 else [(line[0], line[0])]


def tree_of(boxes: NDArray[np.float64]) -> Any:
    """shapely's tree of boxes (B, 4)."""
    return shapely().STRtree(shapely().box(*boxes.T))


def around(tree: Any, ways: Ways) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which ways may enter which boxes of a tree."""
    found, boxes = tree.query(shapely().box(*ways.boxes().T))
    return found, boxes
