"""What do several leaves refer to alike? A set, a box, a pattern or a term that is there more than once is kept once.

Then leaves that ask the same are the same leaf, and are computed once for a block of events.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions

_RUNS: Final = {
    ("set_types", "set_payloads"): ("set_starts", (codes.IN_SET, codes.ARRAY_SET)),
    ("pattern_tokens",): ("pattern_starts", (codes.LIKE,)),
}


def with_shared_operands(arrays: Expressions) -> Expressions:
    """The same leaves, with equal operands once. Cost: linear in the operands."""
    others = arrays.leaf_others.copy()
    changed: dict[str, NDArray[Any]] = {}
    for fields, (starts_field, kinds) in _RUNS.items():
        starts = getattr(arrays, starts_field)
        columns = [getattr(arrays, field) for field in fields]
        numbers, firsts = _distinct(starts, columns)
        members, _ = gathered(starts, firsts)
        changed[starts_field] = starts_of((starts[1:] - starts[:-1])[firsts], len(firsts))
        changed |= {f: frozen(column[members], column.dtype) for f, column in zip(fields, columns, strict=True)}
        refers = np.isin(arrays.leaf_kinds, kinds)
        others[refers] = numbers[others[refers]]
    numbers, firsts = _distinct(np.arange(len(arrays.boxes) + 1), [arrays.boxes])
    refers = arrays.leaf_kinds == codes.INTERSECTS
    others[refers] = numbers[others[refers]]
    changed["boxes"] = frozen(arrays.boxes[firsts], np.float64)
    return _with_shared_terms(arrays._replace(leaf_others=frozen(others, np.int32), **changed))


def _with_shared_terms(arrays: Expressions) -> Expressions:
    """The same leaves, with equal constants and equal terms once."""
    numbers, firsts = _distinct(np.arange(len(arrays.constants) + 1), [arrays.constants])
    arguments = arrays.term_arguments.copy()
    is_constant = arrays.term_codes == codes.TERM_NUMBER
    arguments[is_constant] = numbers[arguments[is_constant]]
    constants = frozen(arrays.constants[firsts], np.float64)
    columns: list[NDArray[Any]] = [arrays.term_codes, arguments, arrays.term_transforms]
    numbers, firsts = _distinct(arrays.term_starts, columns)
    members, _ = gathered(arrays.term_starts, firsts)
    lefts, rights = arrays.leaf_attributes.copy(), arrays.leaf_others.copy()
    compares = arrays.leaf_kinds == codes.COMPARE
    has_term = compares | (arrays.leaf_kinds == codes.TERM_IS_NULL)
    lefts[has_term], rights[compares] = numbers[lefts[has_term]], numbers[rights[compares]]
    kinds, arguments, transforms = (frozen(column[members], column.dtype) for column in columns)
    return arrays._replace(
        leaf_attributes=frozen(lefts, np.int32),
        leaf_others=frozen(rights, np.int32),
        constants=constants,
        term_starts=starts_of(np.diff(arrays.term_starts)[firsts], len(firsts)),
        term_codes=kinds,
        term_arguments=arguments,
        term_transforms=transforms,
    )


def _distinct(starts: NDArray[np.int64], columns: list[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each run among the distinct ones, as they first come; and which run each of these is."""
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
