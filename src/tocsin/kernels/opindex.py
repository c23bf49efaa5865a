"""Which subscriptions does this event satisfy? Those whose counters its predicates bring to nothing.

For each pivot that the event has, the pivot's counters are copied, and its lists searched for every value of the event:
a signature tells most searches that there is nothing. What is found counts down, or clears the bit of a clause.

Paper: Zhang, Chan, Tan 2014, section 5, Algorithm 2; section 6.1 for clauses, 6.2 for patterns. Departs: the trie of
prefixes is walked once a string, not once a list; counters are copied pivot by pivot, so that they stay in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.access_keys import code_of
from tocsin.kernels.access_layouts import PRESENT, Fields
from tocsin.kernels.jit import inlined, kernel
from tocsin.kernels.layouts import Bound, Events, Expressions
from tocsin.kernels.opindex_layouts import (
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
    Prefixes,
    field_bit,
    key_of,
    operand_bit,
    segment_of,
)
from tocsin.kernels.ordering import SPARE, put_in_order
from tocsin.kernels.packing import borrowed
from tocsin.kernels.strings import is_like

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_HIGHEST_OPERAND = np.int64(2**32 - 1)
_CLAUSE_MASK = np.uint64(63)


class OpScratch(NamedTuple):
    """A call's memory. V values that an event can have, C counters and B bitmaps of a pivot, H of all, S subscriptions.

    The first `values` pairs of an event are its values; those behind are its prefixes.
    """

    fields: NDArray[np.int32]  # (V,)
    keys: NDArray[np.int64]  # (V,) field << 32 | code, or prefix
    texts: NDArray[np.int64]  # (V,) the string in the batch's dictionary
    segments: NDArray[np.uint64]  # (V,) of any list
    field_bits: NDArray[np.uint64]  # (V,)
    operand_bits: NDArray[np.uint64]  # (V,)
    survivors: NDArray[np.int32]  # (V + 1,)
    counters: NDArray[np.int32]  # (C + 1,)
    bitmaps: NDArray[np.uint64]  # (B + 1,)
    hits: NDArray[np.int32]  # (H + 1,)
    words: NDArray[np.uint64]  # (S / 64 + 1,) 0 between events
    summary: NDArray[np.uint64]  # (S / 4096 + 1,)
    buckets: NDArray[np.int32]  # (BUCKETS,)


@kernel
def widest_event(
    fields: Fields, depths: NDArray[np.int32], events: Events, numbers: NDArray[np.int32], first: int
) -> int:
    """The most pairs that an event from `first` on can have; `depths` says how many prefixes a field's value has."""
    widest = np.int64(0)
    for event in range(first, len(events.starts) - 1):
        count = np.int64(0)
        for i in range(events.starts[event], events.starts[event + 1]):
            attribute = numbers[events.attributes[i]]
            if attribute >= 0:
                for field in range(fields.starts[attribute], fields.starts[attribute + 1]):
                    count += 1 + depths[field]
        widest = max(widest, count)
    return widest


@kernel
def read_event(
    fields: Fields, events: Events, bound: Bound, event: int, segments: int, bits: int, out: OpScratch
) -> int:
    """Write an event's values; returns how many fields it has."""
    count = 0
    for i in range(events.starts[event], events.starts[event + 1]):
        attribute = bound.attributes[events.attributes[i]]
        if attribute < 0:
            continue
        kind = events.types[i]
        for field in range(fields.starts[attribute], fields.starts[attribute + 1]):
            code = np.int64(0)
            if fields.kinds[field] == kind and kind <= codes.INSTANT:
                payload = events.payloads[i]
                if kind == codes.STRING:
                    payload = np.int64(bound.ranks[fields.transforms[field], payload])
                code = code_of(fields.operands, fields.operand_starts[field], fields.operand_starts[field + 1], payload)
            elif fields.kinds[field] != PRESENT:
                continue
            out.fields[count] = field
            out.texts[count] = events.payloads[i]
            _write_pair(field, key_of(field, code), count, segments, bits, out)
            count += 1
    return count


@inlined
def _write_pair(field: int, key: int, at: int, segments: int, bits: int, out: OpScratch) -> None:
    out.keys[at] = key
    out.segments[at] = segment_of(field, segments)
    out.field_bits[at] = field_bit(field, bits)
    out.operand_bits[at] = operand_bit(key, bits)


@kernel
def read_prefixes(
    fields: Fields, prefixes: Prefixes, bound: Bound, values: int, segments: int, bits: int, out: OpScratch
) -> int:
    """Write the prefixes that an event's strings begin with behind its values; returns where they end.

    In sorted order every prefix of a string is an ancestor of, or is, the last one that is not behind the string.
    """
    count = values
    strings = bound.ranks.shape[1]
    for i in range(values):
        field = out.fields[i]
        if fields.kinds[field] != codes.STRING:
            continue
        for group in range(prefixes.starts[field], prefixes.starts[field + 1]):
            text = np.int64(prefixes.transforms[group]) * strings + out.texts[i]
            first, stop = bound.text_starts[text], bound.text_starts[text + 1]
            number = last_not_behind(prefixes, group, bound.text_bytes, first, stop)
            while number >= 0:
                if begins_with(bound.text_bytes, first, stop, prefixes, number):
                    _write_pair(field, key_of(field, number), count, segments, bits, out)
                    count += 1
                number = np.int64(prefixes.parents[number])
    return count


@kernel
def last_not_behind(prefixes: Prefixes, group: int, text: NDArray[np.uint8], first: int, stop: int) -> int:
    """The last prefix of a group that does not sort behind text[first:stop]; -1 where all do."""
    low = np.int64(prefixes.group_starts[group])
    begin = low
    high = np.int64(prefixes.group_starts[group + 1])
    while low < high:
        middle = (low + high) >> 1
        at = prefixes.text_starts[middle]
        end = prefixes.text_starts[middle + 1]
        i = first
        while at < end and i < stop and prefixes.text[at] == text[i]:
            at += 1
            i += 1
        if at == end or (i < stop and prefixes.text[at] < text[i]):
            low = middle + 1
        else:
            high = middle
    return low - 1 if low > begin else np.int64(-1)


@kernel
def begins_with(text: NDArray[np.uint8], first: int, stop: int, prefixes: Prefixes, number: int) -> bool:
    """Whether text[first:stop] begins with a prefix."""
    begin = prefixes.text_starts[number]
    end = prefixes.text_starts[number + 1]
    if end - begin > stop - first:
        return False
    for i in range(end - begin):
        if prefixes.text[begin + i] != text[first + i]:
            return False
    return True


@kernel
def pattern_holds(leaves: Expressions, bound: Bound, literal: int, string: int) -> bool:
    """Whether a string of the batch fits a LIKE pattern or has a match of a regular expression; negated, does not."""
    leaf = literal >> 1
    pattern = leaves.leaf_others[leaf]
    if leaves.leaf_kinds[leaf] == codes.REGEX:
        held = bound.regex_found[pattern, string] != 0
    else:
        text = np.int64(leaves.leaf_transforms[leaf]) * bound.ranks.shape[1] + string
        starts = leaves.pattern_starts
        held = is_like(
            bound.text_bytes,
            bound.text_starts[text],
            bound.text_starts[text + 1],
            leaves.pattern_tokens,
            starts[pattern],
            starts[pattern + 1],
        )
    return held != (literal & 1 == 1)


@inlined
def _first_at_least(keys: NDArray[np.int64], first: int, stop: int, key: int) -> int:
    """The first entry of [first, stop) whose key is not below another."""
    low = np.uint64(first)
    high = np.uint64(stop)
    while low < high:
        middle = (low + high) >> _ONE
        if keys[middle] < key:
            low = middle + _ONE
        else:
            high = middle
    return low


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
    """Search all lists of a pivot and form for an event's pairs; returns how many hits there are then."""
    row = np.uint64(WIDTH * pivot + OPERATORS * form)
    for operator in range(OPERATORS):
        number = rows[row + np.uint64(operator)]
        if number < 0:
            continue
        directory = np.uint64(number) * np.uint64(segments)
        by_operand = operator == EQUAL or operator == PREFIX
        first = values if operator == PREFIX else np.int64(0)
        stop = pairs if operator == PREFIX else values
        if bits == 0:
            kept = _all(first, stop, survivors)
        elif by_operand:
            kept = _surviving(signatures, directory, own_segments, operand_bits, first, stop, survivors)
        else:
            kept = _surviving(signatures, directory, own_segments, field_bits, first, stop, survivors)
        for s in range(kept):
            i = np.uint64(survivors[s])
            key = own_keys[i]
            segment = directory + own_segments[i]
            begin, end = np.uint64(starts[segment]), np.uint64(stops[segment])
            lowest = key >> 32 << 32
            low, high = lowest, lowest | _HIGHEST_OPERAND
            if operator == PATTERN:
                at = _first_at_least(keys, begin, end, low)
                while at < end and keys[at] <= high:
                    if pattern_holds(leaves, bound, keys[at] & _HIGHEST_OPERAND, texts[i]):
                        after = at + _ONE
                        found = _scan(
                            keys, pointers, at, after, high, form, counters, bitmaps, base, hits, found
                        )
                    at += _ONE
                continue
            if operator == DIFFERENT:
                at = _first_at_least(keys, begin, end, low)
                found = _scan(keys, pointers, at, end, key - 1, form, counters, bitmaps, base, hits, found)
                low = key + 1
            if by_operand or operator == AT_MOST:
                low = key
            if by_operand or operator == AT_LEAST:
                high = key
            at = _first_at_least(keys, begin, end, low)
            found = _scan(keys, pointers, at, end, high, form, counters, bitmaps, base, hits, found)
    return found


@inlined
def _surviving(
    signatures: NDArray[np.uint64],
    directory: int,
    own_segments: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    first: int,
    stop: int,
    survivors: NDArray[np.int32],
) -> int:
    """Write which pairs of [first, stop) have their bit in their segment's signature; returns how many."""
    kept = _NONE
    for i in range(np.uint64(first), np.uint64(stop)):
        survivors[kept] = np.int32(i)
        kept += (signatures[directory + own_segments[i]] >> hashes[i]) & _ONE
    return kept


@inlined
def _all(first: int, stop: int, survivors: NDArray[np.int32]) -> int:
    """Write all pairs of [first, stop); returns how many."""
    for i in range(first, stop):
        survivors[i - first] = np.int32(i)
    return np.uint64(stop - first)


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
    own_fields, own_keys, texts, own_segments, field_bits, operand_bits, survivors = scratch[:7]
    left, bitmaps, hits, words, summary, buckets = scratch[7:]
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
