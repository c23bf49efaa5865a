"""Which subscriptions does this event satisfy? Those whose counters its predicates bring to nothing.

For each pivot that the event has, the pivot's counters are copied, and its lists searched for every value of the event:
a signature tells most searches that there is nothing. What is found counts down, or clears the bit of a clause.

Paper: Zhang, Chan, Tan 2014, section 5, Algorithm 2; section 6.1 for clauses, 6.2 for patterns. Departs: the trie of
prefixes is walked once a string, not once a list; counters are copied pivot by pivot, so that they stay in the cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.opindex.kernels.events import OpScratch, read_event, read_prefixes
from tocsin.index.boolean.opindex.kernels.layouts import (
    AT_LEAST,
    AT_MOST,
    CLAUSE_BITS,
    CLAUSES,
    COUNTED,
    DIFFERENT,
    EQUAL,
    OPERATORS,
    PATTERN,
    PREFIX,
    WIDTH,
    OpLists,
)
from tocsin.kernels.answers.ordering import SPARE, put_in_order
from tocsin.kernels.jit import inlined, kernel, prefetch
from tocsin.kernels.packing import borrowed
from tocsin.kernels.programs.layouts import Bound, Events, Expressions
from tocsin.kernels.programs.patterns import fits_pattern
from tocsin.kernels.searching import first_at_least

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_HIGHEST_OPERAND = np.int64(2**32 - 1)
_CLAUSE_MASK = np.uint64(63)
_IN_LINE = 8  # signatures in a cache line
_MOST_AHEAD = 64  # signatures of a list that are asked for ahead


AHEAD = 2
"""Pivots whose signatures are asked for ahead."""


@kernel
def pattern_holds(leaves: Expressions, bound: Bound, literal: int, string: int) -> bool:
    """Whether a string of the batch fits a LIKE pattern or has a match of a regular expression; negated, does not."""
    return fits_pattern(leaves, literal >> 1, string, bound) != (literal & 1 == 1)


@inlined
def _scan(
    keys: NDArray[np.int64],
    pointers: NDArray[np.uint32],
    at: int,
    stop: int,
    last: int,
    form: int,
    counters: NDArray[np.int32],
    bitmaps: NDArray[np.uint64],
    base: int,
    hits: NDArray[np.int32],
    found: int,
) -> int:
    """Take the entries from `at` on whose key is not above `last`; returns how many hits there are then."""
    while at < stop and keys[at] <= last:
        pointer = np.uint64(pointers[at])
        if form == COUNTED:
            left = counters[pointer] - np.int32(1)
            counters[pointer] = left
            hits[found] = np.int32(base + pointer)
            found += np.uint64(left == 0)
        else:
            place = pointer >> CLAUSE_BITS
            before = bitmaps[place]
            after = before & ~(_ONE << (pointer & _CLAUSE_MASK))
            bitmaps[place] = after
            hits[found] = np.int32(base + place)
            found += np.uint64((before != _NONE) & (after == _NONE))
        at += _ONE
    return found


@inlined
def _search_pivot(
    rows: NDArray[np.int32],
    starts: NDArray[np.int32],
    stops: NDArray[np.int32],
    signatures: NDArray[np.uint64],
    keys: NDArray[np.int64],
    pointers: NDArray[np.uint32],
    leaves: Expressions,
    bound: Bound,
    own_keys: NDArray[np.int64],
    texts: NDArray[np.int64],
    own_segments: NDArray[np.uint64],
    field_bits: NDArray[np.uint64],
    operand_bits: NDArray[np.uint64],
    survivors: NDArray[np.int32],
    searched: NDArray[np.uint64],
    counters: NDArray[np.int32],
    bitmaps: NDArray[np.uint64],
    hits: NDArray[np.int32],
    pivot: int,
    form: int,
    values: int,
    pairs: int,
    segments: int,
    bits: int,
    base: int,
    found: int,
) -> int:
    """Search all lists of a pivot and form for an event's pairs; returns how many hits there are then.

    First it is seen which segments are to be searched, then their entries are asked for, and then searched.
    """
    row = np.uint64(WIDTH * pivot + OPERATORS * form)
    kept = _NONE
    for operator in range(OPERATORS):
        number = rows[row + np.uint64(operator)]
        if number < 0:
            continue
        directory = np.uint64(number) * np.uint64(segments)
        first = values if operator == PREFIX else np.int64(0)
        stop = pairs if operator == PREFIX else values
        if bits == 0:
            kept = _all(directory, own_segments, first, stop, operator, survivors, searched, kept)
        else:
            hashes = operand_bits if operator == EQUAL or operator == PREFIX else field_bits
            kept = _surviving(
                signatures, directory, own_segments, hashes, first, stop, operator, survivors, searched, kept
            )
    for s in range(kept):
        prefetch(starts, searched[s])
    for s in range(kept):
        begin = starts[searched[s]]
        prefetch(keys, begin)
        prefetch(pointers, begin)
    for s in range(kept):
        i = np.uint64(survivors[s] >> 3)
        operator = survivors[s] & 7
        begin, end = np.uint64(starts[searched[s]]), np.uint64(stops[searched[s]])
        key = own_keys[i]
        lowest = key >> 32 << 32
        low, high = lowest, lowest | _HIGHEST_OPERAND
        if operator == PATTERN:
            at = first_at_least(keys, begin, end, low)
            while at < end and keys[at] <= high:
                if pattern_holds(leaves, bound, keys[at] & _HIGHEST_OPERAND, texts[i]):
                    found = _scan(keys, pointers, at, at + _ONE, high, form, counters, bitmaps, base, hits, found)
                at += _ONE
            continue
        if operator == DIFFERENT:
            at = first_at_least(keys, begin, end, low)
            found = _scan(keys, pointers, at, end, key - 1, form, counters, bitmaps, base, hits, found)
            low = key + 1
        elif operator == AT_MOST:
            low = key
        elif operator == AT_LEAST:
            high = key
        else:
            low, high = key, key
        at = first_at_least(keys, begin, end, low)
        found = _scan(keys, pointers, at, end, high, form, counters, bitmaps, base, hits, found)
    return found


@inlined
def _ask_ahead(
    pivots: NDArray[np.int32],
    rows: NDArray[np.int32],
    signatures: NDArray[np.uint64],
    own_fields: NDArray[np.int32],
    value: int,
    values: int,
    segments: int,
) -> None:
    """Ask for the signatures of the conjunctions under an event's value, while those before it are searched."""
    if value >= values:
        return
    pivot = np.int64(pivots[own_fields[value]])
    if pivot < 0:
        return
    for operator in range(OPERATORS):
        number = np.int64(rows[WIDTH * pivot + operator])
        if number >= 0:
            for line in range(0, min(segments, _MOST_AHEAD), _IN_LINE):
                prefetch(signatures, number * segments + line)


@inlined
def _surviving(
    signatures: NDArray[np.uint64],
    directory: int,
    own_segments: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    first: int,
    stop: int,
    operator: int,
    survivors: NDArray[np.int32],
    searched: NDArray[np.uint64],
    kept: int,
) -> int:
    """Write those pairs of [first, stop) that have their bit in their segment's signature; returns where they end."""
    for i in range(np.uint64(first), np.uint64(stop)):
        segment = directory + own_segments[i]
        survivors[kept] = np.int32(i) << 3 | operator
        searched[kept] = segment
        kept += (signatures[segment] >> hashes[i]) & _ONE
    return kept


@inlined
def _all(
    directory: int,
    own_segments: NDArray[np.uint64],
    first: int,
    stop: int,
    operator: int,
    survivors: NDArray[np.int32],
    searched: NDArray[np.uint64],
    kept: int,
) -> int:
    """Write all pairs of [first, stop); returns where they end."""
    for i in range(np.uint64(first), np.uint64(stop)):
        survivors[kept] = np.int32(i) << 3 | operator
        searched[kept] = directory + own_segments[i]
        kept += _ONE
    return kept


@kernel
def match_opindex(
    lists: OpLists,
    leaves: Expressions,
    events: Events,
    bound: Bound,
    alive: NDArray[np.uint64],
    scratch: OpScratch,
    segments: int,
    bits: int,
    first: int,
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts`: candidates examined, and verified."""
    lists, leaves, events, bound, alive, scratch, out = borrowed((lists, leaves, events, bound, alive, scratch, out))
    _, prefixes, directory, entries, counters = lists
    pivots, rows, seg_starts, seg_stops, signatures = directory
    keys, pointers = entries
    own_fields, own_keys, texts, own_segments, field_bits, operand_bits, survivors, searched = scratch[:8]
    left, bitmaps, hits, words, summary, buckets = scratch[8:]
    written = np.int64(0)
    for event in range(first, len(events.starts) - 1):
        values = read_event(lists.fields, events, bound, event, segments, bits, scratch)
        pairs = values
        if len(prefixes.parents):
            pairs = read_prefixes(lists.fields, prefixes, bound, values, segments, bits, scratch)
        found = _NONE
        candidates = np.int64(0)
        verified = np.int64(0)
        for i in range(values):
            _ask_ahead(pivots, rows, signatures, own_fields, i + AHEAD, values, segments)
            pivot = np.int64(pivots[own_fields[i]])
            if pivot < 0:
                continue
            begin, end = np.uint64(counters.starts[pivot]), np.uint64(counters.stops[pivot])
            if begin < end:
                before = found
                for c in range(end - begin):
                    left[c] = counters.needed[begin + c]
                found = _search_pivot(
                    rows,
                    seg_starts,
                    seg_stops,
                    signatures,
                    keys,
                    pointers,
                    leaves,
                    bound,
                    own_keys,
                    texts,
                    own_segments,
                    field_bits,
                    operand_bits,
                    survivors,
                    searched,
                    left,
                    bitmaps,
                    hits,
                    pivot,
                    COUNTED,
                    values,
                    pairs,
                    segments,
                    bits,
                    begin,
                    found,
                )
                for h in range(before, found):
                    hits[h] = counters.owners[np.uint64(hits[h])]
                candidates += np.int64(end - begin)
                for c in range(end - begin):
                    verified += left[c] != counters.needed[begin + c]
            begin, end = np.uint64(counters.bitmap_starts[pivot]), np.uint64(counters.bitmap_stops[pivot])
            if begin < end:
                before = found
                for c in range(end - begin):
                    bitmaps[c] = counters.clauses[begin + c]
                found = _search_pivot(
                    rows,
                    seg_starts,
                    seg_stops,
                    signatures,
                    keys,
                    pointers,
                    leaves,
                    bound,
                    own_keys,
                    texts,
                    own_segments,
                    field_bits,
                    operand_bits,
                    survivors,
                    searched,
                    left,
                    bitmaps,
                    hits,
                    pivot,
                    CLAUSES,
                    values,
                    pairs,
                    segments,
                    bits,
                    begin,
                    found,
                )
                for h in range(before, found):
                    hits[h] = counters.bitmap_owners[np.uint64(hits[h])]
                candidates += np.int64(end - begin)
                for c in range(end - begin):
                    verified += bitmaps[c] != counters.clauses[begin + c]
        room = SPARE + np.int64(found)
        if written + room > len(out):
            return (event, written) if event > first else (-1 - room, np.int64(0))
        counts[0] += candidates
        counts[1] += verified
        written += put_in_order(hits, np.int64(found), alive, words, summary, buckets, out, written)
        ends[event] = written
    return len(events.starts) - 1, written
