"""Computed operands: a postfix machine for operands that are not a single attribute.

A value is a type and a payload, as in a batch. A string is its rank among the batch's strings, so that two strings
compare as numbers. All 64 lanes of a block are computed at once, because a call costs more than a lane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner, part
from tocsin.jit.intrinsics import lowest_bit
from tocsin.kernels import codes
from tocsin.kernels.numbers import key_of_number, number_of_key
from tocsin.kernels.programs.layouts import Walk

ONE = np.uint64(1)
NONE = np.uint64(0)


@part
def compare_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of a comparison of two terms."""
    leaves, memo = walk.leaves, walk.memo
    left_known = evaluate_term(walk, leaves.leaf_attributes[leaf], 0)
    right_known = evaluate_term(walk, leaves.leaf_others[leaf], 1)
    operation = leaves.leaf_operations[leaf]
    types = memo.term_types
    keys = memo.term_keys
    held = NONE
    known = NONE
    rest = left_known & right_known
    while rest != NONE:
        lane = lowest_bit(rest)
        rest &= rest - ONE
        if types[0, lane] == types[1, lane] and types[0, lane] <= codes.INSTANT:
            known |= ONE << np.uint64(lane)
            held |= np.uint64(compares(operation, keys[0, lane], keys[1, lane])) << np.uint64(lane)
    walk.memo.masks[2 * leaf], walk.memo.masks[2 * leaf + 1] = held, known & ~held


@part
def term_null_part(walk: Walk, leaf: int, stop: int, lanes: int) -> None:
    """Write the masks of "term IS NULL"."""
    known = evaluate_term(walk, walk.leaves.leaf_attributes[leaf], 0)
    walk.memo.masks[2 * leaf], walk.memo.masks[2 * leaf + 1] = lanes & ~known, lanes & known


@inlined
def compares(operation: int, left: int, right: int) -> bool:
    """Compare two payloads of one type."""
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


@inner
def evaluate_term(walk: Walk, term: int, side: int) -> int:
    """Write a term's types and payloads for all lanes to one side of the memo; returns the lanes where it is known.

    A single attribute may have any type. All other terms are numbers or instants. Each instruction runs on all lanes
    before the next.
    """
    leaves, block, bound, memo = walk.leaves, walk.block, walk.bound, walk.memo
    start = leaves.term_starts[term]
    stop = leaves.term_starts[term + 1]
    types = memo.term_types[side]
    keys = memo.term_keys[side]
    if stop - start == 1 and leaves.term_codes[start] == codes.TERM_ATTRIBUTE:
        attribute = leaves.term_arguments[start]
        return load_attribute(
            leaves.term_transforms[start],
            bound.orders,
            block.lanes[block.firsts[attribute] : block.stops[attribute]],
            block.types[block.firsts[attribute] : block.stops[attribute]],
            block.payloads[block.firsts[attribute] : block.stops[attribute]],
            types,
            keys,
        )
    run_term(walk, start, stop)
    known = memo.known[0]
    dated = memo.dated[0]
    for lane in range(codes.LANES):
        if dated >> np.uint64(lane) & ONE:
            types[lane] = codes.INSTANT
            keys[lane] = memo.moments[0, lane]
        else:
            types[lane] = codes.NUMBER
            keys[lane] = key_of_number(memo.numbers[0, lane]) if known >> np.uint64(lane) & ONE else 0
    return known


@inlined
def run_term(walk: Walk, start: int, stop: int) -> None:
    """Run the instructions of a term. Its value is left at the bottom of the stack."""
    leaves, memo = walk.leaves, walk.memo
    known, dated = memo.known, memo.dated
    depth = 0
    for i in range(start, stop):
        code = leaves.term_codes[i]
        if code == codes.TERM_ATTRIBUTE or code == codes.TERM_NULL:
            known[depth] = NONE
            dated[depth] = NONE
            if code == codes.TERM_ATTRIBUTE and leaves.term_transforms[i] == 0:
                load_operand(walk, leaves.term_arguments[i], depth)
            depth += 1
        elif code == codes.TERM_INSTANT_OF:
            load_operand(walk, leaves.term_arguments[i], depth - 1)
        elif code == codes.TERM_NUMBER:
            known[depth] = ~NONE
            dated[depth] = NONE
            memo.numbers[depth, :] = leaves.constants[leaves.term_arguments[i]]
            depth += 1
        elif code == codes.TERM_INSTANT:
            known[depth] = ~NONE
            dated[depth] = ~NONE
            memo.moments[depth, :] = np.int64(leaves.constants[leaves.term_arguments[i]]) * np.int64(codes.SECOND)
            depth += 1
        else:
            depth -= 1
            combine_lanes(walk, code, depth - 1)


@inlined
def load_operand(walk: Walk, attribute: int, depth: int) -> None:
    """Write the numbers and instants of an attribute to a place of the stack."""
    block, memo = walk.block, walk.memo
    for entry in range(block.firsts[attribute], block.stops[attribute]):
        kind = block.types[entry]
        lane = block.lanes[entry]
        if kind == codes.NUMBER:
            memo.numbers[depth, lane] = number_of_key(block.payloads[entry])
        elif kind == codes.INSTANT:
            memo.moments[depth, lane] = block.payloads[entry]
            memo.dated[depth] |= ONE << np.uint64(lane)
        else:
            continue
        memo.known[depth] |= ONE << np.uint64(lane)


@inlined
def load_attribute(
    transform: int,
    orders: NDArray[np.int32],
    lanes: NDArray[np.uint8],
    types: NDArray[np.uint8],
    payloads: NDArray[np.int64],
    out_types: NDArray[np.uint8],
    out_keys: NDArray[np.int64],
) -> int:
    """Write an attribute's types and payloads by lane, with strings as ranks; returns the lanes where it is known."""
    known = NONE
    for i in range(len(lanes)):
        kind = types[i]
        key = payloads[i]
        if kind == codes.STRING:
            key = np.int64(orders[transform, key])
        elif transform != 0 or kind == codes.UNTYPED:  # CASEI and ACCENTI are null for values that are not strings
            continue
        known |= ONE << np.uint64(lanes[i])
        out_types[lanes[i]] = kind
        out_keys[lanes[i]] = key
    return known


@inlined
def combine_lanes(walk: Walk, code: int, depth: int) -> None:
    """Apply one operation to all lanes of two places of the stack; the result replaces the lower one."""
    memo = walk.memo
    left, right = memo.numbers[depth], memo.numbers[depth + 1]
    rest = memo.known[depth] & memo.known[depth + 1]
    dated = rest & (memo.dated[depth] | memo.dated[depth + 1])
    known = NONE
    rest &= ~dated
    while rest != NONE:
        lane = lowest_bit(rest)
        rest &= rest - ONE
        left[lane] = arithmetic(code, left[lane], right[lane])
        known |= np.uint64(np.isfinite(left[lane])) << np.uint64(lane)
    memo.known[depth] = known
    if dated != NONE:
        combine_instants(walk, code, depth, dated)
    else:
        memo.dated[depth] = NONE


@inlined
def combine_instants(walk: Walk, code: int, depth: int, lanes: int) -> None:
    """The same for lanes with an instant. Instants differ by seconds; an instant and seconds give an instant."""
    memo = walk.memo
    of_left, of_right = memo.dated[depth], memo.dated[depth + 1]
    left, right = memo.moments[depth], memo.moments[depth + 1]
    numbers, seconds = memo.numbers[depth], memo.numbers[depth + 1]
    dated = NONE
    while lanes != NONE:
        lane = lowest_bit(lanes)
        bit = ONE << np.uint64(lane)
        lanes &= lanes - ONE
        if (of_left & of_right & bit) != NONE:
            if code == codes.TERM_SUBTRACT:
                numbers[lane] = seconds_between(right[lane], left[lane])
                memo.known[depth] |= bit
            continue
        if code == codes.TERM_SUBTRACT and (of_left & bit) != NONE:
            moment, shift = left[lane], -seconds[lane] * codes.SECOND
        elif code == codes.TERM_ADD:
            moment = left[lane] if (of_left & bit) != NONE else right[lane]
            shift = (seconds[lane] if (of_left & bit) != NONE else numbers[lane]) * codes.SECOND
        else:
            continue
        if abs(shift) <= codes.FARTHEST and abs(float(moment) + shift) <= codes.FARTHEST:
            left[lane] = moment + np.int64(np.rint(shift))
            dated |= bit
    memo.dated[depth] = dated
    memo.known[depth] |= dated


@inlined
def seconds_between(start: int, end: int) -> float:
    """The seconds from one instant to another."""
    apart = float(end) - float(start)
    return (float(end - start) if abs(apart) <= codes.FARTHEST else apart) / codes.SECOND


@inlined
def arithmetic(code: int, left: float, right: float) -> float:
    """Apply one operation. Without a finite result it gives infinity or NaN, which the caller treats as null."""
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
