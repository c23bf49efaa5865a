"""Keys of all leaves: their number, the keys themselves, and the field that each leaf needs present; one pass each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.index.fields.kernels.cells import cell_key, level_of_box
from tocsin.index.fields.kernels.keys import count_keys, needed_field, packed_field, pattern_key
from tocsin.index.fields.kernels.layouts import CELL, ELEMENT, NULL, NULL_PAYLOAD
from tocsin.jit.decorators import inlined, kernel
from tocsin.jit.views import viewed
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions


@kernel
def named_attributes(leaves: Expressions, attributes: int) -> NDArray[np.int64]:
    """The number of literals of the programs that name each attribute."""
    leaves = viewed(leaves)
    counts = np.zeros(attributes, np.int64)
    program = leaves.program
    kinds = leaves.leaf_kinds
    firsts = leaves.leaf_attributes
    seconds = leaves.leaf_others
    i = 0
    while i < len(program):
        if program[i] < 0:
            i += 2
            continue
        leaf = program[i] >> 1
        i += 1
        if kinds[leaf] < codes.COMPARE:
            counts[firsts[leaf]] += 1
            if kinds[leaf] == codes.ARRAY_PAIR:
                counts[seconds[leaf]] += 1
        elif kinds[leaf] <= codes.TERM_IS_NULL:
            _count_in_term(leaves, firsts[leaf], counts)
            if kinds[leaf] == codes.COMPARE:
                _count_in_term(leaves, seconds[leaf], counts)
    return counts


@inlined
def _count_in_term(leaves: Expressions, term: int, counts: NDArray[np.int64]) -> None:
    for i in range(leaves.term_starts[term], leaves.term_starts[term + 1]):
        if leaves.term_codes[i] == codes.TERM_ATTRIBUTE:
            counts[leaves.term_arguments[i]] += 1


@kernel
def count_all_keys(leaves: Expressions, nullable: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The number of each leaf's own keys."""
    leaves = viewed(leaves)
    counts = np.empty(len(leaves.leaf_kinds), np.int64)
    for leaf in range(len(counts)):
        counts[leaf] = count_keys(leaves, leaf, nullable)
    return counts


@kernel
def needed_fields(leaves: Expressions, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """The packed field whose presence each leaf needs."""
    leaves = viewed(leaves)
    kinds = leaves.leaf_kinds
    types = leaves.leaf_types
    transforms = leaves.leaf_transforms
    attributes = leaves.leaf_attributes
    needed = np.empty(len(kinds), np.int64)
    for leaf in range(len(needed)):
        if kinds[leaf] == codes.RANGE:  # the common case, and a call costs more than the work
            needed[leaf] = packed_field(attributes[leaf], types[leaf], transforms[leaf])
        else:
            needed[leaf] = needed_field(leaves, leaf, shares)
    return needed


@kernel
def raw_keys(
    leaves: Expressions,
    starts: NDArray[np.int64],
    fields: NDArray[np.int64],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
) -> None:
    """Write the keys of all leaves: packed fields, and payloads."""
    leaves = viewed(leaves)
    for leaf in range(len(starts) - 1):
        at = starts[leaf]
        if leaves.leaf_kinds[leaf] == codes.RANGE:
            fields[at] = packed_field(
                leaves.leaf_attributes[leaf], leaves.leaf_types[leaf], leaves.leaf_transforms[leaf]
            )
            lows[at] = leaves.leaf_lows[leaf]
            highs[at] = leaves.leaf_highs[leaf]
            continue
        if at == starts[leaf + 1]:
            continue
        if leaves.leaf_kinds[leaf] == codes.LIKE or leaves.leaf_kinds[leaf] == codes.REGEX:
            fields[at], lows[at] = pattern_key(leaves, leaf)
            highs[at] = lows[at]
            continue
        if leaves.leaf_kinds[leaf] == codes.IS_NULL:
            fields[at], lows[at] = packed_field(leaves.leaf_attributes[leaf], NULL, 0), NULL_PAYLOAD
            highs[at] = NULL_PAYLOAD
            continue
        if leaves.leaf_kinds[leaf] == codes.INTERSECTS:
            box = np.int64(leaves.leaf_others[leaf])
            level = level_of_box(leaves.boxes, box)
            for k in range(at, starts[leaf + 1]):
                fields[k] = packed_field(leaves.leaf_attributes[leaf], CELL, level)
                lows[k] = cell_key(leaves.boxes, box, level, k - at)
                highs[k] = lows[k]
            continue
        base = ELEMENT if leaves.leaf_kinds[leaf] == codes.ARRAY_SET else 0
        for k in range(at, starts[leaf + 1]):
            element = leaves.set_starts[leaves.leaf_others[leaf]] + k - at
            kind = base + leaves.set_types[element]
            fields[k] = packed_field(leaves.leaf_attributes[leaf], kind, leaves.leaf_transforms[leaf])
            lows[k] = leaves.set_payloads[element]
            highs[k] = leaves.set_payloads[element]
