"""Which conjunctions does an event satisfy, by posting lists alone? Lists by size, attribute and value, intersected.

Whang et al. 2009, Algorithm 1: an event of m values cannot satisfy a conjunction that asks for more than m. For each
size K from there down, the lists of the event's values are kept sorted by their current conjunction; where the first K
agree on one, it holds, unless the first says NOT IN; where they do not, they skip to the K-th list's.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.access_layouts import Fields
from tocsin.kernels.code_sets import CodeSets, holds
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.k_values import PAIRS_BESIDE, PRESENT, in_domain
from tocsin.kernels.searching import place_of

_END: Final = 2**62
"""The current entry of a list that is done: behind all others."""


class PostingLists(NamedTuple):
    """Posting lists by pair of field and value, then size. D fields, V values, L lists, E entries, K largest size.

    Field f's pairs begin at value_starts[f] + 2 f: that it is there, that its value is not enumerated, its values.
    """

    domain: NDArray[np.int64]  # (2,) the lowest and highest number that ranges are enumerated over
    value_starts: NDArray[np.int64]  # (D + 1,)
    values: NDArray[np.int64]  # (V,) payloads, ascending within a field
    list_starts: NDArray[np.int64]  # (V + 2 D + 1,) pair p has lists [list_starts[p], list_starts[p + 1])
    list_sizes: NDArray[np.int32]  # (L,) the size of each list's conjunctions, ascending within a pair
    entry_starts: NDArray[np.int64]  # (L + 1,)
    entries: NDArray[np.int32]  # (E,) conjunction * 2 + 1, or * 2 where it must not have the value; ascending
    size_starts: NDArray[np.int64]  # (K + 2,) conjunctions [size_starts[k], size_starts[k + 1]) have size k


class HeldLists(NamedTuple):
    """Posting lists, and the conjunctions that they lead to."""

    lists: PostingLists
    sets: CodeSets


class Cursors(NamedTuple):
    """Where matching is in each list that an event looks at. W room for lists."""

    behind: NDArray[np.int64]  # (W,) behind the lists of a pair that are still to be looked at
    firsts: NDArray[np.int64]  # (W,) the first list of the pair
    places: NDArray[np.int64]  # (W,) of the current size: the place of the current entry
    stops: NDArray[np.int64]  # (W,)
    currents: NDArray[np.int64]  # (W,) the current entry


class ListsRoom(NamedTuple):
    """Memory for one event after the other. D fields."""

    cursors: Cursors
    values: NDArray[np.int32]  # (D,) -1


@kernel
def room_for_lists(held: HeldLists, fields: Fields, widest: int) -> ListsRoom:
    room = (PAIRS_BESIDE + 1) * widest
    cursors = Cursors(
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
    )
    return ListsRoom(cursors, np.full(len(fields.kinds), -1, np.int32))


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
    """Write the conjunctions that hold for an event: how many, how many the lists leave, how many are verified."""
    lists = held.lists
    pairs, odd = _open_lists(lists, fields.kinds, own_fields, payloads, count, room.cursors)
    examined = _satisfied(lists, room.cursors, pairs, count, hits)
    if not odd:
        return examined, examined, np.int64(0)
    found = _verified(held.sets, own_fields, own_codes, count, room.values, hits, examined)
    return found, examined, examined - lists.size_starts[1]


@kernel
def _open_lists(
    lists: PostingLists,
    kinds: NDArray[np.uint8],
    own_fields: NDArray[np.int32],
    payloads: NDArray[np.int64],
    count: int,
    cursors: Cursors,
) -> tuple[int, bool]:
    """Find the event's pairs that have lists; how many, and whether any value is not enumerated."""
    behind, firsts, _, _, _ = cursors
    domain, value_starts, values, list_starts, _, _, _, _ = lists
    found = 0
    odd = False
    for i in range(count):
        field = np.int64(own_fields[i])
        begin = value_starts[field]
        base = begin + PAIRS_BESIDE * field
        enumerated = in_domain(kinds[field], payloads[i], domain)
        odd = odd or not enumerated
        for pair in range(base + PRESENT, base + PAIRS_BESIDE - np.int64(enumerated)):
            found = _open_pair(list_starts, pair, firsts, behind, found)
        place = place_of(values, begin, value_starts[field + 1], payloads[i])
        if place >= 0:
            found = _open_pair(list_starts, place + PAIRS_BESIDE * (field + 1), firsts, behind, found)
    return found, odd


@inlined
def _open_pair(
    list_starts: NDArray[np.int64], pair: int, firsts: NDArray[np.int64], behind: NDArray[np.int64], found: int
) -> int:
    firsts[found] = list_starts[pair]
    behind[found] = list_starts[pair + 1]
    return found + np.int64(list_starts[pair] < list_starts[pair + 1])


@kernel
def _satisfied(lists: PostingLists, cursors: Cursors, pairs: int, size: int, hits: NDArray[np.int32]) -> int:
    """Write the conjunctions that the lists of an event with `size` values lead to, each once; how many."""
    behind, firsts, places, stops, currents = cursors
    _, _, _, _, sizes, entry_starts, entries, size_starts = lists
    found = size_starts[1]
    for conjunction in range(found):  # the list Z of those that ask for nothing
        hits[conjunction] = conjunction
    for wanted in range(min(size, len(size_starts) - 2), 0, -1):
        opened = 0
        for i in range(pairs):
            at = behind[i] - 1
            while at >= firsts[i] and sizes[at] > wanted:
                at -= 1
            if at >= firsts[i] and sizes[at] == wanted:
                places[opened] = entry_starts[at]
                stops[opened] = entry_starts[at + 1]
                opened += 1
            else:
                at += 1
            behind[i] = at
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
    for i in range(count):
        currents[i] = entries[places[i]]
    for i in range(count - 2, -1, -1):
        _put_in_place(places, stops, currents, i, count)
    while currents[size - 1] != _END:
        last = currents[size - 1] >> 1
        following = last
        moved = size
        if currents[0] >> 1 == last:
            following = last + 1
            if currents[0] & 1 == 1:
                hits[found] = last
                found += 1
            else:  # a value that it must not have; so may more lists than the first have it
                while moved < count and currents[moved] >> 1 == last:
                    moved += 1
        for i in range(moved - 1, -1, -1):
            _skip(entries, places, stops, currents, i, following)
            _put_in_place(places, stops, currents, i, count)
    return found


@inlined
def _skip(
    entries: NDArray[np.int32],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    currents: NDArray[np.int64],
    i: int,
    conjunction: int,
) -> None:
    """Move a list on to its first entry that is of a conjunction or behind it: by steps that double, then halve."""
    wanted = 2 * conjunction
    if currents[i] < wanted:
        low = places[i]
        stop = stops[i]
        step = np.int64(1)
        while low + step < stop and entries[low + step] < wanted:
            low += step
            step *= 2
        high = min(low + step, stop)
        low += 1
        while low < high:
            middle = (low + high) >> 1
            if entries[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        places[i] = low
        currents[i] = np.int64(entries[low]) if low < stop else _END


@inlined
def _put_in_place(
    places: NDArray[np.int64], stops: NDArray[np.int64], currents: NDArray[np.int64], i: int, count: int
) -> None:
    """Move list i to its place among the lists behind it, which are sorted by their current entries."""
    current, place, stop = currents[i], places[i], stops[i]
    at = i + 1
    while at < count and currents[at] < current:
        currents[at - 1], places[at - 1], stops[at - 1] = currents[at], places[at], stops[at]
        at += 1
    currents[at - 1], places[at - 1], stops[at - 1] = current, place, stop


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


@kernel
def cut_lists(
    pair_starts: NDArray[np.int64], entries: NDArray[np.int32], sizes: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Cut each pair's entries where the size of their conjunctions changes: list starts, list sizes, entry starts."""
    count = 0
    for pair in range(len(pair_starts) - 1):
        before = -1
        for i in range(pair_starts[pair], pair_starts[pair + 1]):
            size = sizes[entries[i] >> 1]
            count += size != before
            before = size
    list_starts = np.zeros(len(pair_starts), np.int64)
    list_sizes = np.empty(count, np.int32)
    entry_starts = np.zeros(count + 1, np.int64)
    count = 0
    for pair in range(len(pair_starts) - 1):
        before = -1
        for i in range(pair_starts[pair], pair_starts[pair + 1]):
            size = sizes[entries[i] >> 1]
            if size != before:
                list_sizes[count] = size
                entry_starts[count] = i
                count += 1
                before = size
        list_starts[pair + 1] = count
    entry_starts[count] = len(entries)
    return list_starts, list_sizes, entry_starts
