"""How do conjunctions in columns become compiled expressions? Without an object per predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions, leaf_arrays
from tocsin.columns.expressions.payloads import HIGHEST, LOWEST
from tocsin.columns.numbers import keys_of
from tocsin.kernels import codes


class Comparisons(NamedTuple):
    """ANDs of comparisons of attributes with numbers, in CSR form. S conjunctions, P predicates."""

    starts: NDArray[np.int64]  # (S + 1,)
    attributes: NDArray[np.int32]  # (P,) number among the names
    operations: NDArray[np.uint8]  # (P,) codes.EQUAL .. codes.GREATER_OR_EQUAL
    values: NDArray[np.float64]  # (P,) finite


def compile_conjunctions(names: Sequence[str], given: Comparisons) -> CompiledExpressions:
    """Compile them; number i of the result is the i-th conjunction, which must not be empty. Cost: linear."""
    count = len(given.values)
    keys, op = keys_of(given.values), given.operations
    lows = np.where((op == codes.LESS) | (op == codes.LESS_OR_EQUAL), LOWEST, keys + (op == codes.GREATER))
    highs = np.where((op == codes.GREATER) | (op == codes.GREATER_OR_EQUAL), HIGHEST, keys - (op == codes.LESS))
    arrays = NOTHING.arrays._replace(
        program_starts=frozen(given.starts, np.int64),
        program=frozen(2 * np.arange(count, dtype=np.int32) + (op == codes.DIFFERENT), np.int32),
        **leaf_arrays(
            count, kinds=codes.RANGE, types=codes.NUMBER, attributes=given.attributes, lows=lows, highs=highs
        ),
    )
    return replace(NOTHING, arrays=arrays, attributes=list(names)).with_attributes(len(names))
