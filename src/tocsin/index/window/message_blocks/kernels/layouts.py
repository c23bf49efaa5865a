"""What is a block of messages? Up to 64 postings of a word that are alike, with what a subscription may gain by each.

It is `blocks` the other way round: words are in one order, rarest first, by how many messages have them, and a pair is
looked at under its rarest common word w alone. With weights normalised to unit length, by Cauchy-Schwarz

    cosine <= w_s * w_m + |s after w| * |m after w|

which is what headers of blocks know. A posting has a signature of the words after w, of 64 bits: of the words after w
that a subscription has, those count whose bit is set.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEFT, RIGHT, LOWER, UPPER, MOST_WEIGHT, MOST_REST = range(6)
"""Rows of the headers."""

ACROSS, UP, SCALE = range(3)
"""Rows of the postings: x and y in diagonals from the origin, 1 / norm."""

NO_RANK: Final = 2**31 - 1
"""The rank of a word that no message has."""

STEPS: Final = 64
"""So many classes of blocks, by the most that one may be worth, are told apart."""


class MessageBlocks(NamedTuple):
    """Blocks by word. V words, B blocks."""

    origin: NDArray[np.float64]  # (2,)
    ranks: NDArray[np.int32]  # (V,) rarest first, NO_RANK
    bits: NDArray[np.uint64]  # (V,) of a signature
    firsts: NDArray[np.int64]  # (V,) a word's blocks
    stops: NDArray[np.int64]  # (V,)
    headers: Annotated[NDArray[np.float32], 2]  # (6, B)
    postings: Annotated[NDArray[np.float32], 2]  # (3, 64 * B)
    signs: NDArray[np.uint64]  # (64 * B,) the signature of the words after
    owners: NDArray[np.int32]  # (64 * B,) where each message lies in its ring
    word_places: NDArray[np.int64]  # (64 * B,) and its words in theirs
    counts: NDArray[np.int32]  # (B,) postings


class Scratch(NamedTuple):
    """Memory of a search for a subscription of so many words, which have so many blocks."""

    words: Annotated[NDArray[np.int32], "words"]  # rarest first
    rests: Annotated[NDArray[np.float32], "words"]  # |s after w|
    bounds: Annotated[NDArray[np.float32], "blocks"]  # the most that a message of each block is worth
    blocks: Annotated[NDArray[np.int32], "blocks"]
    under: Annotated[NDArray[np.int32], "blocks"]  # by which word
    order: Annotated[NDArray[np.int32], "blocks"]  # the most promising first
    ends: Annotated[NDArray[np.int64], "STEPS + 2"]
    margins: Annotated[NDArray[np.float32], "64"]
    chosen: Annotated[NDArray[np.int64], "64"]
