"""Point-in-circle tests on the sphere, by the squared chord from the centre.

Points and centres are unit vectors. Their difference has an error of about 1e-16. So the squared chord decides on which
side a point lies, except within `DOUBT` of the edge. There the caller's own formula must decide.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel
from tocsin.jit.views import viewed
from tocsin.kernels.areas import INSIDE, OUTSIDE, UNDECIDED

DOUBT: Final = 1e-13
"""In squared chords on the unit sphere: about a hundred times the rounding error of one, or of a haversine."""


class Caps(NamedTuple):
    """Circles as squared chords from their centres. C circles."""

    centres: Annotated[NDArray[np.float64], 2]  # (C, 3) directions
    inner: NDArray[np.float64]  # (C,) smaller squares are inside
    outer: NDArray[np.float64]  # (C,) larger squares are outside


def caps(centres: NDArray[np.float64], angles: NDArray[np.float64]) -> Caps:
    """Circles from (C, 2) centres in degrees and (C,) radii as angles. A radius over half a turn covers the sphere."""
    squares = 4 * np.sin(np.minimum(angles, np.pi) / 2) ** 2
    slack = DOUBT + 1e-9 * np.sqrt(squares)  # also covers a few millimetres, which nobody needs to distinguish
    return Caps(directions(centres), squares - slack, squares + slack)


def directions(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The (P, 3) unit vectors of longitudes and latitudes in degrees."""
    lon, lat = np.radians(points).T
    found: NDArray[np.float64] = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    return found


@kernel
def decide_caps(
    circles: Caps, points: NDArray[np.float64], which: NDArray[np.int64], numbers: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """INSIDE, OUTSIDE or UNDECIDED for each pair of a point and a circle."""
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
