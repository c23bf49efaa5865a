"""Conditions used as values: three-valued logic on masks, in postfix order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, part
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Walk
from tocsin.kernels.programs.lazy import compute_leaf

_NONE = np.uint64(0)
_DIGITS = codes.COUNTER - 1


@part
def truth_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of a condition that is used as a value."""
    leaves, memo = walk.leaves, walk.memo
    truth = leaves.leaf_attributes[leaf]
    depth = 0
    for i in range(leaves.truth_starts[truth], leaves.truth_starts[truth + 1]):
        code = leaves.truth_codes[i]
        if code == codes.TRUTH_LEAF:
            one = leaves.truth_arguments[i]
            compute_leaf(walk, one, lanes)
            memo.truths[depth, 0] = memo.masks[2 * one]
            memo.truths[depth, 1] = memo.masks[2 * one + 1]
            depth += 1
        elif code == codes.TRUTH_NOT:
            held = memo.truths[depth - 1, 0]
            memo.truths[depth - 1, 0] = memo.truths[depth - 1, 1]
            memo.truths[depth - 1, 1] = held
        elif code == codes.TRUTH_IS_NULL:
            known = memo.truths[depth - 1, 0] | memo.truths[depth - 1, 1]
            memo.truths[depth - 1, 0] = lanes & ~known
            memo.truths[depth - 1, 1] = known
        elif code == codes.TRUTH_COUNT:
            _begin(memo.truths, depth, 0, leaves.truth_arguments[i])
            depth += codes.COUNTER
        elif code == codes.TRUTH_FAILS:
            _begin(memo.truths, depth - codes.COUNTER, 1, leaves.truth_arguments[i])
        elif code == codes.TRUTH_ADD:
            depth -= 1
            for side in range(2):
                _add(memo.truths, depth - codes.COUNTER, side, memo.truths[depth, side])
        elif code == codes.TRUTH_COUNTED:
            depth -= codes.COUNTER - 1
            for side in range(2):
                memo.truths[depth - 1, side] = memo.truths[depth + codes.COUNTER - 2, side]
        else:
            depth -= 1
            held, failed = _combine(
                code,
                memo.truths[depth - 1, 0],
                memo.truths[depth - 1, 1],
                memo.truths[depth, 0],
                memo.truths[depth, 1],
            )
            memo.truths[depth - 1, 0] = held
            memo.truths[depth - 1, 1] = failed
    memo.masks[2 * leaf], memo.masks[2 * leaf + 1] = memo.truths[0, 0], memo.truths[0, 1]


@inlined
def _begin(truths: NDArray[np.uint64], at: int, side: int, needed: int) -> None:
    """Begin a count in each lane: binary digits from the lowest, and whether `needed` have been reached."""
    start = (1 << _DIGITS) - needed
    for digit in range(_DIGITS):
        truths[at + digit, side] = ~_NONE if start >> digit & 1 else _NONE
    truths[at + _DIGITS, side] = ~_NONE if needed <= 0 else _NONE


@inlined
def _add(truths: NDArray[np.uint64], at: int, side: int, lanes: int) -> None:
    """Add one in some lanes. The count reaches what is needed when it overflows."""
    carry = lanes
    for digit in range(_DIGITS):
        if carry == _NONE:
            return
        both = truths[at + digit, side] & carry
        truths[at + digit, side] ^= carry
        carry = both
    truths[at + _DIGITS, side] |= carry


@inlined
def _combine(code: int, left: int, left_failed: int, right: int, right_failed: int) -> tuple[int, int]:
    """Combine two truth values by AND, OR or a comparison, where FALSE < TRUE. A value may be both TRUE and FALSE.

    The result then holds all that it can be.
    """
    if code == codes.TRUTH_AND:
        return left & right, left_failed | right_failed
    if code == codes.TRUTH_OR:
        return left | right, left_failed & right_failed
    known = (left | left_failed) & (right | right_failed)
    if code == codes.EQUAL or code == codes.DIFFERENT:
        held = (left & right) | (left_failed & right_failed)
        failed = (left & right_failed) | (left_failed & right)
    elif code == codes.LESS or code == codes.GREATER_OR_EQUAL:
        held, failed = left_failed & right, known & (left | right_failed)
    else:
        held, failed = left & right_failed, known & (left_failed | right)
    if code == codes.DIFFERENT or code == codes.GREATER_OR_EQUAL or code == codes.LESS_OR_EQUAL:
        return failed, held
    return held, failed
