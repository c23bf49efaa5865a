"""Which conjunctions of clauses does an event satisfy? By posting lists, and a counter a clause.

Whang et al. 2009, section 5. An expression of K clauses needs K of the event's lists, so for each size K the lists are
walked as for conjunctions. Where the first K agree on an expression, its entries in all of the lists are counted.
A clause's counter is how many of its predicates hold: an entry under a value counts one, and so does the
presence of an attribute that has a NOT IN; an entry that says NOT IN takes that back. No clause may be left at 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.k_index.kernels.lists import (
    END,
    ENTRY,
    LIST,
    MEMBER,
    Cursors,
    PostingLists,
    begin_lists,
    open_lists,
    open_size,
    put_in_place,
    skip,
)
from tocsin.index.fields.kernels.code_sets import CodeSets, is_met
from tocsin.kernels.jit import kernel


class ClauseLists(NamedTuple):
    """Posting lists that lead to expressions of clauses. X expressions, C clauses, E entries.

    An expression that has several entries under one pair has each in another list: so K clauses that hold are always
    in K lists.
    """

    lists: PostingLists
    numbers: NDArray[np.uint16]  # (E,) which of its expression's clauses an entry is of
    starts: NDArray[np.int64]  # (X + 1,) expression x has clauses [starts[x], starts[x + 1]), as many as its size
    sets: CodeSets  # the predicates of each clause, in any order
    deepest: int  # the most lists of one size that a pair has


@kernel
def find_by_clauses(
    held: ClauseLists,
    kinds: NDArray[np.uint8],
    own_fields: NDArray[np.int32],
    own_codes: NDArray[np.int32],
    payloads: NDArray[np.int64],
    count: int,
    cursors: Cursors,
    values: NDArray[np.int32],
    counters: NDArray[np.int32],
    hits: NDArray[np.int32],
    found: int,
    base: int,
) -> tuple[int, int, int]:
    """Append the expressions that hold for an event, numbered from `base`: hits then, how many counted, and verified.

    `counters` come and go as 0 everywhere, `values` as -1.
    """
    lists = held.lists
    behind, firsts, places, stops, currents = cursors
    _, _, _, _, sizes, entry_starts, entries, size_starts = lists
    pairs, odd = open_lists(lists, kinds, own_fields, payloads, count, cursors)
    before = found
    examined = np.int64(0)
    for wanted in range(len(size_starts) - 2, 0, -1):
        if size_starts[wanted] == size_starts[wanted + 1]:
            continue
        opened = open_size(sizes, entry_starts, behind, firsts, places, stops, pairs, wanted)
        if opened >= wanted:
            found, counted = _of_size(
                entries, held.numbers, places, stops, currents, opened, wanted, counters, hits, found, base
            )
            examined += counted
    if not odd:
        return found, examined, np.int64(0)
    verified = found - before
    return _verified(held, own_fields, own_codes, count, values, hits, before, found, base), examined, verified


@kernel
def _of_size(
    entries: NDArray[np.int32],
    numbers: NDArray[np.uint16],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    currents: NDArray[np.int64],
    count: int,
    size: int,
    counters: NDArray[np.int32],
    hits: NDArray[np.int32],
    found: int,
    base: int,
) -> tuple[int, int]:
    """Append the expressions of which every clause counts, by the lists [0, count): hits then, and how many counted."""
    examined = np.int64(0)
    begin_lists(entries, places, stops, currents, count)
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
            held = 0
            for clause in range(size):
                held += counters[clause] > 0
                counters[clause] = 0
            hits[found] = base + last
            found += held == size
            examined += 1
        for i in range(moved - 1, -1, -1):
            skip(entries, places, stops, currents, i, following)
            put_in_place(currents, i, count)
    return found, examined


@kernel
def _verified(
    held: ClauseLists,
    own_fields: NDArray[np.int32],
    own_codes: NDArray[np.int32],
    count: int,
    values: NDArray[np.int32],
    hits: NDArray[np.int32],
    first: int,
    stop: int,
    base: int,
) -> int:
    """Keep the expressions among hits[first:stop] that hold by the event's codes; where they end."""
    starts, fields, _, range_starts, lows, highs = held.sets
    for i in range(count):
        values[own_fields[i]] = own_codes[i]
    kept = first
    for i in range(first, stop):
        expression = hits[i] - base
        holds = True
        for clause in range(held.starts[expression], held.starts[expression + 1]):
            met = False
            for p in range(starts[clause], starts[clause + 1]):
                met = met or is_met(range_starts, lows, highs, p, values[fields[p]])
            holds = holds and met
        hits[kept] = hits[i]
        kept += holds
    for i in range(count):
        values[own_fields[i]] = -1
    return kept
