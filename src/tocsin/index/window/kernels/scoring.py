"""Scores of messages for subscriptions: equation 1 of Wang et al. 2016, always evaluated in the same order.

`alpha * (1 - distance / diagonal) + (1 - alpha) * min(shared / (norm * norm), 1)`. A word that both have adds its
squared weight, times its factor in the message; the least is added first. So the result depends neither on the order of
words nor on the structure that computes it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import ALPHA, FIRST_WORD, NORM, WITHIN, Batch, Interests, State, Words, X, Y
from tocsin.jit.decorators import inlined, inner
from tocsin.kernels.sorting import sort_numbers


@inlined
def score_of(record: NDArray[np.float64], x: float, y: float, norm: float, shared: float, diagonal: float) -> float:
    """The score of a message at a place for a subscription's record."""
    dx, dy = record[X] - x, record[Y] - y
    alpha = record[ALPHA]
    spatial = 1.0 - np.sqrt(dx * dx + dy * dy) / diagonal
    return alpha * spatial + (1.0 - alpha) * min(shared / (record[NORM] * norm), 1.0)


@inlined
def shared_with(state: State, slot: int) -> float:
    """The sum of what the words that a subscription shares with the current message add."""
    interests = state.interests
    held, present = interests.words, state.words.present
    if len(state.messages.factors) > 0:
        return _shared_in_order(state, slot)
    shared = 0.0
    for i in range(FIRST_WORD, FIRST_WORD + WITHIN - 1):
        shared += present[held[slot, i]]
    last = np.int64(held[slot, FIRST_WORD + WITHIN - 1])
    if last >= 0:
        return shared + present[last]
    longer = interests.longer
    for i in range(longer[~last]):
        shared += present[longer[~last + 1 + i]]
    return shared


@inner
def _shared_in_order(state: State, slot: int) -> float:
    """The same sum if words have factors: then the lightest word need not add least."""
    interests, present, common = state.interests, state.words.present, state.work.common
    count = np.int64(0)
    for i in range(FIRST_WORD, FIRST_WORD + WITHIN):
        word = np.int64(interests.words[slot, i])
        if word > 0:
            common[count] = present[word]
            count += np.int64(present[word] > 0.0)
        elif word < 0:
            for place in range(~word + 1, ~word + 1 + interests.longer[~word]):
                common[count] = present[interests.longer[place]]
                count += np.int64(common[count] > 0.0)
    sort_numbers(common, np.int64(0), count)
    shared = 0.0
    for i in range(count):
        shared += common[i]
    return shared


@inner
def write_words(interests: Interests, slot: int, out: NDArray[np.int32]) -> int:
    """Write the words of a subscription, the lightest first; returns how many."""
    held, longer = interests.words, interests.longer
    count = np.int64(0)
    for i in range(FIRST_WORD, FIRST_WORD + WITHIN):
        word = np.int64(held[slot, i])
        if word > 0:
            out[count] = np.int32(word)
            count += 1
        elif word < 0:
            for place in range(longer[~word]):
                out[count] = longer[~word + 1 + place]
                count += 1
    return count


@inner
def read_words(batch: Batch, row: int, words: Words, out: NDArray[np.int32]) -> float:
    """Write the words of a message, those that add least first, and mark them present; returns the message's norm."""
    squares, present = words.squares, words.present
    first = batch.starts[row]
    count = np.int64(batch.starts[row + 1] - first)
    if len(batch.factors) > 0:
        return _read_counted(batch, first, count, words, out)
    for i in range(count):
        word = batch.words[first + i]
        square = squares[word]
        present[word] = square
        place = i
        while place > 0 and square < squares[out[place - 1]]:
            out[place] = out[place - 1]
            place -= 1
        out[place] = word
    total = 0.0
    for i in range(count):
        total += squares[out[i]]
    return np.sqrt(total)


@inner
def _read_counted(batch: Batch, first: int, count: int, words: Words, out: NDArray[np.int32]) -> float:
    """`read_words` if words have factors; the batch has them in order."""
    total = 0.0
    for i in range(count):
        word, factor = batch.words[first + i], batch.factors[first + i]
        out[i] = word
        words.present[word] = words.squares[word] * factor
        total += words.present[word] * factor
    return np.sqrt(total)


@inlined
def forget_words(words: Words, those: NDArray[np.int32], count: int) -> None:
    """Unmark the words of the current message."""
    for i in range(count):
        words.present[those[i]] = 0.0
