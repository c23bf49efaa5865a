"""Search of an access index's lists by key, and verification of what the keys leave open.

After `boolean` indexes over access predicates (Fabret et al. 2001) and OpIndex's lists by pivot and operator (Zhang et
al. 2014, section 4.2). Tests compute masks and compact without branches: each writes the candidate to the next place
and advances by 0 or 1.

Arrays are read from their tables before the loops that use them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.activation import hide, show
from tocsin.index.boolean.access.kernels.directory import (
    CONJUNCTIONS,
    EQUALITIES,
    SINGLES,
    STEPS,
    Index,
    column,
    entries,
    row_of,
)
from tocsin.index.boolean.access.kernels.filters import asked_bits, is_satisfiable, mark, unmark
from tocsin.index.boolean.access.kernels.layouts import (
    ANY,
    AT_LEAST,
    AT_MOST,
    NARROW,
    NARROW_HIGHEST,
    Conjunctions,
    Postings,
    Runs,
    Scratch,
)
from tocsin.index.fields.kernels.layouts import LATER
from tocsin.jit.decorators import inlined
from tocsin.jit.intrinsics import prefetch
from tocsin.kernels.searching import first_at_least

SHORT: Final = 48
"""A list of at most this many entries is scanned: that is cheaper than searching its runs."""

AHEAD: Final = np.uint64(16)
"""Predicates are prefetched this many survivors ahead."""

NO_FLOOR: Final = -np.inf
"""The floor if all conjunctions are wanted."""

BLOCK: Final = np.uint64(5)
"""Bits of the positions of a list that share one best score."""

_IN_BLOCK = (np.uint64(1) << BLOCK) - np.uint64(1)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)


@inlined
def run_range(ends: NDArray[np.int32], width: int, start: int, stop: int, code: int) -> tuple[int, int]:
    """The entries of a run whose ranges may hold a code; all do, unless the width is above 0."""
    if width == ANY:
        return start, stop
    if width == AT_MOST:
        return first_at_least(ends, start, stop, np.int64(code)), stop
    if width == AT_LEAST:
        return start, first_at_least(ends, start, stop, np.int64(code) + 1)
    first = first_at_least(ends, start, stop, np.int64(code) - width)
    return first, first_at_least(ends, first, stop, np.int64(code) + 1)


@inlined
def prefetch_lists(index: Index, memory: Scratch, first_pair: int, last_pair: int) -> None:
    """Prefetch the beginnings of the lists for the next event's pairs [first_pair, last_pair)."""
    rows, steps, filters = index.directory.rows, index.directory.steps, index.lists.conjunctions.filters
    lows, highs, owners = index.lists.singles.lows, index.lists.singles.highs, index.lists.singles.owners
    fields, codes = memory.fields, memory.codes
    for pair in range(np.uint64(first_pair), np.uint64(last_pair)):
        row = row_of(fields[pair])
        start, stop = entries(rows, row, SINGLES)
        if start < stop:
            prefetch(lows, start)
            prefetch(highs, start)
            prefetch(owners, start)
        start, stop = entries(rows, row, CONJUNCTIONS)
        prefetch(filters, start)
        first, last = equal_range(rows, row, steps, codes[pair])
        if first < last:
            prefetch(filters, first)


@inlined
def equal_range(rows: NDArray[np.int64], row: int, steps: NDArray[np.uint16], code: int) -> tuple[int, int]:
    """The entries under the equality with a code, if the field's equalities have steps; else none."""
    at = column(rows, row, STEPS)
    if at < 0 or code & 1 == 0:  # between operands
        return _ZERO, _ZERO
    start, _ = entries(rows, row, EQUALITIES)
    place = np.uint64(at + (code >> 1))
    return start + np.uint64(steps[place]), start + np.uint64(steps[place + _ONE])


@inlined
def take_postings(
    runs: Runs, postings: Postings, memory: Scratch, first_pair: int, last_pair: int, out: NDArray[np.int32]
) -> int:
    """Write the owners of postings that hold the codes of pairs [first_pair, last_pair); returns how many."""
    starts, run_starts, run_stops, run_widths = runs.starts, runs.run_starts, runs.run_stops, runs.run_widths
    lows, highs, owners = postings.lows, postings.highs, postings.owners
    fields, codes = memory.fields, memory.codes
    to = _ZERO
    if len(owners) == 0:
        return to
    for pair in range(np.uint64(first_pair), np.uint64(last_pair)):
        code = codes[pair]
        if code == LATER:  # no list is searched by it
            continue
        field = np.uint64(fields[pair])
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
    return to


@inlined
def take_conjunctions(
    index: Index, memory: Scratch, maxima: NDArray[np.float64], floor: float, first_pair: int, last_pair: int, to: int
) -> tuple[int, int]:
    """Append the owners of the conjunctions that hold for an event to the hits.

    Returns the new count, and how many conjunctions were verified. Conjunctions in blocks whose best score in `maxima`
    is below `floor` may be left out.
    """
    operand_starts, conjunctions = index.lists.fields.operand_starts, index.lists.conjunctions
    if len(conjunctions.owners) == 0:
        return np.int64(to), np.int64(0)
    bits = asked_bits(len(operand_starts) - 1)
    mark(memory, operand_starts, bits, first_pair, last_pair)
    sure, doubtful = select_conjunctions(index, memory, maxima, floor, first_pair, last_pair)
    unmark(memory, bits, first_pair, last_pair)
    if sure + doubtful == _ZERO:
        return np.int64(to), np.int64(0)
    show(index, memory, first_pair, last_pair)
    to = verify_by_level(conjunctions, memory, memory.doubtful, doubtful, _ZERO, to)
    to = verify_by_level(conjunctions, memory, memory.survivors, sure, _ONE, to)
    hide(memory, first_pair, last_pair)
    return np.int64(to), np.int64(sure + doubtful)


@inlined
def select_conjunctions(
    index: Index, memory: Scratch, maxima: NDArray[np.float64], floor: float, first_pair: int, last_pair: int
) -> tuple[int, int]:
    """Write the positions of an event's candidate conjunctions; returns the numbers of survivors and of doubtful ones.

    The first predicate of a survivor is known to hold; of a doubtful one nothing is known.
    """
    runs, conjunctions = index.lists.conjunction_runs, index.lists.conjunctions
    run_starts, run_stops, run_widths = runs.run_starts, runs.run_stops, runs.run_widths
    bounds, filters = conjunctions.bounds, conjunctions.filters
    rows, steps = index.directory.rows, index.directory.steps
    fields, codes, satisfiable = memory.fields, memory.codes, memory.satisfiable
    survivors, others = memory.survivors, memory.doubtful
    sure = _ZERO
    doubtful = _ZERO
    for pair in range(np.uint64(first_pair), np.uint64(last_pair)):
        row = row_of(fields[pair])
        start, stop = entries(rows, row, CONJUNCTIONS)
        equal_start, equal_stop = entries(rows, row, EQUALITIES)
        first, last = equal_range(rows, row, steps, codes[pair])
        sure = select_by_filter(filters, first, last, satisfiable, maxima, floor, survivors, sure)
        if (equal_start - start) + (stop - equal_stop) <= np.uint64(SHORT):
            doubtful = select_by_filter(filters, start, equal_start, satisfiable, maxima, floor, others, doubtful)
            doubtful = select_by_filter(filters, equal_stop, stop, satisfiable, maxima, floor, others, doubtful)
            continue
        field = np.uint64(fields[pair])
        for run in range(np.uint64(run_starts[field]), np.uint64(run_starts[field + _ONE])):
            run_stop = np.uint64(run_stops[run])
            if start != equal_start or equal_start == equal_stop:
                width = run_widths[run]
                first, last = run_range(bounds, width, start, run_stop, codes[pair])
                if width > 0 or width == ANY:
                    doubtful = select_by_filter(filters, first, last, satisfiable, maxima, floor, others, doubtful)
                else:
                    sure = select_by_filter(filters, first, last, satisfiable, maxima, floor, survivors, sure)
            start = run_stop
    return sure, doubtful


@inlined
def select_by_filter(
    filters: NDArray[np.uint16],
    first: int,
    last: int,
    satisfiable: NDArray[np.uint64],
    maxima: NDArray[np.float64],
    floor: float,
    survivors: NDArray[np.uint32],
    found: int,
) -> int:
    """Append the positions in [first, last) whose filters the event may satisfy; returns the new count.

    With a floor, blocks whose best score is below it are skipped.
    """
    while first < last:
        stop = last if floor == NO_FLOOR else min(last, (first | _IN_BLOCK) + _ONE)
        if floor == NO_FLOOR or maxima[first >> BLOCK] >= floor:
            for q in range(first, stop):
                survivors[found] = q
                found += is_satisfiable(np.uint64(filters[q]), satisfiable)
        first = stop
    return found


@inlined
def verify_by_level(
    conjunctions: Conjunctions, memory: Scratch, survivors: NDArray[np.uint32], found: int, level: int, to: int
) -> int:
    """Test all survivors predicate by predicate, from a level on; appends those whose last predicate holds."""
    tails, owners, predicates = conjunctions.tails, conjunctions.owners, conjunctions.predicates
    stride, values, out = np.uint64(conjunctions.stride[0]), memory.values, memory.hits
    while found > _ZERO:
        kept = _ZERO
        for j in range(found):
            ahead = np.uint64(survivors[min(j + AHEAD, found - _ONE)])
            prefetch(predicates, (np.uint64(tails[ahead]) + level) * stride)
            q = np.uint64(survivors[j])
            at = (np.uint64(tails[q]) + level) * stride
            field = np.uint64(np.uint32(predicates[at]))
            value = values[field >> _TWO]
            if stride == np.uint64(NARROW):
                ends = np.uint32(predicates[at + _ONE])
                low, high = np.int32(ends & NARROW_HIGHEST), np.int32(ends >> np.uint32(16))
            else:
                low, high = predicates[at + _ONE], predicates[at + _TWO]
            inside = np.uint64((value >= low) & (value <= high))
            holds = (inside ^ (field & _ONE)) & np.uint64(value >= 0)
            is_last = (field >> _ONE) & _ONE
            out[to] = owners[q]
            to += holds & is_last
            survivors[kept] = survivors[j]
            kept += holds & (_ONE - is_last)
        found = kept
        level += _ONE
    return to
