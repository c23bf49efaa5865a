"""What are the keys of all leaves at once? One pass each: how many, which, and what every leaf needs present."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.kernels.access_keys import count_keys, needed_field, packed_field
from tocsin.kernels.access_layouts import ELEMENT
from tocsin.kernels.jit import kernel
from tocsin.kernels.layouts import Expressions


@kernel
def named_attributes(leaves: Expressions, attributes: int) -> NDArray[np.int64]:
    """How many literals of the programs name each attribute; those of terms count once each."""
    counts = np.zeros(attributes, np.int64)
    program = leaves.program
    i = 0
    while i < len(program):
        if program[i] < 0:
            i += 2
            continue
        leaf = program[i] >> 1
        if leaves.leaf_kinds[leaf] < codes.COMPARE:
            counts[leaves.leaf_attributes[leaf]] += 1
        i += 1
    for i in range(len(leaves.term_codes)):
        if leaves.term_codes[i] == codes.TERM_ATTRIBUTE:
            counts[leaves.term_arguments[i]] += 1
    return counts


@kernel
def count_all_keys(leaves: Expressions) -> NDArray[np.int64]:
    """How many keys of its own each leaf has."""
    counts = np.empty(len(leaves.leaf_kinds), np.int64)
    for leaf in range(len(counts)):
        counts[leaf] = count_keys(leaves, leaf)
    return counts


@kernel
def needed_fields(leaves: Expressions, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """The packed field whose presence each leaf needs."""
    kinds = leaves.leaf_kinds
    types = leaves.leaf_types
    transforms = leaves.leaf_transforms
    attributes = leaves.leaf_attributes
    needed = np.empty(len(kinds), np.int64)
    for leaf in range(len(needed)):
        if kinds[leaf] == codes.RANGE:  # nearly all, and a call costs more than the work
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
    for leaf in range(len(starts) - 1):
        at = starts[leaf]
        if leaves.leaf_kinds[leaf] == codes.RANGE:
            fields[at] = packed_field(
                leaves.leaf_attributes[leaf], leaves.leaf_types[leaf], leaves.leaf_transforms[leaf]
            )
            lows[at] = leaves.leaf_lows[leaf]
            highs[at] = leaves.leaf_highs[leaf]
            continue
        base = ELEMENT if leaves.leaf_kinds[leaf] == codes.ARRAY_SET else 0
        for k in range(at, starts[leaf + 1]):
            element = leaves.set_starts[leaves.leaf_others[leaf]] + k - at
            kind = base + leaves.set_types[element]
            fields[k] = packed_field(leaves.leaf_attributes[leaf], kind, leaves.leaf_transforms[leaf])
            lows[k] = leaves.set_payloads[element]
            highs[k] = leaves.set_payloads[element]
