"""In which order does a linear scan want its leaves? Each once, the eager ones first, by attribute and kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.shared_operands import with_shared_operands
from tocsin.kernels import codes

_COLUMNS = ("attributes", "kinds", "types", "transforms", "lows", "highs", "operations", "others")


def eager_first(compiled: CompiledExpressions) -> CompiledExpressions:
    """The same expressions with their leaves so ordered. Cost: one sort of the leaves."""
    arrays = with_shared_operands(compiled.arrays)
    columns = {name: getattr(arrays, "leaf_" + name) for name in _COLUMNS}
    lazy = columns["kinds"] > codes.LAST_EAGER
    order = np.lexsort([*(columns[name] for name in reversed(_COLUMNS)), lazy])
    is_new = np.ones(len(order), bool)
    if len(order):
        is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns.values()], axis=0)
    places = np.empty_like(order)
    places[order] = np.cumsum(is_new) - 1
    kept = {"leaf_" + name: frozen(column[order[is_new]], column.dtype) for name, column in columns.items()}
    eager = kept["leaf_attributes"][kept["leaf_kinds"] <= codes.LAST_EAGER]
    attributes = len(compiled.attributes)
    ordered = arrays._replace(
        program=frozen(renumbered(arrays.program, places), np.int32),
        eager_starts=starts_of(np.bincount(eager, minlength=attributes), attributes),
        truth_arguments=frozen(renumbered_truths(arrays.truth_codes, arrays.truth_arguments, places), np.int32),
        **kept,
    )
    return replace(compiled, arrays=ordered)


def leaf_places(program: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Where a program names leaves. What stands behind an opening mark is a length."""
    is_leaf = program >= 0
    is_leaf[1:] &= program[:-1] >= 0
    return is_leaf


def renumbered(program: NDArray[np.int32], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """A program with its leaves' new numbers."""
    is_leaf = leaf_places(program)
    changed = program.astype(np.int64)
    changed[is_leaf] = 2 * places[changed[is_leaf] >> 1] + (changed[is_leaf] & 1)
    return changed


def renumbered_truths(
    steps: NDArray[np.uint8], arguments: NDArray[np.int32], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The arguments of truth programs with their leaves' new numbers."""
    asks = steps == codes.TRUTH_LEAF
    changed = arguments.astype(np.int64)
    changed[asks] = places[changed[asks]]
    return changed
