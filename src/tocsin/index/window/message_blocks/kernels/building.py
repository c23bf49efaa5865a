"""Building of blocks of messages: each word's postings are halved where they spread most, as in `blocks`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.blocks.kernels import layouts as features
from tocsin.index.window.blocks.kernels.layouts import BLOCK, Postings
from tocsin.index.window.kernels.layouts import MESSAGE_NORM, Messages, X, Y
from tocsin.index.window.message_blocks.kernels.layouts import (
    ACROSS,
    LEFT,
    LOWER,
    MOST_REST,
    MOST_WEIGHT,
    RIGHT,
    SCALE,
    UP,
    UPPER,
    MessageBlocks,
)
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed

_ABOVE = 1.000001
_HALF = np.float32(0.5)


@kernel
def write_message_postings(
    blocks: MessageBlocks,
    messages: Messages,
    squares: NDArray[np.float64],
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    factors: NDArray[np.float64],
    diagonal: float,
    postings: Postings,
    signs: NDArray[np.uint64],
) -> None:
    """Write the postings of all messages, the oldest first; those of each in the order of `words`, rarest first."""
    held, all_, out = viewed(blocks), viewed(messages), viewed(postings)
    ends = out.starts.copy()
    first, ring = all_.ends[0], len(all_.word_starts) - 1
    for i in range(len(starts) - 1):
        owner = (first + i) & ring
        norm = all_.records[owner, MESSAGE_NORM]
        across = np.float32((all_.records[owner, X] - held.origin[0]) / diagonal)
        up = np.float32((all_.records[owner, Y] - held.origin[1]) / diagonal)
        after, sign = 0.0, np.uint64(0)
        for at in range(starts[i + 1] - 1, starts[i] - 1, -1):
            word = words[at]
            square = squares[word] * factors[at] * factors[at] if len(factors) > 0 else squares[word]
            place = ends[held.ranks[word]]
            ends[held.ranks[word]] += 1
            out.owners[place], signs[place] = np.int32(owner), sign
            out.features[features.ACROSS, place], out.features[features.UP, place] = across, up
            out.features[features.NEED, place], out.features[features.SHARE, place] = np.float32(0.0), _HALF
            out.features[features.WEIGHT, place] = np.float32(np.sqrt(square) / norm * _ABOVE)
            out.features[features.REST, place] = np.float32(np.sqrt(after) / norm * _ABOVE)
            after += square
            sign |= held.bits[word]


@kernel
def write_message_blocks(
    blocks: MessageBlocks,
    messages: Messages,
    postings: Postings,
    signs: NDArray[np.uint64],
    order: NDArray[np.int64],
) -> None:
    """Write all blocks from ordered postings."""
    held, given, all_ = viewed(blocks), viewed(postings), viewed(messages)
    headers, out = held.headers, held.postings
    block = np.int64(0)
    for rank in range(len(given.starts) - 1):
        for first in range(given.starts[rank], given.starts[rank + 1], BLOCK):
            stop = min(first + BLOCK, given.starts[rank + 1])
            held.counts[block] = stop - first
            for i in range(stop - first):
                place, one = BLOCK * block + i, order[first + i]
                across, up = given.features[features.ACROSS, one], given.features[features.UP, one]
                weight, rest = given.features[features.WEIGHT, one], given.features[features.REST, one]
                out[ACROSS, place], out[UP, place] = across, up
                owner = given.owners[one]
                out[SCALE, place] = np.float32(_ABOVE * _largest(all_, owner) / all_.records[owner, MESSAGE_NORM])
                held.signs[place], held.owners[place] = signs[one], owner
                held.word_places[place] = all_.word_starts[owner] & (len(all_.words) - 1)
                headers[LEFT, block] = min(headers[LEFT, block], across)
                headers[RIGHT, block] = max(headers[RIGHT, block], across)
                headers[LOWER, block], headers[UPPER, block] = (
                    min(headers[LOWER, block], up),
                    max(headers[UPPER, block], up),
                )
                headers[MOST_WEIGHT, block] = max(headers[MOST_WEIGHT, block], weight)
                headers[MOST_REST, block] = max(headers[MOST_REST, block], rest)
            block += 1


@inlined
def _largest(messages: Messages, owner: int) -> float:
    """The largest factor of a message's words."""
    if len(messages.factors) == 0:
        return 1.0
    largest, start = 0.0, messages.word_starts[owner]
    for at in range(start, start + messages.word_counts[owner]):
        largest = max(largest, messages.factors[at & (len(messages.words) - 1)])
    return largest
