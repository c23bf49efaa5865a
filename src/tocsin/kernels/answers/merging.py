"""Merges of the matches of several sources or structures into one list per event.

Keys are distinct within an event. The key of a segment's match is `(2 rank + 1) gap`, with the rank of its id among the
ids of all segments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel


class Keyed(NamedTuple):
    """Matches with the keys that order them. E events, M matches."""

    starts: NDArray[np.int64]  # (E + 1,)
    keys: NDArray[np.int64]  # (M,)
    places: NDArray[np.int64]  # (M,) source << 32 | number


@inlined
def _key(number: int, ranks: NDArray[np.int32], gap: int) -> int:
    rank = np.int64(ranks[number]) if len(ranks) else np.int64(number)
    return (2 * rank + 1) * gap


@kernel
def merge_two(left: Keyed, right: Keyed, out: Keyed) -> None:
    """Write the matches of both, event by event, in the order of their keys."""
    left_keys, left_places, right_keys, right_places = left.keys, left.places, right.keys, right.places
    keys, places = out.keys, out.places
    to = 0
    for event in range(len(out.starts) - 1):
        i = left.starts[event]
        i_stop = left.starts[event + 1]
        j = right.starts[event]
        j_stop = right.starts[event + 1]
        while i < i_stop or j < j_stop:
            if j == j_stop or (i < i_stop and left_keys[i] <= right_keys[j]):
                keys[to] = left_keys[i]
                places[to] = left_places[i]
                i += 1
            else:
                keys[to] = right_keys[j]
                places[to] = right_places[j]
                j += 1
            to += 1
        out.starts[event + 1] = to


@kernel
def merge_into(
    starts: NDArray[np.int64],
    numbers: NDArray[np.int32],
    ranks: NDArray[np.int32],
    gap: int,
    source: int,
    few: Keyed,
    out_starts: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write the places of a segment's many matches and of a few others, event by event, in the order of their keys.

    Bisection finds where the few belong, so most of the segment's keys are never computed.
    """
    to = 0
    tag = np.int64(source) << 32
    for event in range(len(starts) - 1):
        at = starts[event]
        stop = starts[event + 1]
        for f in range(few.starts[event], few.starts[event + 1]):
            low = at
            high = stop
            while low < high:
                middle = (low + high) >> 1
                if _key(numbers[middle], ranks, gap) <= few.keys[f]:
                    low = middle + 1
                else:
                    high = middle
            for i in range(at, low):
                out[to] = tag | np.int64(numbers[i])
                to += 1
            at = low
            out[to] = few.places[f]
            to += 1
        for i in range(at, stop):
            out[to] = tag | np.int64(numbers[i])
            to += 1
        out_starts[event + 1] = to


@kernel
def merge_found(
    starts: NDArray[np.int64],
    numbers: NDArray[np.int32],
    other_starts: NDArray[np.int64],
    others: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the numbers of both, ascending within each event. No event has a number in both."""
    at = np.uint64(0)
    one = np.uint64(1)
    for event in range(len(starts) - 1):
        i, stop = np.uint64(starts[event]), np.uint64(starts[event + 1])
        j, other_stop = np.uint64(other_starts[event]), np.uint64(other_starts[event + 1])
        while i < stop and j < other_stop:
            number, other = numbers[i], others[j]
            is_first = np.uint64(number < other)
            out[at] = min(number, other)
            i += is_first
            j += one - is_first
            at += one
        while i < stop:
            out[at] = numbers[i]
            i += one
            at += one
        while j < other_stop:
            out[at] = others[j]
            j += one
            at += one
