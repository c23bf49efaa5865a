"""Cells of grids that a box lies in: access keys for conditions on places.

There is a grid of squares for each power of two. The side of a box's grid is at least half of the box's longer side and
less than all of it, so the box lies in 9 cells at most. A point lies in one cell of each grid. Multiples of powers of
two are exact, so no point on an edge is lost.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined

BIAS: Final = 64
"""The offset added to the exponent of a cell's side, which gives a field's number."""

GRIDS: Final = 2 * BIAS
"""An upper bound of those numbers."""

NO_LEVEL: Final = -1
_FINEST: Final = -20
_COARSEST: Final = 60
_MOST: Final = 2.0**30
"""The greatest number of a cell's column or row, on both sides of 0."""


@inlined
def level_of_box(boxes: NDArray[np.float64], box: int) -> int:
    """The grid that a box lies in; NO_LEVEL if the box is reversed, or too large or far out for any."""
    width, height = boxes[box, 2] - boxes[box, 0], boxes[box, 3] - boxes[box, 1]
    if not (width >= 0.0 and height >= 0.0):
        return np.int64(NO_LEVEL)
    farthest = 0.0
    for edge in range(4):
        farthest = max(farthest, abs(boxes[box, edge]))
    least = max(max(width, height) / 2.0, farthest / _MOST)
    for exponent in range(_FINEST, _COARSEST):
        if math.ldexp(1.0, exponent) >= least:
            return np.int64(exponent + BIAS)
    return np.int64(NO_LEVEL)


@inlined
def cell_of(coordinate: float, level: int) -> int:
    """The number of the column or row of a coordinate; far outside all cells if the coordinate is not finite."""
    scaled = np.floor(math.ldexp(coordinate, BIAS - level))  # a float: it may exceed all integers
    return np.int64(max(min(scaled, 2.0 * _MOST), -2.0 * _MOST))


@inlined
def count_cells(boxes: NDArray[np.float64], box: int) -> int:
    """The number of cells that a box lies in; 0 if it lies in no grid."""
    level = level_of_box(boxes, box)
    if level == NO_LEVEL:
        return np.int64(0)
    columns = cell_of(boxes[box, 2], level) - cell_of(boxes[box, 0], level) + 1
    return columns * (cell_of(boxes[box, 3], level) - cell_of(boxes[box, 1], level) + 1)


@inlined
def cell_key(boxes: NDArray[np.float64], box: int, level: int, number: int) -> int:
    """The payload of one of the cells that a box lies in."""
    rows = cell_of(boxes[box, 3], level) - cell_of(boxes[box, 1], level) + 1
    return cell_payload(cell_of(boxes[box, 0], level) + number // rows, cell_of(boxes[box, 1], level) + number % rows)


@inlined
def cell_payload(column: int, row: int) -> int:
    """A cell as one number."""
    return (np.int64(column) << 32) | (np.int64(row) & 0xFFFFFFFF)


def cell_edges(level: int, payload: int) -> tuple[float, float, float, float]:
    """The edges of a cell, for users: xmin, ymin, xmax, ymax."""
    side = math.ldexp(1.0, level - BIAS)
    column, row = payload >> 32, ((payload & 0xFFFFFFFF) ^ 2**31) - 2**31
    return column * side, row * side, (column + 1) * side, (row + 1) * side


@inlined
def column_of(payload: int) -> int:
    """The column of a cell."""
    return payload >> 32


@inlined
def row_of_cell(payload: int) -> int:
    """The row of a cell."""
    return np.int64(np.int32(payload & 0xFFFFFFFF))
