"""Cursors, shared by all scored interval indexes: the intervals that a value stabs, best first.

`open_cursor` and `next_place` are one interface for every structure. Each structure registers its own beside its
layout. Which one is called is resolved when a calling kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import choose, viewed


class Ranges(NamedTuple):
    """Intervals of rank codes by place. G groups, N intervals.

    A group is what one query stabs: the intervals of one field. An interval's *place* is its rank within all groups,
    best first in each. Of two places in a group the lower has the higher score or, if equal, the lower owner.

    Paper: Machanavajjhala, Vee, Garofalakis, Shanmugasundaram 2008, sections 2 and 3.
    """

    starts: NDArray[np.int64]  # (G + 1,) places [starts[g], starts[g + 1]) are group g's
    lows: NDArray[np.int32]  # (N,) the lowest and the highest code, included
    highs: NDArray[np.int32]  # (N,) at most last[g]
    last: NDArray[np.int64]  # (G,) the highest code that a value of the group can have


EXAMINED: Final = 2
"""The position in every cursor's state that counts the entries examined."""


def open_cursor(structure: Any, group: int, code: int, state: NDArray[np.int64]) -> None:
    """Begin a search for the intervals that a code stabs in a group."""
    raise NotImplementedError("for kernels")


def next_place(structure: Any, code: int, state: NDArray[np.int64]) -> int:
    """The place of the next best interval, -1 at the end; adds to state[EXAMINED]."""
    raise NotImplementedError("for kernels")


def state_width(structure: Any) -> int:
    """The length of a cursor's state."""
    return _WIDTHS[type(structure)](structure)


_WIDTHS: Final[dict[type, Callable[[Any], int]]] = {}


def register(
    layout: type, width: Callable[[Any], int], opened: Callable[..., None], following: Callable[..., int]
) -> None:
    """Register a structure's kernels, which implement `open_cursor` and `next_place` for its layout."""
    _WIDTHS[layout] = width
    choose(open_cursor, layout, opened)
    choose(next_place, layout, following)


class Queries(NamedTuple):
    """Queries to a structure, and room for the answers."""

    groups: NDArray[np.int32]
    codes: NDArray[np.int32]
    """A query: a group and a code; a code below 0 stabs nothing."""
    state: NDArray[np.int64]
    """Memory for a cursor."""
    ends: NDArray[np.int64]
    """Where the places of each query end, in `places`."""
    places: NDArray[np.int32]
    """Room for k places of each query."""


@kernel
def best_places(structure: Any, queries: Queries, k: int) -> int:
    """Write the k best places of each query and where they end; returns how many entries were examined."""
    structure, queries = viewed(structure), viewed(queries)
    groups, codes, state = queries.groups, queries.codes, queries.state
    written = np.uint64(0)
    examined = np.int64(0)
    for query in range(np.uint64(len(codes))):
        code = codes[query]
        if code >= 0:
            open_cursor(structure, np.int64(groups[query]), code, state)
            left = k
            while left > 0:
                place = next_place(structure, code, state)
                if place < 0:
                    break
                queries.places[written] = place
                written += np.uint64(1)
                left -= 1
            examined += state[EXAMINED]
        queries.ends[query] = np.int64(written)
    return examined


@kernel
def begin_cursor(structure: Any, group: int, code: int, state: NDArray[np.int64]) -> None:
    """`open_cursor`, for Python."""
    open_cursor(viewed(structure), np.int64(group), np.int32(code), state)


@kernel
def move_cursor(structure: Any, code: int, state: NDArray[np.int64]) -> int:
    """`next_place`, for Python."""
    return next_place(viewed(structure), np.int32(code), state)


DONE: Final = np.int64(2**63 - 1)
"""The number of an exhausted stream."""

_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@inlined
def least(numbers: NDArray[np.int64], first: int, count: int) -> int:
    """The least of numbers[first:first + count]; DONE if there is none. Four independent minima run in parallel."""
    a = b = c = d = DONE
    i, stop = np.uint64(first), np.uint64(first + count)
    while i + _THREE < stop:
        a, b = min(a, numbers[i]), min(b, numbers[i + _ONE])
        c, d = min(c, numbers[i + _TWO]), min(d, numbers[i + _THREE])
        i += _FOUR
    while i < stop:
        a = min(a, numbers[i])
        i += _ONE
    return min(min(a, b), min(c, d))
