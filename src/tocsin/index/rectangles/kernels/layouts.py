"""What do structures of rectangles have in common? Axes of rank codes, and the rectangles on each pair of them.

An axis is a field (`index.fields`), or one of the two of an attribute's places: their codes are those of boxes' edges.
What an event has on an axis is an interval of codes, one code wide but for a box; a rectangle is one on each of two
axes. Both are closed, so they meet where neither ends before the other begins. Codes 2 r + 1 are operands, 2 r lies
just before one.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.layouts import Fields

ABSENT: Final = np.int32(-1)


class Axes(NamedTuple):
    """The fields, then two axes for each attribute with places, then one that every event has, with one code: X axes.

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
    """Rectangles, and what an event is among them."""

    axes: Axes
    groups: Groups


class Seen(NamedTuple):
    """A thread's memory; `stamped` is how many subscriptions there are, or 0 where no structure asks for stamps."""

    lows: Annotated[NDArray[np.int32], "axes", ABSENT]  # of the event on each axis; between events only of the last
    highs: Annotated[NDArray[np.int32], "axes"]
    touched: Annotated[NDArray[np.int32], "axes"]  # the axes that it has
    codes: Annotated[NDArray[np.int32], "axes"]  # its scalar values on them
    payloads: Annotated[NDArray[np.int64], "axes"]
    examined: Annotated[NDArray[np.int64], "1"]  # how many subscriptions were compared with the event
    clock: Annotated[NDArray[np.int64], "1"]  # grows with every event
    stamps: Annotated[NDArray[np.int64], "stamped"]  # the clock when a subscription was found last
    hits: Annotated[NDArray[np.int32], "subscriptions + spare"]
    flags: Annotated[NDArray[np.uint8], "subscriptions + 1"]
    words: Annotated[NDArray[np.uint64], "words"]  # 0 between events
    summary: Annotated[NDArray[np.uint64], "words // 64 + 1"]
    buckets: Annotated[NDArray[np.int32], "buckets"]


class EventRanges(NamedTuple):
    """Where an event lies on a pair of axes: closed intervals of codes."""

    left: int
    lower: int
    right: int
    upper: int
    stamp: int  # the clock
