"""The order of leaves for a linear scan: each once, eager ones first, by attribute and kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.programs import leaf_places
from tocsin.columns.expressions.shared_operands import with_shared_operands
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions

_COLUMNS = ("attributes", "kinds", "types", "transforms", "lows", "highs", "operations", "others")


def eager_first(compiled: CompiledExpressions) -> CompiledExpressions:
    """The same expressions with leaves in that order. Cost: one sort of the leaves."""
    arrays = with_shared_operands(compiled.arrays)
    columns = [getattr(arrays, "leaf_" + name) for name in _COLUMNS]
    lazy = arrays.leaf_kinds > codes.LAST_EAGER
    order = np.lexsort([*reversed(columns), lazy])
    is_new = np.ones(len(order), bool)
    if len(order):
        is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    places = np.empty_like(order)
    places[order] = np.cumsum(is_new) - 1
    arrays = with_leaves(arrays, order[is_new], places)
    eager = arrays.leaf_attributes[arrays.leaf_kinds <= codes.LAST_EAGER]
    attributes = len(compiled.attributes)
    starts = starts_of(np.bincount(eager, minlength=attributes), attributes)
    return replace(compiled, arrays=arrays._replace(eager_starts=starts))


def with_leaves(arrays: Expressions, chosen: NDArray[Any], places: NDArray[np.int64]) -> Expressions:
    """The same programs over the chosen leaves; leaf f becomes number `places[f]` of them."""
    is_leaf = leaf_places(arrays.program)
    program = arrays.program.astype(np.int64)
    program[is_leaf] = 2 * places[program[is_leaf] >> 1] + (program[is_leaf] & 1)
    asks = arrays.truth_codes == codes.TRUTH_LEAF
    arguments = arrays.truth_arguments.astype(np.int64)
    arguments[asks] = places[arguments[asks]]
    leaves = {name: array for name, array in arrays._asdict().items() if name.startswith("leaf_")}
    return arrays._replace(
        program=frozen(program, np.int32),
        truth_arguments=frozen(arguments, np.int32),
        **{name: frozen(column[chosen], column.dtype) for name, column in leaves.items()},
    )
