"""The cell of a term and an object: a table of hashes with linear probing, at most two thirds full."""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inlined, inner
from tocsin.kernels.numbers import scattered
from tocsin.monitor.terms.memory.kernels.entries import width_of
from tocsin.monitor.terms.memory.layouts import CELLS, ENDLESS, FREE, INACTIVE, LIVING, NOBODY, WORDS, Memory, Terms


@inlined
def _slot_of(memory: Memory, object: int, term: int) -> int:
    mixed = scattered((np.int64(object) << 32) | np.int64(term)) >> np.uint64(32)  # the high bits are the mixed ones
    return np.int64(mixed) & np.int64(len(memory.slots) - 1)


@inlined
def find(memory: Memory, object: int, term: int) -> int:
    """The cell of a term and an object; NOBODY if there is none."""
    slot, last = _slot_of(memory, object, term), np.int64(len(memory.slots) - 1)
    cell = np.int64(memory.slots[slot])
    while cell != NOBODY and not (memory.terms[cell] == term and memory.objects[cell] == object):
        slot = (slot + 1) & last
        cell = np.int64(memory.slots[slot])
    return cell


@inner
def enter(memory: Memory, cell: int) -> None:
    """Put a cell into the table."""
    last = np.int64(len(memory.slots) - 1)
    slot = _slot_of(memory, np.int64(memory.objects[cell]), np.int64(memory.terms[cell]))
    while memory.slots[slot] != NOBODY:
        slot = (slot + 1) & last
    memory.slots[slot] = np.int32(cell)


@inner
def _leave(memory: Memory, cell: int) -> None:
    """Remove a cell from the table; later cells of its run move up."""
    last = np.int64(len(memory.slots) - 1)
    hole = _slot_of(memory, np.int64(memory.objects[cell]), np.int64(memory.terms[cell]))
    while memory.slots[hole] != cell:
        hole = (hole + 1) & last
    slot = (hole + 1) & last
    while memory.slots[slot] != NOBODY:
        other = np.int64(memory.slots[slot])
        own = _slot_of(memory, np.int64(memory.objects[other]), np.int64(memory.terms[other]))
        # The cell may move into the hole if its own slot is not between the hole and its place.
        if ((slot - own) & last) >= ((slot - hole) & last):
            memory.slots[hole] = np.int32(other)
            hole = slot
        slot = (slot + 1) & last
    memory.slots[hole] = NOBODY


@inner
def new_cell(terms: Terms, memory: Memory, object: int, term: int) -> int:
    """A cell without entries, with room for one; there must be a cell, a slot and words."""
    cell = memory.ends[FREE]
    if cell == NOBODY:
        cell = memory.ends[CELLS]
        memory.ends[CELLS] = cell + 1
    else:
        memory.ends[FREE] = np.int64(memory.child[cell])
    memory.ends[LIVING] += 1
    memory.terms[cell], memory.objects[cell] = np.int32(term), np.int32(object)
    memory.starts[cell], memory.heads[cell] = memory.ends[WORDS], 0
    memory.counts[cell], memory.capacities[cell] = 0, 1
    memory.active[cell], memory.due[cell] = INACTIVE, ENDLESS
    memory.child[cell], memory.after[cell], memory.before[cell] = NOBODY, NOBODY, NOBODY
    memory.ends[WORDS] += width_of(terms.kinds[term])
    enter(memory, cell)
    return cell


@inner
def free(memory: Memory, cell: int) -> None:
    """Return a cell that is neither told nor in a heap."""
    _leave(memory, cell)
    memory.child[cell] = np.int32(memory.ends[FREE])
    memory.ends[FREE] = cell
    memory.ends[LIVING] -= 1
    memory.counts[cell] = 0


@inlined
def activate(memory: Memory, cell: int) -> None:
    """Have the value of a cell told from now on."""
    if memory.active[cell] == INACTIVE:
        object = np.int64(memory.objects[cell])
        memory.active[cell] = memory.first_active[object]
        memory.first_active[object] = np.int32(cell)
        memory.active_count[object] += 1


@inner
def deactivate(memory: Memory, cell: int) -> None:
    """Remove a cell from those of its object that are told, if it is one."""
    if memory.active[cell] == INACTIVE:
        return
    object = np.int64(memory.objects[cell])
    one, before = np.int64(memory.first_active[object]), np.int64(NOBODY)
    while one != cell:
        before, one = one, np.int64(memory.active[one])
    unlink(memory, object, before, cell)


@inlined
def unlink(memory: Memory, object: int, before: int, cell: int) -> None:
    """Remove a cell from those that are told; `before` is the one before it there, NOBODY for the first."""
    if before == NOBODY:
        memory.first_active[object] = memory.active[cell]
    else:
        memory.active[before] = memory.active[cell]
    memory.active[cell] = INACTIVE
    memory.active_count[object] -= 1
