"""Sorts the subscriptions found for one event and removes duplicates; optionally keeps only the best."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import count_bits, lowest_bit
from tocsin.kernels.sorting import sort_numbers, stable_order

DENSE: Final = 8
"""If hits outnumber 1/8 of the words, all words are walked."""

FEW: Final = 128
"""Up to this many hits are sorted: 5 ns each, where the bitmap takes 11."""

BUCKETS: Final = 64
"""Room for the buckets with which few hits are sorted."""

AT_ONCE: Final = 3
"""This many bits of a word are always written, set or not: a fourth costs more than the mispredicted branches."""

SPARE: Final = 4
"""Extra room that `put_in_order` needs in its output."""

_NONE = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)


@inlined
def _set_bits(hits: NDArray[np.int32], count: int, words: NDArray[np.uint64]) -> None:
    for i in range(np.uint64(count)):
        number = np.uint64(np.uint32(hits[i]))
        words[number >> _SIX] |= _ONE << (number & _LOW_SIX)


@inlined
def put_in_order(
    hits: NDArray[np.int32],
    count: int,
    alive: NDArray[np.uint64],
    words: NDArray[np.uint64],
    summary: NDArray[np.uint64],
    buckets: NDArray[np.int32],
    out: NDArray[np.int32],
    at: int,
) -> int:
    """Write the distinct live subscriptions among `hits`, ascending, to out[at:]; returns how many.

    Few hits are sorted. Of more, each sets a bit. The bits are then found through a summary of the words in use or, if
    there are many hits, by walking all words. `out` has room for `count` and SPARE more.
    """
    if count <= FEW:
        first = np.uint64(at)
        _sort_few(hits, count, np.uint64(len(words)), buckets, out, first)
        return keep_living(alive, out, first, first + np.uint64(count))
    _set_bits(hits, count, words)
    if DENSE * count > len(words):
        return np.int64(_take_all(alive, words, out, np.uint64(at)))
    for i in range(np.uint64(count)):
        word = np.uint64(np.uint32(hits[i])) >> _SIX
        summary[word >> _SIX] |= _ONE << (word & _LOW_SIX)
    written = np.uint64(at)
    for group in range(np.uint64(len(summary))):
        rest = summary[group]
        summary[group] = _NONE
        while rest != _NONE:
            word = (group << _SIX) | np.uint64(lowest_bit(rest))
            rest &= rest - _ONE
            bits = words[word] & alive[word]
            words[word] = _NONE
            while bits != _NONE:
                out[written] = np.int32(word << _SIX) + np.int32(lowest_bit(bits))
                written += _ONE
                bits &= bits - _ONE
    return np.int64(written) - at


@inlined
def _sort_few(
    hits: NDArray[np.int32], count: int, words: int, buckets: NDArray[np.int32], out: NDArray[np.int32], first: int
) -> None:
    """Write `hits` ascending to out[first:]: into buckets by their highest bits, then by insertion."""
    shift = _SIX
    while words > (np.uint64(BUCKETS) << (shift - _SIX)):
        shift += _ONE
    for bucket in range(np.uint64(BUCKETS)):
        buckets[bucket] = 0
    for i in range(np.uint64(count)):
        buckets[np.uint64(np.uint32(hits[i])) >> shift] += 1
    before = np.int32(0)
    for bucket in range(np.uint64(BUCKETS)):
        number = buckets[bucket]
        buckets[bucket] = before
        before += number
    for i in range(np.uint64(count)):
        bucket = np.uint64(np.uint32(hits[i])) >> shift
        out[first + np.uint64(buckets[bucket])] = hits[i]
        buckets[bucket] += 1
    for i in range(first + _ONE, first + np.uint64(count)):
        hit = out[i]
        place = i
        while place > first and out[place - _ONE] > hit:
            out[place] = out[place - _ONE]
            place -= _ONE
        out[place] = hit


@inlined
def keep_living(alive: NDArray[np.uint64], out: NDArray[np.int32], first: int, stop: int) -> int:
    """Move the distinct live ones of out[first:stop], which ascend, to its beginning; returns how many."""
    written = first
    before = np.int32(-1)
    for i in range(first, stop):
        hit = out[i]
        number = np.uint64(np.uint32(hit))
        out[written] = hit
        written += (alive[number >> _SIX] >> (number & _LOW_SIX)) & _ONE & np.uint64(hit != before)
        before = hit
    return np.int64(written - first)


@inner
def _take_all(alive: NDArray[np.uint64], words: NDArray[np.uint64], out: NDArray[np.int32], at: int) -> int:
    """Write the numbers of all set bits to out[at:] and clear the bits; returns how many.

    `AT_ONCE` numbers are written for each word, even if it has fewer, so that almost no branch depends on the data.
    """
    written = at
    for word in range(np.uint64(len(words))):
        bits = words[word] & alive[word]
        words[word] = _NONE
        base = np.int32(word << _SIX)
        found = count_bits(bits)
        for i in range(np.uint64(AT_ONCE)):
            out[written + i] = base + np.int32(lowest_bit(bits))
            bits &= bits - _ONE
        if found > np.uint64(AT_ONCE):
            more = written + np.uint64(AT_ONCE)
            while bits != _NONE:
                out[more] = base + np.int32(lowest_bit(bits))
                more += _ONE
                bits &= bits - _ONE
        written += found
    return written - at


@inner
def put_best(
    hits: NDArray[np.int32],
    count: int,
    alive: NDArray[np.uint64],
    words: NDArray[np.uint64],
    scores: NDArray[np.float64],
    maxima: NDArray[np.float64],
    heap: NDArray[np.int32],
    out: NDArray[np.int32],
    at: int,
) -> int:
    """Like `put_in_order`, but keeps only the best by score, then number: as many as `heap` has room for.

    A hit is skipped without reading its score if its block's maximum is below the worst kept score. Kept hits have a
    bit set in `words`.
    """
    kept = np.int64(0)
    worst = -np.inf
    for i in range(np.uint64(count)):
        number = np.uint64(np.uint32(hits[i]))
        word, bit = number >> _SIX, _ONE << (number & _LOW_SIX)
        if maxima[word] < worst or alive[word] & bit == _NONE or words[word] & bit != _NONE:
            continue
        if kept < len(heap):
            _push(heap, kept, scores, np.int32(number))
            kept += 1
        elif _is_worse(scores, heap[0], np.int32(number)):
            last = np.uint64(heap[0])
            words[last >> _SIX] &= ~(_ONE << (last & _LOW_SIX))
            _replace_worst(heap, kept, scores, np.int32(number))
        else:
            continue
        words[word] |= bit
        if kept == len(heap):
            worst = scores[heap[0]]
    for i in range(kept):
        words[heap[i] >> 6] = _NONE
    for i in range(kept):
        out[at + i] = heap[i]
    sort_numbers(out, np.int64(at), np.int64(at + kept))
    return np.int64(kept)


@kernel
def best_first(events: NDArray[np.int64], scores: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The places of each event's k best matches, best first; ties go to the earlier one. `events` ascend."""
    out = np.empty(len(events), np.int64)
    written = 0
    first = 0
    while first < len(events):
        stop = first + 1
        while stop < len(events) and events[stop] == events[first]:
            stop += 1
        order = stable_order(-scores[first:stop])
        for i in range(min(k, stop - first)):
            out[written] = first + order[i]
            written += 1
        first = stop
    return out[:written].copy()


@inlined
def _is_worse(scores: NDArray[np.float64], one: int, other: int) -> bool:
    """Whether one subscription ranks after another: a lower score or, with equal scores, a higher number."""
    return scores[one] < scores[other] or (scores[one] == scores[other] and one > other)


@inlined
def _push(heap: NDArray[np.int32], kept: int, scores: NDArray[np.float64], number: int) -> None:
    """Add a subscription to a heap of `kept`, with the worst at the root."""
    at = kept
    while at > 0 and _is_worse(scores, number, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = number


@inlined
def _replace_worst(heap: NDArray[np.int32], kept: int, scores: NDArray[np.float64], number: int) -> None:
    """Replace the worst subscription."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= kept:
            break
        if child + 1 < kept and _is_worse(scores, heap[child + 1], heap[child]):
            child += 1
        if not _is_worse(scores, heap[child], number):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number
