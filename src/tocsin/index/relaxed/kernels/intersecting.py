"""Intersection of the cursors of an event's fields: the best subscriptions of which every dimension holds.

All cursors return subscriptions in one order: by score, then number. So the next subscription of any cursor is the
least of the cursors' heads, and it matches if as many heads are at it as it has dimensions. The search stops at k
matches.

Paper: Machanavajjhala et al. 2008, section 1 ("exact matching").
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import EventCodes
from tocsin.index.relaxed.kernels.layouts import HIGH, LOW, MORE, ROW, Dimensions
from tocsin.index.relaxed.kernels.weighing import meets_one
from tocsin.index.scored.kernels.cursors import DONE, EXAMINED, next_place, open_cursor
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.sorting import sort_numbers

LEFT: Final = -1
"""The number found for an event that is left to a Matcher."""

_LOW_SIX, _SIX, _ONE, _NONE = np.uint64(63), np.uint64(6), np.uint64(1), np.uint64(0)


class Ranked(NamedTuple):
    """Subscriptions in order of their base scores: the best has rank 0. N intervals, S subscriptions."""

    ranks: NDArray[np.int32]  # (N,) the rank of each interval's subscription, by place
    numbers: NDArray[np.int32]  # (S,) the subscription of each rank
    needed: NDArray[np.int32]  # (S,) the number of dimensions of each rank; 0: cursors do not find it
    dimensions: Dimensions


class Search(NamedTuple):
    """The request, and memory. E events, W cursors, C subscriptions with changed scores, F fields, S subscriptions."""

    events: EventCodes
    k: int
    most: int  # intervals that cursors may return for an event
    alive: NDArray[np.uint64]
    is_changed: NDArray[np.uint64]  # (S // 64 + 1,) a bitmap
    changed: NDArray[np.int32]  # (C,) tested one by one; each once
    states: NDArray[np.int64]  # (W, width)
    heads: NDArray[np.int64]  # (W,) the next rank of each cursor
    codes: NDArray[np.int32]  # (F,) the current event's code of each field; -1 between events
    found: NDArray[np.int64]  # (E,) how many are found, or LEFT
    examined: NDArray[np.int64]  # (1,)


@kernel
def intersect_cursors(
    structure: Any, ranked: Ranked, search: Search, first: int, ends: NDArray[np.int64], out: NDArray[np.int32]
) -> tuple[int, int]:
    """Find the best of each event from `first` on, and all changed ones that match; ascending. A `found.Step`."""
    structure, ranked, search = viewed(structure), viewed(ranked), viewed(search)
    events = search.events
    total, written = len(events.starts) - 1, np.int64(0)
    for event in range(first, total):
        room = search.k + len(search.changed)
        if written + room > len(out):
            return (event, written) if event > first else (-1 - room, np.int64(0))
        begin, size = events.starts[event], events.starts[event + 1] - events.starts[event]
        stop = np.int64(LEFT)
        if not _has_ranges(events, begin, begin + size):
            stop = _intersect(structure, ranked, search, begin, size, out, written)
        if stop != LEFT:
            stop = _add_changed(ranked.dimensions, search, begin, size, out, stop)
            sort_numbers(out, written, stop)
        search.found[event] = LEFT if stop == LEFT else stop - written
        written = written if stop == LEFT else stop
        ends[event] = written
    return total, written


@inlined
def _has_ranges(events: EventCodes, begin: int, end: int) -> bool:
    """Whether an event has a range: cursors cannot be opened for one."""
    for i in range(begin, end):
        if events.codes[i] != events.uppers[i]:
            return True
    return False


@inlined
def _intersect(
    structure: Any, ranked: Ranked, search: Search, begin: int, size: int, out: NDArray[np.int32], at: int
) -> int:
    """Write the k best with unchanged scores to out[at:]; returns the end, or LEFT if the cursors return too many."""
    codes, heads, states = search.events.codes, search.heads, search.states
    for i in range(size):
        open_cursor(structure, np.int64(search.events.fields[begin + i]), codes[begin + i], states[i])
        heads[i] = _advanced(structure, ranked, codes[begin + i], states[i])
    given, stop = np.int64(0), at + search.k
    while given <= search.most and at < stop:
        rank, count = DONE, np.int64(0)
        for i in range(size):
            count = np.int64(1) if heads[i] < rank else count + np.int64(heads[i] == rank)
            rank = min(rank, heads[i])
        if rank == DONE:
            stop = at
            break
        if count == ranked.needed[rank]:
            number = ranked.numbers[rank]
            word, bit = np.uint64(number) >> _SIX, _ONE << (np.uint64(number) & _LOW_SIX)
            if search.alive[word] & ~search.is_changed[word] & bit != _NONE:
                out[at] = number
                at += 1
        given += count
        if at < stop:
            for i in range(size):
                if heads[i] == rank:
                    heads[i] = _advanced(structure, ranked, codes[begin + i], states[i])
    for i in range(size):
        search.examined[0] += states[i, EXAMINED]
    return np.int64(at) if at == stop else np.int64(LEFT)


@inlined
def _advanced(structure: Any, ranked: Ranked, code: int, state: NDArray[np.int64]) -> int:
    """The rank of a cursor's next subscription; DONE at its end."""
    place = next_place(structure, code, state)
    return DONE if place < 0 else np.int64(ranked.ranks[place])


@inlined
def _add_changed(dimensions: Dimensions, search: Search, begin: int, size: int, out: NDArray[np.int32], at: int) -> int:
    """Write the changed subscriptions of which every dimension holds to out[at:]; returns the end."""
    events, codes = search.events, search.codes
    for i in range(begin, begin + size if len(search.changed) > 0 else begin):
        codes[events.fields[i]] = events.codes[i]
    for number in search.changed:
        word, bit = np.uint64(number) >> _SIX, _ONE << (np.uint64(number) & _LOW_SIX)
        if search.alive[word] & bit != _NONE and _holds(dimensions, codes, np.int64(number)):
            out[at] = number
            at += 1
    for i in range(begin, begin + size if len(search.changed) > 0 else begin):
        codes[events.fields[i]] = -1
    return np.int64(at)


@inlined
def _holds(dimensions: Dimensions, codes: NDArray[np.int32], number: int) -> bool:
    """Whether every dimension of a subscription holds for an event's codes. All of them are ranges."""
    rows = dimensions.rows
    for d in range(dimensions.starts[number], dimensions.starts[number + 1]):
        code, more = codes[rows[ROW * d]], np.int64(rows[ROW * d + MORE])
        if code < rows[ROW * d + LOW] or code > rows[ROW * d + HIGH] or code < 0:
            return False
        if more >= 0 and not meets_one(dimensions.ranges, more, code, code):
            return False
    return True
