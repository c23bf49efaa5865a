"""Points in polygons, held against exact fractions: what is decided is right, and no edge is decided."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st

from tocsin.index.places.areas import Rings, areas_of
from tocsin.kernels.areas import CELLS, INSIDE, OUTSIDE, SIDE, UNDECIDED, WORDS, decide

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
    """Whether rounding may be why nothing was said, or that the point is where a chain leads to another ring."""
    begin, *others = (ring[0] for ring in rings_of(shape))
    edges = [shapely.boundary(shape), *(shapely.LineString([begin, other]) for other in others)]
    return min(shapely.distance(edge, shapely.Point(point)) for edge in edges) < 1e-12


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


def test_a_line_has_no_corners():
    line, area, point = shapely.LineString([(0, 0), (1, 1)]), shapely.box(0, 0, 1, 1), shapely.Point(0, 0)
    areas = areas_of([Rings.of(np.array([line, area, point]))])

    assert np.diff(areas.starts).tolist() == [0, 5, 0]
    assert decide(areas, np.array([[0.5, 0.5], [9.0, 9.0]]), np.arange(2), np.array([1, 1])).tolist() == [
        INSIDE,
        OUTSIDE,
    ]


def test_most_of_a_large_polygon_is_known_by_its_cells():
    """Cells that no edge comes near have the state of their middle."""
    angles = np.linspace(0, 2 * np.pi, 200)[:-1]
    shape = shapely.Polygon(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    cells = areas_of([Rings.of(np.array([shape]))]).records[0, CELLS : CELLS + WORDS]
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


def test_a_polygon_of_very_many_corners():
    """Its runs are told in steps of several corners; it has a hole of as many."""
    outer, inner = (circle(count) * radius for count, radius in ((150_000, 2.0), (90_001, 1.0)))
    shape = shapely.Polygon(outer, [inner])
    random = np.random.default_rng(1)
    asked = random.uniform(-2.2, 2.2, (2_000, 2))
    found = decide(
        areas_of([Rings.of(np.array([shape]))]), asked, np.arange(len(asked)), np.zeros(len(asked), np.int64)
    )
    expected = shapely.contains_xy(shape, *asked.T)

    assert ((found == INSIDE) == expected).all()
    assert (found == UNDECIDED).sum() <= 1


def circle(count: int) -> np.ndarray:
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=12), st.randoms())
def test_the_two_runs_have_all_edges_of_a_row_once(moves, random):
    """A chain that wanders up and down: whatever reaches into a row is in one of its runs."""
    ys = np.cumsum([random.choice((-1, 1)) * step for _, step in moves]).astype(float)
    ring = np.array([*zip(np.arange(len(ys)), ys, strict=True), (len(ys), 40.0), (-1.0, 40.0)], float)
    shape = shapely.Polygon(ring)
    assume(shape.is_valid)
    areas = areas_of([Rings.of(np.array([shape]))])
    low, high = areas.ys.min(), areas.ys.max()
    rows = np.clip((areas.ys - low) * (SIDE / (high - low)), 0, SIDE - 1).astype(int)
    for row, word in enumerate(areas.rows[0].tolist()):
        first, stop, second, last = (word >> 16 * number & 0xFFFF for number in range(4))
        reaching = [
            edge
            for edge, (one, other) in enumerate(pairwise(rows.tolist()))
            if min(one, other) <= row <= max(one, other)
        ]
        assert first <= stop <= second <= last
        assert set(reaching) <= {*range(first, stop), *range(second, last)}
