"""Insertion, deletion and rescoring of intervals in changing IR-trees, by group and owner.

A kernel does not allocate. If an array is too short, it names it in state[LACKING] and does nothing. The caller
enlarges the array and calls again.

Paper: Machanavajjhala et al. 2008, section 3.1.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from reproduce.ir_tree.kernels.layouts import (
    BRANCHING,
    CHANGING,
    COUNT,
    ENTRIES,
    FIRST,
    FREE,
    FREE_PLACE,
    GROUP,
    HOLDER,
    ITEMS,
    LACKING,
    LAST,
    PLACES,
    ROW,
    SLOTS,
    USED,
    ChangingTrees,
)
from reproduce.ir_tree.kernels.lists import LONGEST_PATH, put_in_list, take_from_list
from reproduce.ir_tree.kernels.nodes import level_of
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import highest_bit
from tocsin.jit.views import view
from tocsin.kernels.numbers import scattered

NONE: Final = -1
NO_ROOM: Final = -2


@inlined
def list_of(trees: ChangingTrees, group: int, low: int, high: int) -> int:
    """The number of the highest code, in the tree over a group's codes, that an interval contains."""
    after = np.int64(high) + 1
    top = highest_bit(np.uint64(np.int64(low) ^ after))
    return trees.starts[group] + (after >> top << top) - 1


@inlined
def _home(trees: ChangingTrees, group: int, owner: int) -> int:
    """The slot where the search for an owner begins."""
    mixed = scattered(np.uint64(group) << np.uint64(32) ^ np.uint64(owner))
    return np.int64((mixed >> np.uint64(32)) & np.uint64(len(trees.slots) - 1))


@inlined
def slot_of(trees: ChangingTrees, group: int, owner: int) -> int:
    """The slot of an owner's interval in a group, or the empty slot where it would be."""
    slot, last = _home(trees, group, owner), len(trees.slots) - 1
    while True:
        place = np.int64(trees.slots[slot])
        if place < 0 or (trees.items[ROW * place + HOLDER] == owner and trees.items[ROW * place + GROUP] == group):
            return slot
        slot = (slot + 1) & last


@inlined
def _empty_slot(trees: ChangingTrees, slot: int) -> None:
    """Empty a slot, and move back the entries that it had displaced."""
    last = len(trees.slots) - 1
    other = slot
    while True:
        other = (other + 1) & last
        place = np.int64(trees.slots[other])
        if place < 0:
            break
        home = _home(trees, trees.items[ROW * place + GROUP], trees.items[ROW * place + HOLDER])
        if (other - home) & last >= (other - slot) & last:
            trees.slots[slot] = place
            slot = other
    trees.slots[slot] = -1


@inlined
def _lacks(trees: ChangingTrees, code: int, more: int) -> bool:
    """Whether there may not be enough room for a change in a list, or for `more` intervals."""
    root = np.int64(trees.roots[code])
    levels = level_of(trees, root) if root >= 0 else np.int64(0)
    lacking = 0
    if len(trees.keys) - trees.state[USED] < (levels + 2) * (trees.state[BRANCHING] + 1):
        lacking = ENTRIES
    elif more > 0 and trees.state[FREE_PLACE] < 0 and trees.state[PLACES] == len(trees.scores):
        lacking = ITEMS
    elif more > 0 and 4 * (trees.state[COUNT] + 1) > 3 * len(trees.slots):
        lacking = SLOTS
    trees.state[LACKING] = lacking
    return lacking > 0


@inner
def _insert(trees: ChangingTrees, group: int, low: int, high: int, score: float, owner: int) -> int:
    """Insert an interval; returns its place, or NO_ROOM, or NONE if the owner already has one in the group."""
    code = list_of(trees, group, low, high)
    if _lacks(trees, code, 1):
        return NO_ROOM
    slot = slot_of(trees, group, owner)
    if trees.slots[slot] >= 0:
        return NONE
    state = trees.state
    place = state[FREE_PLACE]
    if place >= 0:
        state[FREE_PLACE] = trees.items[ROW * place + FIRST]
    else:
        place = state[PLACES]
        state[PLACES] += 1
    at = ROW * place
    trees.items[at + GROUP], trees.items[at + HOLDER] = group, owner
    trees.items[at + FIRST], trees.items[at + LAST] = low, high
    trees.scores[place] = score
    trees.slots[slot] = place
    state[COUNT] += 1
    put_in_list(trees, code, place)
    return place


@inlined
def _code_of(trees: ChangingTrees, place: int) -> int:
    """The number of the list that holds the interval of a place."""
    at = ROW * place
    return list_of(trees, trees.items[at + GROUP], trees.items[at + FIRST], trees.items[at + LAST])


@inner
def _delete(trees: ChangingTrees, group: int, owner: int, path: NDArray[np.int64]) -> int:
    """Delete an owner's interval; returns the place that it had, or NO_ROOM, or NONE if it has none."""
    slot = slot_of(trees, group, owner)
    place = np.int64(trees.slots[slot])
    if place < 0:
        return NONE
    code = _code_of(trees, place)
    if _lacks(trees, code, 0):
        return NO_ROOM
    take_from_list(trees, code, place, path)
    _empty_slot(trees, slot)
    trees.items[ROW * place + GROUP], trees.items[ROW * place + FIRST] = FREE, trees.state[FREE_PLACE]
    trees.state[FREE_PLACE] = place
    trees.state[COUNT] -= 1
    return place


@inner
def _rescore(trees: ChangingTrees, group: int, owner: int, score: float, path: NDArray[np.int64]) -> int:
    """Rescore an owner's interval; returns its place, or NO_ROOM, or NONE if it has none."""
    place = np.int64(trees.slots[slot_of(trees, group, owner)])
    if place < 0:
        return NONE
    code = _code_of(trees, place)
    if _lacks(trees, code, 0):
        return NO_ROOM
    if trees.scores[place] != score:
        take_from_list(trees, code, place, path)
        trees.scores[place] = score
        put_in_list(trees, code, place)
    return place


@kernel
def insert_one(table: NDArray[np.int64], group: int, low: int, high: int, score: float, owner: int) -> int:
    """`_insert`, into the table of a `Packed`."""
    return _insert(view(table, CHANGING), group, low, high, score, owner)


@kernel
def delete_one(table: NDArray[np.int64], group: int, owner: int) -> int:
    """`_delete`, from the table of a `Packed`."""
    return _delete(view(table, CHANGING), group, owner, np.empty(LONGEST_PATH, np.int64))


@kernel
def rescore_one(table: NDArray[np.int64], group: int, owner: int, score: float) -> int:
    """`_rescore`, in the table of a `Packed`."""
    return _rescore(view(table, CHANGING), group, owner, score, np.empty(LONGEST_PATH, np.int64))


@kernel
def insert_many(table: NDArray[np.int64], ends: NDArray[np.int32], scores: NDArray[np.float64], first: int) -> int:
    """Insert intervals from number `first` on; returns the number of the first one not inserted.

    Rows of `ends`: GROUP, FIRST, LAST, HOLDER. Their owners must not have one in their group yet.
    """
    trees = view(table, CHANGING)
    for i in range(first, len(scores)):
        at = ROW * i
        group, low, high = np.int64(ends[at + GROUP]), np.int64(ends[at + FIRST]), np.int64(ends[at + LAST])
        place = _insert(trees, group, low, high, scores[i], np.int64(ends[at + HOLDER]))
        if place == NO_ROOM:
            return i
    return len(scores)


@kernel
def delete_many(table: NDArray[np.int64], groups: NDArray[np.int32], owners: NDArray[np.int32], first: int) -> int:
    """Delete owners' intervals from number `first` on; returns the number of the first one not deleted."""
    trees = view(table, CHANGING)
    path = np.empty(LONGEST_PATH, np.int64)
    for i in range(first, len(owners)):
        if _delete(trees, np.int64(groups[i]), np.int64(owners[i]), path) == NO_ROOM:
            return i
    return len(owners)


@kernel
def rescore_many(
    table: NDArray[np.int64],
    groups: NDArray[np.int32],
    owners: NDArray[np.int32],
    scores: NDArray[np.float64],
    first: int,
) -> int:
    """Rescore owners' intervals from number `first` on; returns the number of the first one not rescored."""
    trees = view(table, CHANGING)
    path = np.empty(LONGEST_PATH, np.int64)
    for i in range(first, len(owners)):
        if _rescore(trees, np.int64(groups[i]), np.int64(owners[i]), scores[i], path) == NO_ROOM:
            return i
    return len(owners)


@kernel
def find(
    table: NDArray[np.int64], groups: NDArray[np.int64], owners: NDArray[np.int64], out: NDArray[np.int32]
) -> None:
    """Write the places of owners' intervals, -1 for owners without one."""
    trees = view(table, CHANGING)
    for i in range(len(owners)):
        out[i] = trees.slots[slot_of(trees, groups[i], owners[i])]


@kernel
def enter_slots(table: NDArray[np.int64]) -> None:
    """Enter all places into empty slots."""
    trees = view(table, CHANGING)
    for place in range(trees.state[PLACES]):
        at = ROW * place
        if trees.items[at + GROUP] != FREE:
            group, owner = np.int64(trees.items[at + GROUP]), np.int64(trees.items[at + HOLDER])
            trees.slots[slot_of(trees, group, owner)] = place
