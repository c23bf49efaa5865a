"""Search of the window from scratch for one subscription's best messages, in the lists of its words.

Paper: Wang et al. 2016, section 6, "top-k re-evaluation". Departs: the message index is a list of messages for each
word instead of an IR-tree. Shared squares are added list by list, and places are read only if the words leave a chance.
If words have factors, the messages found in the lists are read for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.buffers import fill, ranked
from tocsin.index.window.kernels.due import wait_for, wait_for_nothing
from tocsin.index.window.kernels.layouts import (
    ALPHA,
    COUNT,
    KTH,
    KTH_SCORE,
    MESSAGE_NORM,
    NO_SCORE,
    NORM,
    REEVALUATED,
    SEARCHED,
    THETA,
    State,
    X,
    Y,
)
from tocsin.index.window.kernels.scoring import forget_words, score_of, write_words
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.sorting import sort_numbers

_NO_CHANCE = -1.0


@inner
def reevaluate(state: State, slot: int) -> None:
    """Fill a buffer with the best SEARCHED messages of the window, and set the threshold to the last one's score."""
    rank = np.int64(state.buffers.small[slot, SEARCHED])
    found = _share_words(state, slot)
    keep_best(state, slot, found, _score_found(state, slot, found, rank))


@inner
def keep_best(state: State, slot: int, found: int, worst: float) -> None:
    """Fill a buffer with the best of the messages found, given their scores; `worst` is the score at the last rank."""
    buffers, work = state.buffers, state.work
    rank = np.int64(buffers.small[slot, SEARCHED])
    kept = _choose(state, found, rank, worst)
    for i in range(kept):
        number = work.chosen[i]
        work.kept_numbers[i] = np.int32(number)
        work.kept_scores[i] = work.reached[number & (len(work.reached) - 1)]
    for i in range(found):
        work.reached[work.found[i]] = 0.0
    if buffers.small[slot, COUNT] > 0:
        wait_for_nothing(state, slot)
    fill(buffers, slot, kept, work.kept_scores, work.kept_numbers)
    state.interests.records[slot, THETA] = worst if kept == rank else NO_SCORE
    newest = state.messages.ends[1] - 1
    score, number = ranked(buffers, slot, np.int64(state.interests.ks[slot]), newest, work.best)
    buffers.real[slot, KTH_SCORE], buffers.wide[slot, KTH] = score, number
    if kept > 0:
        wait_for(state, slot, work.chosen[0])
    work.counts[REEVALUATED] += 1


@inlined
def _share_words(state: State, slot: int) -> int:
    """Sum the squares that each message of the window shares with a subscription; returns how many share any."""
    lists, work, squares = state.lists, state.work, state.words.squares
    last = len(work.reached) - 1
    pool, reached, those = lists.pool, work.reached, work.found
    found = np.int64(0)
    count = write_words(state.interests, slot, work.words)
    for i in range(count):
        word = work.words[i]
        square, start = squares[word], lists.starts[word]
        ring, head = np.int64(lists.capacities[word]) - 1, np.int64(lists.heads[word])
        for at in range(head, head + lists.counts[word]):
            message = np.int64(pool[start + (at & ring)]) & last
            before = reached[message]
            those[found] = np.int32(message)
            found += np.int64(before == 0.0)
            reached[message] = before + square
    if len(state.messages.factors) > 0:
        _add_with_factors(state, count, found)
    return found


@inner
def _add_with_factors(state: State, count: int, found: int) -> None:
    """Sum anew what each message shares with a subscription's words, `work.words[:count]`, from the least on."""
    messages, words, work = state.messages, state.words, state.work
    last = len(messages.words) - 1
    for i in range(count):
        words.present[work.words[i]] = words.squares[work.words[i]]
    for i in range(found):
        message = np.int64(work.found[i])
        shared, start = 0.0, messages.word_starts[message]
        for at in range(start, start + messages.word_counts[message]):
            shared += words.present[messages.words[at & last]] * messages.factors[at & last]
        work.reached[message] = shared
    forget_words(words, work.words, count)


@inlined
def _score_found(state: State, slot: int, found: int, rank: int) -> float:
    """Write the scores of the messages found, or _NO_CHANCE; returns the score at a rank, or NO_SCORE."""
    work, records, diagonal = state.work, state.messages.records, state.rules.diagonal
    record = state.interests.records[slot]
    alpha, norm, best = record[ALPHA], record[NORM], work.best
    worst, held, room = NO_SCORE, np.int64(0), 4 * rank
    for i in range(found):
        message = np.int64(work.found[i])
        shared = work.reached[message]
        text = min(shared / (norm * records[message, MESSAGE_NORM]), 1.0)
        if alpha + (1.0 - alpha) * text < worst:  # the bound is exact: rounding never lowers it
            work.reached[message] = _NO_CHANCE
            continue
        score = score_of(
            record, records[message, X], records[message, Y], records[message, MESSAGE_NORM], shared, diagonal
        )
        work.reached[message] = score
        if score >= worst:
            best[held] = score
            held += 1
            if held == room:
                sort_numbers(best, np.int64(0), held)
                for at in range(rank):
                    best[at] = best[held - rank + at]
                held, worst = rank, best[0]
    if held < rank:
        return NO_SCORE
    sort_numbers(best, np.int64(0), held)
    return best[held - rank]


@inlined
def _choose(state: State, found: int, rank: int, worst: float) -> int:
    """Write the numbers of the best messages, the oldest first; returns how many.

    Of equal scores the newer are kept.
    """
    work = state.work
    first, last = state.messages.ends[0], len(work.reached) - 1
    count = np.int64(0)
    for i in range(found):
        message = np.int64(work.found[i])
        score = work.reached[message]
        if score >= worst and score != _NO_CHANCE:
            work.chosen[count] = first + ((message - first) & last)
            count += 1
    sort_numbers(work.chosen, np.int64(0), count)
    surplus = count - rank if worst > NO_SCORE else np.int64(0)
    kept = np.int64(0)
    for i in range(count):
        if surplus > 0 and work.reached[work.chosen[i] & last] == worst:
            surplus -= 1
            continue
        work.chosen[kept] = work.chosen[i]
        kept += 1
    return kept


@kernel
def evaluate_all(state: State, slots: NDArray[np.int32]) -> None:
    """Fill the buffers of new subscriptions."""
    all_ = viewed(state)
    for i in range(len(slots)):
        reevaluate(all_, np.int64(slots[i]))


@kernel
def forget_slot(state: State, slot: int) -> None:
    """Stop a slot that is removed from waiting for its message."""
    all_ = viewed(state)
    if all_.buffers.small[slot, COUNT] > 0:
        wait_for_nothing(all_, slot)
