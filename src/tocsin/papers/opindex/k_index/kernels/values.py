"""Enumerates the values of a k-index's predicates; ranges over a domain of integers.

A value that no range enumerates is *odd*: a fraction, or a number outside the domain. It finds every predicate with a
range, and verification decides whether the range contains it. Predicates of single values keep these as they are.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.code_sets import CodeSets
from tocsin.index.fields.kernels.keys import HIGHEST, LOWEST
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.decorators import inlined, inner, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.numbers import key_of_number, number_of_key
from tocsin.kernels.searching import place_of


class EnumeratedRanges(NamedTuple):
    """Predicates, and the domain over which their ranges are enumerated."""

    sets: CodeSets
    fields: Fields
    domain: NDArray[np.int64]  # (2,) the lowest and highest integer


class FieldValues(NamedTuple):
    """The values that have pairs of their own. D fields, V values."""

    starts: NDArray[np.int64]  # (D + 1,)
    values: NDArray[np.int64]  # (V,) payloads, ascending within a field


# A field's pairs: these two, then one for each value.
PRESENT: Final = 0  # any value; needed by NOT IN
ODD: Final = 1  # a value that ranges do not enumerate
PAIRS_BESIDE: Final = 2

# Problems of a predicate.
FINE: Final = 0
TEXTS: Final = 1  # a range of strings
OPEN: Final = 2  # a range without an end, and no domain
LONG: Final = 3  # a range of too many values
LARGE: Final = 4  # a conjunction of too many clauses


@inlined
def in_domain(kind: int, payload: int, domain: NDArray[np.int64]) -> bool:
    """Whether ranges enumerate a value: any that is not a number, and integers of the domain."""
    if kind != codes.NUMBER:
        return True
    number = number_of_key(payload)
    return number >= domain[0] and number <= domain[1] and number == np.floor(number)


@inlined
def _parts(sets: CodeSets, predicate: int) -> int:
    """The number of ranges, some perhaps empty, that a predicate allows or, if negated, forbids."""
    return sets.range_starts[predicate + 1] - sets.range_starts[predicate] + sets.negated[predicate]


@inlined
def _part(sets: CodeSets, predicate: int, part: int, last: int) -> tuple[int, int]:
    """One of the ranges of codes that a predicate names."""
    at = sets.range_starts[predicate] + part
    if not sets.negated[predicate]:
        return np.int64(sets.lows[at]), np.int64(sets.highs[at])
    low = np.int64(sets.highs[at - 1]) + 1 if part > 0 else np.int64(0)
    high = np.int64(sets.lows[at]) - 1 if at < sets.range_starts[predicate + 1] else last
    return low, high


@inlined
def _payloads(operands: NDArray[np.int64], first: int, stop: int, low: int, high: int) -> tuple[int, int]:
    """The lowest and highest payload of a range of codes among operands[first:stop]."""
    below = first + (low >> 1)
    lowest = operands[below] if low & 1 else (LOWEST if below == first else operands[below - 1] + 1)
    above = first + (high >> 1)
    highest = operands[above] if high & 1 else (HIGHEST if above == stop else operands[above] - 1)
    return lowest, highest


@inlined
def _integers(kind: int, lowest: int, highest: int, domain: NDArray[np.int64]) -> tuple[int, int]:
    """The first and last integer in the domain that a range of payloads contains; first > last if there is none."""
    if kind == codes.BOOLEAN:
        return max(lowest, np.int64(0)), min(highest, np.int64(1))
    if kind != codes.NUMBER:
        return lowest, highest
    first, last = domain[0], domain[1]
    if lowest > key_of_number(float(first)):
        above = np.ceil(number_of_key(lowest))
        first = np.int64(above) if above <= last else domain[1] + 1
        first += key_of_number(float(first)) < lowest
    if highest < key_of_number(float(last)):
        below = np.floor(number_of_key(highest))
        last = np.int64(below) if below >= domain[0] else domain[0] - 1
        last -= key_of_number(float(last)) > highest
    return first, last


@inlined
def _problem(kind: int, lowest: int, highest: int, first: int, last: int, declared: bool, most: int) -> int:
    if kind == codes.STRING:
        return TEXTS
    if kind != codes.BOOLEAN and (lowest == LOWEST or highest == HIGHEST) and (kind != codes.NUMBER or not declared):
        return OPEN
    # As uint64, because the span of instants can exceed 2 ** 63.
    return LONG if last > first and np.uint64(last) - np.uint64(first) >= np.uint64(most) else FINE


@inner
def _has_range(sets: CodeSets, predicate: int, last: int) -> bool:
    """Whether a predicate names more than single values."""
    for part in range(_parts(sets, predicate)):
        low, high = _part(sets, predicate, part, last)
        if low < high or (low == high and low & 1 == 0):
            return True
    return False


@kernel
def problems(asked: EnumeratedRanges, declared: bool, most: int) -> NDArray[np.uint8]:
    """(P,) why a predicate cannot be enumerated, or FINE. Ranges may have up to `most` values."""
    about = viewed(asked)
    sets, domain, kinds = about.sets, about.domain, about.fields.kinds
    operand_starts, operands = about.fields.operand_starts, about.fields.operands
    out = np.zeros(len(sets.fields), np.uint8)
    for predicate in range(len(sets.fields)):
        field = sets.fields[predicate]
        begin, stop = operand_starts[field], operand_starts[field + 1]
        for part in range(_parts(sets, predicate)):
            low, high = _part(sets, predicate, part, 2 * (stop - begin))
            if low > high or (low == high and low & 1):
                continue
            lowest, highest = _payloads(operands, begin, stop, low, high)
            first, last = np.int64(1), np.int64(0)
            if kinds[field] != codes.STRING:
                first, last = _integers(kinds[field], lowest, highest, domain)
            problem = _problem(kinds[field], lowest, highest, first, last, declared, most)
            if problem != FINE and out[predicate] == FINE:
                out[predicate] = problem
    return out


@kernel
def intervals(asked: EnumeratedRanges) -> NDArray[np.int64]:
    """(N, 4) every named range: field, is single, first, last. These are a single payload, or integers of the domain.

    No predicate may have a problem.
    """
    about = viewed(asked)
    sets, domain, kinds = about.sets, about.domain, about.fields.kinds
    operand_starts, operands = about.fields.operand_starts, about.fields.operands
    rows = np.empty((len(sets.lows) + len(sets.fields), 4), np.int64)
    count = 0
    for predicate in range(len(sets.fields)):
        field = sets.fields[predicate]
        begin, stop = operand_starts[field], operand_starts[field + 1]
        ranged = _has_range(sets, predicate, 2 * (stop - begin))
        for part in range(_parts(sets, predicate)):
            low, high = _part(sets, predicate, part, 2 * (stop - begin))
            if low > high:
                continue
            lowest, highest = _payloads(operands, begin, stop, low, high)
            single = low == high and low & 1 == 1
            first, last = lowest, highest
            if not single:
                first, last = _integers(kinds[field], lowest, highest, domain)
            elif ranged and not in_domain(kinds[field], lowest, domain):
                continue
            if first <= last:
                rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = field, single, first, last
                count += 1
    return rows[:count]


@kernel
def enumerated(
    rows: NDArray[np.int64], order: NDArray[np.int64], kinds: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The payloads of rows of `intervals`, in order of (field, is single, first): fields, and payloads.

    Integers in several ranges of a field occur once, single payloads as often as they are named.
    """
    total = np.int64(0)
    for writing in range(2):
        if writing == 0:
            fields, payloads = np.empty(0, np.int32), np.empty(0, np.int64)
        else:
            fields, payloads = np.empty(total, np.int32), np.empty(total, np.int64)
        total = np.int64(0)
        field_before, after = np.int64(-1), np.int64(0)
        for at in order:
            field, single, first, last = rows[at, 0], rows[at, 1], rows[at, 2], rows[at, 3]
            if not single:
                if field == field_before:
                    first = max(first, after)
                field_before, after = field, max(last + 1, after) if field == field_before else last + 1
            for value in range(first, last + 1):
                if writing == 1:
                    is_number = not single and kinds[field] == codes.NUMBER
                    fields[total] = field
                    payloads[total] = key_of_number(float(value)) if is_number else value
                total += 1
    return fields, payloads


@kernel
def post(asked: EnumeratedRanges, found: FieldValues, places: NDArray[np.int64], entries: NDArray[np.int32]) -> None:
    """Write the postings of all clauses to their pairs, from `places` on. Without room, this only counts."""
    about = viewed(asked)
    sets, domain, kinds = about.sets, about.domain, about.fields.kinds
    operand_starts, operands = about.fields.operand_starts, about.fields.operands
    value_starts, values = found.starts, found.values
    for clause in range(len(sets.starts) - 1):
        for predicate in range(sets.starts[clause], sets.starts[clause + 1]):
            field = np.int64(sets.fields[predicate])
            begin, stop = operand_starts[field], operand_starts[field + 1]
            ranged = _has_range(sets, predicate, 2 * (stop - begin))
            base = value_starts[field] + PAIRS_BESIDE * field
            entry = 2 * clause + 1
            if sets.negated[predicate]:
                _put(base + PRESENT, entry, places, entries)
                entry -= 1
            elif ranged and kinds[field] == codes.NUMBER:
                _put(base + ODD, entry, places, entries)
            for part in range(_parts(sets, predicate)):
                low, high = _part(sets, predicate, part, 2 * (stop - begin))
                if low > high:
                    continue
                first, last = _payloads(operands, begin, stop, low, high)
                if low < high or low & 1 == 0:
                    first, last = _integers(kinds[field], first, last, domain)
                    if first <= last and kinds[field] == codes.NUMBER:
                        first, last = key_of_number(float(first)), key_of_number(float(last))
                if first > last:
                    continue
                at = place_of(values, value_starts[field], value_starts[field + 1], first)
                while at >= 0 and at < value_starts[field + 1] and values[at] <= last:
                    if not ranged or in_domain(kinds[field], values[at], domain):
                        _put(PAIRS_BESIDE * (field + 1) + at, entry, places, entries)
                    at += 1


@inlined
def _put(pair: int, entry: int, places: NDArray[np.int64], entries: NDArray[np.int32]) -> None:
    if len(entries) > 0:
        entries[places[pair]] = entry
    places[pair] += 1
