"""Allocates the memory for walking programs: transposed blocks, and masks of leaves."""

from __future__ import annotations

import numpy as np

from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import ALWAYS, Block, Memo, Verifier
from tocsin.kernels.programs.parts import PARTS


def new_verifier(leaves: int, attributes: int, entries: int, eager: int = 0) -> Verifier:
    """Memory for this many leaves, attributes, and entries of a block. `eager` leaves are computed ahead of blocks."""
    return Verifier(new_block(attributes, entries), new_memo(leaves, eager), np.zeros(1, np.int64), PARTS)


def new_block(attributes: int, room: int) -> Block:
    """An empty block with room for a number of attributes and entries."""
    return Block(
        np.zeros(attributes + 1, np.int32),
        np.zeros(attributes + 1, np.int32),
        np.empty(min(attributes, room) + 1, np.int32),
        np.empty(room + 1, np.uint8),
        np.empty(room + 1, np.uint8),
        np.empty(room + 1, np.int64),
    )


def new_memo(leaves: int, eager: int) -> Memo:
    """Memory for a number of leaves. Eager ones count as computed: they are not TRUE on untouched attributes."""
    stamps = np.zeros(leaves, np.int64)
    stamps[:eager] = ALWAYS
    return Memo(
        np.zeros(2 * leaves, np.uint64),
        stamps,
        np.empty((codes.STACK, 4), np.int64),
        np.empty((codes.TRUTH_STACK, 2), np.uint64),
        np.zeros((codes.STACK, codes.LANES), np.float64),
        np.zeros((codes.STACK, codes.LANES), np.int64),
        np.empty(codes.STACK, np.uint64),
        np.empty(codes.STACK, np.uint64),
        np.zeros((2, codes.LANES), np.uint8),
        np.zeros((2, codes.LANES), np.int64),
    )
