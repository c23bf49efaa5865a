"""Cells that cover a subscription: a partition of the whole, each with the way to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.papers.skype.ciq.covering import cells_before, covering_of

numbers = st.integers(0, 64).map(lambda n: n / 64)
places = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6)


def cells_at(box: np.ndarray, x: float, y: float, depth: int) -> set[int]:
    """The cell of a place on each level."""
    found = set()
    for level in range(depth + 1):
        column = int(min(max((x - box[0]) / box[2], 0), 1 - 1e-12) * 2**level)
        row = int(min(max((y - box[1]) / box[3], 0), 1 - 1e-12) * 2**level)
        found.add(cells_before(level) + row * 2**level + column)
    return found


@given(there=places, message=st.tuples(numbers, numbers), depth=st.integers(0, 4))
def test_a_message_is_in_one_cell_of_everybody(
    there: list[tuple[float, float]], message: tuple[float, float], depth: int
) -> None:
    """And no nearer than that cell, wherever it is."""
    covering = covering_of(np.array(there), depth)
    of_message = cells_at(covering.box, *message, depth)
    for own, cells, distances in zip(there, covering.cells.tolist(), covering.distances.tolist(), strict=True):
        assert len(cells) == len(set(cells)) == 1 + 3 * depth
        (at,) = [place for place, cell in enumerate(cells) if cell in of_message]
        assert distances[at] <= math.dist(own, message) + 1e-12


def test_the_cells_of_one_place() -> None:
    """The place in a corner: itself at no distance, its neighbours at none, the others by what lies in between."""
    covering = covering_of(np.array([(0.0, 0.0), (4.0, 4.0)]), 2)

    assert covering.cells[0].tolist() == [2, 3, 4, 6, 9, 10, 5]
    assert covering.distances[0] == pytest.approx([2, 2, math.sqrt(8), 1, 1, math.sqrt(2), 0])
