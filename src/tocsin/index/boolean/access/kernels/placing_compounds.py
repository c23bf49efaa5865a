"""Clauses under schemas: their cost, and writing of their keys, groups and remaining tests."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.access.kernels.clauses import MARK_BITS, WITHIN, Clauses, has_one_value
from tocsin.index.boolean.access.kernels.directory import packed_entries
from tocsin.index.boolean.access.kernels.layouts import Runs
from tocsin.index.fields.kernels.layouts import CELL, HIGHEST_CODE, LOWEST_CODE, Fields
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels.numbers import scattered

NO_FIELD: Final = -1

# A slot has SLOT numbers, 32 bytes. Ranges are `first | stop << 32`.
SLOT: Final = np.uint64(4)
KEY: Final = np.uint64(0)
ENTRIES: Final = np.uint64(1)  # the group's postings; 0 for a slot without a group
RUNS: Final = np.uint64(2)  # the runs of these postings
RUN_WIDTH: Final = np.uint64(3)  # width of the first run; nearly all groups have only one
_ONE = np.uint64(1)


@kernel
def fit_schema(
    clauses: Clauses,
    fields: Fields,
    equalities: NDArray[np.int32],
    sorted_by: int,
    shares: NDArray[np.float64],
    remaining: NDArray[np.int32],
) -> None:
    """Write the share of events that lead to each clause under a schema, infinity if it does not fit.

    Also write how many of its tests remain, -1 if they would be incomplete. `equalities` ascend.
    """
    clauses, fields = viewed(clauses), viewed(fields)
    kinds = fields.kinds
    for c in range(len(shares)):
        share, used, is_sorted = 1.0, np.int64(0), sorted_by == NO_FIELD
        left = np.int64(0)
        whole = clauses.whole[c] != 0
        for t in range(clauses.starts[c], clauses.starts[c + 1]):
            field = clauses.fields[t]
            if clauses.marks[t] != WITHIN:
                left += 1
            elif used < len(equalities) and field == equalities[used] and clauses.lows[t] == clauses.highs[t]:
                used += 1
                share *= clauses.costs[t]
            elif field == sorted_by:
                is_sorted = True
                share *= clauses.costs[t]
            elif has_one_value(kinds[field]):
                left += 1
            elif kinds[field] != CELL:  # a box has its own test
                whole = False
        fits = used == len(equalities) and is_sorted
        shares[c] = share if fits else np.inf
        remaining[c] = left if whole else -1


@kernel
def write_entries(
    clauses: Clauses,
    chosen: NDArray[np.int64],
    equalities: NDArray[np.int32],
    sorted_by: int,
    fields: Fields,
    keys: NDArray[np.int64],
    lows: NDArray[np.int32],
    highs: NDArray[np.int32],
    lengths: NDArray[np.int64],
) -> None:
    """Write key, lowest and highest code, and number of remaining tests of the chosen clauses under a schema.

    `equalities` are in the schema's order.
    """
    clauses, fields = viewed(clauses), viewed(fields)
    for i in range(len(chosen)):
        first, stop = clauses.starts[chosen[i]], clauses.starts[chosen[i] + 1]
        lows[i], highs[i] = LOWEST_CODE, HIGHEST_CODE
        key = np.int64(0)
        for e in range(len(equalities)):
            for t in range(first, stop):
                if clauses.marks[t] == WITHIN and clauses.fields[t] == equalities[e]:
                    key = next_key(key, fields, equalities[e], clauses.lows[t])
        keys[i] = key
        lengths[i] = 0
        for t in range(first, stop):
            if clauses.marks[t] == WITHIN and clauses.fields[t] == sorted_by:
                lows[i], highs[i] = clauses.lows[t], clauses.highs[t]
            lengths[i] += _remains(clauses, t, equalities, sorted_by, fields)


@kernel
def write_tests(
    clauses: Clauses,
    chosen: NDArray[np.int64],
    equalities: NDArray[np.int32],
    sorted_by: int,
    fields: Fields,
    tests: NDArray[np.int32],
) -> None:
    """Write the remaining tests of the chosen clauses under a schema, clause after clause."""
    clauses, fields = viewed(clauses), viewed(fields)
    written = np.int64(0)
    for i in range(len(chosen)):
        for t in range(clauses.starts[chosen[i]], clauses.starts[chosen[i] + 1]):
            if _remains(clauses, t, equalities, sorted_by, fields):
                tests[3 * written] = (clauses.fields[t] << MARK_BITS) | clauses.marks[t]
                tests[3 * written + 1], tests[3 * written + 2] = clauses.lows[t], clauses.highs[t]
                written += 1


@inlined
def _remains(clauses: Clauses, t: int, equalities: NDArray[np.int32], sorted_by: int, fields: Fields) -> bool:
    """Whether neither the key nor the order of a schema answers a test."""
    field = clauses.fields[t]
    if clauses.marks[t] != WITHIN:
        return True
    return field != sorted_by and has_one_value(fields.kinds[field]) and not _is_among(equalities, field)


@inlined
def _is_among(numbers: NDArray[np.int32], number: int) -> bool:
    for i in range(len(numbers)):
        if numbers[i] == number:
            return True
    return False


@inlined
def next_key(key: int, fields: Fields, field: int, code: int) -> int:
    """A key extended by the code of one more field; the code is an operand's own."""
    at = np.uint64(field)
    operands = fields.operand_starts[at + _ONE] - fields.operand_starts[at]
    return key * operands + (np.int64(code) >> 1)


@inlined
def slot_of(key: int, shift: int) -> int:
    """The slot where the search for a key begins."""
    return scattered(key) >> np.uint64(shift)


@kernel
def write_slots(keys: NDArray[np.int64], runs: Runs, first: int, shift: int, slots: NDArray[np.int64]) -> None:
    """Hash the groups from `first` on, which have these keys, into slots that are all 0."""
    runs = viewed(runs)
    mask = np.uint64(len(slots) // SLOT) - _ONE
    for g in range(len(keys)):
        slot = slot_of(keys[g], shift)
        while slots[SLOT * slot + ENTRIES] != 0:
            slot = (slot + _ONE) & mask
        row = SLOT * slot
        start, stop = runs.starts[first + g], runs.starts[first + g + 1]
        run, behind = runs.run_starts[first + g], runs.run_starts[first + g + 1]
        slots[row + KEY] = keys[g]
        slots[row + ENTRIES] = packed_entries(start, stop)
        slots[row + RUNS] = packed_entries(run, behind)
        slots[row + RUN_WIDTH] = runs.run_widths[run]
