"""Insertion into and deletion from the lists of an OpIndex: Algorithm 1 on arrays that have room.

`insert_all` stops before a subscription for which some array may be too short, with nothing of it inserted. Deletions
need no room.

Paper: Zhang, Chan, Tan 2014, section 4.3, Algorithm 1. Departs: docs/papers/opindex.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import inlined, inner, kernel
from tocsin.kernels.packing import viewed
from tocsin.papers.opindex.opindex.kernels.building import Simples, signed
from tocsin.papers.opindex.opindex.kernels.layouts import (
    CLAUSE_BITS,
    CLAUSES,
    COUNTED,
    OPERATORS,
    WIDTH,
    segment_of,
    signature_bit,
)

FIRST_ROOM: Final = 4


class Runs(NamedTuple):
    """Many short lists in shared arrays: R runs, N rows. A full run moves behind all others, into twice the room."""

    starts: NDArray[np.int64]  # (R,) run r has rows [starts[r], stops[r])
    stops: NDArray[np.int64]
    rooms: NDArray[np.int64]  # (R,) how many rows fit
    keys: NDArray[np.int64]  # (N,)
    pointers: NDArray[np.uint32]  # (N,)
    used: NDArray[np.int64]  # (1,) rows, gaps included


class Form(NamedTuple):
    """The subscriptions of a form, in rows, and the counters of inserted rows. S subscriptions, Q rows."""

    simples: Simples
    firsts: NDArray[np.int64]  # (S + 1,) subscription s has the rows [firsts[s], firsts[s + 1])
    counters: Runs  # a run for each pivot; a key is what the counter needs, a pointer the row
    places: NDArray[np.int64]  # (Q,) the place of an inserted row's counter in its run


class Lists(NamedTuple):
    """An OpIndex that changes. D fields, P pivots, L lists of b segments."""

    pivots: NDArray[np.int32]  # (D,) the field's number as a pivot, or -1
    rows: NDArray[np.int32]  # (WIDTH P,) the list of each form and operator, or -1
    signatures: NDArray[np.uint64]  # (b L,)
    counts: NDArray[np.int64]  # (2,) pivots and lists in use
    options: NDArray[np.int64]  # (2,) segments of a list, bits of a signature
    entries: Runs
    counted: Form
    clauses: Form


@kernel
def insert_all(changing: Lists, numbers: NDArray[np.int64], first: int, needed: NDArray[np.int64]) -> int:
    """Insert subscriptions from numbers[first] on; returns how many of `numbers` are done.

    If that is not all, `needed` has how much room the next one may need.
    """
    lists = viewed(changing)
    for i in range(first, len(numbers)):
        for kind in range(NEEDS):
            needed[kind] = 0
        _add_need(lists, lists.counted, np.int64(COUNTED), numbers[i], needed)
        _add_need(lists, lists.clauses, np.int64(CLAUSES), numbers[i], needed)
        if not _has_room(lists, needed):
            return np.int64(i)
        _insert_form(lists, lists.counted, np.int64(COUNTED), numbers[i])
        _insert_form(lists, lists.clauses, np.int64(CLAUSES), numbers[i])
    return np.int64(len(numbers))


@kernel
def delete_all(changing: Lists, numbers: NDArray[np.int64]) -> None:
    """Delete inserted subscriptions."""
    lists = viewed(changing)
    for number in numbers:
        _delete_form(lists, lists.counted, np.int64(COUNTED), number)
        _delete_form(lists, lists.clauses, np.int64(CLAUSES), number)


# ---- Room

PIVOTS, LISTS, ENTRIES, COUNTERS, CLAUSE_COUNTERS = range(5)
"""The positions in `needed`: pivots, lists, rows of entries, and rows of counters of each form."""
NEEDS: Final = 5


@inlined
def _has_room(lists: Lists, needed: NDArray[np.int64]) -> bool:
    """Whether all arrays have as much room as is needed."""
    segments = lists.options[0]
    return (
        WIDTH * (lists.counts[0] + needed[PIVOTS]) <= len(lists.rows)
        and lists.counts[0] + needed[PIVOTS] <= len(lists.counted.counters.starts)
        and lists.counts[0] + needed[PIVOTS] <= len(lists.clauses.counters.starts)
        and segments * (lists.counts[1] + needed[LISTS]) <= len(lists.signatures)
        and segments * (lists.counts[1] + needed[LISTS]) <= len(lists.entries.starts)
        and lists.entries.used[0] + needed[ENTRIES] <= len(lists.entries.keys)
        and lists.counted.counters.used[0] + needed[COUNTERS] <= len(lists.counted.counters.keys)
        and lists.clauses.counters.used[0] + needed[CLAUSE_COUNTERS] <= len(lists.clauses.counters.keys)
    )


@inner
def _add_need(lists: Lists, of_form: Form, form: int, number: int, needed: NDArray[np.int64]) -> None:
    """Add an upper bound of the room that a subscription's rows of a form need."""
    simples, begin, end = of_form.simples, of_form.firsts[number], of_form.firsts[number + 1]
    predicates = simples.starts[end] - simples.starts[begin]
    for row in range(begin, end):
        pivot = np.int64(lists.pivots[simples.pivots[row]])
        first, stop = simples.starts[row], simples.starts[row + 1]
        needed[PIVOTS] += np.int64(pivot < 0)
        needed[COUNTERS + form] += _moved(of_form.counters, pivot, end - begin)
        for e in range(first, stop):
            segment = _known_segment(lists, pivot, form, np.int64(simples.operators[e]), simples.keys[e])
            needed[LISTS] += np.int64(segment < 0)
            if segment < 0 or not _is_counted(lists, simples, form, pivot, first, e, segment):
                needed[ENTRIES] += _moved(lists.entries, segment, predicates)


@inlined
def _moved(runs: Runs, run: int, more: int) -> int:
    """The most rows that moves of a run take while `more` rows are inserted; of a run not made yet, for one row."""
    if run < 0:
        return np.int64(4 * FIRST_ROOM)
    room = runs.rooms[run]
    if runs.stops[run] - runs.starts[run] + more <= room:
        return np.int64(0)
    return 4 * (room + more) + 4 * FIRST_ROOM


@inlined
def _is_counted(lists: Lists, simples: Simples, form: int, pivot: int, first: int, entry: int, segment: int) -> bool:
    """Whether an earlier predicate of the row is of the same segment."""
    for e in range(first, entry):
        if _known_segment(lists, pivot, form, np.int64(simples.operators[e]), simples.keys[e]) == segment:
            return True
    return False


@inlined
def _known_segment(lists: Lists, pivot: int, form: int, operator: int, key: int) -> int:
    """The segment of a predicate; -1 if its list does not exist."""
    if pivot < 0:
        return np.int64(-1)
    number = np.int64(lists.rows[WIDTH * pivot + OPERATORS * form + operator])
    segments = lists.options[0]
    return number * segments + np.int64(segment_of(key >> 32, segments)) if number >= 0 else np.int64(-1)


# ---- Rows


@inner
def _insert_form(lists: Lists, of_form: Form, form: int, number: int) -> None:
    """Algorithm 1 for each row: the pivot, its counter, then each predicate."""
    simples, counters = of_form.simples, of_form.counters
    for row in range(of_form.firsts[number], of_form.firsts[number + 1]):
        field = simples.pivots[row]
        if lists.pivots[field] < 0:
            lists.pivots[field] = lists.counts[0]
            lists.counts[0] += 1
        pivot = np.int64(lists.pivots[field])
        place = counters.stops[pivot] - counters.starts[pivot]
        _insert(counters, pivot, place, np.int64(simples.needed[row]), np.uint32(row))
        of_form.places[row] = place
        _insert_entries(lists, simples, form, np.int64(row), pivot, place)


@inner
def _delete_form(lists: Lists, of_form: Form, form: int, number: int) -> None:
    """Remove the predicates of each row, and move the last counter of its pivot to the place of its counter."""
    simples, counters, places = of_form.simples, of_form.counters, of_form.places
    for row in range(of_form.firsts[number], of_form.firsts[number + 1]):
        pivot, place = np.int64(lists.pivots[simples.pivots[row]]), places[row]
        _delete_entries(lists, simples, form, np.int64(row), pivot, place)
        counters.stops[pivot] -= 1
        last = counters.stops[pivot]
        moved = np.int64(counters.pointers[last])
        if moved != row:
            _delete_entries(lists, simples, form, moved, pivot, last - counters.starts[pivot])
            at = counters.starts[pivot] + place
            counters.keys[at], counters.pointers[at] = counters.keys[last], counters.pointers[last]
            places[moved] = place
            _insert_entries(lists, simples, form, moved, pivot, place)


@inner
def _insert_entries(lists: Lists, simples: Simples, form: int, row: int, pivot: int, place: int) -> None:
    """Insert the predicates of a row whose counter is at a place of its pivot's run."""
    segments, bits = lists.options[0], lists.options[1]
    for e in range(simples.starts[row], simples.starts[row + 1]):
        operator, key = np.int64(simples.operators[e]), simples.keys[e]
        at = WIDTH * pivot + OPERATORS * form + operator
        if lists.rows[at] < 0:
            lists.rows[at] = lists.counts[1]
            lists.counts[1] += 1
        segment = np.int64(lists.rows[at]) * segments + np.int64(segment_of(key >> 32, segments))
        pointer = _pointer(simples, form, np.int64(e), place)
        _insert(lists.entries, segment, _find(lists.entries, segment, key, pointer), key, pointer)
        if bits > 0:
            lists.signatures[segment] |= np.uint64(1) << np.uint64(signature_bit(operator, key, bits))


@inner
def _delete_entries(lists: Lists, simples: Simples, form: int, row: int, pivot: int, place: int) -> None:
    """Remove the predicates of a row, and compute the signatures of their segments again."""
    entries = lists.entries
    for e in range(simples.starts[row], simples.starts[row + 1]):
        operator, key = np.int64(simples.operators[e]), simples.keys[e]
        segment = _known_segment(lists, pivot, form, operator, key)
        at = entries.starts[segment] + _find(entries, segment, key, _pointer(simples, form, np.int64(e), place))
        entries.stops[segment] -= 1
        for i in range(at, entries.stops[segment]):
            entries.keys[i], entries.pointers[i] = entries.keys[i + 1], entries.pointers[i + 1]
        first, stop = entries.starts[segment], entries.stops[segment]
        lists.signatures[segment] = signed(operator, entries.keys, first, stop, lists.options[1])


@inlined
def _pointer(simples: Simples, form: int, entry: int, place: int) -> int:
    """The pointer of a predicate to a counter, and to a clause if the form has clauses."""
    if form == CLAUSES:
        return np.uint32(np.uint64(place) << CLAUSE_BITS | np.uint64(simples.clauses[entry]))
    return np.uint32(place)


# ---- Runs


@inlined
def _find(runs: Runs, run: int, key: int, pointer: int) -> int:
    """The place of the first row of a run that is not below a key and pointer."""
    low, high = runs.starts[run], runs.stops[run]
    while low < high:
        middle = (low + high) >> 1
        is_below = runs.keys[middle] < key or (runs.keys[middle] == key and runs.pointers[middle] < pointer)
        low, high = (middle + 1, high) if is_below else (low, middle)
    return low - runs.starts[run]


@inner
def _insert(runs: Runs, run: int, place: int, key: int, pointer: int) -> None:
    """Insert a row before the one at a place. Cost: linear in the rows after it, sometimes in the whole run."""
    if runs.stops[run] - runs.starts[run] == runs.rooms[run]:
        first, to = runs.starts[run], runs.used[0]
        count = runs.stops[run] - first
        runs.rooms[run] = max(2 * runs.rooms[run], FIRST_ROOM)
        runs.used[0] += runs.rooms[run]
        for i in range(count):
            runs.keys[to + i], runs.pointers[to + i] = runs.keys[first + i], runs.pointers[first + i]
        runs.starts[run], runs.stops[run] = to, to + count
    at = runs.starts[run] + place
    for i in range(runs.stops[run], at, -1):
        runs.keys[i], runs.pointers[i] = runs.keys[i - 1], runs.pointers[i - 1]
    runs.keys[at], runs.pointers[at] = key, pointer
    runs.stops[run] += 1
