"""Building of blocks of similar postings: each list is halved repeatedly along the feature that spreads most.

Like a kd-tree, by medians; a block is a leaf of 64. Spread is weighed by the feature's influence on a test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.blocks.kernels.layouts import (
    ACROSS,
    BLOCK,
    FEATURES,
    HELD,
    LEAST_NEED,
    LEAST_SHARE,
    LEFT,
    LOWER,
    MOST_REST,
    MOST_WEIGHT,
    NEED,
    REST,
    RIGHT,
    SHARE,
    SIGNATURES,
    STEPS,
    UP,
    UPPER,
    WEIGHT,
    Blocks,
    Postings,
)
from tocsin.index.window.blocks.kernels.tuning import MOST_CODE, need_of
from tocsin.index.window.kernels.layouts import ALPHA, NORM, THETA, Interests, X, Y
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed

_SAMPLES = 512
_LAST = np.float32(254.0)
_NARROWEST = np.float32(1e-6)
_ABOVE = 1.000001
_MATTERS = (0.2, 0.2, 1.0, 0.05, 0.3, 0.3)
"""The weight of each feature's spread.

Those of x and y are also multiplied by how much places count for the postings.
"""


@kernel
def write_postings(
    blocks: Blocks,
    interests: Interests,
    squares: NDArray[np.float64],
    slots: NDArray[np.int32],
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    diagonal: float,
    postings: Postings,
) -> None:
    """Write the postings of subscriptions; sorts the `words` of each, rarest first."""
    held, all_, out = viewed(blocks), viewed(interests), viewed(postings)
    ends = out.starts.copy()
    for i in range(len(slots)):
        slot = np.int64(slots[i])
        first, stop = starts[i], starts[i + 1]
        _sort_by_rank(held.ranks, words, first, stop)
        record = all_.records[slot]
        alpha, norm = record[ALPHA], record[NORM]
        after, sign = 0.0, np.uint16(0)
        for at in range(stop - 1, first - 1, -1):
            word = words[at]
            place = ends[held.ranks[word]]
            ends[held.ranks[word]] += 1
            out.owners[place], out.signs[place] = np.int32(slot), sign
            out.features[ACROSS, place] = np.float32((record[X] - held.origin[0]) / diagonal)
            out.features[UP, place] = np.float32((record[Y] - held.origin[1]) / diagonal)
            out.features[NEED, place] = need_of(record[THETA], alpha)
            out.features[SHARE, place] = np.float32(alpha)
            out.features[WEIGHT, place] = np.float32((1.0 - alpha) * np.sqrt(squares[word]) / norm * _ABOVE)
            out.features[REST, place] = np.float32((1.0 - alpha) * np.sqrt(after) / norm * _ABOVE)
            after += squares[word]
            sign |= held.bits[word]


@inlined
def _sort_by_rank(ranks: NDArray[np.int32], words: NDArray[np.int32], first: int, stop: int) -> None:
    for at in range(first + 1, stop):
        word = words[at]
        place = at
        while place > first and ranks[word] < ranks[words[place - 1]]:
            words[place] = words[place - 1]
            place -= 1
        words[place] = word


@kernel
def order_postings(postings: Postings, order: NDArray[np.int64]) -> None:
    """Permute the numbers of all postings so that each 64 of a word are similar."""
    held = viewed(postings)
    lows, highs = np.empty(128, np.int64), np.empty(128, np.int64)
    for rank in range(len(held.starts) - 1):
        lows[0], highs[0] = held.starts[rank], held.starts[rank + 1]
        depth = 1
        while depth > 0:
            depth -= 1
            low, high = lows[depth], highs[depth]
            if high - low <= BLOCK:
                continue
            feature = _widest(held, order, low, high)
            middle = low + ((high - low + BLOCK - 1) // BLOCK // 2) * BLOCK
            _halve(held.features[feature], order, low, high, middle)
            lows[depth], highs[depth] = low, middle
            lows[depth + 1], highs[depth + 1] = middle, high
            depth += 2


@inner
def _widest(postings: Postings, order: NDArray[np.int64], low: int, high: int) -> int:
    """The feature that spreads most, by samples."""
    step = np.int64(max(1, (high - low) // _SAMPLES))
    most, found, share = -1.0, np.int64(NEED), 0.0
    for at in range(low, high, step):
        share += np.float64(postings.features[SHARE, order[at]])
    count = np.float64((high - low + step - 1) // step)
    for feature in range(FEATURES):
        total, squared = 0.0, 0.0
        for at in range(low, high, step):
            value = np.float64(postings.features[feature, order[at]])
            total += value
            squared += value * value
        spread = np.sqrt(max(0.0, squared / count - (total / count) ** 2)) * _MATTERS[feature]
        if feature <= UP:
            spread *= share / count
        if spread > most:
            most, found = spread, np.int64(feature)
    return found


@inner
def _halve(keys: NDArray[np.float32], order: NDArray[np.int64], low: int, high: int, middle: int) -> None:
    """Permute order[low:high] so that no key before `middle` is above one behind it (quickselect)."""
    while high - low > 1:
        pivot = keys[order[(low + high) >> 1]]
        i, j = low, high - 1
        while i <= j:
            while keys[order[i]] < pivot:
                i += 1
            while keys[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j + 1
        elif middle >= i:
            low = i
        else:
            return


@kernel
def write_blocks(blocks: Blocks, postings: Postings, order: NDArray[np.int64]) -> None:
    """Write all blocks, and the positions of each slot's postings."""
    held, given = viewed(blocks), viewed(postings)
    block = np.int64(0)
    for rank in range(len(given.starts) - 1):
        for first in range(given.starts[rank], given.starts[rank + 1], BLOCK):
            stop = min(first + BLOCK, given.starts[rank + 1])
            _write_header(held, given, order, block, first, stop)
            for feature in range(FEATURES):
                _write_codes(held, given, order, block, np.int64(feature), first, stop)
            for at in range(first, stop):
                column, posting = at - first, order[at]
                slot = np.int64(given.owners[posting])
                held.owners[block, column] = np.int32(slot)
                held.signatures[block, SIGNATURES + column] = given.signs[posting]
                held.places[held.place_starts[slot] + held.place_counts[slot]] = np.int32(BLOCK * block + column)
                held.place_counts[slot] += 1
            held.scales[block, HELD] = np.float32(stop - first)
            block += 1


@inlined
def _write_header(
    blocks: Blocks, postings: Postings, order: NDArray[np.int64], block: int, first: int, stop: int
) -> None:
    headers, features = blocks.headers, postings.features
    for row in range(8):
        headers[row, block] = np.float32(-np.inf)
    for row in (LEFT, LOWER, LEAST_NEED, LEAST_SHARE):
        headers[row, block] = np.float32(np.inf)
    for at in range(first, stop):
        one = order[at]
        headers[LEFT, block] = min(headers[LEFT, block], features[ACROSS, one])
        headers[RIGHT, block] = max(headers[RIGHT, block], features[ACROSS, one])
        headers[LOWER, block] = min(headers[LOWER, block], features[UP, one])
        headers[UPPER, block] = max(headers[UPPER, block], features[UP, one])
        headers[LEAST_NEED, block] = min(headers[LEAST_NEED, block], features[NEED, one])
        headers[LEAST_SHARE, block] = min(headers[LEAST_SHARE, block], features[SHARE, one])
        headers[MOST_WEIGHT, block] = max(headers[MOST_WEIGHT, block], features[WEIGHT, one])
        headers[MOST_REST, block] = max(headers[MOST_REST, block], features[REST, one])


@inlined
def _write_codes(
    blocks: Blocks, postings: Postings, order: NDArray[np.int64], block: int, feature: int, first: int, stop: int
) -> None:
    """Write one feature of a block as bytes: places rounded to the nearest, needs down, gains up."""
    values = postings.features[feature]
    least, most = values[order[first]], values[order[first]]
    for at in range(first, stop):
        least, most = min(least, values[order[at]]), max(most, values[order[at]])
    step = (most - least) / _LAST + _NARROWEST
    blocks.scales[block, feature], blocks.scales[block, STEPS + feature] = least, step
    codes = blocks.codes[block, feature * BLOCK : (feature + 1) * BLOCK]
    for at in range(first, stop):
        exact = (values[order[at]] - least) / step
        if feature <= UP:
            code = np.rint(exact)
        elif feature <= SHARE:
            code = np.floor(exact)
        else:
            code = np.ceil(exact)
        codes[at - first] = np.uint8(min(max(code, np.float32(0.0)), _LAST))
    for column in range(stop - first, BLOCK):
        codes[column] = np.uint8(MOST_CODE)
