"""Layouts of blocks: up to 64 similar postings of a word, as bytes that bound them conservatively.

With D the diagonal, a message m reaches a subscription s if

    theta <= alpha * (1 - distance / D) + (1 - alpha) * cosine
    (theta - alpha) + alpha * distance / D <= (1 - alpha) * cosine

Words are in one order, rarest first. A pair is examined only under its rarest common word w, so that only words after w
can add to the cosine. By Cauchy-Schwarz

    cosine <= w_s * w_m + |s after w| * |m after w|

with weights normalised to unit length. There is another bound on the second term: the sum over those words of m after w
whose bit is in the signature of s after w. A word weighs the same on both sides, except for the norms and for its
factor in m.

Four numbers of a posting do not depend on the message. Two are rounded down: theta - alpha and alpha. Two are rounded
up: (1 - alpha) * w_s and (1 - alpha) * |s after w|. With x and y they are stored as six bytes, relative to the block's
ranges. A block's header has the least and the most of each: its test passes if that of any of its postings does.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.window.kernels.layouts import Lists

BLOCK: Final = 64
"""The most postings of a block."""

ACROSS, UP, NEED, SHARE, WEIGHT, REST = range(6)
"""Features: x, y in diagonals from the origin, theta - alpha, alpha, (1 - alpha) * w_s, (1 - alpha) * |s after w|."""
FEATURES: Final = 6

LEFT, RIGHT, LOWER, UPPER, LEAST_NEED, LEAST_SHARE, MOST_WEIGHT, MOST_REST = range(8)
"""Rows of the headers."""

STEPS, HELD = 6, 12
"""Columns of a block's scales: the least value of each feature, then its steps, then the number of postings."""

SIGNATURES: Final = FEATURES * BLOCK // 2
"""Where the signatures begin behind the bytes, in units of two bytes."""

NO_RANK: Final = 2**31 - 1
"""The rank of a word without blocks."""

LEAST_THETA: Final = -0.05
"""The least threshold stored; thresholds below all scores are stored as this."""

SLACK: Final = 2e-5
"""The most that rounding in float32 may change either side of the test."""


class Blocks(NamedTuple):
    """Blocks by word."""

    ranks: Annotated[NDArray[np.int32], "words", NO_RANK]  # rank of each word, rarest first, NO_RANK
    bits: Annotated[NDArray[np.uint16], "words"]  # bit of a signature
    firsts: Annotated[NDArray[np.int64], "words"]  # first of a word's blocks
    stops: Annotated[NDArray[np.int64], "words"]
    headers: Annotated[NDArray[np.float32], "8, blocks"]
    scales: Annotated[NDArray[np.float32], "blocks, 16"]
    codes: Annotated[NDArray[np.uint8], "blocks, 512"]  # FEATURES rows of 64, then signatures
    signatures: Annotated[NDArray[np.uint16], "blocks, 256"]  # the same memory
    owners: Annotated[NDArray[np.int32], "blocks, 64"]  # slots
    place_starts: Annotated[NDArray[np.int64], "slots"]  # the postings of a slot are places[start : start + count]
    place_counts: Annotated[NDArray[np.int32], "slots"]
    places: Annotated[NDArray[np.int32], "places"]  # 64 * block + column
    # The origin of x and y: far from 0, float32 could not tell close places apart.
    origin: Annotated[NDArray[np.float64], "2"]


class Scratch(NamedTuple):
    """Memory of a search, if a word has at most `widest` blocks."""

    margins: Annotated[NDArray[np.float32], "max(widest, BLOCK)"]
    order: Annotated[NDArray[np.int32], "words"]  # the words of a message that have blocks, the most frequent first
    rests: Annotated[NDArray[np.float32], "words"]  # |m after w| of each
    gains: Annotated[NDArray[np.float32], "words"]  # what each adds if it is common, divided by the norm of m
    shared: Annotated[NDArray[np.float32], "64"]  # gains of common words after w, by posting of a block
    chosen: Annotated[NDArray[np.int32], "blocks + 1"]  # blocks whose header passes
    under: Annotated[NDArray[np.int32], "blocks + 1"]  # by which word they were chosen
    candidates: Annotated[NDArray[np.int32], "candidates + BLOCK"]
    by: Annotated[NDArray[np.int32], "candidates + BLOCK"]  # rank of the word that each was found by


class BlocksAndLate(NamedTuple):
    """Blocks, and lists of the subscriptions added since they were built, under each of their words."""

    blocks: Blocks
    late: Lists
    scratch: Scratch


class Postings(NamedTuple):
    """Postings by rank, before they are divided into blocks. R ranks, P postings."""

    starts: NDArray[np.int64]  # (R + 1,)
    owners: NDArray[np.int32]  # (P,)
    features: Annotated[NDArray[np.float32], 2]  # (FEATURES, P)
    signs: NDArray[np.uint16]  # (P,) the signature of the words after w
