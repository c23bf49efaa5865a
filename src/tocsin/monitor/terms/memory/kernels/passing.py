"""Events and time passing through a memory, row by row.

A row that lacks room stops the kernel between two steps; called again, it goes on there.
"""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.numbers import key_of_number
from tocsin.monitor.terms.memory.kernels.entries import larger, put, slide, width_of
from tocsin.monitor.terms.memory.kernels.finding import activate, deactivate, find, free, new_cell, unlink
from tocsin.monitor.terms.memory.kernels.heaps import next_due, take_first, wait_until
from tocsin.monitor.terms.memory.kernels.queueing import leave_queue, queue
from tocsin.monitor.terms.memory.kernels.values import due_of, has_moved, next_meeting, place_among, value_of
from tocsin.monitor.terms.memory.layouts import (
    ABOVE,
    ABSENT,
    CELLS,
    DONE,
    DOWN,
    ENDLESS,
    INACTIVE,
    LIVING,
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
    while next_due(memory, object) <= until:
        if not _has_room(memory, out, object, 0):
            return MORE_OUTPUT
        if memory.ends[WAITING] + 1 > len(memory.queue_instants):
            return MORE_WAITING
        _pass_one(terms, memory, out, object, next_due(memory, object))
    return DONE


@inner
def _pass_all(terms: Terms, memory: Memory, out: Output, until: int) -> int:
    while memory.ends[WAITING] > 0 and memory.queue_instants[0] <= until:
        object = np.int64(memory.queue_objects[0])
        is_valid = memory.queue_instants[0] == memory.queued[object]
        if is_valid and next_due(memory, object) == memory.queued[object]:
            if not _has_room(memory, out, object, 0):
                return MORE_OUTPUT
            leave_queue(memory)
            memory.queued[object] = ENDLESS
            _pass_one(terms, memory, out, object, next_due(memory, object))
        else:
            leave_queue(memory)
            if is_valid:
                memory.queued[object] = ENDLESS
                queue(memory, object)
    return DONE


@inner
def _pass_one(terms: Terms, memory: Memory, out: Output, object: int, instant: int) -> None:
    """Let time pass for an object up to its next due instant, and add a row if that changed what matters."""
    moved, rose = False, False
    while next_due(memory, object) <= instant:
        cell = take_first(memory, object)
        if due_of(terms, memory, cell) <= instant:
            has_changed = _change(terms, memory, cell, instant)
            moved |= has_changed
            rose |= has_changed and terms.moves[memory.terms[cell]] != DOWN
        if memory.counts[cell] == 0:
            deactivate(memory, cell)
            free(memory, cell)
        else:
            wait_until(memory, cell, due_of(terms, memory, cell))
    if moved:
        row = _new_row(memory, out, object, instant, NOBODY)
        out.falls[row] = not rose
        _emit(terms, memory, out, row, object, instant)
    queue(memory, object)


@inner
def _change(terms: Terms, memory: Memory, cell: int, instant: int) -> bool:
    """Bring a cell that is due to an instant; returns whether that changed what matters."""
    term = np.int64(memory.terms[cell])
    if terms.kinds[term] == SINCE:
        memory.words[memory.starts[cell] + 1] = next_meeting(terms, memory, cell, instant)
        return True
    if terms.moves[term] == NOTHING:
        slide(terms, memory, cell, instant)
        return False
    kind, payload = value_of(terms, memory, cell, instant)
    slide(terms, memory, cell, instant)
    new_kind, new_payload = value_of(terms, memory, cell, instant)
    return has_moved(terms, term, kind, payload, new_kind, new_payload)


@inner
def _room_for(terms: Terms, memory: Memory, visits: Visits, out: Output, visit: int) -> int:
    """Whether there is room for all that a visit may add."""
    object = np.int64(visits.objects[visit])
    first, stop = visits.hit_starts[visit], visits.hit_starts[visit + 1]
    if memory.ends[WAITING] + 1 > len(memory.queue_instants):
        return MORE_WAITING
    new = stop - first
    if memory.ends[CELLS] + new > len(memory.terms) or 3 * (memory.ends[LIVING] + new) > 2 * len(memory.slots):
        memory.ends[NEEDED] = new
        return MORE_CELLS
    if not _has_room(memory, out, object, new):
        return MORE_OUTPUT
    needed = np.int64(0)
    for hit in range(first, stop):
        term = np.int64(visits.hits[hit])
        cell = find(memory, object, term)
        if cell == NOBODY:
            needed += width_of(terms.kinds[term])
        elif memory.counts[cell] == memory.capacities[cell]:
            needed += width_of(terms.kinds[term]) * larger(np.int64(memory.capacities[cell]), terms.most[term])
    if memory.ends[WORDS] + needed > len(memory.words):
        memory.ends[NEEDED] = needed
        return MORE_WORDS
    return DONE


@inner
def _take(terms: Terms, memory: Memory, visits: Visits, out: Output, visit: int) -> None:
    """Process one visit: windows include the event, then values are added to it, then it becomes an earlier one."""
    object, instant = np.int64(visits.objects[visit]), visits.instants[visit]
    memory.latest[object] = visits.events[visit]
    _let_all_stand(terms, memory, object)
    first, stop = visits.hit_starts[visit], visits.hit_starts[visit + 1]
    for hit in range(first, stop):
        term = np.int64(visits.hits[hit])
        if terms.kinds[term] < PREVIOUS:
            cell = _found(terms, memory, object, term)
            slide(terms, memory, cell, instant)
            put(terms, memory, cell, instant, visits.hit_payloads[hit])
            wait_until(memory, cell, due_of(terms, memory, cell))
            if terms.emits[term] != NEVER and _is_active(terms, memory, cell, instant):
                activate(memory, cell)
    row = _new_row(memory, out, object, instant, visit)
    _emit(terms, memory, out, row, object, instant)
    for hit in range(first, stop):
        term = np.int64(visits.hits[hit])
        if terms.kinds[term] >= PREVIOUS:
            cell = _found(terms, memory, object, term)
            _note(terms, memory, visits, cell, hit, instant)
            wait_until(memory, cell, due_of(terms, memory, cell))
            activate(memory, cell)
    queue(memory, object)


@inlined
def _found(terms: Terms, memory: Memory, object: int, term: int) -> int:
    """The cell of a term and an object, which may be new."""
    cell = find(memory, object, term)
    return new_cell(terms, memory, object, term) if cell == NOBODY else cell


@inlined
def _is_active(terms: Terms, memory: Memory, cell: int, instant: int) -> bool:
    """Whether the value of a cell can make anything TRUE."""
    term = np.int64(memory.terms[cell])
    if terms.emits[term] != ABOVE:
        return True
    kind, payload = value_of(terms, memory, cell, instant)
    return kind != ABSENT and place_among(terms, term, payload) > 0


@inner
def _let_all_stand(terms: Terms, memory: Memory, object: int) -> None:
    """Make the values of the latest event those of an earlier one, as another event comes."""
    words, cell = memory.words, np.int64(memory.first_active[object])
    while cell != NOBODY:
        if terms.kinds[memory.terms[cell]] == PREVIOUS:
            start = memory.starts[cell]
            if words[start + 2] != ABSENT:
                words[start], words[start + 1], words[start + 2] = words[start + 2], words[start + 3], ABSENT
        cell = np.int64(memory.active[cell])


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
    memory.words[start], memory.words[start + 1] = instant, ENDLESS
    if terms.moves[term] == NOTHING:
        return
    if has_moved(terms, term, kind, payload, np.int64(codes.NUMBER), key_of_number(1e-6)):
        memory.words[start + 1] = instant + 1
    else:
        memory.words[start + 1] = next_meeting(terms, memory, cell, instant + 1)


@inlined
def _has_room(memory: Memory, out: Output, object: int, more: int) -> bool:
    """Whether there is room for a row with all values of an object that are told, and some more."""
    rows = out.used[0]
    if rows >= len(out.objects):
        return False
    return out.starts[rows] + np.int64(memory.active_count[object]) + more <= len(out.terms)


@inlined
def _new_row(memory: Memory, out: Output, object: int, instant: int, visit: int) -> int:
    row = out.used[0]
    out.objects[row], out.instants[row] = np.int32(object), instant
    out.visits[row], out.latest[row], out.falls[row] = visit, memory.latest[object], False
    out.used[0] = row + 1
    return row


@inner
def _emit(terms: Terms, memory: Memory, out: Output, row: int, object: int, instant: int) -> None:
    """Add the values of an object's terms to a row. Counts that are too low to be told are told no more."""
    at = out.starts[row]
    cell, before = np.int64(memory.first_active[object]), np.int64(NOBODY)
    while cell != NOBODY:
        after, term = np.int64(memory.active[cell]), np.int64(memory.terms[cell])
        if terms.kinds[term] < PREVIOUS:
            slide(terms, memory, cell, instant)
        kind, payload = value_of(terms, memory, cell, instant)
        if terms.emits[term] == ABOVE and (kind == ABSENT or place_among(terms, term, payload) == 0):
            unlink(memory, object, before, cell)
        else:
            if kind != ABSENT:
                out.terms[at], out.types[at], out.payloads[at] = np.int32(term), np.uint8(kind), payload
                at += 1
            before = cell
        cell = after
    out.starts[row + 1] = at


@kernel
def forget(memory: Memory, object: int) -> None:
    """Return all cells of an object."""
    view = viewed(memory)
    while view.root[object] != NOBODY:
        cell = take_first(view, object)
        if view.active[cell] == INACTIVE:
            free(view, cell)
    cell = np.int64(view.first_active[object])
    while cell != NOBODY:
        after = np.int64(view.active[cell])
        free(view, cell)
        cell = after
    view.first_active[object], view.active_count[object], view.queued[object] = NOBODY, 0, ENDLESS
