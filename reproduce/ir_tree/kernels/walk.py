"""Best-first search of a changing IR-tree: a path of codes, each with an ordered list.

As in `interval_trees`, a list is first represented in the stream by a bound of its entries. It is searched only when
that bound would be next. Lists whose extent is not stabbed are skipped.

Paper: Machanavajjhala et al. 2008, sections 2.2.2 and 3.1.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from reproduce.ir_tree.kernels.layouts import HIGH, LEVEL_BITS, LINK, OWNER, ROW, ChangingTrees
from reproduce.ir_tree.kernels.lists import LONGEST_PATH
from tocsin.index.scored.kernels.cursors import DONE, EXAMINED, register
from tocsin.jit.decorators import inlined
from tocsin.jit.intrinsics import highest_bit

MOST_PATH: Final = 32
"""An upper bound on the codes of a path, since each is a bit of a code."""

# A state: the number of streams, and the next entry of each; EXAMINED is as in that of an R-tree.
_COUNT: Final = 0
_KEYS: Final = 3  # DONE for an exhausted stream
_OWNERS: Final = _KEYS + MOST_PATH
_NEXT: Final = _OWNERS + MOST_PATH  # the place; CLOSED for a list not searched yet
_LISTS: Final = _NEXT + MOST_PATH  # each stream's search position: the level, the highest, two numbers a level
_CLOSED: Final = -1
_LEVEL: Final = 0
_TOP: Final = 1  # before a search, the root
_AT: Final = 2  # + 2 level: the next entry to look at
_STOP: Final = 3  # + 2 level: the end of the node's entries
_WIDTH: Final = _AT + 2 * LONGEST_PATH
STATE_WIDTH: Final = _LISTS + MOST_PATH * _WIDTH

_ONE = np.uint64(1)
_TWO = np.uint64(2)
_ROW = np.uint64(ROW)
_HIGH = np.uint64(HIGH)
_OWNER = np.uint64(OWNER)
_LINK = np.uint64(LINK)


@inlined
def open_codes(trees: ChangingTrees, group: int, code: int, state: NDArray[np.int64]) -> None:
    """Begin with the lists on the path from the highest code of a group's tree to a code."""
    roots, entries, keys = trees.roots, trees.entries, trees.keys
    start, codes = trees.starts[group], trees.starts[group + 1] - trees.starts[group]
    own = np.int64(code) + 1
    level = highest_bit(np.uint64(codes))
    count = np.uint64(0)
    while level >= 0:
        at = (own >> level | 1) << level
        level = np.int64(-1) if at == own else level - 1
        if at > codes:
            continue
        root = roots[np.uint64(start + at - 1)]
        if root < 0:
            continue
        row = _ROW * np.uint64(root)
        if entries[row] <= code <= entries[row + _HIGH]:
            state[np.uint64(_KEYS) + count] = keys[np.uint64(root)]
            state[np.uint64(_OWNERS) + count] = entries[row + _OWNER]
            state[np.uint64(_NEXT) + count] = _CLOSED
            state[np.uint64(_LISTS + _TOP) + count * np.uint64(_WIDTH)] = root
            count += _ONE
    state[_COUNT] = np.int64(count)
    state[EXAMINED] = 0


@inlined
def next_of_codes(trees: ChangingTrees, code: int, state: NDArray[np.int64]) -> int:
    """The place of the next best interval that a code stabs; -1 if there is none left."""
    entries, keys = trees.entries, trees.keys
    while True:
        stream = _first_stream(state)
        if state[np.uint64(_KEYS) + stream] == DONE:
            return np.int64(-1)
        place = state[np.uint64(_NEXT) + stream]
        base = np.uint64(_LISTS) + stream * np.uint64(_WIDTH)
        if place == _CLOSED:
            _open_list(entries, state, base)
        entry = _next_in_list(entries, code, state, base)
        if entry < 0:
            state[np.uint64(_KEYS) + stream] = DONE
        else:
            row = _ROW * np.uint64(entry)
            state[np.uint64(_KEYS) + stream] = keys[np.uint64(entry)]
            state[np.uint64(_OWNERS) + stream] = entries[row + _OWNER]
            state[np.uint64(_NEXT) + stream] = entries[row + _LINK]
        if place != _CLOSED:
            return place


@inlined
def _first_stream(state: NDArray[np.int64]) -> int:
    """The stream of the lowest key, ties by owner; the first stream, which is DONE, if all are exhausted."""
    found = np.uint64(0)
    count = np.uint64(state[_COUNT])
    if count == np.uint64(0):
        state[_KEYS] = DONE
    key, owner = state[_KEYS], state[_OWNERS]
    for i in range(_ONE, count):
        other = state[np.uint64(_KEYS) + i]
        if other < key or (other == key and state[np.uint64(_OWNERS) + i] < owner):
            found, key, owner = i, other, state[np.uint64(_OWNERS) + i]
    return found


@inlined
def _open_list(entries: NDArray[np.int32], state: NDArray[np.int64], base: int) -> None:
    """Begin a search at the root's entries."""
    root = np.uint64(state[base + np.uint64(_TOP)])
    head = np.uint64(entries[_ROW * root + _LINK])
    level = head & np.uint64((1 << LEVEL_BITS) - 1)
    state[base + np.uint64(_LEVEL)] = np.int64(level)
    state[base + np.uint64(_TOP)] = np.int64(level)
    state[base + np.uint64(_AT) + _TWO * level] = np.int64(root + _ONE)
    state[base + np.uint64(_STOP) + _TWO * level] = np.int64(root + _ONE + (head >> np.uint64(LEVEL_BITS)))


@inlined
def _next_in_list(entries: NDArray[np.int32], code: int, state: NDArray[np.int64], base: int) -> int:
    """The row of the next interval of a list that a code stabs; -1 if there is none left."""
    level, top = np.uint64(state[base + np.uint64(_LEVEL)]), np.uint64(state[base + np.uint64(_TOP)])
    while level <= top:
        at = base + np.uint64(_AT) + _TWO * level
        begun, stop = np.uint64(state[at]), np.uint64(state[at + _ONE])
        row, end = _ROW * begun, _ROW * stop
        while row < end and not entries[row] <= code <= entries[row + _HIGH]:
            row += _ROW
        i = row // _ROW
        state[at] = np.int64(i + _ONE)
        if level == np.uint64(0):
            state[EXAMINED] += np.int64(min(i + _ONE, stop) - begun)
            if i < stop:
                state[base + np.uint64(_LEVEL)] = 0
                return np.int64(i)
        if i >= stop:
            level += _ONE
            continue
        node = np.uint64(entries[_ROW * i + _LINK])
        count = np.uint64(entries[_ROW * node + _LINK]) >> np.uint64(LEVEL_BITS)
        level -= _ONE
        at -= _TWO
        state[at] = np.int64(node + _ONE)
        state[at + _ONE] = np.int64(node + _ONE + count)
    state[base + np.uint64(_LEVEL)] = np.int64(top) + 1
    return np.int64(-1)


register(ChangingTrees, lambda trees: STATE_WIDTH, open_codes, next_of_codes)
