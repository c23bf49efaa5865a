"""Which subscriptions of an access index does each event satisfy? Lists by key, then what their keys leave open.

After `boolean` indexes over access predicates (Fabret et al. 2001) and OpIndex's lists by pivot and operator (Zhang et
al. 2014, section 4.2). Masks come first and compaction second: a test writes where the next survivor goes and moves on
by 0 or 1, without a branch.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.access_layouts import ANY, AT_LEAST, AT_MOST, Conjunctions, Postings, Runs, Scratch
from tocsin.kernels.jit import kernel, prefetch

SHORT: Final = 48
"""A list of at most so many entries is walked from end to end: cheaper than to search its runs."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)


@kernel
def first_at_least(ends: NDArray[np.int32], low: int, high: int, code: int) -> int:
    """The first place in [low, high) whose end is at least a code."""
    while low < high:
        middle = (low + high) >> _ONE
        if ends[middle] < code:
            low = middle + _ONE
        else:
            high = middle
    return low


@kernel
def run_range(ends: NDArray[np.int32], width: int, start: int, stop: int, code: int) -> tuple[int, int]:
    """The entries of a run whose ranges can hold a code; they do, unless the width is above 0."""
    if width == ANY:
        return start, stop
    if width == AT_MOST:
        return first_at_least(ends, start, stop, code), stop
    if width == AT_LEAST:
        return start, first_at_least(ends, start, stop, code + 1)
    first = first_at_least(ends, start, stop, code - width)
    return first, first_at_least(ends, first, stop, code + 1)


@kernel
def prefetch_lists(
    single_runs: Runs,
    singles: Postings,
    conjunction_runs: Runs,
    conjunctions: Conjunctions,
    fields: NDArray[np.int32],
) -> None:
    """Ask for the first lines of the lists of the fields that the next event activates."""
    single_starts = single_runs.starts
    conjunction_starts = conjunction_runs.starts
    lows = singles.lows
    highs = singles.highs
    owners = singles.owners
    seconds = conjunctions.seconds
    for a in range(np.uint64(len(fields))):
        field = np.uint64(fields[a])
        first = np.uint64(single_starts[field])
        prefetch(lows, first)
        prefetch(highs, first)
        prefetch(owners, first)
        first = np.uint64(conjunction_starts[field])
        prefetch(seconds, first)
        prefetch(seconds, first + np.uint64(32))


@kernel
def take_postings(
    runs: Runs,
    postings: Postings,
    fields: NDArray[np.int32],
    codes: NDArray[np.int32],
    out: NDArray[np.int32],
    count: int,
) -> int:
    """Append the owners of the postings of activated fields whose ranges hold the code; returns the new count."""
    starts = runs.starts
    run_starts = runs.run_starts
    run_stops = runs.run_stops
    run_widths = runs.run_widths
    lows = postings.lows
    highs = postings.highs
    owners = postings.owners
    to = np.uint64(count)
    for a in range(np.uint64(len(fields))):
        field = np.uint64(fields[a])
        code = codes[a]
        start = np.uint64(starts[field])
        stop = np.uint64(starts[field + _ONE])
        if stop - start <= np.uint64(SHORT):
            for q in range(start, stop):
                out[to] = owners[q]
                to += np.uint64((lows[q] <= code) & (highs[q] >= code))
            continue
        for run in range(np.uint64(run_starts[field]), np.uint64(run_starts[field + _ONE])):
            width = run_widths[run]
            run_stop = np.uint64(run_stops[run])
            first, last = run_range(highs if width == AT_MOST else lows, width, start, run_stop, code)
            if width <= 0:
                for q in range(first, last):
                    out[to + (q - first)] = owners[q]
                to += last - first
            else:
                for q in range(first, last):
                    out[to] = owners[q]
                    to += np.uint64(highs[q] >= code)
            start = run_stop
    return np.int64(to)


@kernel
def take_conjunctions(
    runs: Runs,
    lists: Conjunctions,
    scratch: Scratch,
    fields: NDArray[np.int32],
    codes: NDArray[np.int32],
    count: int,
) -> tuple[int, int]:
    """Append the activated fields' conjunctions that the event satisfies; the new count, and how many were examined."""
    sure, doubtful = select_conjunctions(runs, lists, scratch, fields, codes)
    to = np.uint64(count)
    to = verify_by_level(lists, scratch.doubtful, doubtful, _ZERO, scratch.values, scratch.hits, to)
    to = verify_by_level(lists, scratch.survivors, sure, _ONE, scratch.values, scratch.hits, to)
    return np.int64(to), np.int64(sure + doubtful)


@kernel
def select_conjunctions(
    runs: Runs, lists: Conjunctions, scratch: Scratch, fields: NDArray[np.int32], codes: NDArray[np.int32]
) -> tuple[int, int]:
    """Write the places of the conjunctions that are in question; how many survivors, and how many doubtful."""
    starts = runs.starts
    run_starts = runs.run_starts
    run_stops = runs.run_stops
    run_widths = runs.run_widths
    bounds = lists.bounds
    seconds = lists.seconds
    presence = scratch.presence
    survivors = scratch.survivors
    others = scratch.doubtful
    sure = _ZERO
    doubtful = _ZERO
    for a in range(np.uint64(len(fields))):
        field = np.uint64(fields[a])
        code = codes[a]
        start = np.uint64(starts[field])
        stop = np.uint64(starts[field + _ONE])
        if stop - start <= np.uint64(SHORT):
            doubtful = select_by_second(seconds, start, stop, presence, others, doubtful)
            continue
        for run in range(np.uint64(run_starts[field]), np.uint64(run_starts[field + _ONE])):
            run_stop = np.uint64(run_stops[run])
            width = run_widths[run]
            first, last = run_range(bounds, width, start, run_stop, code)
            if width > 0 or width == ANY:
                doubtful = select_by_second(seconds, first, last, presence, others, doubtful)
            else:
                sure = select_by_second(seconds, first, last, presence, survivors, sure)
            start = run_stop
    return sure, doubtful


@kernel
def select_by_second(
    seconds: NDArray[np.uint16],
    first: int,
    last: int,
    presence: NDArray[np.uint64],
    survivors: NDArray[np.uint32],
    found: int,
) -> int:
    """Append the places in [first, last) whose second field the event may have; returns the new count."""
    for q in range(first, last):
        second = np.uint64(seconds[q])
        survivors[found] = q
        found += (presence[second >> _SIX] >> (second & _LOW_SIX)) & _ONE
    return found


@kernel
def verify_by_level(
    lists: Conjunctions,
    survivors: NDArray[np.uint32],
    found: int,
    level: int,
    values: NDArray[np.int32],
    out: NDArray[np.int32],
    to: int,
) -> int:
    """Test predicate after predicate of all survivors at once, from a level on; appends those whose last one holds."""
    tails = lists.tails
    owners = lists.owners
    predicates = lists.predicates
    while found > _ZERO:
        kept = _ZERO
        for j in range(found):
            q = np.uint64(survivors[j])
            at = (np.uint64(tails[q]) + level) * _THREE
            field = np.uint64(np.uint32(predicates[at]))
            value = values[field >> _TWO]
            inside = np.uint64((value >= predicates[at + _ONE]) & (value <= predicates[at + _TWO]))
            holds = (inside ^ (field & _ONE)) & np.uint64(value >= 0)
            is_last = (field >> _ONE) & _ONE
            out[to] = owners[q]
            to += holds & is_last
            survivors[kept] = survivors[j]
            kept += holds & (_ONE - is_last)
        found = kept
        level += _ONE
    return to
