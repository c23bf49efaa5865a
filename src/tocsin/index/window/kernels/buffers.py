"""Buffers: a FIFO for each subscription of the messages that reach its threshold, among them its best k.

The threshold lies below the k-th best score, at the rank that a policy gave when it was set. So the buffer contains the
best k as long as it holds k messages. A full buffer raises the threshold to that rank again. A k-skyband also drops
messages that k newer ones exceed: they can never be among the best.

The scores of a ring are searched as integers of the same bits, from end to end. That vectorises; floats in the ring's
order would not. Equal scores are rare and take a second pass.

Source: ours. Theorem 6.1 of Wang et al. 2016 says why a buffer with k messages is enough; their k-skyband is kept in
order of score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.due import wait_for
from tocsin.index.window.kernels.layouts import (
    CAPACITY,
    COUNT,
    EMPTY,
    HEAD,
    NO_SCORE,
    NOBODY,
    RAISED,
    SEARCHED,
    START,
    THETA,
    WANTED,
    Buffers,
    State,
)
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import bits_of_float, float_of_bits
from tocsin.jit.views import viewed
from tocsin.kernels.sorting import sort_numbers

_LAST_BITS = np.int64(0xFFFFFFFF)
_ABOVE_ALL = np.int64(0x7FFFFFFFFFFFFFFF)


@inlined
def number_of(last_bits: int, newest: int) -> int:
    """A message's whole number, from its last 32 bits; it is at most `newest`."""
    return newest - ((newest - np.int64(last_bits)) & _LAST_BITS)


@inlined
def is_better(score: float, number: int, other_score: float, other: int) -> bool:
    """Whether a message ranks before another: by score, then the newer first."""
    return score > other_score or (score == other_score and number > other)


@inlined
def place_in(buffers: Buffers, slot: int, i: int) -> int:
    """Where the i-th entry of a buffer lies."""
    small = buffers.small
    return buffers.wide[slot, START] + ((np.int64(small[slot, HEAD]) + i) & (np.int64(small[slot, CAPACITY]) - 1))


@inlined
def put_in_buffer(state: State, slot: int, score: float, number: int) -> None:
    """Append the newest message to a buffer; there must be room."""
    buffers = state.buffers
    small = buffers.small
    count = np.int64(small[slot, COUNT])
    at = place_in(buffers, slot, count)
    buffers.scores[at], buffers.numbers[at] = score, np.int32(number)
    if len(buffers.above) > 0:
        buffers.above[at] = 0
    small[slot, COUNT] = count + 1
    if count == 0:
        wait_for(state, slot, number)


@inner
def next_above(buffers: Buffers, slot: int, score: float, number: int, newest: int) -> tuple[float, int]:
    """The worst entry that is better than a message of the buffer; there must be one."""
    start = buffers.wide[slot, START]
    stop = start + buffers.small[slot, CAPACITY]
    bits, limit = buffers.bits[start:stop], bits_of_float(score)
    least, equal = _ABOVE_ALL, np.int64(0)
    for i in range(len(bits)):
        one = bits[i]
        equal += np.int64(one == limit)
        least = min(least, one if one > limit else _ABOVE_ALL)
    if equal > 1:
        return _tied_above(buffers, slot, score, number, newest)
    found = float_of_bits(least)
    return found, _oldest_of(buffers, start, stop, found, newest)


@inner
def _tied_above(buffers: Buffers, slot: int, score: float, number: int, newest: int) -> tuple[float, int]:
    """The same if scores are equal."""
    found_score, found = np.inf, np.int64(NOBODY)
    for i in range(buffers.small[slot, COUNT]):
        at = place_in(buffers, slot, np.int64(i))
        other, which = buffers.scores[at], number_of(buffers.numbers[at], newest)
        if is_better(other, which, score, number) and is_better(found_score, found, other, which):
            found_score, found = other, which
    return found_score, found


@inlined
def _oldest_of(buffers: Buffers, start: int, stop: int, score: float, newest: int) -> int:
    """The oldest message of a score between two positions."""
    scores, numbers = buffers.scores, buffers.numbers
    oldest = newest
    for at in range(start, stop):
        if scores[at] == score:
            oldest = min(oldest, number_of(numbers[at], newest))
    return oldest


@inner
def next_below(buffers: Buffers, slot: int, score: float, number: int, newest: int) -> tuple[float, int]:
    """The best entry worse than a message, which may be absent; (NO_SCORE, NOBODY) if there is none."""
    start = buffers.wide[slot, START]
    stop = start + buffers.small[slot, CAPACITY]
    bits, limit = buffers.bits[start:stop], bits_of_float(score)
    empty = bits_of_float(EMPTY)
    most, equal = empty, np.int64(0)
    for i in range(len(bits)):
        one = bits[i]
        equal += np.int64(one == limit)
        most = max(most, one if one < limit else empty)
    if equal > 1 or (equal == 1 and _oldest_of(buffers, start, stop, score, newest) != number):
        return _tied_below(buffers, slot, score, number, newest)
    if most == empty:
        return NO_SCORE, np.int64(NOBODY)
    return _newest_of(buffers, start, stop, float_of_bits(most), newest)


@inner
def _tied_below(buffers: Buffers, slot: int, score: float, number: int, newest: int) -> tuple[float, int]:
    """The same if scores are equal."""
    found_score, found = NO_SCORE, np.int64(NOBODY)
    for i in range(buffers.small[slot, COUNT]):
        at = place_in(buffers, slot, np.int64(i))
        other, which = buffers.scores[at], number_of(buffers.numbers[at], newest)
        if is_better(score, number, other, which) and is_better(other, which, found_score, found):
            found_score, found = other, which
    return found_score, found


@inlined
def _newest_of(buffers: Buffers, start: int, stop: int, score: float, newest: int) -> tuple[float, int]:
    """The newest message of a score between two positions."""
    scores, numbers = buffers.scores, buffers.numbers
    found = np.int64(NOBODY)
    for at in range(start, stop):
        if scores[at] == score:
            found = max(found, number_of(numbers[at], newest))
    return score, found


@inner
def ranked(buffers: Buffers, slot: int, rank: int, newest: int, best: NDArray[np.float64]) -> tuple[float, int]:
    """The entry at a rank, counted from 1; (NO_SCORE, NOBODY) if there are fewer. Overwrites `best`."""
    count = np.int64(buffers.small[slot, COUNT])
    if count < rank:
        return NO_SCORE, np.int64(NOBODY)
    scores = buffers.scores
    for i in range(count):
        best[i] = scores[place_in(buffers, slot, np.int64(i))]
    sort_numbers(best, np.int64(0), count)
    score = best[count - rank]
    better = np.int64(0)
    for i in range(count - rank, count):
        better += np.int64(best[i] > score)
    left = rank - better  # among equal scores the newest come first
    for i in range(count - 1, -1, -1):
        at = place_in(buffers, slot, np.int64(i))
        if scores[at] == score:
            left -= 1
            if left == 0:
                return score, number_of(buffers.numbers[at], newest)
    return NO_SCORE, np.int64(NOBODY)


@inner
def raise_threshold(state: State, slot: int, newest: int) -> None:
    """Keep the entries of a full buffer up to rank SEARCHED, and set the threshold to the last one's score."""
    buffers, work = state.buffers, state.work
    rank = np.int64(buffers.small[slot, SEARCHED])
    score, number = ranked(buffers, slot, rank, newest, work.best)
    kept = np.int64(0)
    for i in range(buffers.small[slot, COUNT]):
        at = place_in(buffers, slot, np.int64(i))
        if not is_better(score, number, buffers.scores[at], number_of(buffers.numbers[at], newest)):
            work.kept_scores[kept], work.kept_numbers[kept] = buffers.scores[at], buffers.numbers[at]
            kept += 1
    fill(buffers, slot, kept, work.kept_scores, work.kept_numbers)
    state.interests.records[slot, THETA] = score
    work.counts[RAISED] += 1


@inner
def fill(buffers: Buffers, slot: int, count: int, scores: NDArray[np.float64], numbers: NDArray[np.int32]) -> None:
    """Replace a buffer's contents by these messages, the oldest first."""
    start = buffers.wide[slot, START]
    held, held_numbers = buffers.scores, buffers.numbers
    for i in range(count):
        held[start + i], held_numbers[start + i] = scores[i], numbers[i]
    for at in range(start + count, start + buffers.small[slot, CAPACITY]):
        held[at] = EMPTY
    buffers.small[slot, HEAD], buffers.small[slot, COUNT] = 0, count
    if len(buffers.above) > 0:
        count_above(buffers, slot)


# The k-skyband


@inner
def count_above(buffers: Buffers, slot: int) -> None:
    """Count for each message how many newer ones are better or equal."""
    count = np.int64(buffers.small[slot, COUNT])
    for i in range(count):
        at = place_in(buffers, slot, np.int64(i))
        newer = np.int64(0)
        for j in range(i + 1, count):
            newer += np.int64(buffers.scores[place_in(buffers, slot, np.int64(j))] >= buffers.scores[at])
        buffers.above[at] = newer


@inner
def come_above(buffers: Buffers, slot: int, score: float) -> None:
    """Count the newest message for all those that it equals or exceeds."""
    start = buffers.wide[slot, START]
    stop = start + buffers.small[slot, CAPACITY]
    scores, above = buffers.scores[start:stop], buffers.above[start:stop]
    for i in range(len(scores)):
        above[i] += np.int32(scores[i] <= score)


@inner
def leave_out_dominated(buffers: Buffers, slot: int) -> None:
    """Drop messages that k newer ones exceed. The next push does it, since this one must still report their exits."""
    small, start = buffers.small, buffers.wide[slot, START]
    stop = start + small[slot, CAPACITY]
    bits, above, k = buffers.bits[start:stop], buffers.above[start:stop], small[slot, WANTED]
    dominated = np.int64(0)
    for i in range(len(bits)):
        dominated += np.int64(above[i] >= k) & np.int64(bits[i] >= 0)  # EMPTY as an integer is negative
    if dominated > 0:
        _drop_dominated(buffers, slot)


@inner
def _drop_dominated(buffers: Buffers, slot: int) -> None:
    """Compact the remaining messages, the oldest first."""
    small = buffers.small
    count, k = np.int64(small[slot, COUNT]), small[slot, WANTED]
    kept = np.int64(0)
    for i in range(count):
        at = place_in(buffers, slot, np.int64(i))
        if buffers.above[at] < k:
            to = place_in(buffers, slot, kept)
            buffers.scores[to], buffers.numbers[to] = buffers.scores[at], buffers.numbers[at]
            buffers.above[to] = buffers.above[at]
            kept += 1
    for i in range(kept, count):
        buffers.scores[place_in(buffers, slot, np.int64(i))] = EMPTY
    small[slot, COUNT] = kept


@kernel
def write_best(
    buffers: Buffers,
    slots: NDArray[np.int32],
    newest: int,
    starts: NDArray[np.int64],
    numbers: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Write the best messages of each slot, best first, as many as fit between its starts."""
    held = viewed(buffers)
    for i in range(len(slots)):
        slot, first, stop = np.int64(slots[i]), starts[i], starts[i + 1]
        kept = first
        for entry in range(held.small[slot, COUNT]):
            at = place_in(held, slot, np.int64(entry))
            score, number = held.scores[at], number_of(held.numbers[at], newest)
            if kept < stop:
                kept += 1
            elif not is_better(score, number, scores[stop - 1], numbers[stop - 1]):
                continue
            place = kept - 1
            while place > first and is_better(score, number, scores[place - 1], numbers[place - 1]):
                scores[place], numbers[place] = scores[place - 1], numbers[place - 1]
                place -= 1
            scores[place], numbers[place] = score, number
