"""Which rectangles does each event meet? One loop over events for every structure of rectangles.

`find` and `find_alone` are one function for every structure: each registers its own beside its layout. What an event
has on the axes, and the order of what is found, are theirs in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.narrowing.kernels import Coming
from tocsin.index.rectangles.kernels.layouts import LEFT, LOWER, RIGHT, UPPER, Axes, EventRanges, Groups, Seen
from tocsin.index.rectangles.kernels.reading import forget_axes, read_axes
from tocsin.kernels.answers.ordering import SPARE, keep_living, put_in_order
from tocsin.kernels.choosing import choose
from tocsin.kernels.jit import inlined, inner, kernel
from tocsin.kernels.packing import viewed

NO_PAIR: Final = -1
SEVERAL: Final = -2

NOT_ALONE: Final = -1
"""What `find_alone` says where it does not write in order what is found in one place."""


def find(structure: Any, groups: Groups, group: int, asked: EventRanges, seen: Seen, found: int) -> int:
    """Write to `seen.hits` from `found` on the subscriptions of a pair that an event meets, each once; where they end.

    No subscription is in two pairs.
    """
    raise NotImplementedError("for kernels")


def find_alone(
    structure: Any, group: int, asked: EventRanges, flags: NDArray[np.uint8], out: NDArray[np.int32], at: int
) -> int:
    """Write to out[at:] the subscriptions of a pair that an event meets, ascending, and return how many.

    NOT_ALONE where it cannot; less than that, `NOT_ALONE - room`, where it needs so much room.
    """
    raise NotImplementedError("for kernels")


@inlined
def never_alone(
    structure: Any, group: int, asked: EventRanges, flags: NDArray[np.uint8], out: NDArray[np.int32], at: int
) -> int:
    """`find_alone` of a structure whose lists are several, or in no order."""
    return np.int64(NOT_ALONE)


def register(layout: type, found: Callable[..., int], alone: Callable[..., int] = never_alone) -> None:
    """Let a structure be matched: kernels that do what `find` and `find_alone` say for its layout."""
    choose(find, layout, found)
    choose(find_alone, layout, alone)


@kernel
def match_rectangles(
    structure: Any,
    axes: Axes,
    groups: Groups,
    coming: Coming,
    memory: Seen,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts` how many were found, alive or not."""
    held, grid, given = viewed(structure), viewed(groups), viewed(coming)
    own, seen = viewed(axes), viewed(memory)
    alive, words, summary, buckets = given.alive, seen.words, seen.summary, seen.buckets
    hits, flags, total = seen.hits, seen.flags, len(given.events.starts) - 1
    written = np.int64(0)
    for event in range(first, total):
        touched = read_axes(own, given, event, seen)
        seen.clock[0] += 1
        alone = only_pair(grid, seen, touched)
        number = np.int64(NOT_ALONE)
        if alone >= 0:
            asked = asked_of(grid, seen, alone)
            number = find_alone(held, alone, asked, flags, out, written)
            if number < NOT_ALONE:
                forget_axes(seen, touched)
                room = np.int64(NOT_ALONE) - number
                return (event, written) if event > first else (-1 - room, np.int64(0))
        if number >= 0:
            counts[0] += number
            if given.is_anyone_gone:
                number = np.int64(keep_living(alive, out, np.uint64(written), np.uint64(written + number)))
        else:
            found = _find_all(held, grid, seen, touched)
            if written + found + SPARE > len(out):
                forget_axes(seen, touched)
                return (event, written) if event > first else (-1 - found - SPARE, np.int64(0))
            counts[0] += found
            number = np.int64(put_in_order(hits, found, alive, words, summary, buckets, out, written))
        forget_axes(seen, touched)
        written += number
        ends[event] = written
    return total, written


@inner
def only_pair(groups: Groups, seen: Seen, touched: int) -> int:
    """The one pair of axes that an event has both of and that has rectangles; NO_PAIR, or SEVERAL, where it is not."""
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
def _find_all(structure: Any, groups: Groups, seen: Seen, touched: int) -> int:
    """Find the rectangles of all pairs."""
    firsts, seconds, lows = groups.firsts, groups.seconds, seen.lows
    found = np.int64(0)
    for i in range(touched):
        axis = seen.touched[i]
        for group in range(firsts[axis], firsts[axis + 1]):
            if lows[seconds[group]] >= 0:
                found = find(structure, groups, np.int64(group), asked_of(groups, seen, group), seen, found)
    return found


@inlined
def asked_of(groups: Groups, seen: Seen, group: int) -> EventRanges:
    axis, other = np.int64(groups.axes[group]), np.int64(groups.seconds[group])
    return EventRanges(
        np.int64(seen.lows[axis]),
        np.int64(seen.highs[axis]),
        np.int64(seen.lows[other]),
        np.int64(seen.highs[other]),
        np.int64(seen.clock[0]),
    )


@inner
def find_by_scan(groups: Groups, group: int, asked: EventRanges, seen: Seen, found: int) -> int:
    """`find` by looking at every rectangle of the pair."""
    members, rectangles, hits = groups.members, groups.rectangles, seen.hits
    for place in range(groups.starts[group], groups.starts[group + 1]):
        subscription = np.uint64(members[place])
        hits[found] = members[place]
        found += np.int64(meets(rectangles, subscription, asked))
    return np.int64(found)


@inlined
def meets(rectangles: NDArray[np.int32], number: int, asked: EventRanges) -> bool:
    """Whether a rectangle and where an event lies have a code of each axis in common."""
    return (
        (rectangles[number, LEFT] <= asked.right)
        & (asked.left <= rectangles[number, RIGHT])
        & (rectangles[number, LOWER] <= asked.upper)
        & (asked.lower <= rectangles[number, UPPER])
    )
