"""Point-in-polygon tests: by a grid of cells, then by ray crossing.

Each polygon's bounding box is divided into 16 by 16 cells. A cell that no edge's box reaches lies entirely inside or
outside. For any other cell, the kernel tests the edges that reach the cell's row. They are stored as two runs along the
rings. Points and edges get their cells by the same monotone formula, so rounding cannot separate a point from an edge
that it lies on.

The sign of a determinant tells whether a point lies left of an edge. Within the determinant's rounding error of 0, and
on edges and corners, the result is UNDECIDED, and the caller must use exact arithmetic. Source: Shewchuk, Adaptive
Precision Floating-Point Arithmetic, 1997, the first bound of orient2d.

With a million polygons, most of the data that a point needs is not in the processor's cache. So the kernel makes three
passes: the cells of all pairs, the runs of the open pairs, then their edges, which it prefetches.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.intrinsics import bits_of_float, float_of_bits, prefetch
from tocsin.jit.views import viewed

OUTSIDE: Final = 0
INSIDE: Final = 1
UNDECIDED: Final = 2

_ERROR: Final = 3.3306690738754716e-16
"""(3 + 16 u) u, with u = 2 ** -53."""
_TINY: Final = 1e-280
"""Below this, products lose bits that the error bound does not cover."""


SIDE: Final = 16

# Layout of a record. First the frame as bits: for each axis the origin of the cells and the cells per unit. Then the
# states of the cells, row by row, 2 bits each, low bits first. Then three numbers.
# states of the cells, row by row, 2 bits each, low ones first; and three numbers.
CELLS: Final = 4
WORDS: Final = 2 * SIDE * SIDE // 64
FIRST: Final = CELLS + WORDS  # the polygon's first corner
LAST: Final = FIRST + 1
SHIFT: Final = LAST + 1  # runs are stored in units of 2 ** shift corners
RECORD: Final = 16  # two cache lines

_END: Final = 16
"""Bits of one end of a run. A row's word holds four: begin and end of the first run, begin and end of the second."""
_END_MASK: Final = (1 << _END) - 1

_AHEAD: Final = 4
"""Edges are prefetched this many pairs ahead. 2, 4, 8 and 16 are about equally fast; 0 takes half as long again."""
_LINE: Final = 8
"""Coordinates in a cache line."""


class Areas(NamedTuple):
    """Polygons as chains of corners, one ring after the other, with holes among them. P areas, V corners.

    After every ring but the first, the chain returns to its start. The connecting edges therefore occur twice, and a
    ray crosses them an even number of times. Rings of one area do not cross.
    """

    starts: NDArray[np.int64]  # (P + 1,) corners [starts[p], starts[p + 1]); empty if p is not an area
    xs: NDArray[np.float64]  # (V,)
    ys: NDArray[np.float64]  # (V,)
    records: Annotated[NDArray[np.uint64], 2]  # (P, RECORD)
    rows: Annotated[NDArray[np.uint64], 2]  # (P, SIDE) the two runs of edges that reach into each row of cells


@kernel
def decide(
    areas: Areas, points: NDArray[np.float64], which: NDArray[np.int64], asked: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """OUTSIDE, INSIDE or UNDECIDED for each pair of a point and an area. Cost: linear in the edges of a row.

    Callers must not ask about an entry that is not an area, because it has no cells.
    """
    held = viewed(areas)
    records, rows = held.records, held.rows
    out = np.empty(len(which), np.uint8)
    open_pairs, ends = np.empty(len(which) + 1, np.int64), np.empty((len(which) + 1, 4), np.int64)
    count = np.uint64(0)
    for i in range(np.uint64(len(which))):
        area = np.uint64(asked[i])
        column = _cell(records, area, 0, points[np.uint64(which[i]), 0])
        row = _cell(records, area, 1, points[np.uint64(which[i]), 1])
        state = _state(records, area, row * SIDE + column)
        out[i] = state
        open_pairs[count], ends[count, 0] = i, row
        count += np.uint64(state == UNDECIDED)
    for j in range(count):
        area = np.uint64(asked[np.uint64(open_pairs[j])])
        _write_ends(records, area, rows[area, np.uint64(ends[j, 0])], ends, j)
    for j in range(count):
        _ask_for_edges(held, ends, min(j + np.uint64(_AHEAD), count - np.uint64(1)))
        i = np.uint64(open_pairs[j])
        point = np.uint64(which[i])
        out[i] = _decide_one(held, points[point, 0], points[point, 1], ends, j)
    return out


@inlined
def _cell(records: NDArray[np.uint64], area: int, axis: int, coordinate: float) -> int:
    """The column or row of a coordinate. Coordinates outside the box count to the first or last one."""
    begin = float_of_bits(np.int64(records[area, axis]))
    scaled = (coordinate - begin) * float_of_bits(np.int64(records[area, axis + 2]))
    return np.int64(max(min(scaled, SIDE - 1.0), 0.0))


@inlined
def _state(records: NDArray[np.uint64], area: int, cell: int) -> int:
    word = records[area, np.uint64(CELLS + (cell >> 5))]
    return np.int64(word >> np.uint64(2 * (cell & 31)) & np.uint64(3))


@inlined
def _set_state(records: NDArray[np.uint64], area: int, cell: int, state: int) -> None:
    shift = np.uint64(2 * (cell & 31))
    records[area, CELLS + (cell >> 5)] &= ~(np.uint64(3) << shift)
    records[area, CELLS + (cell >> 5)] |= np.uint64(state) << shift


@inlined
def _write_ends(records: NDArray[np.uint64], area: int, runs: int, ends: NDArray[np.int64], at: int) -> None:
    """Write the four ends of a row's runs, as numbers of corners."""
    first, last, unit = records[area, FIRST], records[area, LAST], records[area, SHIFT]
    for number in range(4):
        steps = (np.uint64(runs) >> np.uint64(_END * number) & np.uint64(_END_MASK)) << unit
        ends[at, number] = np.int64(min(first + steps, last))


@inlined
def _ask_for_edges(areas: Areas, ends: NDArray[np.int64], at: int) -> None:
    """Prefetch the first two cache lines of each run."""
    for number in (0, 2):
        first = ends[at, number]
        prefetch(areas.xs, first)
        prefetch(areas.ys, first)
        prefetch(areas.xs, first + _LINE)
        prefetch(areas.ys, first + _LINE)


@inlined
def _decide_one(areas: Areas, x: float, y: float, ends: NDArray[np.int64], at: int) -> int:
    """Decide a point by the edges of its row's two runs."""
    crossed, doubts = _crossed(areas, x, y, ends[at, 0], ends[at, 1])
    more, other = _crossed(areas, x, y, ends[at, 2], ends[at, 3])
    if doubts + other > 0:
        return UNDECIDED
    return INSIDE if (crossed + more) & 1 == 1 else OUTSIDE


@inlined
def _crossed(areas: Areas, x: float, y: float, first: int, last: int) -> tuple[int, int]:
    """How many edges between two corners a ray from a point crosses, and how many are too close to tell.

    The loop has no branches, so the compiler can vectorise it.
    """
    from_x, from_y = areas.xs[first:last], areas.ys[first:last]
    to_x, to_y = areas.xs[first + 1 : last + 1], areas.ys[first + 1 : last + 1]
    crossed, doubts = np.int64(0), np.int64(0)
    for i in range(np.uint64(last - first)):
        ax, ay, bx, by = from_x[i], from_y[i], to_x[i], to_y[i]
        spans = (ay > y) != (by > y)
        left, right = (ax - x) * (by - y), (ay - y) * (bx - x)
        turn = left - right
        size = abs(left) + abs(right)
        is_close = (not abs(turn) > _ERROR * size) | (size < _TINY)  # written so that overflow counts as close, too
        lies_on = (by == y) & (min(ax, bx) <= x) & (x <= max(ax, bx))
        touches = (ay == y) & ((ax == x) | lies_on)
        doubts += np.int64((spans & is_close) | touches)
        crossed += np.int64(spans & ((turn > 0) == (by > ay)))
    return crossed, doubts


@kernel
def write_records(areas: Areas, frames: NDArray[np.float64]) -> None:
    """Write records and rows, which must be 0 before. `frames` are (P, 4): origins and cells per unit of both axes.

    Cost: for each edge the rows that it reaches; for each cell the edges of its row.
    """
    held = viewed(areas)
    records, rows, starts = held.records, held.rows, held.starts
    ends = np.empty((SIDE, 4), np.int64)
    for area in range(np.uint64(len(starts) - 1)):
        for i in range(4):
            records[area, i] = np.uint64(bits_of_float(frames[area, i]))
        first, stop = starts[area], starts[area + np.uint64(1)]
        records[area, FIRST], records[area, LAST] = np.uint64(first), np.uint64(max(stop - 1, first))
        shift = 0
        while (stop - first) >> shift > _END_MASK:
            shift += 1
        records[area, SHIFT] = np.uint64(shift)
        ends[:] = 0
        for i in range(first, stop - 1):
            _mark_edge(held, area, i, i - first, ends)
        for row in range(SIDE if stop > first else 0):
            rows[area, row] = _packed_ends(ends[row], shift)
            _write_ends(records, area, rows[area, row], ends, row)
            _decide_row(held, area, row, ends)


@inlined
def _mark_edge(areas: Areas, area: int, edge: int, place: int, ends: NDArray[np.int64]) -> None:
    """Make the cells UNDECIDED that the box of an edge reaches, and add the edge to the runs of its rows."""
    records, xs, ys = areas.records, areas.xs, areas.ys
    left = _cell(records, area, 0, min(xs[edge], xs[edge + 1]))
    right = _cell(records, area, 0, max(xs[edge], xs[edge + 1]))
    lower = _cell(records, area, 1, min(ys[edge], ys[edge + 1]))
    upper = _cell(records, area, 1, max(ys[edge], ys[edge + 1]))
    for row in range(lower, upper + 1):
        _add_to_runs(ends, row, place)
        for column in range(left, right + 1):
            _set_state(records, area, row * SIDE + column, UNDECIDED)


@inlined
def _add_to_runs(ends: NDArray[np.int64], row: int, place: int) -> None:
    """Add an edge to a row's two runs, which are split at the widest gap so far between the row's edges."""
    if ends[row, 1] == 0:
        ends[row, 0] = place
        ends[row, 1] = ends[row, 2] = ends[row, 3] = place + 1
    elif ends[row, 2] == ends[row, 3] and place > ends[row, 1]:
        ends[row, 2], ends[row, 3] = place, place + 1
    elif ends[row, 2] == ends[row, 3]:
        ends[row, 1] = ends[row, 2] = ends[row, 3] = place + 1
    else:
        if place - ends[row, 3] > ends[row, 2] - ends[row, 1]:
            ends[row, 1], ends[row, 2] = ends[row, 3], place
        ends[row, 3] = place + 1


@inlined
def _packed_ends(ends: NDArray[np.int64], shift: int) -> int:
    """The four ends as one word: begins rounded down, ends up. Runs that would then overlap become one."""
    more = (np.int64(1) << shift) - 1
    first, stop = ends[0] >> shift, (ends[1] + more) >> shift
    second, last = ends[2] >> shift, (ends[3] + more) >> shift
    if second < stop or ends[2] == ends[3]:
        stop = second = last
    return (
        np.uint64(first)
        | np.uint64(stop) << np.uint64(_END)
        | np.uint64(second) << np.uint64(2 * _END)
        | np.uint64(last) << np.uint64(3 * _END)
    )


@inlined
def _decide_row(areas: Areas, area: int, row: int, ends: NDArray[np.int64]) -> None:
    """Write the states of the cells of a row that no edge reaches.

    No edge separates such a cell from its left or lower neighbour if that one is decided, so both have one state.
    Otherwise the state is that of the cell's centre.
    """
    records = areas.records
    for column in range(SIDE):
        cell = row * SIDE + column
        if _state(records, area, cell) == UNDECIDED:
            continue
        state = _state(records, area, cell - 1) if column > 0 else UNDECIDED
        if state == UNDECIDED and row > 0:
            state = _state(records, area, cell - SIDE)
        if state == UNDECIDED:
            x, y = _middle(records, area, 0, column), _middle(records, area, 1, row)
            is_there = _cell(records, area, 0, x) == column and _cell(records, area, 1, y) == row
            state = _decide_one(areas, x, y, ends, row) if is_there else UNDECIDED
        _set_state(records, area, cell, state)


@inlined
def _middle(records: NDArray[np.uint64], area: int, axis: int, cell: int) -> float:
    begin, scale = float_of_bits(np.int64(records[area, axis])), float_of_bits(np.int64(records[area, axis + 2]))
    return begin + (cell + 0.5) / scale
