"""How do conjunctions in columns become compiled expressions? Without an object per predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions, leaf_arrays
from tocsin.columns.payloads import HIGHEST, LOWEST, keys_of
from tocsin.kernels import codes


def compile_conjunctions(
    names: Sequence[str],
    starts: NDArray[np.int64],
    attributes: NDArray[np.int32],
    operations: NDArray[np.uint8],
    values: NDArray[np.float64],
) -> CompiledExpressions:
    """Compile ANDs of comparisons of attributes with numbers; number i of the result is the i-th of them. Cost: linear.

    In CSR form, of S conjunctions, none of them empty, and P predicates: `starts` (S + 1,); `attributes` (P,), numbers
    among the names; `operations` (P,), codes.EQUAL .. codes.GREATER_OR_EQUAL; `values` (P,), finite.
    """
    keys, op = keys_of(values), operations
    lows = np.where((op == codes.LESS) | (op == codes.LESS_OR_EQUAL), LOWEST, keys + (op == codes.GREATER))
    highs = np.where((op == codes.GREATER) | (op == codes.GREATER_OR_EQUAL), HIGHEST, keys - (op == codes.LESS))
    count = len(values)
    leaves = leaf_arrays(count, kinds=codes.RANGE, types=codes.NUMBER, attributes=attributes, lows=lows, highs=highs)
    arrays = NOTHING.arrays._replace(
        program_starts=frozen(starts, np.int64),
        program=frozen(2 * np.arange(count, dtype=np.int32) + (op == codes.DIFFERENT), np.int32),
        **leaves,
    )
    return replace(NOTHING, arrays=arrays, attributes=list(names)).with_attributes(len(names))
