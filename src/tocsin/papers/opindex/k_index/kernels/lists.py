"""Posting lists of a k-index, and the walk over the lists that an event's values open.

For each size, an event's open lists are kept sorted by their current entry. A list skips to an entry by galloping:
steps double, then halve.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner
from tocsin.kernels.searching import place_of
from tocsin.papers.opindex.conjunctions.kernels import Values
from tocsin.papers.opindex.k_index.kernels.values import PAIRS_BESIDE, PRESENT, in_domain

ENTRY: Final = 30
"""The bit position of an entry in a current entry; the number of its list is below."""

MEMBER: Final = ENTRY + 1
"""The bit position of the member in a current entry."""

LIST: Final = 2**ENTRY - 1

END: Final = 2**62
"""The current entry of an exhausted list; it sorts after all others."""


class PostingLists(NamedTuple):
    """Posting lists by pair of field and value, then size. D fields, V values, L lists, E entries, K largest size.

    They lead to members (`members.Members`), whose size is their number of clauses. Field f's pairs begin at
    value_starts[f] + 2 f: attribute present, value not enumerated, then its values. If a member has several entries
    under a pair, they are in as many lists. So K clauses that hold are always in K lists.
    """

    domain: NDArray[np.int64]  # (2,) the lowest and highest number that ranges are enumerated over
    value_starts: NDArray[np.int64]  # (D + 1,)
    values: NDArray[np.int64]  # (V,) payloads, ascending within a field
    list_starts: NDArray[np.int64]  # (V + 2 D + 1,) pair p has lists [list_starts[p], list_starts[p + 1])
    list_sizes: NDArray[np.int32]  # (L,) the size of each list's members, ascending within a pair
    entry_starts: NDArray[np.int64]  # (L + 1,)
    entries: NDArray[np.int32]  # (E,) member * 2 + 1, or * 2 if it must not have the value; distinct, ascending
    numbers: NDArray[np.uint16]  # (E,) the number of an entry's clause within its member
    size_starts: NDArray[np.int64]  # (K + 2,) members [size_starts[k], size_starts[k + 1]) have size k


class ListsRoom(NamedTuple):
    """Memory for matching events one after the other; `lists` is the number of lists of one size."""

    behind: Annotated[NDArray[np.int64], "pairs"]  # the end of a pair's lists that are still to be read
    firsts: Annotated[NDArray[np.int64], "pairs"]  # the pair's first list
    places: Annotated[NDArray[np.int64], "lists"]  # for each list of the current size: the place of its current entry
    stops: Annotated[NDArray[np.int64], "lists"]
    currents: Annotated[NDArray[np.int64], "lists"]  # `current_of` each list, sorted; END if exhausted
    counters: Annotated[NDArray[np.int32], "largest + 1"]  # by clause; 0 between members
    codes: Annotated[NDArray[np.int32], "fields", -1]  # the event's code of each field during verification, else -1


@inner
def open_pairs(
    lists: PostingLists, kinds: NDArray[np.uint8], values: Values, count: int, room: ListsRoom
) -> tuple[int, bool]:
    """Find the event's pairs that have lists. Returns how many, and whether any value is not enumerated."""
    domain, value_starts, list_starts = lists.domain, lists.value_starts, lists.list_starts
    found = 0
    odd = False
    for i in range(count):
        field, payload = np.int64(values.fields[i]), values.payloads[i]
        begin = value_starts[field]
        base = begin + PAIRS_BESIDE * field
        enumerated = in_domain(kinds[field], payload, domain)
        odd = odd or not enumerated
        for pair in range(base + PRESENT, base + PAIRS_BESIDE - np.int64(enumerated)):
            found = _open_pair(list_starts, pair, room, found)
        place = place_of(lists.values, begin, value_starts[field + 1], payload)
        if place >= 0:
            found = _open_pair(list_starts, place + PAIRS_BESIDE * (field + 1), room, found)
    return found, odd


@inlined
def _open_pair(list_starts: NDArray[np.int64], pair: int, room: ListsRoom, found: int) -> int:
    room.firsts[found] = list_starts[pair]
    room.behind[found] = list_starts[pair + 1]
    return found + np.int64(list_starts[pair] < list_starts[pair + 1])


@inner
def open_size(lists: PostingLists, room: ListsRoom, pairs: int, wanted: int) -> int:
    """Open the lists of a size under the first `pairs` pairs; larger sizes must be done. Returns how many."""
    sizes, entry_starts = lists.list_sizes, lists.entry_starts
    behind, firsts, places, stops = room.behind, room.firsts, room.places, room.stops
    opened = 0
    for i in range(pairs):
        at = behind[i] - 1
        while at >= firsts[i] and sizes[at] > wanted:
            at -= 1
        while at >= firsts[i] and sizes[at] == wanted:
            places[opened] = entry_starts[at]
            stops[opened] = entry_starts[at + 1]
            opened += 1
            at -= 1
        behind[i] = at + 1
    return opened


@inlined
def begin_lists(entries: NDArray[np.int32], places: NDArray[np.int64], currents: NDArray[np.int64], count: int) -> None:
    """Sort the lists [0, count) by their first entries."""
    for i in range(count):
        currents[i] = current_of(np.int64(entries[places[i]]), i)
    for i in range(count - 2, -1, -1):
        put_in_place(currents, i, count)


@inlined
def current_of(entry: int, number: int) -> int:
    """A list's number and current entry as one integer, so that sorting moves small items."""
    return (entry << ENTRY) | number


@inlined
def skip(
    entries: NDArray[np.int32],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    currents: NDArray[np.int64],
    i: int,
    member: int,
) -> None:
    """Advance the i-th list to its first entry of the member or a later one, by galloping."""
    wanted = 2 * member
    if currents[i] >> ENTRY < wanted:
        number = currents[i] & LIST
        low = places[number]
        stop = stops[number]
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
        places[number] = low
        currents[i] = current_of(np.int64(entries[low]), number) if low < stop else END


@inlined
def put_in_place(currents: NDArray[np.int64], i: int, count: int) -> None:
    """Move the i-th list to its place among the following ones, which are sorted by their current entries."""
    current = currents[i]
    at = i + 1
    while at < count and currents[at] < current:
        currents[at - 1] = currents[at]
        at += 1
    currents[at - 1] = current
