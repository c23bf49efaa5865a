"""Layouts of blocks of messages: up to 64 similar postings of a word, with bounds on their value to a subscription.

This is the reverse of `blocks`. Words are in one order, rarest first, by the number of messages that have them. A pair
is examined only under its rarest common word w. With weights normalised to unit length, by Cauchy-Schwarz

    cosine <= w_s * w_m + |s after w| * |m after w|

A word's weight in m has its factor. The headers of blocks use this bound. A posting also has a signature of 64 bits for
the words after w. Of a subscription's words after w, only those whose bit is set count, each with the largest factor of
m.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEFT, RIGHT, LOWER, UPPER, MOST_WEIGHT, MOST_REST = range(6)
"""Rows of the headers."""

ACROSS, UP, SCALE = range(3)
"""Rows of the postings: x and y in diagonals from the origin, the message's largest factor / norm."""

NO_RANK: Final = 2**31 - 1
"""The rank of a word that no message has."""

STEPS: Final = 64
"""The number of classes of blocks, by an upper bound on their scores."""


class MessageBlocks(NamedTuple):
    """Blocks by word. V words, B blocks."""

    origin: NDArray[np.float64]  # (2,)
    ranks: NDArray[np.int32]  # (V,) rank of each word, rarest first, NO_RANK
    bits: NDArray[np.uint64]  # (V,) bit of a signature
    firsts: NDArray[np.int64]  # (V,) first of a word's blocks
    stops: NDArray[np.int64]  # (V,)
    headers: Annotated[NDArray[np.float32], 2]  # (6, B)
    postings: Annotated[NDArray[np.float32], 2]  # (3, 64 * B)
    signs: NDArray[np.uint64]  # (64 * B,) the signature of the words after w
    owners: NDArray[np.int32]  # (64 * B,) position of each message in its ring
    word_places: NDArray[np.int64]  # (64 * B,) position of its words in theirs
    counts: NDArray[np.int32]  # (B,) postings


class Scratch(NamedTuple):
    """Memory of a search for a subscription with `words` words, which have `blocks` blocks in all."""

    words: Annotated[NDArray[np.int32], "words"]  # rarest first
    rests: Annotated[NDArray[np.float32], "words"]  # |s after w|
    bounds: Annotated[NDArray[np.float32], "blocks"]  # upper bound on the scores of each block
    blocks: Annotated[NDArray[np.int32], "blocks"]
    under: Annotated[NDArray[np.int32], "blocks"]  # by which word they were chosen
    order: Annotated[NDArray[np.int32], "blocks"]  # the most promising first
    ends: Annotated[NDArray[np.int64], "STEPS + 2"]
    margins: Annotated[NDArray[np.float32], "64"]
    chosen: Annotated[NDArray[np.int64], "64"]
