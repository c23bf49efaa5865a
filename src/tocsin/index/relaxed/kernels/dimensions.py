"""Dimensions of compiled conjunctions: the conjuncts on each attribute together, in order of attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.keys import HIGHEST, LOWEST
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions, next_place


@inlined
def attribute_of(leaves: Expressions, place: int, stop: int) -> int:
    """The only attribute of program[place:stop]; -1 if there is none or several."""
    found = np.int64(-2)
    while place < stop:
        code = leaves.program[place]
        if code < 0:
            place += 2
            continue
        place += 1
        if leaves.leaf_kinds[code >> 1] > codes.ARRAY_SET:
            return np.int64(-1)
        attribute = np.int64(leaves.leaf_attributes[code >> 1])
        if found != -2 and found != attribute:
            return np.int64(-1)
        found = attribute
    return np.int64(-1) if found == -2 else found


@kernel
def are_plain(leaves: Expressions) -> NDArray[np.bool_]:
    """Which expressions have only conjuncts on one attribute each."""
    leaves = viewed(leaves)
    starts = leaves.program_starts
    plain = np.ones(len(starts) - 1, np.bool_)
    for s in range(len(plain)):
        place = starts[s]
        while place < starts[s + 1]:
            stop = next_place(leaves.program, place)
            if attribute_of(leaves, place, stop) < 0:
                plain[s] = False
                break
            place = stop
    return plain


@kernel
def split_plain(
    leaves: Expressions, chosen: NDArray[np.int64], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """The dimensions of some plain expressions: owners, attributes, and programs in CSR form.

    Those of one expression are ordered by the ranks of their attributes. Cost: linear, except for sorting the conjuncts
    of each expression.
    """
    leaves = viewed(leaves)
    starts, program = leaves.program_starts, leaves.program
    most, total = 1, 0
    for s in chosen:
        most = max(most, starts[s + 1] - starts[s])
        total += starts[s + 1] - starts[s]
    owners, attributes = np.empty(total, np.int32), np.empty(total, np.int32)
    out_starts, out = np.zeros(total + 1, np.int64), np.empty(total, np.int32)
    parts = np.empty((most, 3), np.int64)  # attribute, place, stop
    count, written = 0, 0
    for s in chosen:
        place, size = starts[s], 0
        while place < starts[s + 1]:
            stop = next_place(program, place)
            attribute = attribute_of(leaves, place, stop)
            at = size
            while at > 0 and ranks[parts[at - 1, 0]] > ranks[attribute]:
                for column in range(3):
                    parts[at, column] = parts[at - 1, column]
                at -= 1
            parts[at, 0], parts[at, 1], parts[at, 2] = attribute, place, stop
            size += 1
            place = stop
        for i in range(size):
            if i == 0 or parts[i, 0] != parts[i - 1, 0]:
                owners[count], attributes[count] = s, parts[i, 0]
                count += 1
            for place in range(parts[i, 1], parts[i, 2]):
                out[written] = program[place]
                written += 1
            out_starts[count] = written
    return owners[:count].copy(), attributes[:count].copy(), out_starts[: count + 1].copy(), out[:written].copy()


@kernel
def are_ranges(leaves: Expressions) -> NDArray[np.bool_]:
    """Which expressions are conjunctions of comparisons with constants."""
    leaves = viewed(leaves)
    starts = leaves.program_starts
    ranges = np.ones(len(starts) - 1, np.bool_)
    for s in range(len(ranges)):
        for place in range(starts[s], starts[s + 1]):
            code = leaves.program[place]
            if code < 0 or leaves.leaf_kinds[code >> 1] > codes.IN_SET:
                ranges[s] = False
                break
    return ranges


@kernel
def are_merged_exactly(leaves: Expressions) -> NDArray[np.bool_]:
    """Which conjunctions of comparisons on one attribute hold for a range exactly if it meets their common values.

    A range that meets each of several overlapping intervals also meets their intersection. That is not true of sets
    with gaps. A single literal is its own set.
    """
    leaves = viewed(leaves)
    starts = leaves.program_starts
    exactly = np.ones(len(starts) - 1, np.bool_)
    for s in range(len(exactly)):
        if starts[s + 1] - starts[s] > 1:
            for place in range(starts[s], starts[s + 1]):
                exactly[s] = exactly[s] and _is_interval(leaves, leaves.program[place])
    return exactly


@inlined
def _is_interval(leaves: Expressions, literal: int) -> bool:
    """Whether the values for which a comparison holds have no gap."""
    leaf = literal >> 1
    if leaves.leaf_kinds[leaf] != codes.RANGE:
        return False
    low, high = leaves.leaf_lows[leaf], leaves.leaf_highs[leaf]
    return literal & 1 == 0 or low == LOWEST or high == HIGHEST
