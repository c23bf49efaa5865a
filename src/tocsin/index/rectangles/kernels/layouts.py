"""Layouts shared by structures of rectangles: axes of rank codes, and the rectangles on each pair of axes.

An axis is a field (`index.fields`), or one of the two axes of an attribute's places, whose codes are those of boxes'
edges. An event has an interval of codes on an axis, one code wide except for a box. A rectangle is an interval on each
of two axes. Both are closed, so they meet if neither ends before the other begins. Code 2 r + 1 is an operand, and 2 r
lies just before it.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.layouts import Fields

ABSENT: Final = np.int32(-1)


class Axes(NamedTuple):
    """The axes: the fields, then two for each attribute with places, then one with one code that every event has.

    X axes.

    A attributes, P of them with places, O edges.
    """

    fields: Fields
    places: NDArray[np.int32]  # (A,) the number of the attribute among those with places, -1 for none
    edge_starts: NDArray[np.int64]  # (2 P + 1,)
    edges: NDArray[np.int64]  # (O,) as sortable integers, ascending within an axis


class Groups(NamedTuple):
    """The rectangles of each pair of axes. G pairs, S subscriptions, M members."""

    firsts: NDArray[np.int32]  # (X + 1,) pairs [firsts[x], firsts[x + 1]) have axis x first
    axes: NDArray[np.int32]  # (G,) the first axis
    seconds: NDArray[np.int32]  # (G,) the other
    starts: NDArray[np.int64]  # (G + 1,)
    members: NDArray[np.int32]  # (M,) subscriptions, ascending within a pair
    rectangles: Annotated[NDArray[np.int32], 2]  # (S, 4) LEFT .. UPPER, as codes; closed


class RectangleTables(NamedTuple):
    """The tables that kernels read: rectangles, and their axes."""

    axes: Axes
    groups: Groups


class Seen(NamedTuple):
    """A thread's memory. `stamped` is the number of subscriptions, or 0 if no structure needs stamps."""

    lows: Annotated[NDArray[np.int32], "axes", ABSENT]  # of the event on each axis; between events only the last is set
    highs: Annotated[NDArray[np.int32], "axes"]
    touched: Annotated[NDArray[np.int32], "axes"]  # axes that it has
    codes: Annotated[NDArray[np.int32], "axes"]  # its scalar values on them
    payloads: Annotated[NDArray[np.int64], "axes"]
    examined: Annotated[NDArray[np.int64], "1"]  # number of subscriptions compared with the event
    clock: Annotated[NDArray[np.int64], "1"]  # grows with every event
    stamps: Annotated[NDArray[np.int64], "stamped"]  # the clock when a subscription was last found
    hits: Annotated[NDArray[np.int32], "subscriptions + spare"]
    flags: Annotated[NDArray[np.uint8], "subscriptions + 1"]
    words: Annotated[NDArray[np.uint64], "words"]  # 0 between events
    summary: Annotated[NDArray[np.uint64], "words // 64 + 1"]
    buckets: Annotated[NDArray[np.int32], "buckets"]


class EventRanges(NamedTuple):
    """An event's box on a pair of axes: closed intervals of codes."""

    left: int
    lower: int
    right: int
    upper: int
    stamp: int  # the clock
