"""Sharing of equal operands: a set, box, pattern or term that occurs more than once is kept once.

Leaves with equal operands then become equal leaves, which are computed once for a block of events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.leaf_kinds import TABLES, renumbered
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions


def with_shared_operands(arrays: Expressions) -> Expressions:
    """The same leaves, with equal operands stored once. Cost: linear in the operands."""
    arrays = _with_shared_constants(arrays)
    for name, table in TABLES.items():
        columns = [getattr(arrays, column) for column in table.columns]
        numbers, firsts = _distinct(table.offsets(arrays), columns)
        arrays = arrays._replace(**renumbered(arrays, name, numbers), **table.chosen(arrays, firsts))
    return arrays


def _with_shared_constants(arrays: Expressions) -> Expressions:
    """The same terms, with equal numbers stored once."""
    numbers, firsts = _distinct(np.arange(len(arrays.constants) + 1), [arrays.constants])
    arguments = arrays.term_arguments.copy()
    is_constant = np.isin(arrays.term_codes, codes.WITH_CONSTANT)
    arguments[is_constant] = numbers[arguments[is_constant]]
    constants = frozen(arrays.constants[firsts], np.float64)
    return arrays._replace(constants=constants, term_arguments=frozen(arguments, np.int32))


def _distinct(starts: NDArray[np.int64], columns: list[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each run among the distinct runs, in order of first appearance.

    And the first run of each number.
    """
    widths = [column.dtype.itemsize * int(np.prod(column.shape[1:])) for column in columns]
    rows = [
        np.ascontiguousarray(column).view(np.uint8).reshape(len(column), width)
        for column, width in zip(columns, widths, strict=True)
    ]
    items = np.concatenate(rows, axis=1)
    offsets = pa.py_buffer(np.ascontiguousarray(starts * items.shape[1], np.int64))
    runs = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts) - 1, [None, offsets, pa.py_buffer(items)])
    numbers = runs.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, np.unique(numbers, return_index=True)[1]
