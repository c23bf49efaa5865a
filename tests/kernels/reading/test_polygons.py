"""The corners of polygons are those that shapely reads; any other text is left to it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.arrays import Texts
from tocsin.index.places.areas import Rings
from tocsin.kernels.reading.polygons import Corners, read_polygons

_TRIANGLE = "POLYGON ((0 0, 1 0, 0 1, 0 0))"

numbers = st.one_of(st.integers(-180, 180).map(float), st.floats(-180, 180), st.floats(-1e30, 1e30))
shapes = st.one_of(
    st.lists(st.tuples(numbers, numbers), min_size=3, max_size=8).map(shapely.Polygon),
    st.builds(
        lambda x, y, r: shapely.Point(x, y).buffer(r).difference(shapely.Point(x, y).buffer(r / 2)),
        st.floats(-9, 9),
        st.floats(-9, 9),
        st.floats(0.001, 1),
    ),
    st.lists(st.floats(-9, 9), min_size=1, max_size=4, unique=True).map(
        lambda lefts: shapely.MultiPolygon([shapely.box(left, 0, left + 1, 1) for left in lefts])
    ),
    st.builds(shapely.Point, numbers, numbers),
    st.builds(lambda x, y: shapely.LineString([(x, y), (x + 1, y)]), st.floats(-9, 9), st.floats(-9, 9)),
)


def read(texts: list[str]) -> tuple[Rings, list[int]]:
    """The rings of texts, and the numbers of those that the library was asked for."""
    asked: list[int] = []

    def others(numbers: list[int]) -> np.ndarray[Any, Any]:
        asked.extend(numbers)
        return np.array(shapely.from_wkt([texts[number] for number in numbers]))

    return Rings.of_texts(texts, others), asked


@given(st.lists(shapes, min_size=1, max_size=8))
def test_rings_are_those_of_the_library(given: list[Any]) -> None:
    """Of polygons with holes and in several parts, between shapes that have no rings."""
    texts = list(shapely.to_wkt(given, rounding_precision=-1))

    found, asked = read(texts)

    expected = Rings.of(np.array(shapely.from_wkt(texts)))
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    odd = [bool(expected.rings[number] == 0 or re.search(r"[e.]|\d{16}", texts[number])) for number in asked]
    assert all(odd)  # those with fractions, exponents or more digits than an integer of a float has


def test_usual_polygons_need_no_library() -> None:
    holes = "POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2.5 1, 2 -1e-7, 1 1))"
    many = "MULTIPOLYGON (((0 0, 1 0, 0 1, 0 0)), ((5 5, 6 5, 5 6, 5 5), (5.1 5.1, 5.2 5.1, 5.1 5.2, 5.1 5.1)))"
    digits = "POLYGON ((-73.98765432109876 40.1, -73.5 40.123456789012345, -73.7 40.3, -73.98765432109876 40.1))"

    found, asked = read([_TRIANGLE, holes, many, digits])

    assert asked == []
    assert found.rings.tolist() == [1, 2, 3, 1]
    assert found.bounds[2].tolist() == [0, 0, 6, 6]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "POINT (1 2)",
        "BBOX(0, 0, 1, 1)",
        "POLYGON EMPTY",
        "POLYGON ((0 0, 1 0, 0 1, 0 0)",
        "POLYGON ((0 0, 1 0, 0 1, 0 0)) ",
        "POLYGON ((0 0, 1 0, 0 1, 0 0),)",
        "POLYGON ((0 0, 1 0, 0 1, 1 1))",  # not closed
        "POLYGON ((0 0, 1 0, 0 0))",
        "POLYGON ((0 0, 1 0, 0 1, 0 0), (0 0, 1 0, 0 0))",
        "POLYGON ((0 0, 1, 0 1, 0 0))",
        "POLYGON ((0 0 1, 1 0 1, 0 1 1, 0 0 1))",
        "POLYGON((0 0, 1 0, 0 1, 0 0))",
        "POLYGON ((nan 0, 1 0, 0 1, nan 0))",
        "POLYGON ((1e999 0, 1 0, 0 1, 1e999 0))",
        "MULTIPOLYGON ((0 0, 1 0, 0 1, 0 0))",
        "MULTIPOLYGON (((0 0, 1 0, 0 1, 0 0)), POLYGON ((0 0, 1 0, 0 1, 0 0)))",
        "MULTIPOLYGON (((0 0, 1 0, 0 1, 0 0))",
    ],
)
def test_other_texts_are_not_read(text: str) -> None:
    """Nor is any text that is cut off, and the one behind is read."""
    texts = Texts.of([text, *(_TRIANGLE[:end] for end in range(len(_TRIANGLE))), _TRIANGLE])
    count = len(texts.starts) - 1
    room = Corners(np.empty((count, 4)), np.empty(count, np.int64), np.empty(200, np.int64), np.empty((400, 2)))

    rings, corners = read_polygons(texts.data, texts.starts, room)

    assert (rings, corners) == (1, 4)
    assert np.flatnonzero(room.rings).tolist() == [count - 1]
    assert room.places[:4].tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]
