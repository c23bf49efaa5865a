"""How do conjunctions in columns become compiled expressions? Without an object per predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import empty_runs, frozen
from tocsin.columns.expressions.compiled import CompiledExpressions, compile_expressions
from tocsin.columns.expressions.pools import HIGHEST, LOWEST
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
    keys = keys_of(given.values)
    op = given.operations
    lows = np.where((op == codes.LESS) | (op == codes.LESS_OR_EQUAL), LOWEST, keys + (op == codes.GREATER))
    highs = np.where((op == codes.GREATER) | (op == codes.GREATER_OR_EQUAL), HIGHEST, keys - (op == codes.LESS))
    nothing = compile_expressions([])
    arrays = nothing.arrays._replace(
        program_starts=frozen(given.starts, np.int64),
        program=frozen(2 * np.arange(count, dtype=np.int32) + (op == codes.DIFFERENT), np.int32),
        eager_starts=empty_runs(len(names)),
        leaf_kinds=frozen(np.full(count, codes.RANGE), np.uint8),
        leaf_types=frozen(np.full(count, codes.NUMBER), np.uint8),
        leaf_operations=frozen(np.zeros(count), np.uint8),
        leaf_transforms=frozen(np.zeros(count), np.uint16),
        leaf_attributes=frozen(given.attributes, np.int32),
        leaf_others=frozen(np.zeros(count), np.int32),
        leaf_lows=frozen(lows, np.int64),
        leaf_highs=frozen(highs, np.int64),
    )
    return replace(nothing, arrays=arrays, attributes=list(names))
