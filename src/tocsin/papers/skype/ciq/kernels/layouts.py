"""What does CIQ hold? An entry for each cell of each subscription, and in each cell a list of entries for each word.

A quadtree of a fixed depth halves the box of all places. A subscription is covered by the three siblings of each cell
on the way to its own, and its own: together these are the whole, and each place is in one of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import Lists

SLACK: Final = 1e-9
"""What rounding may take from a test, as a share of a score."""

AT_END: Final = 2**31 - 1
"""Stands for the entry behind the last of a list."""


class Cells(NamedTuple):
    """C cells of all levels, the root first; L lists, P postings, E entries, S slots."""

    depth: int
    box: NDArray[np.float64]  # (4,) xmin, ymin, width, height; a width is above 0
    list_starts: NDArray[np.int64]  # (C + 1,)
    list_words: NDArray[np.int32]  # (L,) ascending in a cell
    starts: NDArray[np.int64]  # (L + 1,)
    postings: NDArray[np.int32]  # (P,) entries, ascending in a list
    owners: NDArray[np.int32]  # (E,) slots, ascending in a cell
    worths: NDArray[np.float64]  # (E,) what a place in the cell is worth at most
    needs: NDArray[np.float64]  # (E,) what the words must share at least, by the message's norm
    place_starts: NDArray[np.int64]  # (S,) where the entries of a slot are: places[start : start + 1 + 3 * depth]
    places: NDArray[np.int32]  # (E,)


class Scratch(NamedTuple):
    """Memory of a search: where it is in the lists of a message's words. N words."""

    at: NDArray[np.int64]  # (N,)
    stops: NDArray[np.int64]  # (N,)
    heads: NDArray[np.int64]  # (N,) the entry at each, AT_END
    squares: NDArray[np.float64]  # (N,) of the word


class Ciq(NamedTuple):
    """The cells, and those who came since they were built, under each of their words."""

    cells: Cells
    late: Lists
    scratch: Scratch
