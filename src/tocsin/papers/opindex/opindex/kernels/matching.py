"""Matching events by counting: a subscription matches when its predicates have brought its counter to zero.

For each pivot of the event, the pivot's counters are copied, and its lists searched for every value of the event.
Signatures rule out most searches. Each entry found decrements a counter, or clears a clause's bit.

Paper: Zhang, Chan, Tan 2014, section 5, Algorithm 2; section 6.1 for clauses, 6.2 for patterns. Departs: the trie of
prefixes is walked once a string, not once a list; counters are copied pivot by pivot, so that they stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import prefetch
from tocsin.jit.views import viewed
from tocsin.kernels.answers.ordering import SPARE, put_in_order
from tocsin.kernels.programs.patterns import fits_pattern
from tocsin.kernels.searching import first_at_least
from tocsin.papers.opindex.opindex.kernels.events import OpQuestion, read_event, read_prefixes
from tocsin.papers.opindex.opindex.kernels.layouts import (
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
    Counters,
)

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_HIGHEST_OPERAND = np.int64(2**32 - 1)
_CLAUSE_MASK = np.uint64(63)
_IN_LINE = 8  # signatures in a cache line
_MOST_AHEAD = 64  # signatures of a list that are prefetched


AHEAD = 2
"""How many values ahead a pivot's signatures are prefetched."""


@kernel
def match_opindex(
    question: OpQuestion, first: int, ends: NDArray[np.int64], out: NDArray[np.int32], counts: NDArray[np.int64]
) -> tuple[int, int]:
    """Match events from `first` on. Returns like `match_all`; adds to `counts`: candidates examined, and verified."""
    asked = viewed(question)
    lists, scratch, events = asked.lists, asked.scratch, asked.events
    pivots, fields, hits = lists.directory.pivots, scratch.fields, scratch.hits
    has_prefixes = len(lists.prefixes.parents) > 0
    written = np.int64(0)
    for event in range(first, len(events.starts) - 1):
        values = read_event(asked, event)
        pairs = read_prefixes(asked, values) if has_prefixes else values
        found, candidates, verified = _NONE, np.int64(0), np.int64(0)
        for i in range(values):
            _ask_ahead(asked, i + AHEAD, values)
            pivot = np.int64(pivots[fields[i]])
            if pivot < 0:
                continue
            found, own, touched = _search_form(
                asked, COUNTED, lists.counted, scratch.counters, pivot, values, pairs, found
            )
            candidates, verified = candidates + own, verified + touched
            found, own, touched = _search_form(
                asked, CLAUSES, lists.clauses, scratch.bitmaps, pivot, values, pairs, found
            )
            candidates, verified = candidates + own, verified + touched
        count = np.int64(found)
        if written + count + SPARE > len(out):
            return (event, written) if event > first else (-1 - count - SPARE, np.int64(0))
        counts[0] += candidates
        counts[1] += verified
        written += put_in_order(hits, count, asked.alive, scratch.words, scratch.summary, scratch.buckets, out, written)
        ends[event] = written
    return len(events.starts) - 1, written


@inlined
def _ask_ahead(asked: OpQuestion, value: int, values: int) -> None:
    """Prefetch the signatures of the conjunctions under an event's value, while earlier values are searched."""
    if value >= values:
        return
    directory = asked.lists.directory
    pivot = np.int64(directory.pivots[asked.scratch.fields[value]])
    if pivot < 0:
        return
    rows, signatures, segments = directory.rows, directory.signatures, asked.segments
    for operator in range(OPERATORS):
        number = np.int64(rows[WIDTH * pivot + operator])
        if number >= 0:
            for line in range(0, min(segments, _MOST_AHEAD), _IN_LINE):
                prefetch(signatures, number * segments + line)


@inlined
def _search_form(
    asked: OpQuestion, form: int, counters: Counters, left: Any, pivot: int, values: int, pairs: int, found: int
) -> tuple[int, int, int]:
    """Search a pivot's lists of one form. Returns the hits so far, the number of counters, and of those touched."""
    begin, end = np.uint64(counters.starts[pivot]), np.uint64(counters.stops[pivot])
    if begin == end:
        return found, np.int64(0), np.int64(0)
    size, needed, owners, hits = end - begin, counters.needed, counters.owners, asked.scratch.hits
    for c in range(size):
        left[c] = needed[begin + c]
    before = found
    kept = _surviving_segments(asked, np.uint64(WIDTH * pivot + OPERATORS * form), values, pairs)
    _ask_for_entries(asked, kept)
    for s in range(kept):
        found = _search_segment(asked, form, s, begin, found)
    for h in range(before, found):
        hits[h] = owners[np.uint64(hits[h])]
    touched = np.int64(0)
    for c in range(size):
        touched += left[c] != needed[begin + c]
    return found, np.int64(size), touched


@inlined
def _surviving_segments(asked: OpQuestion, row: int, values: int, pairs: int) -> int:
    """Write the pairs and segments to search in a pivot's lists, which begin at `row`; returns how many."""
    directory, scratch = asked.lists.directory, asked.scratch
    rows, signatures, segments = directory.rows, directory.signatures, scratch.segments
    survivors, searched, unsigned = scratch.survivors, scratch.searched, asked.bits == 0
    kept = _NONE
    for operator in range(OPERATORS):
        number = rows[row + np.uint64(operator)]
        if number < 0:
            continue
        base = np.uint64(number) * np.uint64(asked.segments)
        is_prefix = operator == PREFIX
        hashes = scratch.operand_bits if operator == EQUAL or is_prefix else scratch.field_bits
        for i in range(np.uint64(values if is_prefix else 0), np.uint64(pairs if is_prefix else values)):
            segment = base + segments[i]
            survivors[kept] = np.int32(i) << 3 | operator
            searched[kept] = segment
            if unsigned:
                kept += _ONE
            else:
                kept += (signatures[segment] >> hashes[i]) & _ONE
    return kept


@inlined
def _ask_for_entries(asked: OpQuestion, kept: int) -> None:
    """Prefetch all segments to be searched before searching the first, because most are not in the cache."""
    directory, entries, searched = asked.lists.directory, asked.lists.entries, asked.scratch.searched
    keys, pointers, starts, stops = entries.keys, entries.pointers, directory.starts, directory.stops
    for s in range(kept):
        prefetch(starts, searched[s])
        prefetch(stops, searched[s])
    for s in range(kept):
        begin = starts[searched[s]]
        prefetch(keys, begin)
        prefetch(pointers, begin)


@inlined
def _search_segment(asked: OpQuestion, form: int, survivor: int, base: int, found: int) -> int:
    """Take the entries of a segment that an event's pair satisfies; returns the number of hits so far."""
    scratch, directory, keys = asked.scratch, asked.lists.directory, asked.lists.entries.keys
    i = np.uint64(scratch.survivors[survivor] >> 3)
    operator = scratch.survivors[survivor] & 7
    segment = scratch.searched[survivor]
    begin, end = np.uint64(directory.starts[segment]), np.uint64(directory.stops[segment])
    key = scratch.keys[i]
    lowest = key >> 32 << 32
    low, high = lowest, lowest | _HIGHEST_OPERAND
    if operator == PATTERN:
        at = first_at_least(keys, begin, end, low)
        while at < end and keys[at] <= high:
            if _pattern_holds(asked, keys[at] & _HIGHEST_OPERAND, scratch.texts[i]):
                found = _take(asked, form, at, at + _ONE, high, base, found)
            at += _ONE
        return found
    if operator == DIFFERENT:
        at = first_at_least(keys, begin, end, low)
        found = _take(asked, form, at, end, key - 1, base, found)
        low = key + 1
    elif operator == AT_MOST:
        low = key
    elif operator == AT_LEAST:
        high = key
    else:
        low, high = key, key
    at = first_at_least(keys, begin, end, low)
    return _take(asked, form, at, end, high, base, found)


@inner
def _pattern_holds(asked: OpQuestion, literal: int, string: int) -> bool:
    """Whether a string of the batch fits a LIKE pattern or a regular expression, or does not if negated."""
    return fits_pattern(asked.leaves, literal >> 1, string, asked.bound) != (literal & 1 == 1)


@inlined
def _take(asked: OpQuestion, form: int, at: int, stop: int, last: int, base: int, found: int) -> int:
    """Take the entries from `at` on with keys up to `last`; returns the number of hits so far."""
    keys, pointers = asked.lists.entries.keys, asked.lists.entries.pointers
    counters, bitmaps, hits = asked.scratch.counters, asked.scratch.bitmaps, asked.scratch.hits
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
