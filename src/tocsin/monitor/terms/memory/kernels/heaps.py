"""The heap of an object's cells, by when time may change them: a pairing heap within the cells.

Source: Fredman, Sedgewick, Sleator and Tarjan, The pairing heap, 1986. A cell keeps its place when it is due later than
its key says: that is found out when it comes first.
"""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inlined, inner
from tocsin.monitor.terms.memory.layouts import ENDLESS, NOBODY, Memory


@inlined
def next_due(memory: Memory, object: int) -> int:
    """The least key of an object's cells."""
    root = np.int64(memory.root[object])
    return ENDLESS if root == NOBODY else memory.due[root]


@inner
def wait_until(memory: Memory, cell: int, due: int) -> None:
    """Have a cell come first no later than at an instant."""
    if due >= memory.due[cell]:
        return
    object = np.int64(memory.objects[cell])
    if memory.due[cell] != ENDLESS:
        _cut(memory, cell)
    memory.due[cell] = due
    root = np.int64(memory.root[object])
    memory.root[object] = np.int32(cell if root == NOBODY else _melded(memory, root, cell))


@inner
def take_first(memory: Memory, object: int) -> int:
    """Remove the cell with the least key from the heap; there must be one."""
    first = np.int64(memory.root[object])
    memory.root[object] = np.int32(_paired(memory, np.int64(memory.child[first])))
    memory.due[first], memory.child[first], memory.after[first] = ENDLESS, NOBODY, NOBODY
    memory.before[first] = NOBODY
    return first


@inlined
def _melded(memory: Memory, first: int, second: int) -> int:
    """Two heaps as one; returns its root."""
    if memory.due[second] < memory.due[first]:
        first, second = second, first
    below = np.int64(memory.child[first])
    memory.after[second], memory.before[second] = np.int32(below), np.int32(first)
    if below != NOBODY:
        memory.before[below] = np.int32(second)
    memory.child[first] = np.int32(second)
    memory.after[first], memory.before[first] = NOBODY, NOBODY
    return first


@inner
def _paired(memory: Memory, first: int) -> int:
    """Meld the heaps of a list, two by two from the left, then all from the right; NOBODY for an empty list."""
    pairs, one = np.int64(NOBODY), first
    while one != NOBODY:
        other = np.int64(memory.after[one])
        rest = np.int64(NOBODY) if other == NOBODY else np.int64(memory.after[other])
        memory.after[one], memory.before[one] = NOBODY, NOBODY
        melded = one
        if other != NOBODY:
            memory.after[other], memory.before[other] = NOBODY, NOBODY
            melded = _melded(memory, one, other)
        memory.after[melded] = np.int32(pairs)  # the list of pairs, the last one first
        pairs, one = melded, rest
    root = pairs
    if root != NOBODY:
        one = np.int64(memory.after[root])
        memory.after[root] = NOBODY
        while one != NOBODY:
            rest = np.int64(memory.after[one])
            memory.after[one], memory.before[one] = NOBODY, NOBODY
            root = _melded(memory, root, one)
            one = rest
    return root


@inner
def _cut(memory: Memory, cell: int) -> None:
    """Remove a cell from its heap; the cells below stay below it if it is not the root."""
    object = np.int64(memory.objects[cell])
    if memory.root[object] == cell:
        memory.root[object] = np.int32(_paired(memory, np.int64(memory.child[cell])))
        memory.child[cell] = NOBODY
    else:
        before, after = np.int64(memory.before[cell]), np.int64(memory.after[cell])
        if memory.child[before] == cell:
            memory.child[before] = np.int32(after)
        else:
            memory.after[before] = np.int32(after)
        if after != NOBODY:
            memory.before[after] = np.int32(before)
    memory.after[cell], memory.before[cell] = NOBODY, NOBODY
