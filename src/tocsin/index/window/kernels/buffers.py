"""Which messages may be among a subscription's best? All that reach its threshold, first in, first out.

The threshold lies below the k-th best score, at rank `slack * k` when it was chosen; so the best k are found in the
buffer for as long as it holds k messages. A buffer that is full raises the threshold to that rank again.

Each slot is *due* with the oldest message that it buffered: it hangs in that message's list, and looks for its next
one when that message expires. So no message need know who has it.

Source: ours. Theorem 6.1 of Wang et al. 2016 says why a buffer with k messages is enough; their buffer is a k-skyband
in order of score, which has fewer entries, and a counter for each that every arrival goes through.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import NO_SCORE, NOBODY, RAISED, THETA, Buffers, Messages, State
from tocsin.kernels.jit import inlined, inner
from tocsin.kernels.sorting import sort_numbers

_LAST_BITS = np.int64(0xFFFFFFFF)


@inlined
def number_of(last_bits: int, newest: int) -> int:
    """A message's whole number by its last 32 bits; it is not after `newest`."""
    return newest - ((newest - np.int64(last_bits)) & _LAST_BITS)


@inlined
def is_better(score: float, number: int, other_score: float, other: int) -> bool:
    """Whether a message comes before another one: by score, then the newer."""
    return score > other_score or (score == other_score and number > other)


@inlined
def place_in(buffers: Buffers, slot: int, i: int) -> int:
    """Where the i-th entry of a buffer lies."""
    ring = np.int64(buffers.capacities[slot]) - 1
    return buffers.starts[slot] + ((np.int64(buffers.heads[slot]) + i) & ring)


@inner
def wait_for(buffers: Buffers, messages: Messages, slot: int, number: int) -> None:
    """Let a slot be due with a message; it is with none."""
    at = number & (len(messages.first_due) - 1)
    after = np.int64(messages.first_due[at])
    buffers.next_due[slot], buffers.last_due[slot], buffers.due[slot] = after, NOBODY, number
    if after != NOBODY:
        buffers.last_due[after] = slot
    messages.first_due[at] = slot


@inner
def wait_for_nothing(buffers: Buffers, messages: Messages, slot: int) -> None:
    """Take a slot out of the list that it hangs in, if any."""
    if buffers.due[slot] == NOBODY:
        return
    before, after = np.int64(buffers.last_due[slot]), np.int64(buffers.next_due[slot])
    if before == NOBODY:
        messages.first_due[buffers.due[slot] & (len(messages.first_due) - 1)] = after
    else:
        buffers.next_due[before] = after
    if after != NOBODY:
        buffers.last_due[after] = before
    buffers.due[slot] = NOBODY


@inner
def put_in_buffer(state: State, slot: int, score: float, number: int) -> None:
    """Put the newest message behind a buffer; there is room."""
    buffers = state.buffers
    count = np.int64(buffers.counts[slot])
    at = place_in(buffers, slot, count)
    buffers.scores[at], buffers.numbers[at] = score, np.int32(number)
    buffers.counts[slot] = count + 1
    if buffers.due[slot] == NOBODY:
        wait_for(buffers, state.messages, slot, number)


@inner
def next_above(buffers: Buffers, slot: int, score: float, number: int, newest: int) -> tuple[float, int]:
    """The worst entry that is better than a message; (infinity, NOBODY) where none is."""
    found_score, found = np.inf, np.int64(NOBODY)
    for i in range(buffers.counts[slot]):
        at = place_in(buffers, slot, np.int64(i))
        other = buffers.scores[at]
        if other < score or other > found_score:
            continue
        which = number_of(buffers.numbers[at], newest)
        if is_better(other, which, score, number) and is_better(found_score, found, other, which):
            found_score, found = other, which
    return found_score, found


@inner
def next_below(buffers: Buffers, slot: int, score: float, number: int, newest: int) -> tuple[float, int]:
    """The best entry that is worse than a message; (NO_SCORE, NOBODY) where none is."""
    found_score, found = NO_SCORE, np.int64(NOBODY)
    for i in range(buffers.counts[slot]):
        at = place_in(buffers, slot, np.int64(i))
        other = buffers.scores[at]
        if other > score or other < found_score:
            continue
        which = number_of(buffers.numbers[at], newest)
        if is_better(score, number, other, which) and is_better(other, which, found_score, found):
            found_score, found = other, which
    return found_score, found


@inner
def ranked(buffers: Buffers, slot: int, rank: int, newest: int, best: NDArray[np.float64]) -> tuple[float, int]:
    """The entry at a rank, from 1 on; (NO_SCORE, NOBODY) where there are fewer. `best` is overwritten."""
    count = np.int64(buffers.counts[slot])
    if count < rank:
        return NO_SCORE, np.int64(NOBODY)
    for i in range(count):
        best[i] = buffers.scores[place_in(buffers, slot, np.int64(i))]
    sort_numbers(best, np.int64(0), count)
    score = best[count - rank]
    better = np.int64(0)
    for i in range(count - rank, count):
        better += np.int64(best[i] > score)
    left = rank - better  # the newest of equal score come first
    for i in range(count - 1, -1, -1):
        at = place_in(buffers, slot, np.int64(i))
        if buffers.scores[at] == score:
            left -= 1
            if left == 0:
                return score, number_of(buffers.numbers[at], newest)
    return NO_SCORE, np.int64(NOBODY)


@inner
def raise_threshold(state: State, slot: int, newest: int) -> None:
    """Keep what a full buffer has up to rank slack * k, and let that be the threshold."""
    buffers, work = state.buffers, state.work
    rank = state.rules.slack * np.int64(state.interests.ks[slot])
    score, number = ranked(buffers, slot, rank, newest, work.best)
    kept = np.int64(0)
    for i in range(buffers.counts[slot]):
        at = place_in(buffers, slot, np.int64(i))
        if not is_better(score, number, buffers.scores[at], number_of(buffers.numbers[at], newest)):
            work.kept_scores[kept], work.kept_numbers[kept] = buffers.scores[at], buffers.numbers[at]
            kept += 1
    fill(buffers, slot, kept, work.kept_scores, work.kept_numbers)
    state.interests.records[slot, THETA] = score
    work.counts[RAISED] += 1


@inner
def fill(buffers: Buffers, slot: int, count: int, scores: NDArray[np.float64], numbers: NDArray[np.int32]) -> None:
    """Let a buffer hold so many messages, the oldest first, and nothing else."""
    start = buffers.starts[slot]
    for i in range(count):
        buffers.scores[start + i], buffers.numbers[start + i] = scores[i], numbers[i]
    buffers.heads[slot], buffers.counts[slot] = 0, count
