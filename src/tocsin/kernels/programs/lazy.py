"""What are the masks of a leaf that is asked for? One dispatch, and the logic of conditions used as values."""

from __future__ import annotations

import numpy as np

from tocsin.kernels import codes
from tocsin.kernels.jit import kernel
from tocsin.kernels.programs.eager import compute_run
from tocsin.kernels.programs.layouts import ALWAYS, Block, Bound, Events, Expressions, Memo
from tocsin.kernels.programs.leaves import array_pair_masks, array_set_masks, box_pair_masks, null_masks, text_masks
from tocsin.kernels.programs.terms import compare_masks, term_null_masks

NONE = np.uint64(0)


@kernel
def compute_leaf(
    leaves: Expressions, leaf: int, block: Block, events: Events, bound: Bound, memo: Memo, lanes: int
) -> None:
    """Write the masks of a leaf for the lanes of a block."""
    if leaves.leaf_kinds[leaf] == codes.TRUTH:
        held, failed = truth_masks(leaves, leaves.leaf_attributes[leaf], block, events, bound, memo, lanes)
    else:
        held, failed = simple_masks(leaves, leaf, block, events, bound, memo, lanes)
    memo.masks[2 * leaf] = held
    memo.masks[2 * leaf + 1] = failed


@kernel
def simple_masks(
    leaves: Expressions, leaf: int, block: Block, events: Events, bound: Bound, memo: Memo, lanes: int
) -> tuple[int, int]:
    """The masks of a leaf that is no truth program."""
    kind = leaves.leaf_kinds[leaf]
    if kind <= codes.LAST_EAGER:
        if memo.stamps[leaf] != ALWAYS:  # else it was computed ahead, or holds nowhere
            compute_run(leaves, leaf, leaf + 1, block, events, bound, memo.masks)
        return memo.masks[2 * leaf], memo.masks[2 * leaf + 1]
    if kind == codes.IS_NULL:
        return null_masks(leaves.leaf_attributes[leaf], block, lanes)
    if kind == codes.LIKE or kind == codes.REGEX:
        return text_masks(leaves, leaf, block, bound)
    if kind == codes.INTERSECTS_PAIR:
        return box_pair_masks(leaves, leaf, block, events)
    if kind == codes.ARRAY_SET:
        return array_set_masks(leaves, leaf, block, events, bound)
    if kind == codes.ARRAY_PAIR:
        return array_pair_masks(leaves, leaf, block, events)
    if kind == codes.COMPARE:
        return compare_masks(leaves, leaf, block, bound, memo)
    if kind == codes.TERM_IS_NULL:
        return term_null_masks(leaves, leaf, block, bound, memo, lanes)
    if kind == codes.TRUE_LEAF:
        return lanes, NONE
    if kind == codes.FALSE_LEAF:
        return NONE, lanes
    return NONE, NONE


@kernel
def truth_masks(
    leaves: Expressions, truth: int, block: Block, events: Events, bound: Bound, memo: Memo, lanes: int
) -> tuple[int, int]:
    """A condition that is used as a value: three-valued logic on masks, in postfix order."""
    depth = 0
    for i in range(leaves.truth_starts[truth], leaves.truth_starts[truth + 1]):
        code = leaves.truth_codes[i]
        if code == codes.TRUTH_LEAF:
            held, failed = simple_masks(leaves, leaves.truth_arguments[i], block, events, bound, memo, lanes)
            memo.truths[depth, 0] = held
            memo.truths[depth, 1] = failed
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
    return memo.truths[0, 0], memo.truths[0, 1]


@kernel
def _combine(code: int, left: int, left_failed: int, right: int, right_failed: int) -> tuple[int, int]:
    """Two truth values under AND, OR or a comparison, where FALSE < TRUE. One may be both: what it can be, counts."""
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
