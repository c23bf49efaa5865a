"""Which conjunctions does an event satisfy, by posting lists alone? Lists by size, attribute and value, intersected.

Whang et al. 2009, Algorithm 1: an event of m values cannot satisfy a conjunction that asks for more than m. For each
size K from there down, the lists of the event's values are kept sorted by their current conjunction; where the first K
agree on one, it holds, unless the first says NOT IN; where they do not, they skip to the K-th list's.
`index.boolean.k_index.kernels.clauses` does so for conjunctions of clauses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from tocsin.index.boolean.conjunctions.kernels import find, new_room
from tocsin.index.boolean.k_index.kernels.clauses import ClauseLists, find_by_clauses
from tocsin.index.boolean.k_index.kernels.lists import (
    END,
    ENTRY,
    MEMBER,
    Cursors,
    PostingLists,
    begin_lists,
    open_lists,
    open_size,
    put_in_place,
    room_for_cursors,
    skip,
)
from tocsin.index.boolean.k_index.kernels.values import PAIRS_BESIDE
from tocsin.index.fields.kernels.code_sets import CodeSets, holds
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.packing import is_table


class HeldLists(NamedTuple):
    """The posting lists of conjunctions, those of clauses, and what both lead to. C conjunctions.

    What is found is numbered from 0 where it is a conjunction, from C on where it is an expression of clauses.
    """

    lists: PostingLists
    sets: CodeSets
    clauses: ClauseLists


class ListsRoom(NamedTuple):
    """Memory for one event after the other. D fields, K clauses of an expression."""

    cursors: Cursors
    values: NDArray[np.int32]  # (D,) the event's code of each field while it verifies; else -1
    counters: NDArray[np.int32]  # (K,) 0


@kernel
def room_for_lists(held: HeldLists, fields: Fields, widest: int) -> ListsRoom:
    pairs = (PAIRS_BESIDE + 1) * widest
    return ListsRoom(
        room_for_cursors(pairs, pairs * max(held.clauses.deepest, 1)),
        np.full(len(fields.kinds), -1, np.int32),
        np.zeros(len(held.clauses.lists.size_starts), np.int32),
    )


@inlined
def find_in_lists(
    held: HeldLists,
    fields: Fields,
    own_fields: NDArray[np.int32],
    own_codes: NDArray[np.int32],
    payloads: NDArray[np.int64],
    count: int,
    room: ListsRoom,
    hits: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Write what holds for an event: how much, how much the lists leave, how much is verified."""
    lists = held.lists
    found, examined, verified = np.int64(0), np.int64(0), np.int64(0)
    if len(held.sets.starts) > 1:
        pairs, odd = open_lists(lists, fields.kinds, own_fields, payloads, count, room.cursors)
        found = _satisfied(lists, room.cursors, pairs, count, hits)
        examined = found
        if odd:
            found = _verified(held.sets, own_fields, own_codes, count, room.values, hits, found)
            verified = examined - lists.size_starts[1]
    if len(held.clauses.starts) > 1:
        found, more_examined, more_verified = find_by_clauses(
            held.clauses,
            fields.kinds,
            own_fields,
            own_codes,
            payloads,
            count,
            room.cursors,
            room.values,
            room.counters,
            hits,
            found,
            len(held.sets.starts) - 1,
        )
        examined += more_examined
        verified += more_verified
    return found, examined, verified


@kernel
def _satisfied(lists: PostingLists, cursors: Cursors, pairs: int, size: int, hits: NDArray[np.int32]) -> int:
    """Write the conjunctions that the lists of an event with `size` values lead to, each once; how many."""
    behind, firsts, places, stops, currents = cursors
    _, _, _, _, sizes, entry_starts, entries, size_starts = lists
    found = size_starts[1]
    for conjunction in range(found):  # the list Z of those that ask for nothing
        hits[conjunction] = conjunction
    for wanted in range(min(size, len(size_starts) - 2), 0, -1):
        opened = open_size(sizes, entry_starts, behind, firsts, places, stops, pairs, wanted)
        if opened >= wanted:
            found = _of_size(entries, places, stops, currents, opened, wanted, hits, found)
    return found


@kernel
def _of_size(
    entries: NDArray[np.int32],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    currents: NDArray[np.int64],
    count: int,
    size: int,
    hits: NDArray[np.int32],
    found: int,
) -> int:
    """Append the conjunctions that are in `size` of the lists [0, count), and in none as NOT IN."""
    begin_lists(entries, places, stops, currents, count)
    while currents[size - 1] != END:
        last = currents[size - 1] >> MEMBER
        following = last
        moved = size
        if currents[0] >> MEMBER == last:
            following = last + 1
            if (currents[0] >> ENTRY) & 1 == 1:
                hits[found] = last
                found += 1
            else:  # a value that it must not have; so may more lists than the first have it
                while moved < count and currents[moved] >> MEMBER == last:
                    moved += 1
        for i in range(moved - 1, -1, -1):
            skip(entries, places, stops, currents, i, following)
            put_in_place(currents, i, count)
    return found


@kernel
def _verified(
    sets: CodeSets,
    own_fields: NDArray[np.int32],
    own_codes: NDArray[np.int32],
    count: int,
    values: NDArray[np.int32],
    hits: NDArray[np.int32],
    found: int,
) -> int:
    """Keep the conjunctions that hold by the event's codes; `values` comes and goes as -1 everywhere."""
    starts, fields, _, range_starts, lows, highs = sets
    for i in range(count):
        values[own_fields[i]] = own_codes[i]
    kept = 0
    for i in range(found):
        hits[kept] = hits[i]
        kept += holds(starts, fields, range_starts, lows, highs, values, hits[i])
    for i in range(count):
        values[own_fields[i]] = -1
    return kept


@overload(new_room, inline="always", strict=False)
def _new_room(structure: Any, fields: Any, widest: Any) -> Any:
    if is_table(structure, HeldLists):
        return lambda structure, fields, widest: room_for_lists(structure, fields, widest)
    return None


@overload(find, inline="always", strict=False)
def _find(
    structure: Any, fields: Any, own_fields: Any, own_codes: Any, payloads: Any, count: Any, room: Any, hits: Any
) -> Any:
    if is_table(structure, HeldLists):
        return lambda structure, fields, own_fields, own_codes, payloads, count, room, hits: find_in_lists(
            structure, fields, own_fields, own_codes, payloads, count, room, hits
        )
    return None
