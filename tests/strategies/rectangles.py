"""Expressions with a rectangle: ranges and boxes that the outermost AND needs, on a small grid and far beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.conditions import expressions
from tests.strategies.pools import chosen
from tocsin.model.expression import And, Attribute, Between, Call, Comparison, Constant, Expression, Or
from tocsin.model.values import Box, Point

AXES: Final = ("x", "y", "z")
PLACES: Final = ("p", "q")
_FAR: Final = (-1e300, -2.5, 1e-9, 7.5, 2.0**53, 1e300)


def sides() -> SearchStrategy[float]:
    """Numbers of a small grid, between its lines, and far out."""
    grid = st.integers(0, 12).map(float)
    return chosen((6, grid), (2, grid.map(lambda number: number + 0.5)), (1, st.sampled_from(_FAR)))


@st.composite
def rectangle_expressions(draw: DrawFn) -> Expression:
    """A conjunction with at least one range or box; some have more that is no such thing."""
    parts = draw(st.lists(st.one_of(_range_of(), _range_of(), _box_of()), min_size=1, max_size=4))
    parts += draw(st.lists(_more(), max_size=1))
    return parts[0] if len(parts) == 1 else And(tuple(draw(st.permutations(parts))))


@st.composite
def _range_of(draw: DrawFn) -> Expression:
    subject = Attribute(draw(st.sampled_from(AXES)))
    low, high = sorted([draw(sides()), draw(sides())])
    if draw(st.booleans()):
        return Between(subject, Constant(low), Constant(high))
    operation = draw(st.sampled_from(["=", "<", "<=", ">", ">="]))
    return Comparison(operation, subject, Constant(low))


@st.composite
def _box_of(draw: DrawFn) -> Expression:
    return draw(region_asked(st.one_of(regions(), st.builds(Point, sides(), sides()))))


def region_asked(some: SearchStrategy[Any]) -> SearchStrategy[Expression]:
    """That a place meets a region, or one of several."""
    asked = st.builds(
        lambda name, of: [Call("S_INTERSECTS", (Attribute(name), Constant(one))) for one in of],
        st.sampled_from(PLACES),
        chosen((6, st.lists(some, min_size=1, max_size=1)), (1, st.lists(some, min_size=2, max_size=3))),
    )
    return asked.map(lambda calls: calls[0] if len(calls) == 1 else Or(tuple(calls)))


def regions() -> SearchStrategy[Box]:
    """Boxes, one in five of them across the antimeridian."""
    return chosen((4, boxes_on_a_grid()), (1, crossing_boxes()))


def crossing_boxes() -> SearchStrategy[Box]:
    """Boxes that go from one edge eastwards to another that is west of it, in between of which lies the grid."""
    edges = st.sampled_from([-180.0, -2.5, *map(float, range(13)), 170.0, 180.0])
    pairs = st.lists(edges, min_size=2, max_size=2, unique=True).map(sorted)
    return st.builds(lambda ends, box: Box(ends[1], box.ymin, ends[0], box.ymax), pairs, boxes_on_a_grid())


def _more() -> SearchStrategy[Expression]:
    """What a structure of rectangles must verify. An AND within the outermost one would be part of it."""
    return expressions(max_depth=3).filter(lambda one: not isinstance(one, And))


@st.composite
def boxes_on_a_grid(draw: DrawFn) -> Box:
    """Of any size, a point among them."""
    (left, right), (lower, upper) = (sorted([draw(sides()), draw(sides())]) for _ in range(2))
    return Box(left, lower, right, upper)


@st.composite
def map_events(draw: DrawFn) -> dict[str, Any]:
    """Where they lie on the axes, and a place or two."""
    event: dict[str, Any] = {name: draw(st.one_of(sides(), sides(), st.text(max_size=1))) for name in _some(draw, AXES)}
    return event | {name: draw(places()) for name in _some(draw, PLACES)}


def places() -> SearchStrategy[Any]:
    """Points, boxes, lists that are read as such, and what is none."""
    return st.one_of(
        st.builds(Point, sides(), sides()),
        boxes_on_a_grid(),
        st.tuples(sides(), sides()).map(list),
        st.lists(st.integers(0, 12), max_size=4).filter(lambda four: len(four) < 4 or four[0] <= four[2]),
        st.none(),
    )


def _some(draw: DrawFn, names: Sequence[str]) -> list[str]:
    return draw(st.lists(st.sampled_from(names), unique=True))
