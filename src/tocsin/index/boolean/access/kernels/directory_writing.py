"""Building of the directory of fields: one pass over an index's lists writes the rows, another the tables."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.clauses import MARK_BITS, MARK_MASK, OUTSIDE
from tocsin.index.boolean.access.kernels.directory import (
    ABOUT,
    BEFORE_ZERO,
    BITS,
    CODED,
    CONJUNCTIONS,
    EQUALITIES,
    FINE,
    KIND_MASK,
    LOWEST,
    SINGLES,
    SPAN,
    STEPS,
    TRANSFORM_SHIFT,
    WIDTH,
    WORD,
    bit_place,
    packed_entries,
)
from tocsin.index.boolean.access.kernels.layouts import Compounds, Lists, Runs
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.jit.decorators import inlined, kernel, pasted
from tocsin.jit.intrinsics import count_bits
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.numbers import number_of_key

FEWEST_STEPPED: Final = 8
"""A run of fewer equalities has no steps: it is in one cache line, and is walked."""

MOST_STEPPED: Final = 2**16 - 1
"""A longer run has no steps: they have 16 bits, and searching is cheap compared with that many entries."""

ROOMY: Final = 4
"""A run has no steps if its field has more operands than this times the run's entries."""

SPARSE: Final = 16
"""Operands become a bitmap unless it needs more than this many bits an operand, on average."""

_EXACT = 2.0**52
_ONE = np.uint64(1)
_LOW_SIX = np.uint64(63)


@kernel
def measure_rows(lists: Lists, short: int, rows: NDArray[np.int64]) -> tuple[int, int]:
    """Write every row, all 0 before; returns the numbers of words and steps that the tables need.

    Lists of at most `short` entries, not counting equalities with steps, are walked and need no code.
    """
    lists = viewed(lists)
    fields = lists.fields
    words = np.int64(0)
    steps = np.int64(0)
    for field in range(len(fields.kinds)):
        row = rows[WIDTH * field : WIDTH * (field + 1)]
        row[ABOUT] = np.int64(fields.kinds[field]) | (np.int64(fields.transforms[field]) << TRANSFORM_SHIFT)
        row[SINGLES] = packed_entries(lists.single_runs.starts[field], lists.single_runs.starts[field + 1])
        row[CONJUNCTIONS] = packed_entries(
            lists.conjunction_runs.starts[field], lists.conjunction_runs.starts[field + 1]
        )
        first, stop = _stepped(fields, lists.conjunction_runs, field)
        row[EQUALITIES] = packed_entries(first, stop)
        row[STEPS] = -1
        if first < stop:
            row[STEPS] = steps
            steps += _operands(fields, field) + 1
        if fields.kinds[field] <= codes.INSTANT:
            words += _measure_bits(fields, field, words, row)
        if fields.kinds[field] > codes.INSTANT or first < stop or _is_searched(lists, short, field):
            row[ABOUT] |= CODED
    _mark_asked(lists.sure, rows)
    _mark_asked(lists.likely, rows)
    return words, steps


@inlined
def _mark_asked(compounds: Compounds, rows: NDArray[np.int64]) -> None:
    """Mark the fields that schemas and tests use as CODED."""
    for t in range(len(compounds.tests) // 3):
        about = np.int64(compounds.tests[3 * t])
        if about & MARK_MASK <= OUTSIDE:
            rows[WIDTH * (about >> MARK_BITS) + ABOUT] |= CODED
    for i in range(len(compounds.fields)):
        rows[WIDTH * np.int64(compounds.fields[i]) + ABOUT] |= CODED
    for k in range(len(compounds.sorted_by)):
        if compounds.sorted_by[k] >= 0:
            rows[WIDTH * np.int64(compounds.sorted_by[k]) + ABOUT] |= CODED


@kernel
def write_tables(lists: Lists, rows: NDArray[np.int64], words: NDArray[np.uint64], steps: NDArray[np.uint16]) -> None:
    """Write the tables that the rows point to; `words` are 0 before."""
    lists = viewed(lists)
    fields = lists.fields
    for field in range(len(fields.kinds)):
        row = rows[WIDTH * field : WIDTH * (field + 1)]
        operands = fields.operands[fields.operand_starts[field] : fields.operand_starts[field + 1]]
        if row[ABOUT] & BITS:
            _write_bits(operands, row, words)
        if row[STEPS] >= 0:
            first, stop = row[EQUALITIES] & 0xFFFFFFFF, row[EQUALITIES] >> 32
            out = steps[row[STEPS] : row[STEPS] + len(operands) + 1]
            _write_steps(lists.conjunctions.bounds[first:stop], out)


@pasted
def _operands(fields: Fields, field: int) -> int:
    return fields.operand_starts[field + 1] - fields.operand_starts[field]


@inlined
def _is_searched(lists: Lists, short: int, field: int) -> bool:
    """Whether any list is searched by the field's code, except equalities with steps."""
    singles, programs, conjunctions = lists.single_runs.starts, lists.program_runs.starts, lists.conjunction_runs.starts
    return (
        singles[field] < singles[field + 1]
        or programs[field] < programs[field + 1]
        or conjunctions[field + 1] - conjunctions[field] > short
    )


@inlined
def _stepped(fields: Fields, runs: Runs, field: int) -> tuple[int, int]:
    """The field's run of equalities if it gets steps, else an empty range behind its conjunctions."""
    start = runs.starts[field]
    for run in range(runs.run_starts[field], runs.run_starts[field + 1]):
        stop = runs.run_stops[run]
        number = stop - start
        if runs.run_widths[run] == 0 and number >= FEWEST_STEPPED and number <= MOST_STEPPED:
            if _operands(fields, field) <= ROOMY * number:
                return start, stop
        start = stop
    return runs.starts[field + 1], runs.starts[field + 1]


@inlined
def _measure_bits(fields: Fields, field: int, words: int, row: NDArray[np.int64]) -> int:
    """Write the bitmap's shape into a field's row if it can have one; returns the words it needs outside the row."""
    operands = fields.operands[fields.operand_starts[field] : fields.operand_starts[field + 1]]
    kind = np.int64(fields.kinds[field])
    if len(operands) == 0:
        return np.int64(0)
    low = operands[0]
    if kind == codes.NUMBER:
        value = number_of_key(operands[0])
        if not abs(value) < _EXACT:
            return np.int64(0)
        low = np.int64(-1) if operands[0] == BEFORE_ZERO else np.int64(np.floor(value))
    for fine in (np.int64(0), np.int64(FINE)):
        last = _last_bit(operands, kind, fine, low)
        if last >= 0 and last < max(64, SPARSE * len(operands)):
            count = (last >> 6) + 1
            row[ABOUT] |= BITS | fine
            row[LOWEST] = low
            row[SPAN] = packed_entries(count, len(operands))
            row[WORD] = words
            return count if count > 1 else np.int64(0)
    return np.int64(0)


@inlined
def _last_bit(operands: NDArray[np.int64], kind: int, fine: int, low: int) -> int:
    """The bit of the last operand, or -1 if one has no bit of its own, or if they do not ascend (in a damaged file)."""
    if kind == codes.NUMBER and not abs(number_of_key(operands[-1])) < _EXACT:
        return np.int64(-1)
    place = np.int64(-1)
    for o in range(len(operands)):
        before = place
        place, exact = bit_place(kind, fine, low, operands[o])
        if not exact or place <= before:
            return np.int64(-1)
    return place


@inlined
def _write_bits(operands: NDArray[np.int64], row: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
    about, low, first, count = row[ABOUT], row[LOWEST], row[WORD], row[SPAN] & 0xFFFFFFFF
    table = np.zeros(2 * count, np.uint64)
    for o in range(len(operands)):
        place, _ = bit_place(about & KIND_MASK, about & FINE, low, operands[o])
        table[2 * (place >> 6)] |= _ONE << (np.uint64(place) & _LOW_SIX)
    for w in range(1, count):
        table[2 * w + 1] = table[2 * w - 1] + count_bits(table[2 * w - 2])
    if count == 1:
        row[WORD] = np.int64(table[0])
    else:
        for w in range(2 * count):
            words[2 * first + w] = table[w]


@inlined
def _write_steps(bounds: NDArray[np.int32], out: NDArray[np.uint16]) -> None:
    """Write the steps: operand o's entries, with code 2 o + 1, are [out[o], out[o + 1])."""
    place = 0
    for operand in range(len(out)):
        while place < len(bounds) and bounds[place] < 2 * operand + 1:
            place += 1
        out[operand] = place
