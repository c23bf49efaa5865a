"""Access keys of predicates: those under which an event can make a predicate TRUE, and how often events have them.

A key is a range of payloads of a field. A leaf may have keys of its own (its range, its set's elements, its box's
cells), and a field that it needs present. A leaf with neither can be TRUE of any event. A negated leaf needs only that
presence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.cells import count_cells
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LIST_PRESENT, LOWEST_CODE, PATTERN, PRESENT
from tocsin.jit.decorators import inlined, kernel, pasted
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.kernels.searching import first_at_least
from tocsin.kernels.text.literals import has_piece

LOWEST = np.int64(-(2**63))
HIGHEST = np.int64(2**63 - 1)
NEEDS_NOTHING = np.int64(-1)
NEVER = 0.0
ALWAYS = np.inf


class Keys(NamedTuple):
    """The keys of leaves. F leaves, K keys."""

    starts: NDArray[np.int64]  # (F + 1,) keys of leaf f if it must be TRUE; if it has none, its presence is the key
    fields: NDArray[np.int32]  # (K,)
    lows: NDArray[np.int32]  # (K,) codes
    highs: NDArray[np.int32]  # (K,)
    present: NDArray[np.int32]  # (F,) the field whose presence a leaf needs, -1 for none


class Shares(NamedTuple):
    """Frequencies of keys in events. D fields, O operands."""

    fields: NDArray[np.float64]  # (D,) the share of events that have the field's attribute
    operand_starts: NDArray[np.int64]  # (D + 1,)
    below: NDArray[np.float64]  # (2 O + 2 D,) share of d's values with codes < c: below[2 (operand_starts[d] + d) + c]
    least: NDArray[np.float64]  # (D,) lower bound for the share of any range of values


@pasted
def packed_field(attribute: int, kind: int, transform: int) -> int:
    """A field as one number that sorts by attribute first."""
    return (np.int64(attribute) << 24) | (np.int64(kind) << 16) | np.int64(transform)


@inlined
def needed_field(leaves: Expressions, leaf: int, shares: NDArray[np.float64]) -> int:
    """The packed field that a leaf needs present, whether it is to be TRUE or FALSE; NEEDS_NOTHING if none."""
    kind = leaves.leaf_kinds[leaf]
    attribute = np.int64(leaves.leaf_attributes[leaf])
    if kind == codes.RANGE or kind == codes.IN_SET:
        return packed_field(attribute, leaves.leaf_types[leaf], leaves.leaf_transforms[leaf])
    if kind == codes.LIKE or kind == codes.REGEX:
        return packed_field(attribute, codes.STRING, 0)
    if kind == codes.ARRAY_SET:
        return packed_field(attribute, LIST_PRESENT, 0)
    if kind == codes.ARRAY_PAIR:
        other = np.int64(leaves.leaf_others[leaf])
        rarer = attribute if shares[attribute] <= shares[other] else other
        return packed_field(rarer, LIST_PRESENT, 0)
    if kind == codes.INTERSECTS or kind == codes.IS_NULL:
        return packed_field(attribute, PRESENT, 0)
    if kind == codes.COMPARE or kind == codes.TERM_IS_NULL:
        rarest = _rarest_in_term(leaves, attribute, shares, NEEDS_NOTHING)
        if kind == codes.COMPARE:
            rarest = _rarest_in_term(leaves, np.int64(leaves.leaf_others[leaf]), shares, rarest)
        return NEEDS_NOTHING if rarest < 0 else packed_field(rarest, PRESENT, 0)
    return NEEDS_NOTHING


@inlined
def _rarest_in_term(leaves: Expressions, term: int, shares: NDArray[np.float64], rarest: int) -> int:
    for i in range(leaves.term_starts[term], leaves.term_starts[term + 1]):
        if leaves.term_codes[i] == codes.TERM_ATTRIBUTE:
            attribute = np.int64(leaves.term_arguments[i])
            if rarest < 0 or shares[attribute] < shares[rarest]:
                rarest = attribute
    return rarest


@inlined
def count_keys(leaves: Expressions, leaf: int, nullable: NDArray[np.uint8]) -> int:
    """The number of a leaf's own keys. `nullable` is 1 for attributes whose absence is a key."""
    kind = leaves.leaf_kinds[leaf]
    if kind == codes.RANGE:
        return 1
    if kind == codes.LIKE or kind == codes.REGEX:
        return np.int64(is_listed(leaves, leaf))
    if kind == codes.IN_SET or (kind == codes.ARRAY_SET and leaves.leaf_operations[leaf] != codes.CONTAINED_BY):
        number = leaves.leaf_others[leaf]
        return leaves.set_starts[number + 1] - leaves.set_starts[number]
    if kind == codes.INTERSECTS:
        return count_cells(leaves.boxes, np.int64(leaves.leaf_others[leaf]))
    if kind == codes.IS_NULL:
        return np.int64(nullable[leaves.leaf_attributes[leaf]])
    return 0


@inlined
def is_listed(leaves: Expressions, leaf: int) -> bool:
    """Whether a LIKE or a regular expression is among the patterns matched with a batch's strings beforehand."""
    if leaves.leaf_kinds[leaf] == codes.REGEX:
        return True
    pattern = leaves.leaf_others[leaf]
    return has_piece(leaves.pattern_tokens, leaves.pattern_starts[pattern], leaves.pattern_starts[pattern + 1])


@pasted
def pattern_key(leaves: Expressions, leaf: int) -> tuple[int, int]:
    """The packed field and the payload of a pattern."""
    field = packed_field(leaves.leaf_attributes[leaf], PATTERN, leaves.leaf_transforms[leaf])
    by_regex = leaves.leaf_kinds[leaf] == codes.REGEX
    return field, 2 * np.int64(leaves.leaf_others[leaf]) + np.int64(by_regex)


@inlined
def code_of(operands: NDArray[np.int64], first: int, stop: int, payload: int) -> int:
    """The rank code of a payload among operands[first:stop]."""
    at = np.int64(first_at_least(operands, first, stop, payload))
    return 2 * (at - first) + np.int64(at < stop and operands[np.uint64(at)] == payload)


@kernel
def key_codes(
    key_fields: NDArray[np.int32],
    payloads: NDArray[np.int64],
    operand_starts: NDArray[np.int64],
    operands: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the rank codes of ends of keys; unbounded ends get the lowest or the highest code."""
    for k in range(len(payloads)):
        field = key_fields[k]
        if payloads[k] == LOWEST:
            out[k] = LOWEST_CODE
        elif payloads[k] == HIGHEST:
            out[k] = HIGHEST_CODE
        else:
            out[k] = code_of(operands, operand_starts[field], operand_starts[field + 1], payloads[k])


@kernel
def guessed_shares(
    fields: NDArray[np.int32], lows: NDArray[np.int32], highs: NDArray[np.int32], operand_starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """`Shares.below` as guessed from the keys: an operand counts as often as keys equal it, plus one."""
    below = np.zeros(2 * operand_starts[-1] + 2 * len(operand_starts), np.float64)
    for field in range(len(operand_starts) - 1):
        at = 2 * (operand_starts[field] + field)
        for operand in range(operand_starts[field + 1] - operand_starts[field]):
            below[at + 2 * operand + 2] = 1.0
    for k in range(len(fields)):
        if lows[k] == highs[k]:
            below[2 * (operand_starts[fields[k]] + fields[k]) + lows[k] + 1] += 1.0
    for field in range(len(operand_starts) - 1):
        at = 2 * (operand_starts[field] + field)
        stop = 2 * (operand_starts[field + 1] + field + 1)
        for place in range(at + 1, stop):
            below[place] += below[place - 1]
        total = below[stop - 1] + 1.0
        for place in range(at, stop):
            below[place] /= total
    return below


@pasted
def key_cost(field: int, low: int, high: int, shares: Shares) -> float:
    """The expected share of events that have a key: the field's share, times that of its values in the range."""
    at = 2 * (shares.operand_starts[field] + field)
    last = 2 * (shares.operand_starts[field + 1] + field) + 1
    inside = shares.below[min(at + np.int64(high) + 1, last)] - shares.below[at + low]
    return shares.fields[field] * max(inside, shares.least[field])


@kernel
def key_costs(
    fields: NDArray[np.int32], lows: NDArray[np.int32], highs: NDArray[np.int32], shares: Shares
) -> NDArray[np.float64]:
    """The `key_cost` of each of some keys."""
    shares = viewed(shares)
    costs = np.empty(len(fields), np.float64)
    for k in range(len(fields)):
        costs[k] = key_cost(fields[k], lows[k], highs[k], shares)
    return costs


@kernel
def literal_costs(leaves: Expressions, keys: Keys, shares: Shares) -> NDArray[np.float64]:
    """The cost of each literal as an access predicate: NEVER if no event makes it hold, ALWAYS if it has no key."""
    leaves, keys, shares = viewed(leaves), viewed(keys), viewed(shares)
    kinds, starts, fields, lows, highs = leaves.leaf_kinds, keys.starts, keys.fields, keys.lows, keys.highs
    needed = keys.present
    costs = np.empty(2 * len(kinds), np.float64)
    for leaf in range(len(kinds)):
        kind = kinds[leaf]
        present = ALWAYS if needed[leaf] < 0 else shares.fields[needed[leaf]]
        held = present
        failed = present
        if kind == codes.RANGE:  # the common case, and a call costs more than the work
            at = starts[leaf]
            cost = key_cost(fields[at], lows[at], highs[at], shares)
            held = NEVER if lows[at] > highs[at] else cost
        elif starts[leaf + 1] > starts[leaf]:
            held = _own_cost(leaves, leaf, keys, shares)
        elif kind == codes.IS_NULL or kind == codes.TERM_IS_NULL:
            held = ALWAYS
        elif kind == codes.TRUE_LEAF:
            failed = NEVER
        elif kind == codes.FALSE_LEAF or kind == codes.UNKNOWN_LEAF:
            held = NEVER
            failed = NEVER if kind == codes.UNKNOWN_LEAF else ALWAYS
        costs[2 * leaf] = held
        costs[2 * leaf + 1] = failed
    return costs


@inlined
def needs_all(leaves: Expressions, leaf: int) -> bool:
    """Whether an event must have all of a leaf's keys, so that any one of them is an access key."""
    kind = leaves.leaf_kinds[leaf]
    return kind == codes.ARRAY_SET and leaves.leaf_operations[leaf] != codes.OVERLAPS


@inlined
def _own_cost(leaves: Expressions, leaf: int, keys: Keys, shares: Shares) -> float:
    total = 0.0
    least = ALWAYS
    for k in range(keys.starts[leaf], keys.starts[leaf + 1]):
        cost = key_cost(keys.fields[k], keys.lows[k], keys.highs[k], shares)
        total += cost
        least = min(least, cost)
    return least if needs_all(leaves, leaf) else total


@inlined
def cheapest_key(leaf: int, keys: Keys, shares: Shares) -> int:
    """The key of a leaf that fewest events are expected to have."""
    best = keys.starts[leaf]
    least = ALWAYS
    for k in range(keys.starts[leaf], keys.starts[leaf + 1]):
        cost = key_cost(keys.fields[k], keys.lows[k], keys.highs[k], shares)
        if cost < least:
            least = cost
            best = k
    return best
