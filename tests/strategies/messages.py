"""Subscriptions with a region and keywords, and messages with a place and words, on a small grid and beyond it."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.conditions import expressions
from tests.strategies.pools import chosen
from tests.strategies.rectangles import crossing_boxes
from tocsin.model.expression import And, Array, Attribute, Call, Constant, Expression
from tocsin.model.values import Box, Point

PLACE: Final = "location"
LIST: Final = "words"
WORDS: Final = ("a", "b", "c", "d", "B", "é", "｡", "😀")
"""With some whose order by code point is not that of UTF-16, and one that is another's capital."""
_FAR: Final = (-1e300, -0.0, 1e-200, 2.5, 1e300)


@st.composite
def region_and_keywords(draw: DrawFn, others: bool = True) -> Expression:
    """A region and keywords under AND, either written either way round; one in four asks for something more."""
    place, words = Attribute(PLACE), Attribute(LIST)
    region, keywords = Constant(draw(regions())), Array(tuple(map(Constant, draw(keyword_lists()))))
    parts: list[Expression] = [
        Call("S_INTERSECTS", draw(st.sampled_from([(place, region), (region, place)]))),
        draw(
            st.sampled_from([Call("A_CONTAINS", (words, keywords)), Call("A_CONTAINEDBY", (keywords, words))]),
        ),
    ]
    if others and draw(chosen((3, st.just(False)), (1, st.just(True)))):
        parts.append(draw(expressions(max_depth=2).filter(lambda one: not isinstance(one, And))))
    return And(tuple(draw(st.permutations(parts))))


def regions() -> SearchStrategy[Box]:
    """Boxes on the grid, some of which are lines and points, and one in six across the antimeridian."""
    boxes = st.tuples(_sides(), _sides(), _sides(), _sides()).map(
        lambda four: Box(min(four[0], four[2]), min(four[1], four[3]), max(four[0], four[2]), max(four[1], four[3]))
    )
    return chosen((5, boxes), (1, crossing_boxes()))


def keyword_lists() -> SearchStrategy[list[str]]:
    """One to five words, perhaps one twice."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)


@st.composite
def messages(draw: DrawFn) -> dict[str, Any]:
    """A place and words; now and then one of them is absent or of another kind."""
    points = st.tuples(_sides(), _sides())
    place = draw(
        chosen(
            (4, points.map(list)),
            (3, regions().map(lambda box: list(box.bounds()))),
            (1, points.map(lambda two: Point(*two))),
            (1, regions()),
            (1, st.sampled_from([None, "here", [1.0, 2.0, 3.0], [5.0, 5.0, 1.0, 1.0], _TRIANGLE])),
        )
    )
    words = draw(
        chosen(
            (8, st.lists(st.sampled_from(WORDS), max_size=8)),
            (1, st.sampled_from([None, [], "a", ["a", 1, True]])),
        )
    )
    return {name: value for name, value in ((PLACE, place), (LIST, words)) if draw(st.integers(0, 9)) or value is None}


_TRIANGLE: Final = {"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 0]]]}


def _sides() -> SearchStrategy[float]:
    grid = st.integers(0, 8).map(float)
    return chosen((8, grid), (2, grid.map(lambda number: number + 0.5)), (1, st.sampled_from(_FAR)))
