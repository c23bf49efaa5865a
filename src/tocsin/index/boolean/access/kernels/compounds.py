"""Search by access keys of several attributes.

A *schema* is a set of fields tested together for equality. It may have one more field, by which entries with the same
values are sorted. One look-up then replaces a walk through all entries with one of the values, as in the
multi-attribute hashing structures of Fabret et al. 2001 (section 3).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import boolean
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.activation import GONE, HERE, hide, mark_present
from tocsin.index.boolean.access.kernels.clauses import (
    MARK_BITS,
    MARK_MASK,
    MEETS,
    MISSING,
    OUTSIDE,
    WITHIN,
    has_one_value,
)
from tocsin.index.boolean.access.kernels.directory import Index, entries
from tocsin.index.boolean.access.kernels.layouts import AT_MOST, Compounds, GroupLookup, Hashing, Scratch, Wants
from tocsin.index.boolean.access.kernels.lists import NO_FLOOR, run_range
from tocsin.index.boolean.access.kernels.placing_compounds import (
    ENTRIES,
    KEY,
    NO_FIELD,
    RUN_WIDTH,
    RUNS,
    SLOT,
    next_key,
    slot_of,
)
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.addresses import call_address
from tocsin.jit.decorators import inlined, part
from tocsin.jit.intrinsics import prefetch
from tocsin.jit.views import kind_of, view_of
from tocsin.kernels.programs.blocks import all_lanes
from tocsin.kernels.programs.boxes import box_number, boxes_meet
from tocsin.kernels.programs.layouts import WALK, Bound, Events, Walk
from tocsin.kernels.programs.lazy import compute_leaf
from tocsin.kernels.programs.parts import OWN

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)

# Typed, so that functions are not compiled once for each literal type.
SURE: Final = np.bool_(True)
LIKELY: Final = np.bool_(False)


class Place(NamedTuple):
    """The position of an event in a block."""

    stamp: int  # the stamp of leaves already evaluated on the block
    first: int  # the block's first event
    count: int  # number of events in the block
    lane: int


@inlined
def show_event(memory: Scratch, events: Events, bound: Bound, event: int, first: int, stop: int) -> None:
    """Write an event's values for look-ups and tests: its pairs' codes, its boxes, and the attributes it has."""
    values, fields, pair_codes = memory.values, memory.fields, memory.codes
    for pair in range(np.uint64(first), np.uint64(stop)):
        values[np.uint64(fields[pair])] = pair_codes[pair]
    mark_present(memory, events, bound, event, HERE)
    for i in range(np.uint64(events.starts[event]), np.uint64(events.starts[event + 1])):
        attribute = bound.attributes[events.attributes[i]]
        if attribute >= 0:
            memory.boxes[attribute] = box_number(events.types[i], events.payloads[i], events.list_boxes)


@part
def take_compounds(index: Index, memory: Scratch, wants: Wants, walk: Walk, place: Place, is_sure: bool) -> None:
    """Append the owners of the postings that an event reaches and passes, to the hits or to the candidates.

    If there are floors, hits that need a test and score below the event's floor are left out. `memory.taken` gives the
    number of owners, of postings examined, and of those tested. Each step prefetches the memory of the next.
    """
    compounds = index.lists.sure if is_sure else index.lists.likely
    hashing = index.sure if is_sure else index.likely
    out = memory.hits if is_sure else memory.candidates
    event = place.first + place.lane
    floor = wants.floors[event] if is_sure and len(wants.floors) > 0 else NO_FLOOR
    first, stop = np.uint64(memory.pair_ends[place.lane]), np.uint64(memory.pair_ends[place.lane + 1])
    show_event(memory, walk.events, walk.bound, event, first, stop)
    asked = _ask(compounds, hashing, index.lists.fields, memory, first, stop)
    found = _find_groups(compounds, hashing, memory.asked, asked)
    _find_postings(compounds, hashing, memory.asked, found)
    written, looked_at, tested = np.uint64(memory.taken[0]), _ZERO, _ZERO
    for i in range(found):
        written, more, asking = _take_group(
            compounds, hashing, memory, walk, place, wants.scores, floor, i, out, written
        )
        looked_at += more
        tested += asking
    hide(memory, first, stop)
    mark_present(memory, walk.events, walk.bound, event, GONE)
    memory.taken[0] = written
    memory.taken[1] += looked_at
    memory.taken[2] += tested


TAKING: Final = (view_of(Index), view_of(Scratch), view_of(Wants), WALK, kind_of(Place), boolean)
"""The argument types of `take_compounds`. It is called by address, so that it is compiled only if schemas exist."""


@inlined
def add_compounds(
    index: Index, memory: Scratch, wants: Wants, walk: Walk, place: Place, is_sure: bool, found: int
) -> int:
    """Call `take_compounds`; returns the new number of owners. `memory.taken` has the counts."""
    memory.taken[0], memory.taken[1], memory.taken[2] = found, 0, 0
    call_address(walk.parts[OWN], (index, memory, wants, walk, place, is_sure))
    return memory.taken[0]


@inlined
def _ask(compounds: Compounds, hashing: Hashing, fields: Fields, memory: Scratch, first: int, stop: int) -> int:
    """Write which schemas to look up, and with which keys; returns how many look-ups."""
    starts, equalities, sorted_by = compounds.starts, compounds.fields, compounds.sorted_by
    kinds, values, pair_fields, pair_codes = fields.kinds, memory.values, memory.fields, memory.codes
    count = np.uint64(0)
    for schema in range(np.uint64(len(sorted_by))):
        last = np.int32(0) if sorted_by[schema] == NO_FIELD else values[np.uint64(sorted_by[schema])]
        if last < 0:
            continue
        lead = np.uint64(equalities[np.uint64(starts[schema])])
        if has_one_value(kinds[lead]):
            count = _ask_one(compounds, hashing, fields, memory, schema, values[lead], last, count)
            continue
        for pair in range(first, stop):  # the event may have several values of it
            if np.uint64(pair_fields[pair]) == lead:
                count = _ask_one(compounds, hashing, fields, memory, schema, pair_codes[pair], last, count)
    return count


@inlined
def _ask_one(
    compounds: Compounds,
    hashing: Hashing,
    fields: Fields,
    memory: Scratch,
    schema: int,
    code: int,
    last: int,
    count: int,
) -> int:
    """Add the look-up of a schema if the event has all its values; returns the number of look-ups.

    `code` is the first value's.
    """
    values, asked = memory.values, memory.asked
    key = np.int64(0)
    first = np.uint64(compounds.starts[schema])
    for e in range(first, np.uint64(compounds.starts[schema + _ONE])):
        field = np.uint64(compounds.fields[e])
        if e > first:
            code = values[field]
        if code < 0 or code & 1 == 0:
            return count
        key = next_key(key, fields, field, code)
    slot = slot_of(key, hashing.shifts[schema])
    prefetch(hashing.slots, SLOT * (np.uint64(hashing.starts[schema]) + slot))
    asked.schemas[count], asked.codes[count], asked.keys[count], asked.slots[count] = schema, last, key, slot
    return count + _ONE


@inlined
def _find_groups(compounds: Compounds, hashing: Hashing, asked: GroupLookup, count: int) -> int:
    """Find the groups of the look-ups, and move them to the front; returns how many exist."""
    slots, lows, found = hashing.slots, compounds.postings.lows, _ZERO
    for i in range(count):
        schema = np.uint64(asked.schemas[i])
        begin = np.uint64(hashing.starts[schema])
        mask = np.uint64(hashing.starts[schema + _ONE]) - begin - _ONE
        slot, key = np.uint64(asked.slots[i]), asked.keys[i]
        while True:
            row = SLOT * (begin + slot)
            start, stop = entries(slots, row, ENTRIES)
            if stop == _ZERO or slots[row + KEY] == key:
                break
            slot = (slot + _ONE) & mask
        if stop != _ZERO:
            prefetch(lows, start)
            prefetch(lows, (start + stop) >> _ONE)
            prefetch(lows, (start + _THREE * stop) >> _TWO)
            asked.slots[found], asked.codes[found] = row, asked.codes[i]
            found += _ONE
    return found


@inlined
def _find_postings(compounds: Compounds, hashing: Hashing, asked: GroupLookup, found: int) -> None:
    """Search the first run of each group found."""
    lows, highs, owners = compounds.postings.lows, compounds.postings.highs, compounds.postings.owners
    slots, test_starts = hashing.slots, compounds.test_starts
    for i in range(found):
        row = np.uint64(asked.slots[i])
        start, stop = entries(slots, row, ENTRIES)
        run, last_run = entries(slots, row, RUNS)
        if run + _ONE < last_run:
            stop = np.uint64(compounds.runs.run_stops[run])
        width = np.int32(slots[row + RUN_WIDTH])
        first, last = run_range(highs if width == AT_MOST else lows, width, start, stop, asked.codes[i])
        prefetch(owners, first)
        prefetch(test_starts, first)
        asked.firsts[i], asked.lasts[i] = first, last


@inlined
def _take_group(
    compounds: Compounds,
    hashing: Hashing,
    memory: Scratch,
    walk: Walk,
    place: Place,
    scores: NDArray[np.float64],
    floor: float,
    number: int,
    out: NDArray[np.int32],
    to: int,
) -> tuple[int, int, int]:
    """Append the owners of a group's postings that hold its code and whose tests hold.

    Returns the new number of owners, and how many postings were examined and tested.
    """
    slots, asked = hashing.slots, memory.asked
    run_widths, run_stops = compounds.runs.run_widths, compounds.runs.run_stops
    lows, highs, owners = compounds.postings.lows, compounds.postings.highs, compounds.postings.owners
    test_starts = compounds.test_starts
    row, code = np.uint64(asked.slots[number]), asked.codes[number]
    first, last = np.uint64(asked.firsts[number]), np.uint64(asked.lasts[number])
    run, last_run = entries(slots, row, RUNS)
    width = np.int32(slots[row + RUN_WIDTH])
    looked_at, tested = _ZERO, _ZERO
    while True:
        looked_at += last - first
        for q in range(first, last):
            out[to] = owners[q]
            holds = np.uint64(width <= 0 or highs[q] >= code)
            if test_starts[q] < test_starts[q + _ONE]:
                if floor != NO_FLOOR and scores[np.uint64(owners[q])] < floor:
                    continue
                tested += _ONE
                holds &= _tests_hold(compounds, memory, walk, place, test_starts[q], test_starts[q + _ONE])
            to += holds
        run += _ONE
        if run >= last_run:
            return to, looked_at, tested
        width = run_widths[run]
        start, stop = np.uint64(run_stops[run - _ONE]), np.uint64(run_stops[run])
        first, last = run_range(highs if width == AT_MOST else lows, width, start, stop, code)


@inlined
def _tests_hold(compounds: Compounds, memory: Scratch, walk: Walk, place: Place, first: int, stop: int) -> int:
    """1 if tests [first, stop) hold for the shown event, else 0."""
    tests, values = compounds.tests, memory.values
    for t in range(np.uint64(first), np.uint64(stop)):
        at = _THREE * t
        about, low, high = tests[at], tests[at + _ONE], tests[at + _TWO]
        mark, number = about & MARK_MASK, np.uint64(about >> MARK_BITS)
        if mark <= OUTSIDE:
            value = values[number]
            inside = value >= low and value <= high
            if value < 0 or inside != (mark == WITHIN):
                return _ZERO
        elif mark == MISSING:
            if memory.present[number]:
                return _ZERO
        elif mark == MEETS:
            box = memory.boxes[number]
            if not memory.present[number] or box < 0 or not boxes_meet(walk.events.boxes, box, compounds.boxes, low):
                return _ZERO
        elif not _literal_holds(walk, place, low):
            return _ZERO
    return _ONE


@inlined
def _literal_holds(walk: Walk, place: Place, literal: int) -> bool:
    """Whether a literal holds for an event of the block. The first query computes it for the whole block."""
    leaf = literal >> 1
    if walk.memo.stamps[leaf] < place.stamp:
        compute_leaf(walk, leaf, all_lanes(place.count))
        walk.memo.stamps[leaf] = place.stamp
    return (walk.memo.masks[literal] >> np.uint64(place.lane)) & _ONE != _ZERO
