"""Insertion into and deletion from the lists of an OpIndex: Algorithm 1 on arrays that have room.

`insert_all` stops before a subscription for which some array may be too short, with nothing of it inserted. Deletions
need no room.

Paper: Zhang, Chan, Tan 2014, section 4.3, Algorithm 1. Departs: docs/papers/opindex.md.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
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

    starts: NDArray[np.int32]  # (R,) run r has rows [starts[r], stops[r])
    stops: NDArray[np.int32]
    rooms: NDArray[np.int32]  # (R,) how many rows fit
    used: NDArray[np.int64]  # (1,) rows, gaps included


class Form(NamedTuple):
    """The subscriptions of a form, in rows, and the counters of inserted rows. S subscriptions, Q rows, C counters."""

    simples: Simples
    firsts: NDArray[np.int64]  # (S + 1,) subscription s has the rows [firsts[s], firsts[s + 1])
    places: NDArray[np.int32]  # (Q,) the place of an inserted row's counter in its run
    runs: Runs  # a run of counters for each pivot
    needed: NDArray[np.int32] | NDArray[np.uint64]  # (C,) as in `Counters`
    owners: NDArray[np.int32]  # (C,)
    numbers: NDArray[np.int32]  # (C,) the row
    marks: NDArray[np.int32]  # (P,) scratch; 0 between calls


class Lists(NamedTuple):
    """An OpIndex that changes. D fields, P pivots, L lists of b segments."""

    pivots: NDArray[np.int32]  # (D,) the field's number as a pivot, or -1
    rows: NDArray[np.int32]  # (WIDTH P,) the list of each form and operator, or -1
    signatures: NDArray[np.uint64]  # (b L,)
    counts: NDArray[np.int64]  # (2,) pivots and lists in use
    options: NDArray[np.int64]  # (2,) segments of a list, bits of a signature
    runs: Runs  # a run of entries for each segment
    keys: NDArray[np.int64]  # as in `Entries`
    pointers: NDArray[np.uint32]
    marks: NDArray[np.int32]  # (b L,) scratch; 0 between calls
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
        and lists.counts[0] + needed[PIVOTS] <= len(lists.counted.runs.starts)
        and lists.counts[0] + needed[PIVOTS] <= len(lists.clauses.runs.starts)
        and segments * (lists.counts[1] + needed[LISTS]) <= len(lists.signatures)
        and segments * (lists.counts[1] + needed[LISTS]) <= len(lists.runs.starts)
        and lists.runs.used[0] + needed[ENTRIES] <= len(lists.keys)
        and lists.counted.runs.used[0] + needed[COUNTERS] <= len(lists.counted.owners)
        and lists.clauses.runs.used[0] + needed[CLAUSE_COUNTERS] <= len(lists.clauses.owners)
    )


@inner
def _add_need(lists: Lists, of_form: Form, form: int, number: int, needed: NDArray[np.int64]) -> None:
    """Add an upper bound of the room that a subscription's rows of a form need. Cost: linear in its predicates."""
    simples, begin, end = of_form.simples, of_form.firsts[number], of_form.firsts[number + 1]
    # Count what each run gets; a list that does not exist yet has new runs only.
    for row in range(begin, end):
        pivot, unknown = np.int64(lists.pivots[simples.pivots[row]]), np.int64(0)
        for e in range(simples.starts[row], simples.starts[row + 1]):
            segment = _known_segment(lists, pivot, form, np.int64(simples.operators[e]), simples.keys[e])
            if segment < 0:
                unknown += 1
            else:
                lists.marks[segment] += 1
        needed[ENTRIES] += 4 * FIRST_ROOM * unknown
        needed[LISTS] += min(unknown, np.int64(OPERATORS))
        if pivot < 0:
            needed[PIVOTS] += 1
            needed[COUNTERS + form] += 4 * FIRST_ROOM
        else:
            of_form.marks[pivot] += 1
    # Add the moves of each run once, and clear the marks.
    for row in range(begin, end):
        pivot = np.int64(lists.pivots[simples.pivots[row]])
        if pivot < 0:
            continue
        needed[COUNTERS + form] += _moved(of_form.runs, of_form.marks, pivot)
        for e in range(simples.starts[row], simples.starts[row + 1]):
            segment = _known_segment(lists, pivot, form, np.int64(simples.operators[e]), simples.keys[e])
            if segment >= 0:
                needed[ENTRIES] += _moved(lists.runs, lists.marks, segment)


@inlined
def _moved(runs: Runs, marks: NDArray[np.int32], run: int) -> int:
    """The most rows that moves of a run take while as many are inserted as its mark says. Clears the mark."""
    more, room = np.int64(marks[run]), np.int64(runs.rooms[run])
    marks[run] = 0
    if np.int64(runs.stops[run]) - runs.starts[run] + more <= room:
        return np.int64(0)
    return 4 * (room + more) + 4 * FIRST_ROOM


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
    simples = of_form.simples
    for row in range(of_form.firsts[number], of_form.firsts[number + 1]):
        field = simples.pivots[row]
        if lists.pivots[field] < 0:
            lists.pivots[field] = lists.counts[0]
            lists.counts[0] += 1
        pivot = np.int64(lists.pivots[field])
        place = np.int64(of_form.runs.stops[pivot]) - of_form.runs.starts[pivot]
        _append_counter(of_form, np.int64(row), pivot)
        of_form.places[row] = place
        _insert_entries(lists, simples, form, np.int64(row), pivot, place)


@inner
def _delete_form(lists: Lists, of_form: Form, form: int, number: int) -> None:
    """Remove the predicates of each row, and move the last counter of its pivot to the place of its counter."""
    simples, runs, places = of_form.simples, of_form.runs, of_form.places
    for row in range(of_form.firsts[number], of_form.firsts[number + 1]):
        pivot, place = np.int64(lists.pivots[simples.pivots[row]]), np.int64(places[row])
        _delete_entries(lists, simples, form, np.int64(row), pivot, place)
        runs.stops[pivot] -= 1
        last = np.int64(runs.stops[pivot])
        moved = np.int64(of_form.numbers[last])
        if moved != row:
            _delete_entries(lists, simples, form, moved, pivot, last - runs.starts[pivot])
            _copy_counter(of_form, last, np.int64(runs.starts[pivot]) + place)
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
        _insert_entry(lists, segment, key, pointer)
        if bits > 0:
            lists.signatures[segment] |= np.uint64(1) << np.uint64(signature_bit(operator, key, bits))


@inner
def _delete_entries(lists: Lists, simples: Simples, form: int, row: int, pivot: int, place: int) -> None:
    """Remove the predicates of a row, and compute the signatures of their segments again."""
    runs, keys, pointers = lists.runs, lists.keys, lists.pointers
    for e in range(simples.starts[row], simples.starts[row + 1]):
        operator, key = np.int64(simples.operators[e]), simples.keys[e]
        segment = _known_segment(lists, pivot, form, operator, key)
        at = _place_of(lists, segment, key, _pointer(simples, form, np.int64(e), place))
        runs.stops[segment] -= 1
        for i in range(at, runs.stops[segment]):
            keys[i], pointers[i] = keys[i + 1], pointers[i + 1]
        first, stop = np.int64(runs.starts[segment]), np.int64(runs.stops[segment])
        lists.signatures[segment] = signed(operator, keys, first, stop, lists.options[1])


@inlined
def _pointer(simples: Simples, form: int, entry: int, place: int) -> int:
    """The pointer of a predicate to a counter, and to a clause if the form has clauses."""
    if form == CLAUSES:
        return np.uint32(np.uint64(place) << CLAUSE_BITS | np.uint64(simples.clauses[entry]))
    return np.uint32(place)


# ---- Runs


@inlined
def _place_of(lists: Lists, segment: int, key: int, pointer: int) -> int:
    """The first entry of a segment that is not below a key and pointer."""
    keys, pointers = lists.keys, lists.pointers
    low, high = np.int64(lists.runs.starts[segment]), np.int64(lists.runs.stops[segment])
    while low < high:
        middle = (low + high) >> 1
        is_below = keys[middle] < key or (keys[middle] == key and pointers[middle] < pointer)
        low, high = (middle + 1, high) if is_below else (low, middle)
    return low


@inner
def _insert_entry(lists: Lists, segment: int, key: int, pointer: int) -> None:
    """Insert a predicate where it sorts. Cost: linear in the entries behind it, sometimes in the whole segment."""
    runs, keys, pointers = lists.runs, lists.keys, lists.pointers
    first, to, count = _with_place(runs, segment)
    if to != first:
        for i in range(count):
            keys[to + i], pointers[to + i] = keys[first + i], pointers[first + i]
    at = _place_of(lists, segment, key, pointer)
    for i in range(runs.stops[segment], at, -1):
        keys[i], pointers[i] = keys[i - 1], pointers[i - 1]
    keys[at], pointers[at] = key, pointer
    runs.stops[segment] += 1


@inner
def _append_counter(of_form: Form, row: int, pivot: int) -> None:
    """Append the counter of a row to those of its pivot."""
    runs, simples = of_form.runs, of_form.simples
    first, to, count = _with_place(runs, pivot)
    if to != first:
        for i in range(count):
            _copy_counter(of_form, first + i, to + i)
    at = to + count
    of_form.needed[at], of_form.owners[at], of_form.numbers[at] = simples.needed[row], simples.owners[row], row
    runs.stops[pivot] += 1


@inlined
def _copy_counter(of_form: Form, at: int, to: int) -> None:
    of_form.needed[to] = of_form.needed[at]
    of_form.owners[to] = of_form.owners[at]
    of_form.numbers[to] = of_form.numbers[at]


@inlined
def _with_place(runs: Runs, run: int) -> tuple[int, int, int]:
    """Make a place at the end of a run; returns where its rows were and where they must be, and how many there are."""
    first = np.int64(runs.starts[run])
    count = np.int64(runs.stops[run]) - first
    if count < runs.rooms[run]:
        return first, first, count
    to = np.int64(runs.used[0])
    room = np.int64(max(2 * count, FIRST_ROOM))
    runs.rooms[run] = room
    runs.used[0] += room
    runs.starts[run], runs.stops[run] = to, to + count
    return first, to, count
