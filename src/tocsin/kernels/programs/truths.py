"""Conditions used as values: three-valued logic on masks, in postfix order."""

from __future__ import annotations

from tocsin.kernels import codes
from tocsin.kernels.jit import inlined, inner
from tocsin.kernels.programs.layouts import Walk
from tocsin.kernels.programs.lazy import compute_leaf


@inner
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
