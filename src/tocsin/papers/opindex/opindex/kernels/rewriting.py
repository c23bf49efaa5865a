"""Rewrites a literal as simple predicates: units that must all hold, each if any of its entries does.

| literal                 | units, each a disjunction of entries no two of which an event satisfies   |
|-------------------------|--------------------------------------------------------------------------|
| `=`, `<=`, `>=`         | itself; a strict comparison is one of rank codes                          |
| `<>`                    | itself                                                                   |
| IN                      | one: `=` of any element                                                  |
| NOT IN                  | one an element: `<>`                                                     |
| BETWEEN                 | two: `>=` and `<=`                                                       |
| NOT BETWEEN             | one: `<=` below it, or `>=` above                                         |
| LIKE 'abc%' or '%abc'   | one: a prefix or suffix                                                  |
| other patterns          | one: tested on the string                                                |
| IS NOT NULL             | one: `>=` the lowest code of its field                                    |

Paper: Zhang, Chan, Tan 2014, section 4.2. Departs: NOT BETWEEN stays one unit, as IN does.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import HIGHEST_CODE, LOWEST_CODE
from tocsin.jit.decorators import inner, kernel
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.papers.opindex.opindex.kernels.layouts import AT_LEAST, AT_MOST, DIFFERENT, EQUAL, PATTERN, PREFIX, key_of

HELD_BY_NONE: Final = -1
REFUSED: Final = -2


class Rewritten(NamedTuple):
    """Literals as entries, in CSR form. I literals, E entries."""

    starts: NDArray[np.int64]  # (I + 1,)
    operators: NDArray[np.uint8]  # (E,)
    keys: NDArray[np.int64]  # (E,) field << 32 | operand
    units: NDArray[np.int32]  # (E,) the number of an entry's unit within its literal


@kernel
def count_entries(
    leaves: Expressions,
    keys: Keys,
    literals: NDArray[np.int32],
    entries: NDArray[np.int64],
    units: NDArray[np.int32],
) -> None:
    """Write the numbers of entries and units of each literal. Units may be HELD_BY_NONE or REFUSED, without entries."""
    operators = np.empty(2, np.uint8)
    operands = np.empty(2, np.int64)
    for i in range(len(literals)):
        leaf = literals[i] >> 1
        negated = literals[i] & 1
        kind = leaves.leaf_kinds[leaf]
        entries[i] = 1
        units[i] = 1
        if kind == codes.RANGE:
            at = keys.starts[leaf]
            entries[i], units[i] = _range(keys.lows[at], keys.highs[at], negated, operators, operands)
        elif kind == codes.IN_SET:
            elements = keys.starts[leaf + 1] - keys.starts[leaf]
            entries[i] = elements
            if negated:
                entries[i] = max(elements, 1)
                units[i] = max(elements, 1)
            elif elements == 0:
                units[i] = HELD_BY_NONE
        elif kind != codes.LIKE and kind != codes.REGEX and not (kind == codes.IS_NULL and negated):
            entries[i] = 0
            units[i] = REFUSED


@inner
def _range(
    low: int, high: int, negated: int, operators: NDArray[np.uint8], operands: NDArray[np.int64]
) -> tuple[int, int]:
    """Write the operators and operands of a range of codes; returns the numbers of entries and of units."""
    if low > high:
        low, high, negated = LOWEST_CODE, HIGHEST_CODE, 1 - negated
    if low == LOWEST_CODE and high == HIGHEST_CODE:
        operators[0], operands[0] = AT_LEAST, LOWEST_CODE
        return (0, HELD_BY_NONE) if negated else (1, 1)
    if low == high:
        operators[0], operands[0] = (DIFFERENT if negated else EQUAL), low
        return 1, 1
    if low == LOWEST_CODE:
        operators[0] = AT_LEAST if negated else AT_MOST
        operands[0] = high + 1 if negated else high
        return 1, 1
    if high == HIGHEST_CODE:
        operators[0] = AT_MOST if negated else AT_LEAST
        operands[0] = low - 1 if negated else low
        return 1, 1
    operators[0] = AT_MOST
    operators[1] = AT_LEAST
    operands[0] = low - 1 if negated else high
    operands[1] = high + 1 if negated else low
    return 2, 1 if negated else 2


@kernel
def write_entries(
    leaves: Expressions,
    keys: Keys,
    prefixes: NDArray[np.int32],
    literals: NDArray[np.int32],
    out: Rewritten,
) -> None:
    """Write the entries of literals that are neither HELD_BY_NONE nor REFUSED.

    `prefixes` has the number of each leaf's prefix or suffix, or -1 if it is neither.
    """
    operators = np.empty(2, np.uint8)
    operands = np.empty(2, np.int64)
    for i in range(len(literals)):
        leaf = literals[i] >> 1
        negated = literals[i] & 1
        kind = leaves.leaf_kinds[leaf]
        field = keys.present[leaf]
        at = out.starts[i]
        out.units[at : out.starts[i + 1]] = 0
        if kind == codes.RANGE:
            first = keys.starts[leaf]
            count, units = _range(keys.lows[first], keys.highs[first], negated, operators, operands)
            for k in range(count):
                out.operators[at + k] = operators[k]
                out.keys[at + k] = key_of(field, operands[k])
                out.units[at + k] = k if units > 1 else 0
        elif kind == codes.IN_SET and keys.starts[leaf + 1] > keys.starts[leaf]:
            for k in range(keys.starts[leaf + 1] - keys.starts[leaf]):
                out.operators[at + k] = DIFFERENT if negated else EQUAL
                out.keys[at + k] = key_of(field, keys.lows[keys.starts[leaf] + k])
                out.units[at + k] = k if negated else 0
        elif kind == codes.LIKE and prefixes[leaf] >= 0 and not negated:
            out.operators[at] = PREFIX
            out.keys[at] = key_of(field, prefixes[leaf])
        elif kind == codes.LIKE or kind == codes.REGEX:
            out.operators[at] = PATTERN
            out.keys[at] = key_of(field, literals[i])
        else:
            out.operators[at] = AT_LEAST
            out.keys[at] = key_of(field, LOWEST_CODE)


@kernel
def rarest_fields(
    starts: NDArray[np.int64],
    literals: NDArray[np.int32],
    present: NDArray[np.int32],
    shares: NDArray[np.float64],
    out: NDArray[np.int32],
) -> None:
    """Write the pivot of each conjunction: the field that the fewest events have; ties go to the first (Equation 1)."""
    for c in range(len(starts) - 1):
        best = present[literals[starts[c]] >> 1]
        for i in range(starts[c] + 1, starts[c + 1]):
            field = present[literals[i] >> 1]
            if shares[field] < shares[best]:
                best = field
        out[c] = best
