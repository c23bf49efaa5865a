"""What is the value of a computed operand? A postfix machine over one event's values, for what is no single attribute.

A value is a type and a payload, as in a batch; type -1 is null. Strings are their place among the batch's strings,
so that two of them compare as numbers.
"""

from __future__ import annotations

import numpy as np

from tocsin.kernels import codes
from tocsin.kernels.blocks import find_lane
from tocsin.kernels.jit import bits_of_float, float_of_bits, kernel
from tocsin.kernels.layouts import Block, Bound, Expressions, Memo

ONE = np.uint64(1)
NONE = np.uint64(0)
_FLIP = np.int64(0x7FFFFFFFFFFFFFFF)


@kernel
def number_of_key(key: int) -> float:
    """The float64 that a sortable integer stands for."""
    return float_of_bits(key if key >= 0 else key ^ _FLIP)


@kernel
def key_of_number(number: float) -> int:
    """The sortable integer of a float64; both zeros are 0."""
    bits = bits_of_float(number + 0.0)
    return bits if bits >= 0 else bits ^ _FLIP


@kernel
def compare_masks(
    leaves: Expressions, leaf: int, block: Block, bound: Bound, memo: Memo, lanes: int
) -> tuple[int, int]:
    """A comparison of two terms."""
    held = NONE
    known = NONE
    for lane in range(codes.LANES):
        bit = ONE << np.uint64(lane)
        if lanes & bit == NONE:
            continue
        left_type, left = term_value(leaves, leaves.leaf_attributes[leaf], lane, block, bound, memo)
        if left_type < 0:
            continue
        right_type, right = term_value(leaves, leaves.leaf_others[leaf], lane, block, bound, memo)
        if left_type == right_type and left_type <= codes.INSTANT:
            known |= bit
            if compares(leaves.leaf_operations[leaf], left, right):
                held |= bit
    return held, known & ~held


@kernel
def term_null_masks(
    leaves: Expressions, leaf: int, block: Block, bound: Bound, memo: Memo, lanes: int
) -> tuple[int, int]:
    """Lanes where a term is null hold, the others fail."""
    held = NONE
    for lane in range(codes.LANES):
        bit = ONE << np.uint64(lane)
        if lanes & bit != NONE and term_value(leaves, leaves.leaf_attributes[leaf], lane, block, bound, memo)[0] < 0:
            held |= bit
    return held, lanes & ~held


@kernel
def compares(operation: int, left: int, right: int) -> bool:
    """A comparison of two payloads of one type."""
    if operation == codes.EQUAL:
        return left == right
    if operation == codes.DIFFERENT:
        return left != right
    if operation == codes.LESS:
        return left < right
    if operation == codes.LESS_OR_EQUAL:
        return left <= right
    if operation == codes.GREATER:
        return left > right
    return left >= right


@kernel
def term_value(leaves: Expressions, term: int, lane: int, block: Block, bound: Bound, memo: Memo) -> tuple[int, int]:
    """The type and payload of a term for one lane; a single attribute may have any type, the rest are numbers."""
    start = leaves.term_starts[term]
    stop = leaves.term_starts[term + 1]
    if stop - start == 1 and leaves.term_codes[start] == codes.TERM_ATTRIBUTE:
        return _attribute_value(leaves, start, lane, block, bound)
    depth = 0
    for i in range(start, stop):
        code = leaves.term_codes[i]
        if code == codes.TERM_ATTRIBUTE:
            kind, key = _attribute_value(leaves, i, lane, block, bound)
            memo.known[depth] = kind == codes.NUMBER
            memo.numbers[depth] = number_of_key(key) if kind == codes.NUMBER else 0.0
            depth += 1
        elif code == codes.TERM_NUMBER:
            memo.known[depth] = 1
            memo.numbers[depth] = leaves.constants[leaves.term_arguments[i]]
            depth += 1
        elif code == codes.TERM_NULL:
            memo.known[depth] = 0
            depth += 1
        else:
            depth -= 1
            known = memo.known[depth - 1] & memo.known[depth]
            number = arithmetic(code, memo.numbers[depth - 1], memo.numbers[depth]) if known else 0.0
            memo.known[depth - 1] = known & np.uint8(np.isfinite(number))
            memo.numbers[depth - 1] = number
    if memo.known[0] == 0:
        return np.int64(-1), np.int64(0)
    return np.int64(codes.NUMBER), key_of_number(memo.numbers[0])


@kernel
def _attribute_value(leaves: Expressions, i: int, lane: int, block: Block, bound: Bound) -> tuple[int, int]:
    entry = find_lane(block, leaves.term_arguments[i], lane)
    if entry < 0:
        return np.int64(-1), np.int64(0)
    kind = np.int64(block.types[entry])
    transform = leaves.term_transforms[i]
    if kind == codes.STRING:
        return kind, np.int64(bound.orders[transform, block.payloads[entry]])
    if transform != 0 or kind == codes.UNTYPED:  # CASEI and ACCENTI are null for anything but a string
        return np.int64(-1), np.int64(0)
    return kind, block.payloads[entry]


@kernel
def arithmetic(code: int, left: float, right: float) -> float:
    """One operation; what has no finite result gives infinity or NaN, which the caller takes as null."""
    if code == codes.TERM_ADD:
        return left + right
    if code == codes.TERM_SUBTRACT:
        return left - right
    if code == codes.TERM_MULTIPLY:
        return left * right
    if code == codes.TERM_POWER:
        return left**right
    if right == 0.0:
        return np.nan
    if code == codes.TERM_DIVIDE:
        return left / right
    if code == codes.TERM_INTEGER_DIVIDE:
        return float(np.trunc(left / right))
    return float(np.fmod(left, right))
