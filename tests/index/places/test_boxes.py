"""Boxes around points: all of them, each once, and hardly more."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tocsin.index.places.boxes import Boxes

coordinate = st.one_of(st.integers(0, 9).map(float), st.floats(-1e300, 1e300))
box = st.tuples(coordinate, coordinate, coordinate, coordinate)
NAN = float("nan")


@given(
    st.lists(st.one_of(box, st.just((NAN,) * 4)), min_size=1, max_size=30),
    st.lists(st.tuples(coordinate, coordinate), max_size=20),
)
def test_all_boxes_around_a_point(drawn, points):
    """Of few boxes tiles tell exactly; what is empty is around nothing."""
    sides = np.array([(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in drawn])
    asked = np.array([*points, *sides[:, :2].tolist()])

    owners, found = Boxes(sides).around(asked)

    assert sorted(zip(owners.tolist(), found.tolist(), strict=True)) == expected(sides, asked)


def test_of_many_boxes_hardly_more_are_found():
    """Flat ones and tall ones, in grids of their own, of which tiles have many codes."""
    random = np.random.default_rng(1)
    corners = random.uniform(0, 100, (6000, 2))
    sizes = np.where(np.arange(6000)[:, None] % 2 == 0, (90.0, 0.1), (0.1, 90.0)) * random.uniform(0.5, 1, (6000, 2))
    sides = np.concatenate([corners, corners + sizes], axis=1)
    asked = random.uniform(0, 150, (300, 2))

    owners, found = Boxes(sides).around(asked)

    pairs, wanted = [*zip(owners.tolist(), found.tolist(), strict=True)], expected(sides, asked)
    assert len(pairs) == len(set(pairs))
    assert set(wanted) <= set(pairs)
    assert len(pairs) < 1.05 * len(wanted)


def expected(boxes: np.ndarray, points: np.ndarray) -> list[tuple[int, int]]:
    inside = ((points[:, None, :] >= boxes[None, :, :2]) & (points[:, None, :] <= boxes[None, :, 2:])).all(axis=2)
    owners, numbers = np.nonzero(inside)
    return [*zip(owners.tolist(), numbers.tolist(), strict=True)]
