"""The entries of a cell: a ring, from which the oldest leave as their span ends."""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inlined, inner
from tocsin.monitor.terms.memory.layouts import (
    COUNT,
    DISTINCT,
    GREATEST,
    LEAST,
    PREVIOUS,
    WORDS,
    Memory,
    Terms,
)


@inlined
def width_of(kind: int) -> int:
    """How many words an entry has."""
    if kind == PREVIOUS:
        return 4
    return 1 if kind == COUNT else 2


@inlined
def place_of(memory: Memory, cell: int, width: int, i: int) -> int:
    """Where the i-th entry of a cell lies, the oldest first."""
    at, capacity = np.int64(memory.heads[cell]) + i, np.int64(memory.capacities[cell])
    at -= capacity if at >= capacity else 0
    return memory.starts[cell] + width * at


@inlined
def drop_oldest(memory: Memory, cell: int) -> None:
    """Drop the oldest entry of a cell."""
    head = memory.heads[cell] + 1
    memory.heads[cell] = 0 if head >= memory.capacities[cell] else head
    memory.counts[cell] -= 1


@inlined
def slide(terms: Terms, memory: Memory, cell: int, instant: int) -> None:
    """Drop the entries that are older than the span at an instant."""
    term = memory.terms[cell]
    width, since = width_of(terms.kinds[term]), instant - terms.spans[term]
    while memory.counts[cell] > 0 and memory.words[place_of(memory, cell, width, 0)] < since:
        drop_oldest(memory, cell)


@inlined
def larger(capacity: int, most: int) -> int:
    """The next capacity of a ring: half as much again, but no more than there can be entries."""
    return min(capacity + 1 + capacity // 2, most)


@inner
def grow(memory: Memory, cell: int, width: int, most: int) -> None:
    """Move a ring that is full to a larger one; there must be words for it."""
    words, count = memory.words, np.int64(memory.counts[cell])
    capacity = larger(np.int64(memory.capacities[cell]), most)
    start = memory.ends[WORDS]
    for i in range(count):
        source, target = place_of(memory, cell, width, i), start + width * i
        for k in range(width):
            words[target + k] = words[source + k]
    memory.ends[WORDS] = start + width * capacity
    memory.starts[cell], memory.heads[cell], memory.capacities[cell] = start, 0, np.int32(capacity)


@inner
def put(terms: Terms, memory: Memory, cell: int, instant: int, payload: int) -> None:
    """Append an entry to a cell of a window, and drop what it makes needless; there must be words for a larger ring."""
    term = memory.terms[cell]
    kind, words = terms.kinds[term], memory.words
    width = width_of(kind)
    if kind == DISTINCT:
        _take_out(memory, cell, payload)
    elif kind == LEAST or kind == GREATEST:
        # The last entries that this one undercuts, or exceeds, can never be the least or the greatest again.
        while memory.counts[cell] > 0:
            last = words[place_of(memory, cell, width, np.int64(memory.counts[cell]) - 1) + 1]
            if (kind == LEAST and last < payload) or (kind == GREATEST and last > payload):
                break
            memory.counts[cell] -= 1
    if memory.counts[cell] >= terms.most[term]:
        drop_oldest(memory, cell)
    if memory.counts[cell] == memory.capacities[cell]:
        grow(memory, cell, width, terms.most[term])
    at = place_of(memory, cell, width, np.int64(memory.counts[cell]))
    words[at] = instant
    if width == 2:
        words[at + 1] = payload
    memory.counts[cell] += 1


@inner
def _take_out(memory: Memory, cell: int, payload: int) -> None:
    """Remove the entry of a value, if there is one; later ones move up."""
    words, count = memory.words, np.int64(memory.counts[cell])
    for i in range(count):
        if words[place_of(memory, cell, 2, i) + 1] == payload:
            for k in range(i, count - 1):
                target, source = place_of(memory, cell, 2, k), place_of(memory, cell, 2, k + 1)
                words[target], words[target + 1] = words[source], words[source + 1]
            memory.counts[cell] -= 1
            return
