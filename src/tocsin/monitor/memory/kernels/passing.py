"""Events and time passing through a memory, row by row.

A row that lacks room stops the kernel between two steps; called again, it goes on there.
"""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.numbers import key_of_number
from tocsin.monitor.memory.kernels.entries import larger, new_cell, put, slide, width_of
from tocsin.monitor.memory.kernels.values import due_of, has_moved, place_among, value_of
from tocsin.monitor.memory.layouts import (
    ABOVE,
    ABSENT,
    CELLS,
    DONE,
    ENDLESS,
    FREE,
    MORE_CELLS,
    MORE_OUTPUT,
    MORE_WAITING,
    MORE_WORDS,
    NEEDED,
    NEVER,
    NOBODY,
    NOTHING,
    PREVIOUS,
    SINCE,
    WAITING,
    WORDS,
    Memory,
    Output,
    Terms,
    Visits,
)


@kernel
def follow(
    terms: Terms, memory: Memory, visits: Visits, output: Output, first: int, stop: int, clock: int
) -> tuple[int, int]:
    """Process visits from `first` to before `stop`; returns the next one, and why it stopped.

    Time passes for a visit's object up to its instant. With a `clock`, which is 1 if objects share one, it passes for
    all.
    """
    terms_view, memory_view, visits_view = viewed(terms), viewed(memory), viewed(visits)
    out = viewed(output)
    for visit in range(first, stop):
        object, instant = np.int64(visits_view.objects[visit]), visits_view.instants[visit]
        if clock == 1:
            why = _pass_all(terms_view, memory_view, out, instant)
            if why != DONE:
                return visit, why
        why = _pass_object(terms_view, memory_view, out, object, instant)
        if why != DONE:
            return visit, why
        why = _room_for(terms_view, memory_view, visits_view, out, visit)
        if why != DONE:
            return visit, why
        _take(terms_view, memory_view, visits_view, out, visit)
    return stop, DONE


@kernel
def pass_time(terms: Terms, memory: Memory, output: Output, until: int) -> int:
    """Let time pass for all objects up to an instant; returns why it stopped."""
    return _pass_all(viewed(terms), viewed(memory), viewed(output), until)


@kernel
def pass_object(terms: Terms, memory: Memory, output: Output, object: int, until: int) -> int:
    """Let time pass for one object up to an instant; returns why it stopped."""
    terms_view, memory_view, out = viewed(terms), viewed(memory), viewed(output)
    return _pass_object(terms_view, memory_view, out, object, until)


@inner
def _pass_object(terms: Terms, memory: Memory, out: Output, object: int, until: int) -> int:
    while memory.next_due[object] <= until:
        if not _has_room(memory, out, object, 0):
            return MORE_OUTPUT
        if memory.ends[WAITING] + 1 > len(memory.heap_instants):
            return MORE_WAITING
        _pass_one(terms, memory, out, object, memory.next_due[object])
    return DONE


@inner
def _pass_all(terms: Terms, memory: Memory, out: Output, until: int) -> int:
    while memory.ends[WAITING] > 0 and memory.heap_instants[0] <= until:
        object = np.int64(memory.heap_objects[0])
        is_valid = memory.heap_instants[0] == memory.queued[object]
        if is_valid and memory.next_due[object] == memory.queued[object]:
            if not _has_room(memory, out, object, 0):
                return MORE_OUTPUT
            _pop(memory)
            memory.queued[object] = ENDLESS
            _pass_one(terms, memory, out, object, memory.next_due[object])
        else:
            _pop(memory)
            if is_valid:
                memory.queued[object] = ENDLESS
                _wait(memory, object)
    return DONE


@inner
def _pass_one(terms: Terms, memory: Memory, out: Output, object: int, instant: int) -> None:
    """Let time pass for an object up to its next due instant, and add a row if that changed what matters."""
    moved = False
    cell = np.int64(memory.first[object])
    while cell != NOBODY:
        if memory.due[cell] <= instant:
            term = np.int64(memory.terms[cell])
            if terms.kinds[term] == SINCE:
                moved = True
            elif terms.moves[term] == NOTHING:
                slide(terms, memory, cell, instant)
            else:
                kind, payload = value_of(terms, memory, cell, instant)
                slide(terms, memory, cell, instant)
                new_kind, new_payload = value_of(terms, memory, cell, instant)
                moved |= has_moved(terms, term, kind, payload, new_kind, new_payload)
        cell = np.int64(memory.following[cell])
    if moved:
        row = _new_row(memory, out, object, instant, NOBODY)
        _emit(terms, memory, out, row, object, instant)
    _settle(terms, memory, object, instant)


@inner
def _settle(terms: Terms, memory: Memory, object: int, instant: int) -> None:
    """Return empty cells, and note when the others are due."""
    earliest, before = ENDLESS, np.int64(NOBODY)
    cell = np.int64(memory.first[object])
    while cell != NOBODY:
        after = np.int64(memory.following[cell])
        if memory.counts[cell] == 0:
            if before == NOBODY:
                memory.first[object] = np.int32(after)
            else:
                memory.following[before] = np.int32(after)
            memory.following[cell] = np.int32(memory.ends[FREE])
            memory.ends[FREE] = cell
        else:
            if memory.due[cell] <= instant:
                memory.due[cell] = due_of(terms, memory, cell, instant)
            earliest = min(earliest, memory.due[cell])
            before = cell
        cell = after
    memory.next_due[object] = earliest
    _wait(memory, object)


@inner
def _room_for(terms: Terms, memory: Memory, visits: Visits, out: Output, visit: int) -> int:
    """Whether there is room for all that a visit may add."""
    object = np.int64(visits.objects[visit])
    first, stop = visits.hit_starts[visit], visits.hit_starts[visit + 1]
    if memory.ends[WAITING] + 1 > len(memory.heap_instants):
        return MORE_WAITING
    if memory.ends[CELLS] + (stop - first) > len(memory.terms):
        return MORE_CELLS
    if not _has_room(memory, out, object, stop - first):
        return MORE_OUTPUT
    needed = np.int64(0)
    for hit in range(first, stop):
        term = np.int64(visits.hits[hit])
        memory.hits[term] = np.int32(hit)
        needed += width_of(terms.kinds[term])
    cell = np.int64(memory.first[object])
    while cell != NOBODY:
        term = np.int64(memory.terms[cell])
        if memory.hits[term] != NOBODY and memory.counts[cell] == memory.capacities[cell]:
            needed += width_of(terms.kinds[term]) * larger(np.int64(memory.capacities[cell]))
        cell = np.int64(memory.following[cell])
    if memory.ends[WORDS] + needed > len(memory.words):
        for hit in range(first, stop):
            memory.hits[visits.hits[hit]] = NOBODY
        memory.ends[NEEDED] = needed
        return MORE_WORDS
    return DONE


@inner
def _take(terms: Terms, memory: Memory, visits: Visits, out: Output, visit: int) -> None:
    """Process one visit: windows include the event, then values are added to it, then it becomes an earlier one."""
    object, instant = np.int64(visits.objects[visit]), visits.instants[visit]
    memory.latest[object] = visits.events[visit]
    cell = np.int64(memory.first[object])
    while cell != NOBODY:
        term = np.int64(memory.terms[cell])
        if terms.kinds[term] < PREVIOUS:
            slide(terms, memory, cell, instant)
            hit = np.int64(memory.hits[term])
            if hit != NOBODY:
                put(terms, memory, cell, instant, visits.hit_payloads[hit])
                memory.hits[term], memory.due[cell] = NOBODY, instant
        elif terms.kinds[term] == PREVIOUS:
            _let_stand(memory, cell)
        cell = np.int64(memory.following[cell])
    for hit in range(visits.hit_starts[visit], visits.hit_starts[visit + 1]):
        term = np.int64(visits.hits[hit])
        if memory.hits[term] != NOBODY and terms.kinds[term] < PREVIOUS:
            cell = new_cell(terms, memory, object, term)
            put(terms, memory, cell, instant, visits.hit_payloads[hit])
            memory.hits[term], memory.due[cell] = NOBODY, instant
    row = _new_row(memory, out, object, instant, visit)
    _emit(terms, memory, out, row, object, instant)
    _remember(terms, memory, visits, visit)
    _settle(terms, memory, object, instant)


@inlined
def _let_stand(memory: Memory, cell: int) -> None:
    """Make the value of the latest event that of an earlier one, as another event comes."""
    start, words = memory.starts[cell], memory.words
    if words[start + 2] != ABSENT:
        words[start], words[start + 1], words[start + 2] = words[start + 2], words[start + 3], ABSENT


@inner
def _remember(terms: Terms, memory: Memory, visits: Visits, visit: int) -> None:
    """Make an event the latest one for PREVIOUS and SINCE."""
    object, instant = np.int64(visits.objects[visit]), visits.instants[visit]
    cell = np.int64(memory.first[object])
    while cell != NOBODY:
        term = np.int64(memory.terms[cell])
        hit = np.int64(memory.hits[term])
        if hit != NOBODY:
            _note(terms, memory, visits, cell, hit, instant)
            memory.hits[term] = NOBODY
        cell = np.int64(memory.following[cell])
    for hit in range(visits.hit_starts[visit], visits.hit_starts[visit + 1]):
        term = np.int64(visits.hits[hit])
        if memory.hits[term] != NOBODY:
            cell = new_cell(terms, memory, object, term)
            _note(terms, memory, visits, cell, hit, instant)
            memory.hits[term] = NOBODY


@inner
def _note(terms: Terms, memory: Memory, visits: Visits, cell: int, hit: int, instant: int) -> None:
    """Put the latest event into a cell of PREVIOUS or SINCE, and say whether a microsecond changes what matters."""
    term, start = np.int64(memory.terms[cell]), memory.starts[cell]
    if terms.kinds[term] == PREVIOUS:
        if memory.counts[cell] == 0:
            memory.words[start] = ABSENT
        memory.counts[cell] = 1
        memory.words[start + 2], memory.words[start + 3] = np.int64(visits.hit_types[hit]), visits.hit_payloads[hit]
        return
    kind, payload = value_of(terms, memory, cell, instant)
    memory.counts[cell] = 1
    memory.words[start] = instant
    if terms.moves[term] == NOTHING:
        return
    soon = key_of_number(1e-6)
    if has_moved(terms, term, kind, payload, np.int64(codes.NUMBER), soon):
        memory.due[cell] = instant + 1
    else:
        memory.due[cell] = due_of(terms, memory, cell, instant + 1)


@inlined
def _has_room(memory: Memory, out: Output, object: int, more: int) -> bool:
    """Whether there is room for a row with all values of an object, and some more."""
    rows = out.used[0]
    if rows >= len(out.objects):
        return False
    values = more
    cell = np.int64(memory.first[object])
    while cell != NOBODY:
        values += 1
        cell = np.int64(memory.following[cell])
    return out.starts[rows] + values <= len(out.terms)


@inlined
def _new_row(memory: Memory, out: Output, object: int, instant: int, visit: int) -> int:
    row = out.used[0]
    out.objects[row], out.instants[row] = np.int32(object), instant
    out.visits[row], out.latest[row] = visit, memory.latest[object]
    out.used[0] = row + 1
    return row


@inner
def _emit(terms: Terms, memory: Memory, out: Output, row: int, object: int, instant: int) -> None:
    """Add the values of an object's terms to a row."""
    at = out.starts[row]
    cell = np.int64(memory.first[object])
    while cell != NOBODY:
        term = np.int64(memory.terms[cell])
        if terms.emits[term] != NEVER:
            if terms.kinds[term] < PREVIOUS:
                slide(terms, memory, cell, instant)
            kind, payload = value_of(terms, memory, cell, instant)
            is_told = terms.emits[term] != ABOVE or place_among(terms, term, payload) > 0
            if kind != np.int64(ABSENT) and is_told:
                out.terms[at], out.types[at], out.payloads[at] = np.int32(term), np.uint8(kind), payload
                at += 1
        cell = np.int64(memory.following[cell])
    out.starts[row + 1] = at


# ---- the heap of objects, by when they are due


@inner
def _wait(memory: Memory, object: int) -> None:
    """Enter an object into the heap if it is due before its entry there. There is room: see `_room_for`."""
    due = memory.next_due[object]
    if due >= memory.queued[object] or due == ENDLESS:
        return
    instants, objects = memory.heap_instants, memory.heap_objects
    at = memory.ends[WAITING]
    memory.ends[WAITING] = at + 1
    memory.queued[object] = due
    while at > 0:
        above = (at - 1) // 2
        if instants[above] <= due:
            break
        instants[at], objects[at] = instants[above], objects[above]
        at = above
    instants[at], objects[at] = due, np.int32(object)


@inner
def _pop(memory: Memory) -> None:
    """Remove the first entry of the heap."""
    instants, objects = memory.heap_instants, memory.heap_objects
    last = memory.ends[WAITING] - 1
    memory.ends[WAITING] = last
    instant, object = instants[last], objects[last]
    at = np.int64(0)
    while 2 * at + 1 < last:
        below = 2 * at + 1
        if below + 1 < last and instants[below + 1] < instants[below]:
            below += 1
        if instants[below] >= instant:
            break
        instants[at], objects[at] = instants[below], objects[below]
        at = below
    instants[at], objects[at] = instant, object


@kernel
def queue_all(memory: Memory, objects: int) -> None:
    """Fill an empty heap with all objects that are due."""
    view = viewed(memory)
    for object in range(objects):
        view.queued[object] = ENDLESS
        _wait(view, object)


@kernel
def forget(memory: Memory, object: int) -> None:
    """Return all cells of an object."""
    view = viewed(memory)
    cell = np.int64(view.first[object])
    while cell != NOBODY:
        after = np.int64(view.following[cell])
        view.following[cell] = np.int32(view.ends[FREE])
        view.ends[FREE] = cell
        cell = after
    view.first[object], view.next_due[object], view.queued[object] = NOBODY, ENDLESS, ENDLESS


@kernel
def repack(terms: Terms, memory: Memory, packed: Memory, objects: int) -> None:
    """Copy the rings of all cells into the words of `packed`, one behind the other."""
    terms_view, view, target = viewed(terms), viewed(memory), viewed(packed)
    end = np.int64(0)
    for object in range(objects):
        cell = np.int64(view.first[object])
        while cell != NOBODY:
            length = width_of(terms_view.kinds[view.terms[cell]]) * np.int64(view.capacities[cell])
            start = view.starts[cell]
            for i in range(length):
                target.words[end + i] = view.words[start + i]
            target.starts[cell] = end
            end += length
            cell = np.int64(view.following[cell])
    target.ends[WORDS] = end
