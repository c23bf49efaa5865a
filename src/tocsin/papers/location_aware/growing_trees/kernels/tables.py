"""A hash table from (node, token) to a number, for all nodes of a tree; 0 means absent.

Source: Yu et al. 2015, section 3.1, Updates. Departs: one table instead of one for each node.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.numbers import scattered

FREE: Final = -1
_DOWN = np.uint64(32)
_LEFT = np.uint64(32)


class Table(NamedTuple):
    """Open addressing. H slots, a power of two."""

    used: NDArray[np.int64]  # (1,) slots that are not FREE, including those with value 0
    keys: NDArray[np.int64]  # (H,) FREE, or node << 32 | token
    values: NDArray[np.int32]  # (H,)


@inlined
def _slot(table: Table, key: int) -> int:
    """The slot of a key, or the free slot where it would be."""
    keys = table.keys
    last = np.uint64(len(keys) - 1)
    at = (scattered(key) >> _DOWN) & last
    while keys[at] != FREE and keys[at] != key:
        at = (at + np.uint64(1)) & last
    return np.int64(at)


@inlined
def _key(node: int, token: int) -> int:
    return np.int64(np.uint64(node) << _LEFT | np.uint64(token))


@inlined
def value_of(table: Table, node: int, token: int) -> int:
    """The number of a node and a token, or 0."""
    slot = _slot(table, _key(node, token))
    return np.int64(0) if table.keys[slot] == FREE else np.int64(table.values[slot])


@inner
def slot_for(table: Table, node: int, token: int) -> int:
    """The slot of a node and a token, which takes a free one if it has none. There must be a free one."""
    key = _key(node, token)
    slot = _slot(table, key)
    if table.keys[slot] == FREE:
        table.keys[slot], table.values[slot] = key, 0
        table.used[0] += 1
    return np.int64(slot)


@kernel
def copy_living(old: Table, new: Table) -> None:
    """Copy the entries other than 0 into another table, which must be empty and large enough."""
    source, target = viewed(old), viewed(new)
    for slot in range(len(source.keys)):
        key = source.keys[slot]
        if key != FREE and source.values[slot] != 0:
            at = _slot(target, key)
            target.keys[at], target.values[at] = key, source.values[slot]
            target.used[0] += 1
