"""Points in polygons, held against exact fractions: what is decided is right, and no edge is decided."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st

from tocsin.index.places.areas import Rings, areas_of
from tocsin.kernels.areas import INSIDE, OUTSIDE, SIDE, UNDECIDED, decide

Point = tuple[float, float]
grid = st.integers(0, 6).map(float)
fine = st.floats(-1, 7, allow_nan=False)
corners = st.lists(st.tuples(grid, grid), min_size=3, max_size=9, unique=True)
points = st.lists(
    st.one_of(st.tuples(grid, grid), st.tuples(fine, fine), st.tuples(grid, fine)), min_size=1, max_size=20
)


def exactly(rings: list[list[Point]], point: Point) -> int:
    """INSIDE, OUTSIDE, or UNDECIDED on an edge, in fractions."""
    x, y = map(Fraction, point)
    inside = False
    for ring in rings:
        for one, other in pairwise(ring):
            (ax, ay), (bx, by) = (tuple(map(Fraction, corner)) for corner in (one, other))
            turn = (ax - x) * (by - y) - (ay - y) * (bx - x)
            if turn == 0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
                return UNDECIDED
            if (ay > y) != (by > y):
                inside ^= (turn > 0) == (by > ay)
    return INSIDE if inside else OUTSIDE


def rings_of(shape: shapely.Geometry) -> list[list[Point]]:
    return [list(ring.coords) for part in shapely.get_parts(shape) for ring in shapely.get_rings(part)]


def check(shapes: list[shapely.Geometry], asked: list[Point], *, may_doubt: bool = False) -> None:
    areas = areas_of([Rings.of(np.array(shapes))])
    which, numbers = (part.reshape(-1) for part in np.meshgrid(np.arange(len(asked)), np.arange(len(shapes))))
    found = decide(areas, np.array(asked), which, numbers)
    for point, number, state in zip(which.tolist(), numbers.tolist(), found.tolist(), strict=True):
        expected = exactly(rings_of(shapes[number]), asked[point])
        assert state == expected or (state == UNDECIDED and (may_doubt or _is_close(shapes[number], asked[point])))


def _is_close(shape: shapely.Geometry, point: Point) -> bool:
    """Whether rounding may be why nothing was said."""
    return shapely.distance(shapely.boundary(shape), shapely.Point(point)) < 1e-12


def polygon_of(corners: list[Point]) -> shapely.Geometry:
    """The area that lines through corners enclose, in one or several parts, however the lines cross."""
    parts = shapely.get_parts(shapely.make_valid(shapely.Polygon(corners)))
    areas = [part for part in parts if part.geom_type in ("Polygon", "MultiPolygon")]
    assume(areas)
    return shapely.union_all(areas)


@given(corners, points)
def test_polygons(ring, asked):
    """On a small grid, where much is collinear, and between its lines."""
    check([polygon_of(ring)], asked)


@given(corners, points)
def test_holes_and_several_parts(ring, asked):
    """A frame around the polygon, which is its hole; and two of them far apart; a thin box beside them."""
    hole = polygon_of(ring)
    frame = shapely.difference(shapely.box(-2, -2, 9, 9), hole)
    both = shapely.union(hole, shapely.box(20, 20, 22, 21))
    check([frame, both, shapely.box(1, 1, 1.5, 5)], [*asked, (21.0, 20.5), (20.0, 20.5), (15.0, 15.0)])


def test_a_line_says_nothing():
    found = decide(
        areas_of([Rings.of(np.array([shapely.LineString([(0, 0), (1, 1)]), shapely.Point(0, 0)]))]),
        np.array([[0.5, 0.5], [9.0, 9.0]]),
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 1]),
    )

    assert found.tolist() == [UNDECIDED] * 4


def test_most_of_a_large_polygon_is_known_by_its_cells():
    """Cells that no edge comes near have the state of their middle."""
    angles = np.linspace(0, 2 * np.pi, 200)[:-1]
    shape = shapely.Polygon(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    cells = areas_of([Rings.of(np.array([shape]))]).cells[0]
    states = [int(word >> np.uint64(2 * place)) & 3 for word in cells for place in range(32)]

    assert len(states) == SIDE * SIDE
    assert states.count(INSIDE) > SIDE * SIDE / 2
    assert states[0] == OUTSIDE
    assert states.count(UNDECIDED) < SIDE * SIDE / 3


def test_tiny_and_huge_coordinates():
    """Sides of almost nothing, and of almost everything."""
    for scale in (1e-300, 1e-12, 1.0, 1e12, 1e150, 1e160):
        check(
            [shapely.Polygon([(0, 0), (4 * scale, 0), (4 * scale, scale), (scale, 3 * scale)])],
            [
                (scale, scale),
                (2 * scale, scale / 2),
                (5 * scale, scale),
                (0.0, 0.0),
                (2 * scale, 0.0),
            ],
            may_doubt=scale in (1e-300, 1e160),
        )
