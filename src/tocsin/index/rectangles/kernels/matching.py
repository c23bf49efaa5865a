"""Matching of rectangles: those of every pair of axes that an event has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels import matching
from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.filtering.kernels.matching import NOT_IN_ORDER, find, register_tables
from tocsin.index.rectangles.kernels.layouts import EventRanges, Groups, RectangleTables, Seen
from tocsin.index.rectangles.kernels.reading import forget_axes, read_axes
from tocsin.jit.decorators import inlined, inner
from tocsin.jit.views import choose

NO_PAIR: Final = -1
SEVERAL: Final = -2


def find_alone(
    structure: Any, group: int, asked: EventRanges, flags: NDArray[np.uint8], out: NDArray[np.int32], at: int
) -> int:
    """Write the subscriptions of a pair that an event meets to out[at:], ascending; returns how many.

    Returns NOT_IN_ORDER if it cannot, or `NOT_IN_ORDER - room` if it needs that much room.
    """
    raise NotImplementedError("for kernels")


@inlined
def never_alone(
    structure: Any, group: int, asked: EventRanges, flags: NDArray[np.uint8], out: NDArray[np.int32], at: int
) -> int:
    """`find_alone` for structures with several lists, or lists in no order."""
    return np.int64(NOT_IN_ORDER)


def register(layout: type, found: Callable[..., int], alone: Callable[..., int] = never_alone) -> None:
    """Register a structure's kernels, which implement `find` and `find_alone` for its layout."""
    matching.register(layout, found)
    choose(find_alone, layout, alone)


@inlined
def _find_in_only_pair(
    tables: RectangleTables, structure: Any, seen: Seen, touched: int, out: NDArray[np.int32], at: int
) -> int:
    """`find_in_order`, if an event has both axes of only one pair, and the structure supports it."""
    alone = only_pair(tables.groups, seen, touched)
    if alone < 0:
        return np.int64(NOT_IN_ORDER)
    number = np.int64(find_alone(structure, alone, asked_of(tables.groups, seen, alone), seen.flags, out, at))
    seen.examined[0] = max(number, np.int64(0))
    return number


@inner
def only_pair(groups: Groups, seen: Seen, touched: int) -> int:
    """The only pair of axes with rectangles that an event has; NO_PAIR if there is none, SEVERAL if there are more."""
    firsts, seconds, lows = groups.firsts, groups.seconds, seen.lows
    only = np.int64(NO_PAIR)
    for i in range(touched):
        axis = seen.touched[i]
        for group in range(firsts[axis], firsts[axis + 1]):
            if lows[seconds[group]] >= 0:
                if only >= 0:
                    return np.int64(SEVERAL)
                only = np.int64(group)
    return only


@inner
def _find_in_pairs(tables: RectangleTables, structure: Any, seen: Seen, touched: int) -> int:
    """`find_everywhere`: the rectangles of all pairs."""
    groups = tables.groups
    firsts, seconds, lows = groups.firsts, groups.seconds, seen.lows
    found = np.int64(0)
    for i in range(touched):
        axis = seen.touched[i]
        for group in range(firsts[axis], firsts[axis + 1]):
            if lows[seconds[group]] >= 0:
                found = find(structure, groups, np.int64(group), asked_of(groups, seen, group), seen, found)
    seen.examined[0] = found
    return found


@inlined
def asked_of(groups: Groups, seen: Seen, group: int) -> EventRanges:
    axis, other = np.int64(groups.axes[group]), np.int64(groups.seconds[group])
    return EventRanges(
        np.int64(seen.lows[axis]),
        np.int64(seen.lows[other]),
        np.int64(seen.highs[axis]),
        np.int64(seen.highs[other]),
        np.int64(seen.clock[0]),
    )


@inner
def find_by_scan(groups: Groups, group: int, asked: EventRanges, seen: Seen, found: int) -> int:
    """`find` by a scan of all rectangles of the pair."""
    members, rectangles, hits = groups.members, groups.rectangles, seen.hits
    for place in range(groups.starts[group], groups.starts[group + 1]):
        subscription = np.uint64(members[place])
        hits[found] = members[place]
        found += np.int64(meets(rectangles, subscription, asked))
    return np.int64(found)


register_tables(RectangleTables, read_axes, forget_axes, _find_in_pairs, _find_in_only_pair)
