"""Does a point lie in a circle on the sphere? By the square of the chord between it and the centre, but at the edge.

Points and centres are directions, whose difference has an error of some 1e-16. So a chord's square says on which side
of the edge a point lies, unless it is within `DOUBT` of the edge's: there the formula of whoever asks must decide.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.areas import INSIDE, OUTSIDE, UNDECIDED
from tocsin.kernels.jit import kernel
from tocsin.kernels.packing import viewed

DOUBT: Final = 1e-13
"""Of a chord's square, on a sphere of radius 1: some hundred times what rounding makes of it, or of a haversine."""


class Caps(NamedTuple):
    """Circles by the squares of chords from their centres. C circles."""

    centres: Annotated[NDArray[np.float64], 2]  # (C, 3) directions
    inner: NDArray[np.float64]  # (C,) what is nearer is inside
    outer: NDArray[np.float64]  # (C,) what is farther is outside


def caps(centres: NDArray[np.float64], angles: NDArray[np.float64]) -> Caps:
    """(C, 2) centres in degrees, and (C,) radii as angles; more than half a turn is everything."""
    squares = 4 * np.sin(np.minimum(angles, np.pi) / 2) ** 2
    slack = DOUBT + 1e-9 * np.sqrt(squares)  # and some millimetres, which nobody wants to be told apart
    return Caps(directions(centres), squares - slack, squares + slack)


def directions(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(P, 3) of longitudes and latitudes in degrees."""
    lon, lat = np.radians(points).T
    found: NDArray[np.float64] = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    return found


@kernel
def decide_caps(
    circles: Caps, points: NDArray[np.float64], which: NDArray[np.int64], numbers: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """INSIDE, OUTSIDE or UNDECIDED of pairs of a point and a circle."""
    table = viewed(circles)
    centres, inner, outer = table.centres, table.inner, table.outer
    states = np.empty(len(which), np.uint8)
    for pair in range(len(which)):
        point, number = np.uint64(which[pair]), np.uint64(numbers[pair])
        x = points[point, 0] - centres[number, 0]
        y = points[point, 1] - centres[number, 1]
        z = points[point, 2] - centres[number, 2]
        square = x * x + y * y + z * z
        state = INSIDE if square < inner[number] else UNDECIDED
        states[pair] = OUTSIDE if square > outer[number] else state
    return states
