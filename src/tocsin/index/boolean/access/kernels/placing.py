"""Placement: the list of an access index, and the keys, under which each subscription goes.

A conjunction of ranges on single attributes is stored with its predicates. One alone is found by its key (SINGLE); of
several, the key is the predicate that fewest events satisfy (CONJUNCTION). Any other expression (PROGRAM) goes under
each key of its cover, and is verified as a whole. One without a cover is verified on every event (UNCOVERED). An
expression that costs less under keys of several attributes goes there (COMPOUND).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.filters import asked_bits, filter_of, level_count
from tocsin.index.boolean.access.kernels.layouts import NARROW_HIGHEST, WIDE, Conjunctions
from tocsin.index.fields.kernels.keys import ALWAYS, NEVER, Keys, Shares, cheapest_key, needs_all
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LOWEST_CODE
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.covers import choose_cover, cover_literals
from tocsin.kernels.programs.layouts import Expressions

DEAD: Final = 0  # matches no event
SINGLE: Final = 1
CONJUNCTION: Final = 2
PROGRAM: Final = 3
UNCOVERED: Final = 4
COMPOUND: Final = 5  # under several attributes at once: `index.boolean.access.compounds`


@kernel
def place_all(leaves: Expressions, costs: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The list of each subscription."""
    leaves = viewed(leaves)
    starts, program, kinds = leaves.program_starts, leaves.program, leaves.leaf_kinds
    lists = np.empty(len(starts) - 1, np.uint8)
    for s in range(len(lists)):
        chosen = CONJUNCTION
        for place in range(starts[s], starts[s + 1]):
            code = program[place]
            if code < 0 or kinds[code >> 1] != codes.RANGE:
                chosen = PROGRAM
                break
            if costs[code] == NEVER:
                chosen = DEAD
        if chosen == CONJUNCTION and starts[s + 1] - starts[s] == 1 and program[starts[s]] & 1 == 0:
            chosen = SINGLE
        lists[s] = chosen
    return lists


@inlined
def order_conjunction(
    program: NDArray[np.int32],
    start: int,
    stop: int,
    costs: NDArray[np.float64],
    literals: NDArray[np.int32],
) -> None:
    """Write a conjunction's literals, those that fewest events satisfy first."""
    for i in range(stop - start):
        literal = program[start + i]
        at = i
        while at > 0 and costs[literals[at - 1]] > costs[literal]:
            literals[at] = literals[at - 1]
            at -= 1
        literals[at] = literal


@inlined
def filter_literal(
    literals: NDArray[np.int32], count: int, keys: Keys, shares: NDArray[np.float64], by_range: bool
) -> int:
    """The literal to filter by besides the first of the ordered ones.

    It is the next one, or, with `by_range` False, that of the rarest other field.
    """
    if by_range:
        return literals[min(1, count - 1)]
    own = keys.present[literals[0] >> 1]
    second = literals[0]
    for i in range(1, count):
        field = keys.present[literals[i] >> 1]
        before = keys.present[second >> 1]
        if field != own and (before == own or shares[field] < shares[before]):
            second = literals[i]
    return second


@inlined
def literal_range(literal: int, keys: Keys) -> tuple[int, int, int]:
    """The key of a range literal: its field and range. A negated literal has the range of every value."""
    at = keys.starts[literal >> 1]
    if literal & 1:
        return keys.fields[at], np.int32(LOWEST_CODE), np.int32(HIGHEST_CODE)
    return keys.fields[at], keys.lows[at], keys.highs[at]


@kernel
def cheapest_literals(
    program: NDArray[np.int32],
    starts: NDArray[np.int64],
    owners: NDArray[np.int32],
    costs: NDArray[np.float64],
    out: NDArray[np.int32],
) -> None:
    """Write each conjunction's access predicate: the first of those literals that fewest events satisfy."""
    for i in range(len(owners)):
        cheapest = program[starts[owners[i]]]
        for place in range(starts[owners[i]] + 1, starts[owners[i] + 1]):
            if costs[program[place]] < costs[cheapest]:
                cheapest = program[place]
        out[i] = cheapest


@kernel
def write_conjunctions(
    program: NDArray[np.int32],
    starts: NDArray[np.int64],
    costs: NDArray[np.float64],
    keys: Keys,
    shares: NDArray[np.float64],
    operand_starts: NDArray[np.int64],
    out: Conjunctions,
) -> None:
    """Write the filters, tails and predicates of conjunctions, access predicates first. The other columns are given."""
    keys, table = viewed(keys), viewed(out)
    owners, filters, tails, predicates, stride = (
        table.owners,
        table.filters,
        table.tails,
        table.predicates,
        table.stride[0],
    )
    literals = np.empty(len(predicates) // stride + 1, np.int32)
    bits = asked_bits(len(operand_starts) - 1)
    by_range = level_count(bits) > 1
    at = 0
    for i in range(len(owners)):
        start = starts[owners[i]]
        count = starts[owners[i] + 1] - start
        order_conjunction(program, start, start + count, costs, literals)
        second = filter_literal(literals, count, keys, shares, by_range)
        field, low, high = literal_range(second, keys)
        operands = operand_starts[field + 1] - operand_starts[field]
        filters[i] = filter_of(field, low, high, operands, bits)
        tails[i] = at
        for j in range(count):
            key = keys.starts[literals[j] >> 1]
            last = np.int32(j == count - 1)
            predicates[stride * at] = (keys.fields[key] << 2) | (last << 1) | (literals[j] & 1)
            if stride == WIDE:
                predicates[stride * at + 1] = keys.lows[key]
                predicates[stride * at + 2] = keys.highs[key]
            else:
                predicates[stride * at + 1] = keys.lows[key] | (
                    np.int64(min(np.int64(keys.highs[key]), NARROW_HIGHEST)) << 16
                )
            at += 1


@kernel
def program_keys(
    leaves: Expressions,
    lists: NDArray[np.uint8],
    costs: NDArray[np.float64],
    keys: Keys,
    shares: Shares,
    out: NDArray[np.int32],
) -> int:
    """Write the keys (owner, field, lowest code, highest code) of all programs; marks those without a cover or dead.

    Returns the number of keys. If it exceeds the room, `out` must be made larger.
    """
    leaves, keys, shares = viewed(leaves), viewed(keys), viewed(shares)
    starts, program = leaves.program_starts, leaves.program
    room = 1
    for s in range(len(lists)):
        room = max(room, starts[s + 1] - starts[s])
    picks = np.empty(room, np.int32)
    stack = np.empty(room, np.int64)
    literals = np.empty(room, np.int32)
    levels = np.empty((codes.STACK, 4), np.float64)
    count = np.int64(0)
    for s in range(len(lists)):
        if lists[s] != PROGRAM:
            continue
        cost, root = choose_cover(program, starts[s], starts[s + 1], costs, picks, levels)
        if cost == NEVER or cost == ALWAYS:
            lists[s] = DEAD if cost == NEVER else UNCOVERED
            continue
        found = cover_literals(program, starts[s], root, picks, stack, literals)
        for i in range(found):
            needed = max(1, keys.starts[(literals[i] >> 1) + 1] - keys.starts[literals[i] >> 1])
            if count + needed > len(out):
                count += needed
            else:
                count += _write_keys(leaves, literals[i], s, costs, keys, shares, out[count:])
    return count


@inlined
def _write_keys(
    leaves: Expressions,
    literal: int,
    owner: int,
    costs: NDArray[np.float64],
    keys: Keys,
    shares: Shares,
    out: NDArray[np.int32],
) -> int:
    """Write the keys of one literal of a cover; returns how many."""
    leaf = literal >> 1
    first = keys.starts[leaf]
    stop = keys.starts[leaf + 1]
    if costs[literal] == NEVER:
        return 0
    if literal & 1 or first == stop:
        out[0, 0] = owner
        out[0, 1] = keys.present[leaf]
        out[0, 2] = LOWEST_CODE
        out[0, 3] = HIGHEST_CODE
        return 1
    if needs_all(leaves, leaf):
        first = cheapest_key(leaf, keys, shares)
        stop = first + 1
    for k in range(first, stop):
        out[k - first, 0] = owner
        out[k - first, 1] = keys.fields[k]
        out[k - first, 2] = keys.lows[k]
        out[k - first, 3] = keys.highs[k]
    return stop - first
