"""Search of blocks of messages for one subscription: the most promising first, until none can hold one of the best.

Bounds of blocks and postings err upwards. Scores are computed as everywhere (`kernels.scoring`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.blocks.kernels.layouts import BLOCK, SLACK
from tocsin.index.window.kernels.layouts import ALPHA, MESSAGE_NORM, NO_SCORE, NORM, SEARCHED, State, X, Y
from tocsin.index.window.kernels.scoring import score_of, write_words
from tocsin.index.window.kernels.searching import keep_best
from tocsin.index.window.message_blocks.kernels.layouts import (
    ACROSS,
    LEFT,
    LOWER,
    MOST_REST,
    MOST_WEIGHT,
    NO_RANK,
    RIGHT,
    SCALE,
    STEPS,
    UP,
    UPPER,
    MessageBlocks,
    Scratch,
)
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.intrinsics import prefetch
from tocsin.jit.views import viewed
from tocsin.kernels.sorting import sort_numbers

_SLACK = np.float32(SLACK)
_NONE = np.float32(0.0)
_ONE = np.float32(1.0)
_LAST_STEP = np.float32(STEPS - 1)
_MANY_STEPS = np.float32(STEPS)


@kernel
def evaluate_by_blocks(blocks: MessageBlocks, scratch: Scratch, state: State, slots: NDArray[np.int32]) -> None:
    """Fill the buffers of subscriptions."""
    held, own, all_ = viewed(blocks), viewed(scratch), viewed(state)
    for i in range(len(slots)):
        slot = np.int64(slots[i])
        count = write_words(all_.interests, slot, all_.work.words)
        for at in range(count):
            word = all_.work.words[at]
            all_.words.present[word] = all_.words.squares[word]
        found, worst = _seek(held, own, all_, slot, count)
        for at in range(count):
            all_.words.present[all_.work.words[at]] = 0.0
        keep_best(all_, slot, found, worst)


@inner
def _seek(blocks: MessageBlocks, scratch: Scratch, state: State, slot: int, count: int) -> tuple[int, float]:
    """Write the best messages and others to `work.found`, scores to `work.reached`; returns how many.

    Also returns the score at the last rank, NO_SCORE if there are fewer messages than ranks.
    """
    work, best = state.work, state.work.best
    rank = np.int64(state.buffers.small[slot, SEARCHED])
    words = _order_words(blocks, scratch, state, slot, count)
    promising = _order_blocks(blocks, scratch, state, slot, words)
    found, held, worst = np.int64(0), np.int64(0), NO_SCORE
    for i in range(promising):
        one = np.int64(scratch.order[i])
        if scratch.bounds[one] + _SLACK < np.float32(worst):
            if (scratch.bounds[one] + _SLACK) * _MANY_STEPS + _ONE < np.float32(worst) * _MANY_STEPS:
                break  # all further classes have lower bounds
            continue
        chosen = _choose_postings(blocks, scratch, state, slot, one, words, np.float32(worst))
        under = blocks.ranks[scratch.words[scratch.under[one]]]
        for t in range(chosen):
            place = scratch.chosen[t]
            message = np.int64(blocks.owners[place])
            score = _score(blocks, state, slot, message, blocks.word_places[place], under)
            if score < worst or score == NO_SCORE:
                continue
            work.found[found], work.reached[message] = np.int32(message), score
            best[held] = score
            found, held = found + 1, held + 1
            if held == 2 * rank:
                sort_numbers(best, np.int64(0), held)
                for at in range(rank):
                    best[at] = best[rank + at]
                held, worst = rank, best[0]
    if held < rank:
        return found, NO_SCORE
    sort_numbers(best, np.int64(0), held)
    return found, best[held - rank]


@inlined
def _order_words(blocks: MessageBlocks, scratch: Scratch, state: State, slot: int, count: int) -> int:
    """Write the words that messages have, rarest first, and the rest after each; returns how many."""
    order, ranks, squares = scratch.words, blocks.ranks, state.words.squares
    norm = state.interests.records[slot, NORM]
    words = np.int64(0)
    for i in range(count):
        word = state.work.words[i]
        if ranks[word] == NO_RANK:
            continue
        place = words
        while place > 0 and ranks[word] < ranks[order[place - 1]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = word
        words += 1
    after = 0.0
    for i in range(words - 1, -1, -1):
        scratch.rests[i] = np.float32(np.sqrt(after) / norm)
        after += squares[order[i]]
    return words


@inlined
def _order_blocks(blocks: MessageBlocks, scratch: Scratch, state: State, slot: int, words: int) -> int:
    """Write the blocks of a subscription's words in order of their class; returns how many."""
    record, diagonal = state.interests.records[slot], state.rules.diagonal
    x = np.float32((record[X] - blocks.origin[0]) / diagonal)
    y = np.float32((record[Y] - blocks.origin[1]) / diagonal)
    share = np.float32(record[ALPHA])
    headers, bounds, ends = blocks.headers, scratch.bounds, scratch.ends
    count = np.int64(0)
    for i in range(words):
        word = np.int64(scratch.words[i])
        weight = (_ONE - share) * np.float32(np.sqrt(state.words.squares[word]) / record[NORM])
        rest = (_ONE - share) * scratch.rests[i]
        first, stop = blocks.firsts[word], blocks.stops[word]
        left, right = headers[LEFT, first:stop], headers[RIGHT, first:stop]
        lower, upper = headers[LOWER, first:stop], headers[UPPER, first:stop]
        most_weight, most_rest = headers[MOST_WEIGHT, first:stop], headers[MOST_REST, first:stop]
        out, which, under = bounds[count:], scratch.blocks[count:], scratch.under[count:]
        for b in range(np.uint64(stop - first)):
            dx = left[b] - x if left[b] - x > x - right[b] else x - right[b]
            dy = lower[b] - y if lower[b] - y > y - upper[b] else y - upper[b]
            dx = dx if dx > _NONE else _NONE
            dy = dy if dy > _NONE else _NONE
            gain = weight * most_weight[b] + rest * most_rest[b]
            out[b] = share * (_ONE - np.sqrt(dx * dx + dy * dy)) + gain
        for b in range(stop - first):
            which[b], under[b] = np.int32(first + b), np.int32(i)
        count += stop - first
    for step in range(STEPS + 2):
        ends[step] = 0
    for b in range(count):
        ends[_class_of(bounds[b]) + 1] += 1
    for step in range(STEPS):
        ends[step + 1] += ends[step]
    for b in range(count):
        step = _class_of(bounds[b])
        scratch.order[ends[step]] = np.int32(b)
        ends[step] += 1
    return count


@inlined
def _class_of(bound: float) -> int:
    """The class of a bound; 0 promises most."""
    return np.int64(_LAST_STEP - min(max(bound * _MANY_STEPS, _NONE), _LAST_STEP))


@inlined
def _choose_postings(
    blocks: MessageBlocks, scratch: Scratch, state: State, slot: int, one: int, words: int, worst: float
) -> int:
    """Write the positions of a block's messages that may score at least `worst`; returns how many."""
    record, diagonal, squares = state.interests.records[slot], state.rules.diagonal, state.words.squares
    x = np.float32((record[X] - blocks.origin[0]) / diagonal)
    y = np.float32((record[Y] - blocks.origin[1]) / diagonal)
    share, place = np.float32(record[ALPHA]), np.int64(scratch.under[one])
    block = np.int64(scratch.blocks[one])
    start = block * BLOCK
    across, up = blocks.postings[ACROSS, start : start + BLOCK], blocks.postings[UP, start : start + BLOCK]
    scales, signs = blocks.postings[SCALE, start : start + BLOCK], blocks.signs[start : start + BLOCK]
    margins, norm = scratch.margins, (_ONE - share) / np.float32(record[NORM])
    gain = np.float32(squares[scratch.words[place]]) * norm
    for t in range(BLOCK):
        margins[t] = gain
    for i in range(place + 1, words):
        bit, more = blocks.bits[scratch.words[i]], np.float32(squares[scratch.words[i]]) * norm
        for t in range(BLOCK):
            margins[t] += more if (signs[t] & bit) != np.uint64(0) else _NONE
    for t in range(BLOCK):
        dx, dy = across[t] - x, up[t] - y
        margins[t] = share * (_ONE - np.sqrt(dx * dx + dy * dy)) + margins[t] * scales[t] + _SLACK
    chosen = np.int64(0)
    for t in range(np.int64(blocks.counts[block])):
        scratch.chosen[chosen] = start + t
        chosen += np.int64(margins[t] >= worst)
    for t in range(chosen):
        at = scratch.chosen[t]
        prefetch(state.messages.words, blocks.word_places[at])
        prefetch(state.messages.records, 4 * np.int64(blocks.owners[at]))
        prefetch(state.messages.word_counts, np.int64(blocks.owners[at]))
    return chosen


@inlined
def _score(blocks: MessageBlocks, state: State, slot: int, message: int, start: int, rank: int) -> float:
    """The score of a message, whose words are stored in order (`scoring`); NO_SCORE if a rarer word is common."""
    messages, present, ranks = state.messages, state.words.present, blocks.ranks
    last, has_factors = len(messages.words) - 1, len(messages.factors) > 0
    shared = 0.0
    for at in range(start, start + messages.word_counts[message]):
        word = np.int64(messages.words[at & last])
        square = present[word]
        if square > 0.0 and ranks[word] < rank:
            return NO_SCORE
        shared += square * messages.factors[at & last] if has_factors else square
    record = messages.records[message]
    return score_of(
        state.interests.records[slot], record[X], record[Y], record[MESSAGE_NORM], shared, state.rules.diagonal
    )
