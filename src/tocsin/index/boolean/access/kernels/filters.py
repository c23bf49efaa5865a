"""Filters of 16 bits that rule out conjunctions without reading their predicates.

A filter describes one predicate other than the access key. It has the field and, if few enough fields leave bits, the
predicate's range coarsely: at most, at least or within one of some *levels*. These are equal parts of the field's
codes. An event sets, in a bitmap of 2**16 bits, the filters that each of its values may satisfy. That is one word a
value, because all filters of a field lie in one word.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.layouts import Scratch
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LATER, LOWEST_CODE
from tocsin.jit.decorators import inlined, kernel, pasted

BITS: Final = 16
MOST_ASKED: Final = 6
"""At most this many bits describe the range: those that number the bits of a word."""

_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)
_LOW_SIXTEEN = np.uint64(0xFFFF)


@inlined
def asked_bits(fields: int) -> int:
    """The number of bits left to describe the range, given the number of fields."""
    bits = np.int64(MOST_ASKED)
    while bits > 0 and fields << bits > 1 << BITS:
        bits -= 1
    return bits


@pasted
def level_count(bits: int) -> int:
    """The number of levels for that many bits: three filters for each level, and one for anything else."""
    return ((np.int64(1) << bits) - 1) // 3


@pasted
def level_of(code: int, operands: int, levels: int) -> int:
    """The level of a code of a field with that many operands; its codes go from 0 to twice as many."""
    return np.int64(code) * levels // (2 * operands + 1)


@inlined
def filter_of(field: int, low: int, high: int, operands: int, bits: int) -> int:
    """The filter of a predicate: a range of codes of a field, from LOWEST_CODE to HIGHEST_CODE if any value will do."""
    levels = level_count(bits)
    asked = np.int64(0)
    if levels > 1 and not (low <= LOWEST_CODE and high == HIGHEST_CODE):
        if low > LOWEST_CODE and high == HIGHEST_CODE:
            asked = 1 + levels + level_of(low, operands, levels)
        elif low > LOWEST_CODE and level_of(low, operands, levels) == level_of(high, operands, levels):
            asked = 1 + 2 * levels + level_of(low, operands, levels)
        else:
            asked = 1 + level_of(high, operands, levels)
    return ((np.int64(field) << bits) | asked) & 0xFFFF


@inlined
def satisfied(code: int, operands: int, bits: int, levels: int) -> int:
    """The bits of the filters that a code may satisfy."""
    if levels <= 1 or code == LATER:
        return (_ONE << (_ONE << np.uint64(bits))) - _ONE if bits < MOST_ASKED else ~np.uint64(0)
    level = np.uint64(level_of(code, operands, levels))
    count = np.uint64(levels)
    at_most = ((_ONE << (count - level)) - _ONE) << (_ONE + level)
    at_least = ((_ONE << (level + _ONE)) - _ONE) << (_ONE + count)
    within = _ONE << (_ONE + count + count + level)
    return _ONE | at_most | at_least | within


@inlined
def mark(memory: Scratch, operand_starts: NDArray[np.int64], bits: int, first: int, stop: int) -> None:
    """Set the filters that the values of an event's pairs [first, stop) may satisfy."""
    fields, pair_codes, satisfiable = memory.fields, memory.codes, memory.satisfiable
    levels = level_count(bits)
    for pair in range(np.uint64(first), np.uint64(stop)):
        field = np.uint64(fields[pair])
        operands = operand_starts[field + _ONE] - operand_starts[field] if levels > 1 else np.int64(0)
        place = (field << np.uint64(bits)) & _LOW_SIXTEEN
        found = satisfied(pair_codes[pair], operands, bits, levels)
        satisfiable[place >> _SIX] |= found << (place & _LOW_SIX)


@inlined
def unmark(memory: Scratch, bits: int, first: int, stop: int) -> None:
    """Clear the filters that `mark` set."""
    fields, satisfiable = memory.fields, memory.satisfiable
    for pair in range(np.uint64(first), np.uint64(stop)):
        place = (np.uint64(fields[pair]) << np.uint64(bits)) & _LOW_SIXTEEN
        satisfiable[place >> _SIX] = np.uint64(0)


@pasted
def is_satisfiable(asked: int, satisfiable: NDArray[np.uint64]) -> int:
    """1 if the event may satisfy a filter, else 0."""
    return (satisfiable[asked >> _SIX] >> (asked & _LOW_SIX)) & _ONE


@kernel
def filters_fit(
    rows: NDArray[np.int32], ends: NDArray[np.int64], filters: NDArray[np.uint16], operands: NDArray[np.int64]
) -> bool:
    """Whether each conjunction's filter is that of one of its predicates: those in `rows` up to its end in `ends`."""
    bits = asked_bits(len(operands))
    at = 0
    for i in range(len(ends)):
        fits = False
        while at < ends[i]:
            field, low, high = rows[at, 0] >> 2, rows[at, 1], rows[at, 2]
            if rows[at, 0] & 1:
                low, high = np.int32(LOWEST_CODE), np.int32(HIGHEST_CODE)
            fits |= filter_of(field, low, high, operands[field], bits) == filters[i]
            at += 1
        if not fits:
            return False
    return True
