"""Divides the postings of each pair into lists by member size, so that no list has a member twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inner, kernel


class OfMembers(NamedTuple):
    """The clauses of the postings. C clauses, M members."""

    members: NDArray[np.int32]  # (C,) the member of each clause, ascending
    starts: NDArray[np.int64]  # (M + 1,) member m has clauses [starts[m], starts[m + 1])
    sizes: NDArray[np.int32]  # (M,) the number of clauses, ascending


class Listed(NamedTuple):
    """The lists and entries of `PostingLists`. P pairs, L lists, E entries."""

    list_starts: NDArray[np.int64]  # (P + 1,)
    list_sizes: NDArray[np.int32]  # (L,)
    entry_starts: NDArray[np.int64]  # (L + 1,)
    entries: NDArray[np.int32]  # (E,)
    numbers: NDArray[np.uint16]  # (E,)


@kernel
def make_lists(pair_starts: NDArray[np.int64], posted: NDArray[np.int32], clauses: OfMembers) -> Listed:
    """Make lists from postings (clause * 2 + 1 or clause * 2), which ascend under each pair. Cost: linear.

    A member's first posting under a pair goes to the first list of its size, its second posting to the second, and so
    on.
    """
    turns, lists = _turns(pair_starts, posted, clauses)
    most = np.int64(0)
    for turn in turns:
        most = max(most, np.int64(turn))
    places = np.zeros(1 + most, np.int64)
    out = Listed(
        np.zeros(len(pair_starts), np.int64),
        np.empty(lists, np.int32),
        np.empty(lists + 1, np.int64),
        np.empty(len(posted), np.int32),
        np.empty(len(posted), np.uint16),
    )
    count = 0
    for pair in range(len(pair_starts) - 1):
        begin, stop = pair_starts[pair], pair_starts[pair + 1]
        while begin < stop:
            size = clauses.sizes[clauses.members[posted[begin] >> 1]]
            end = begin
            while end < stop and clauses.sizes[clauses.members[posted[end] >> 1]] == size:
                places[turns[end]] += 1
                end += 1
            at, own = begin, 0
            while own < len(places) and places[own] > 0:
                out.list_sizes[count], out.entry_starts[count] = size, at
                places[own], at = at, at + places[own]
                own += 1
                count += 1
            _write(posted, turns, begin, end, clauses, places, out)
            places[:own] = 0
            begin = end
        out.list_starts[pair + 1] = count
    out.entry_starts[count] = len(posted)
    return out


@inner
def _turns(
    pair_starts: NDArray[np.int64], posted: NDArray[np.int32], clauses: OfMembers
) -> tuple[NDArray[np.int32], int]:
    """For each posting, the number of earlier ones of its member under the pair; and the number of lists."""
    turns = np.empty(len(posted), np.int32)
    lists = 0
    for pair in range(len(pair_starts) - 1):
        before, size, most = -1, -1, -1
        for i in range(pair_starts[pair], pair_starts[pair + 1]):
            member = clauses.members[posted[i] >> 1]
            turns[i] = turns[i - 1] + 1 if member == before else 0
            if clauses.sizes[member] != size:
                most = -1
            if turns[i] > most:
                most = turns[i]
                lists += 1
            before, size = member, clauses.sizes[member]
    return turns, lists


@inner
def _write(
    posted: NDArray[np.int32],
    turns: NDArray[np.int32],
    begin: int,
    end: int,
    clauses: OfMembers,
    places: NDArray[np.int64],
    out: Listed,
) -> None:
    """Write posted[begin:end], of one pair and size. Each goes to the place of its turn, which then advances."""
    for i in range(begin, end):
        clause = posted[i] >> 1
        member = clauses.members[clause]
        to = places[turns[i]]
        places[turns[i]] += 1
        out.entries[to] = 2 * member + (posted[i] & 1)
        out.numbers[to] = clause - clauses.starts[member]
