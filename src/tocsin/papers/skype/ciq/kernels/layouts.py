"""Layouts of CIQ: an entry for each cell of each subscription, and in each cell a list of entries for each word.

A quadtree of fixed depth halves the box of all places. A subscription is covered by its own cell, and by the three
siblings of each cell on the path to it. Together these cover the whole box without overlap.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import Lists

SLACK: Final = 1e-9
"""The rounding error allowed in a test, as a share of a score."""

AT_END: Final = 2**31 - 1
"""Stands for the entry after the last of a list."""


class Cells(NamedTuple):
    """Cells of all levels, from the root down."""

    depth: int
    box: Annotated[NDArray[np.float64], "4"]  # xmin, ymin, width, height; a width is above 0
    list_starts: Annotated[NDArray[np.int64], "cells + 1"]
    list_words: Annotated[NDArray[np.int32], "lists"]  # ascending in a cell
    starts: Annotated[NDArray[np.int64], "lists + 1"]
    postings: Annotated[NDArray[np.int32], "postings"]  # entries, ascending in a list
    owners: Annotated[NDArray[np.int32], "entries"]  # slots, ascending in a cell
    worths: Annotated[NDArray[np.float64], "entries"]  # the greatest worth of a place in the cell
    needs: Annotated[NDArray[np.float64], "entries"]  # least contribution of the words, divided by the message's norm
    place_starts: Annotated[NDArray[np.int64], "slots"]  # entries of a slot: places[start : start + 1 + 3 * depth]
    places: Annotated[NDArray[np.int32], "entries"]


class Scratch(NamedTuple):
    """Memory of a search: the position in the list of each of a message's words."""

    at: Annotated[NDArray[np.int64], "words"]
    stops: Annotated[NDArray[np.int64], "words"]
    heads: Annotated[NDArray[np.int64], "words"]  # the entry at each position, or AT_END
    added: Annotated[NDArray[np.float64], "words"]  # to the similarity, by the word


class Ciq(NamedTuple):
    """The cells, and lists by word of subscriptions added since they were built."""

    cells: Cells
    late: Lists
    scratch: Scratch
