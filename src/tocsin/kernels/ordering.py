"""How are the subscriptions found for one event put in order, each once? Through a bitmap. Or only the best of them?"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels.jit import count_bits, inlined, kernel, lowest_bit

DENSE: Final = 8
"""With more hits than a word in so many, all words are walked."""

SPARE: Final = 4
"""Room that `put_in_order` wants beyond what it will write."""

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
    out: NDArray[np.int32],
    at: int,
) -> int:
    """Write the distinct subscriptions among `hits` that are alive, ascending, to out[at:]; returns how many.

    Each sets a bit. Few bits are found through a summary of the words that have any, many by walking all words.
    `out` has room for `count` and SPARE more.
    """
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


@kernel
def _take_all(alive: NDArray[np.uint64], words: NDArray[np.uint64], out: NDArray[np.int32], at: int) -> int:
    """Write the numbers of all set bits to out[at:] and clear them; returns how many.

    Four a word are written whether there are so many or not, so that no branch depends on it.
    """
    written = at
    for word in range(np.uint64(len(words))):
        bits = words[word] & alive[word]
        words[word] = _NONE
        base = np.int32(word << _SIX)
        found = count_bits(bits)
        for i in range(np.uint64(4)):
            out[written + i] = base + np.int32(lowest_bit(bits))
            bits &= bits - _ONE
        if found > np.uint64(4):
            more = written + np.uint64(4)
            while bits != _NONE:
                out[more] = base + np.int32(lowest_bit(bits))
                more += _ONE
                bits &= bits - _ONE
        written += found
    return written - at


@kernel
def put_best(
    hits: NDArray[np.int32],
    count: int,
    alive: NDArray[np.uint64],
    words: NDArray[np.uint64],
    summary: NDArray[np.uint64],
    scores: NDArray[np.float64],
    maxima: NDArray[np.float64],
    heap: NDArray[np.int32],
    out: NDArray[np.int32],
    at: int,
) -> int:
    """Like `put_in_order`, but only as many as `heap` has room for, the best by score, then number. Uses `hits` up.

    Of many hits a word of the bitmap is a block of the scores, and passed over when its maximum is no better than the
    worst that is kept. Cost: a word in 64 subscriptions, and a sort of what is kept.
    """
    kept = 0
    if DENSE * count <= len(words):
        ordered = put_in_order(hits, count, alive, words, summary, hits, 0)  # reads all hits before it writes
        for i in range(ordered):
            kept = _offer(heap, kept, scores, hits[i])
    else:
        _set_bits(hits, count, words)
        for word in range(np.uint64(len(words))):
            bits = words[word] & alive[word]
            words[word] = _NONE
            if kept == len(heap) and maxima[word] <= scores[heap[0]]:
                continue
            while bits != _NONE:
                kept = _offer(heap, kept, scores, np.int32(word << _SIX) + np.int32(lowest_bit(bits)))
                bits &= bits - _ONE
    chosen = out[at : at + kept]
    chosen[:] = heap[:kept]
    chosen.sort()
    return kept


@inlined
def _offer(heap: NDArray[np.int32], kept: int, scores: NDArray[np.float64], number: int) -> int:
    """Take a subscription, the highest number so far, if it is among the best; how many are kept."""
    if kept < len(heap):
        _push(heap, kept, scores, number)
        return kept + 1
    if scores[number] > scores[heap[0]]:
        _replace_worst(heap, kept, scores, number)
    return kept


@inlined
def _is_worse(scores: NDArray[np.float64], one: int, other: int) -> bool:
    """Whether one subscription comes after another: a lower score or, of equal ones, a higher number."""
    return scores[one] < scores[other] or (scores[one] == scores[other] and one > other)


@kernel
def _push(heap: NDArray[np.int32], kept: int, scores: NDArray[np.float64], number: int) -> None:
    """Add to a heap of `kept` subscriptions whose first is the worst."""
    at = kept
    while at > 0 and _is_worse(scores, number, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = number


@kernel
def _replace_worst(heap: NDArray[np.int32], kept: int, scores: NDArray[np.float64], number: int) -> None:
    """Put a subscription in the place of the worst."""
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
