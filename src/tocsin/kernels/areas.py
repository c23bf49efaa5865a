"""Does a point lie in a polygon? By its cell, where no edge comes near; else by the edges that a ray from it crosses.

Each polygon's box is cut into 16 by 16 cells. Cells that the box of no edge reaches lie inside or outside as a whole. A
coordinate's cell is computed in the same way for points and for edges, and never falls as the coordinate rises: so
rounding cannot part a point from an edge that it lies on.

Whether a point lies left of an edge is the sign of a determinant; where that is within its rounding error of 0, and on
every edge and corner, nothing is said, and whoever asks must use exact arithmetic. Source: Shewchuk, Adaptive Precision
Floating-Point Arithmetic, 1997, the first bound of orient2d.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import viewed

OUTSIDE: Final = 0
INSIDE: Final = 1
UNDECIDED: Final = 2

_ERROR: Final = 3.3306690738754716e-16
"""(3 + 16 u) u, with u = 2 ** -53."""
_TINY: Final = 1e-280
"""Below it products lose bits that the bound does not count."""


SIDE: Final = 16
WORDS: Final = 2 * SIDE * SIDE // 64
"""Of a polygon's cells, 2 bits each: OUTSIDE, INSIDE or UNDECIDED."""


class Areas(NamedTuple):
    """The rings of polygons, holes among them; those of one area do not cross. P areas, R rings, V corners."""

    ring_starts: NDArray[np.int64]  # (P + 1,) rings [starts[p], starts[p + 1]); none for what is no area
    corner_starts: NDArray[np.int64]  # (R + 1,)
    xs: NDArray[np.float64]  # (V,) of a ring, the first corner again at its end
    ys: NDArray[np.float64]  # (V,)
    frames: Annotated[NDArray[np.float64], 2]  # (P, 4) where the cells begin, and how many there are to a unit
    cells: Annotated[NDArray[np.uint64], 2]  # (P, WORDS) row by row, low bits first


@kernel
def decide(
    areas: Areas, points: NDArray[np.float64], which: NDArray[np.int64], asked: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """For each pair of a point and an area OUTSIDE, INSIDE, or UNDECIDED. Cost: linear in the area's corners."""
    held = viewed(areas)
    out = np.empty(len(which), np.uint8)
    for i in range(len(which)):
        x, y, area = points[which[i], 0], points[which[i], 1], asked[i]
        column, row = _cell(held.frames, area, 0, x), _cell(held.frames, area, 1, y)
        known = _state(held.cells, area, row * SIDE + column)
        out[i] = known if known != UNDECIDED else _decide_one(held, x, y, area)
    return out


@inlined
def _cell(frames: NDArray[np.float64], area: int, axis: int, coordinate: float) -> int:
    """The column or row of a coordinate; what lies outside is in the first or last."""
    scaled = (coordinate - frames[area, axis]) * frames[area, axis + 2]
    return np.int64(max(min(scaled, SIDE - 1.0), 0.0))


@inlined
def _state(cells: NDArray[np.uint64], area: int, cell: int) -> int:
    return np.int64(cells[area, cell >> 5] >> np.uint64(2 * (cell & 31)) & np.uint64(3))


@inlined
def _set_state(cells: NDArray[np.uint64], area: int, cell: int, state: int) -> None:
    shift = np.uint64(2 * (cell & 31))
    cells[area, cell >> 5] &= ~(np.uint64(3) << shift)
    cells[area, cell >> 5] |= np.uint64(state) << shift


@kernel
def write_cells(areas: Areas) -> None:
    """Write the states of all cells; they come as 0. Cost: a look at an area's edges for each of its cells."""
    held = viewed(areas)
    for area in range(len(held.ring_starts) - 1):
        _mark_edges(held, area)
        for cell in range(SIDE * SIDE):
            if _state(held.cells, area, cell) != UNDECIDED:
                column, row = cell % SIDE, cell // SIDE
                x, y = _middle(held.frames, area, 0, column), _middle(held.frames, area, 1, row)
                is_there = _cell(held.frames, area, 0, x) == column and _cell(held.frames, area, 1, y) == row
                _set_state(held.cells, area, cell, _decide_one(held, x, y, area) if is_there else UNDECIDED)


@inlined
def _middle(frames: NDArray[np.float64], area: int, axis: int, cell: int) -> float:
    return frames[area, axis] + (cell + 0.5) / frames[area, axis + 2]


@inlined
def _mark_edges(areas: Areas, area: int) -> None:
    """Make UNDECIDED what the box of any edge reaches."""
    frames, xs, ys = areas.frames, areas.xs, areas.ys
    for ring in range(areas.ring_starts[area], areas.ring_starts[area + 1]):
        for i in range(areas.corner_starts[ring], areas.corner_starts[ring + 1] - 1):
            left, right = min(xs[i], xs[i + 1]), max(xs[i], xs[i + 1])
            lower, upper = min(ys[i], ys[i + 1]), max(ys[i], ys[i + 1])
            for row in range(_cell(frames, area, 1, lower), _cell(frames, area, 1, upper) + 1):
                for column in range(_cell(frames, area, 0, left), _cell(frames, area, 0, right) + 1):
                    _set_state(areas.cells, area, row * SIDE + column, UNDECIDED)


@inlined
def _decide_one(areas: Areas, x: float, y: float, area: int) -> int:
    """All edges are looked at, several at once: no branch depends on one."""
    ring_starts, corner_starts, xs, ys = areas.ring_starts, areas.corner_starts, areas.xs, areas.ys
    if ring_starts[area] == ring_starts[area + 1]:
        return UNDECIDED
    crossed, doubts = np.int64(0), np.int64(0)
    for ring in range(ring_starts[area], ring_starts[area + 1]):
        first, last = corner_starts[ring], corner_starts[ring + 1] - 1
        from_x, from_y = xs[first:last], ys[first:last]
        to_x, to_y = xs[first + 1 : last + 1], ys[first + 1 : last + 1]
        for i in range(np.uint64(last - first)):
            ax, ay, bx, by = from_x[i], from_y[i], to_x[i], to_y[i]
            spans = (ay > y) != (by > y)
            left, right = (ax - x) * (by - y), (ay - y) * (bx - x)
            turn = left - right
            size = abs(left) + abs(right)
            is_close = (not abs(turn) > _ERROR * size) | (size < _TINY)  # so that what overflowed is close, too
            lies_on = (by == y) & (min(ax, bx) <= x) & (x <= max(ax, bx))
            touches = (ay == y) & ((ax == x) | lies_on)
            doubts += np.int64((spans & is_close) | touches)
            crossed += np.int64(spans & ((turn > 0) == (by > ay)))
    if doubts > 0:
        return UNDECIDED
    return INSIDE if crossed & 1 == 1 else OUTSIDE
