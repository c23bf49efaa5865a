"""What is a block? Up to 64 postings of a word that are alike, as bytes that say no more than is safe.

With D the diagonal, a message m reaches a subscription s where

    theta <= alpha * (1 - distance / D) + (1 - alpha) * cosine
    (theta - alpha) + alpha * distance / D <= (1 - alpha) * cosine

Words are in one order, rarest first. The pair is looked at under its rarest common word w alone, so that only words
after w can add to the cosine: by Cauchy-Schwarz

    cosine <= w_s * w_m + |s after w| * |m after w|

with weights normalised to unit length. The second term is no more either than what those words of m after w add whose
bit is in the signature of s after w: a word weighs the same on both sides, but for the norms.
Four numbers of a posting do not depend on the message: theta - alpha and alpha (rounded down), (1 - alpha) * w_s and
(1 - alpha) * |s after w| (rounded up); with x and y they are six bytes, relative to what the block spans. A block's
header has the least and the most of each: its test holds wherever that of one of its postings does.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import Lists

BLOCK: Final = 64
"""Postings of a block at most."""

ACROSS, UP, NEED, SHARE, WEIGHT, REST = range(6)
"""Features: x, y in diagonals from the origin, theta - alpha, alpha, (1 - alpha) * w_s, (1 - alpha) * |s after w|."""
FEATURES: Final = 6

LEFT, RIGHT, LOWER, UPPER, LEAST_NEED, LEAST_SHARE, MOST_WEIGHT, MOST_REST = range(8)
"""Rows of the headers."""

STEPS, HELD = 6, 12
"""Columns of a block's scales: where each feature begins, then its steps, then how many postings there are."""

SIGNATURES: Final = FEATURES * BLOCK // 2
"""Where the signatures begin behind the bytes, counted in two bytes each."""

NO_RANK: Final = 2**31 - 1
"""The rank of a word that no block is of."""

LEAST_THETA: Final = -0.05
"""A threshold that no score is below stands as this."""

SLACK: Final = 2e-5
"""What rounding in float32 may take from either side of the test."""


class Blocks(NamedTuple):
    """Blocks by word."""

    ranks: Annotated[NDArray[np.int32], "words", NO_RANK]  # rarest first, NO_RANK
    bits: Annotated[NDArray[np.uint16], "words"]  # of a signature
    firsts: Annotated[NDArray[np.int64], "words"]  # a word's blocks
    stops: Annotated[NDArray[np.int64], "words"]
    headers: Annotated[NDArray[np.float32], "8, blocks"]
    scales: Annotated[NDArray[np.float32], "blocks, 16"]
    codes: Annotated[NDArray[np.uint8], "blocks, 512"]  # FEATURES rows of 64, then signatures
    signatures: Annotated[NDArray[np.uint16], "blocks, 256"]  # the same memory
    owners: Annotated[NDArray[np.int32], "blocks, 64"]  # slots
    place_starts: Annotated[NDArray[np.int64], "slots"]  # the postings of a slot are places[start : start + count]
    place_counts: Annotated[NDArray[np.int32], "slots"]
    places: Annotated[NDArray[np.int32], "places"]  # 64 * block + column
    # From where x and y are counted: far from 0 float32 would lose what tells places apart.
    origin: Annotated[NDArray[np.float64], "2"]


class Scratch(NamedTuple):
    """Memory of a search, where a word has at most `widest` blocks."""

    margins: Annotated[NDArray[np.float32], "max(widest, BLOCK)"]
    order: Annotated[NDArray[np.int32], "words"]  # the words of a message that have blocks, the most frequent first
    rests: Annotated[NDArray[np.float32], "words"]  # |m after w| of each
    gains: Annotated[NDArray[np.float32], "words"]  # the square of each by the norm of m
    shared: Annotated[NDArray[np.float32], "64"]  # what the words after w add up to for each posting of a block
    chosen: Annotated[NDArray[np.int32], "blocks + 1"]  # blocks that pass by their header
    under: Annotated[NDArray[np.int32], "blocks + 1"]  # by which word
    candidates: Annotated[NDArray[np.int32], "candidates + BLOCK"]
    by: Annotated[NDArray[np.int32], "candidates + BLOCK"]  # the rank of the word that each was found by


class BlocksAndLate(NamedTuple):
    """Blocks, and those who came since they were made, under each of their words."""

    blocks: Blocks
    late: Lists
    scratch: Scratch


class Postings(NamedTuple):
    """Postings by rank, before they are cut into blocks. R ranks, P postings."""

    starts: NDArray[np.int64]  # (R + 1,)
    owners: NDArray[np.int32]  # (P,)
    features: Annotated[NDArray[np.float32], 2]  # (FEATURES, P)
    signs: NDArray[np.uint16]  # (P,) the signature of the words after
