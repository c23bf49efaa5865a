"""Cells taken out of a memory and put into an empty one, and what other terms make of the cells that there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel
from tocsin.jit.views import viewed
from tocsin.monitor.terms.memory.kernels.entries import place_of, width_of
from tocsin.monitor.terms.memory.kernels.finding import activate, enter
from tocsin.monitor.terms.memory.kernels.heaps import wait_until
from tocsin.monitor.terms.memory.kernels.values import due_of, next_meeting
from tocsin.monitor.terms.memory.layouts import (
    CELLS,
    ENDLESS,
    INACTIVE,
    LIVING,
    NEVER,
    NOBODY,
    NOTHING,
    PREVIOUS,
    SINCE,
    WORDS,
    Cells,
    Memory,
    Terms,
)


@kernel
def take_out(terms: Terms, memory: Memory, cells: Cells) -> None:
    """Copy all living cells to `cells`, which has room for just these."""
    terms_view, view, target = viewed(terms), viewed(memory), viewed(cells)
    row, end = np.int64(0), np.int64(0)
    for cell in range(view.ends[CELLS]):
        count = np.int64(view.counts[cell])
        if count == 0:
            continue
        target.owners[row], target.terms[row], target.counts[row] = (
            view.objects[cell],
            view.terms[cell],
            np.int32(count),
        )
        width = width_of(terms_view.kinds[view.terms[cell]])
        for i in range(count):
            start = place_of(view, cell, width, i)
            for k in range(width):
                target.words[end + k] = view.words[start + k]
            end += width
        row += 1


@kernel
def put_in(terms: Terms, memory: Memory, cells: Cells) -> None:
    """Put cells into an empty memory with room for them, which already has their words. See `attend`."""
    terms_view, view, source = viewed(terms), viewed(memory), viewed(cells)
    count, end = len(source.terms), np.int64(0)
    for cell in range(count):
        view.terms[cell], view.objects[cell] = source.terms[cell], source.owners[cell]
        view.starts[cell], view.heads[cell] = end, 0
        view.counts[cell], view.capacities[cell] = source.counts[cell], source.counts[cell]
        view.active[cell], view.due[cell] = INACTIVE, ENDLESS
        view.child[cell], view.after[cell], view.before[cell] = NOBODY, NOBODY, NOBODY
        end += width_of(terms_view.kinds[view.terms[cell]]) * np.int64(source.counts[cell])
        enter(view, cell)
    view.ends[CELLS], view.ends[LIVING], view.ends[WORDS] = count, count, end


@kernel
def attend(terms: Terms, memory: Memory, instants: NDArray[np.int64], can_wait: NDArray[np.bool_]) -> None:
    """Have cells told, and made due, as terms say that are new, or compared with other numbers than before.

    Time has passed for each object until its entry of `instants`. It changes nothing of those that cannot wait. Counts
    that are too low to be told are told until the next row.
    """
    terms_view, view = viewed(terms), viewed(memory)
    for cell in range(view.ends[CELLS]):
        if view.counts[cell] == 0:
            continue
        term, object = np.int64(view.terms[cell]), np.int64(view.objects[cell])
        kind = terms_view.kinds[term]
        if kind >= PREVIOUS or terms_view.emits[term] != NEVER:
            activate(view, cell)
        if kind == SINCE:
            due = view.starts[cell] + 1
            if not can_wait[object]:
                view.words[due] = ENDLESS
            elif terms_view.moves[term] != NOTHING:
                view.words[due] = min(view.words[due], next_meeting(terms_view, view, cell, instants[object]))
        wait_until(view, cell, due_of(terms_view, view, cell))
