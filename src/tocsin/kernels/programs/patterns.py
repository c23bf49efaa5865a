"""LIKE and MATCHES on a block's events."""

from __future__ import annotations

import numpy as np

from tocsin.jit.decorators import inlined, part
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Bound, Expressions, Walk
from tocsin.kernels.searching import place_of
from tocsin.kernels.text.strings import is_like

ONE = np.uint64(1)
NONE = np.uint64(0)


@part
def pattern_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of a pattern. Values that are not strings are UNKNOWN."""
    leaves, block, bound = walk.leaves, walk.block, walk.bound
    attribute = leaves.leaf_attributes[leaf]
    held = NONE
    known = NONE
    for i in range(block.firsts[attribute], block.stops[attribute]):
        if block.types[i] != codes.STRING:
            continue
        bit = ONE << np.uint64(block.lanes[i])
        known |= bit
        if fits_pattern(leaves, leaf, block.payloads[i], bound):
            held |= bit
    walk.memo.masks[2 * leaf], walk.memo.masks[2 * leaf + 1] = held, known & ~held


@inlined
def fits_pattern(leaves: Expressions, leaf: int, string: int, bound: Bound) -> bool:
    """Whether a string of the batch fits the pattern of a LIKE, or contains a match of a MATCHES."""
    pattern = np.int64(leaves.leaf_others[leaf])
    text = np.int64(leaves.leaf_transforms[leaf]) * bound.ranks.shape[1] + string
    by_regex = leaves.leaf_kinds[leaf] == codes.REGEX
    if by_regex or bound.listed[pattern] != 0:
        number = 2 * pattern + np.int64(by_regex)
        return place_of(bound.fits, bound.fit_starts[text], bound.fit_starts[text + 1], number) >= 0
    start, stop = bound.text_starts[text], bound.text_starts[text + 1]
    first, last = leaves.pattern_starts[pattern], leaves.pattern_starts[pattern + 1]
    return is_like(bound.text_bytes, start, stop, leaves.pattern_tokens, first, last)
