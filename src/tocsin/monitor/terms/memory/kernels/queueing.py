"""The queue of objects by when they are due: a binary heap, in which an object may have stale entries."""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inner, kernel
from tocsin.jit.views import viewed
from tocsin.monitor.terms.memory.kernels.entries import width_of
from tocsin.monitor.terms.memory.kernels.finding import enter
from tocsin.monitor.terms.memory.kernels.heaps import next_due
from tocsin.monitor.terms.memory.layouts import CELLS, ENDLESS, WAITING, WORDS, Memory, Terms


@inner
def queue(memory: Memory, object: int) -> None:
    """Enter an object if it is due before its valid entry; there must be room."""
    due = next_due(memory, object)
    if due >= memory.queued[object]:
        return
    instants, objects = memory.queue_instants, memory.queue_objects
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
def leave_queue(memory: Memory) -> None:
    """Remove the first entry."""
    instants, objects = memory.queue_instants, memory.queue_objects
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
    """Fill an empty queue with all objects that are due."""
    view = viewed(memory)
    for object in range(objects):
        view.queued[object] = ENDLESS
        queue(view, object)


@kernel
def enter_all(memory: Memory) -> None:
    """Fill an empty table of hashes with all living cells."""
    view = viewed(memory)
    for cell in range(view.ends[CELLS]):
        if view.counts[cell] > 0:
            enter(view, cell)


@kernel
def repack(terms: Terms, memory: Memory, packed: Memory) -> None:
    """Copy the rings of all living cells into the words of `packed`, one behind the other."""
    terms_view, view, target = viewed(terms), viewed(memory), viewed(packed)
    end = np.int64(0)
    for cell in range(view.ends[CELLS]):
        if view.counts[cell] == 0:
            continue
        length = width_of(terms_view.kinds[view.terms[cell]]) * np.int64(view.capacities[cell])
        start = view.starts[cell]
        for i in range(length):
            target.words[end + i] = view.words[start + i]
        target.starts[cell] = end
        end += length
    target.ends[WORDS] = end
