"""Finds the members that hold for an event, from posting lists by size, attribute and value.

Whang et al. 2009, Algorithm 1 and section 5: a member of K clauses needs K of the event's lists. For each size K, the
lists of the event's values are kept sorted by their current member. If the first K lists agree on a member, its entries
in all lists are counted. Otherwise they skip to the member of the K-th list. A clause's counter is the number of its
predicates that hold. An entry under a value adds one, and so does the presence of an attribute with a NOT IN. A
negative entry, for a value that a NOT IN excludes, subtracts one. A member holds if no clause is left at 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import CodeSets, is_met
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.decorators import inner
from tocsin.jit.views import choose
from tocsin.papers.opindex.conjunctions.kernels import Values, find
from tocsin.papers.opindex.k_index.kernels.lists import (
    END,
    ENTRY,
    LIST,
    MEMBER,
    ListsRoom,
    PostingLists,
    begin_lists,
    open_pairs,
    open_size,
    put_in_place,
    skip,
)


class HeldLists(NamedTuple):
    """Posting lists, and their members. M members, C clauses."""

    lists: PostingLists
    starts: NDArray[np.int64]  # (M + 1,) member m has clauses [starts[m], starts[m + 1]); their number is its size
    sets: CodeSets  # the predicates of each clause


@inner
def find_in_lists(
    held: HeldLists, fields: Fields, values: Values, count: int, room: ListsRoom, hits: NDArray[np.int32]
) -> tuple[int, int, int]:
    """Write the members that hold for an event. Returns how many, how many were counted, and how many verified."""
    lists = held.lists
    size_starts = lists.size_starts
    pairs, odd = open_pairs(lists, fields.kinds, values, count, room)
    always = size_starts[1]
    for member in range(always):  # list Z: members without clauses
        hits[member] = member
    found = always
    examined = always
    for size in range(len(size_starts) - 2, 0, -1):
        if size_starts[size] == size_starts[size + 1]:
            continue
        opened = open_size(lists, room, pairs, size)
        if opened >= size:
            found, counted = _of_size(lists, room, opened, size, hits, found)
            examined += counted
    if not odd:
        return found, examined, np.int64(0)
    return _verified(held, values, count, room.codes, hits, found), examined, found - always


@inner
def _of_size(
    lists: PostingLists, room: ListsRoom, count: int, size: int, hits: NDArray[np.int32], found: int
) -> tuple[int, int]:
    """Append the members that hold by the lists [0, count). Returns the hits so far, and the members counted."""
    entries, numbers = lists.entries, lists.numbers
    places, stops, currents, counters = room.places, room.stops, room.currents, room.counters
    examined = np.int64(0)
    begin_lists(entries, places, currents, count)
    while currents[size - 1] != END:
        last = currents[size - 1] >> MEMBER
        following = last
        moved = size
        if currents[0] >> MEMBER == last:
            following = last + 1
            while moved < count and currents[moved] >> MEMBER == last:
                moved += 1
            for i in range(moved):
                counters[numbers[places[currents[i] & LIST]]] += np.int32(2 * (currents[i] >> ENTRY & 1) - 1)
            counting = 0
            for clause in range(size):
                counting += counters[clause] > 0
                counters[clause] = 0
            hits[found] = last
            found += counting == size
            examined += 1
        for i in range(moved - 1, -1, -1):
            skip(entries, places, stops, currents, i, following)
            put_in_place(currents, i, count)
    return found, examined


@inner
def _verified(
    held: HeldLists, values: Values, count: int, codes: NDArray[np.int32], hits: NDArray[np.int32], found: int
) -> int:
    """Keep the members that hold by the event's codes; returns how many. `codes` is -1 everywhere before and after."""
    sets = held.sets
    starts, fields, range_starts, lows, highs = sets.starts, sets.fields, sets.range_starts, sets.lows, sets.highs
    for i in range(count):
        codes[values.fields[i]] = values.codes[i]
    kept = np.int64(0)
    for i in range(found):
        member = hits[i]
        holds = True
        for clause in range(held.starts[member], held.starts[member + 1]):
            met = False
            for p in range(starts[clause], starts[clause + 1]):
                met = met or is_met(range_starts, lows, highs, p, codes[fields[p]])
            holds = holds and met
        hits[kept] = member
        kept += holds
    for i in range(count):
        codes[values.fields[i]] = -1
    return kept


choose(find, HeldLists, find_in_lists)
