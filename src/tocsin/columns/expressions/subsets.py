"""Which of a set of compiled expressions are kept? The programs of some of them, and the leaves that these use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import empty_runs, frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import reordered
from tocsin.columns.expressions.leaf_order import leaf_places, renumbered, renumbered_truths
from tocsin.kernels import codes


def subset(compiled: CompiledExpressions, chosen: NDArray[np.int32]) -> CompiledExpressions:
    """The chosen expressions, in that order. Names, strings and what leaves refer to stay as they are."""
    arrays = compiled.arrays
    starts, program = reordered(arrays.program_starts, arrays.program, chosen.astype(np.int64))
    leaves = used_leaves(program, len(arrays.leaf_kinds))
    truths = arrays.truth_codes == codes.TRUTH_LEAF
    leaves[arrays.truth_arguments[truths]] = True
    places = np.cumsum(leaves) - 1
    kept = {
        name: frozen(array[leaves], array.dtype) for name, array in arrays._asdict().items() if name.startswith("leaf_")
    }
    smaller = arrays._replace(
        program_starts=starts,
        program=frozen(renumbered(program, places), np.int32),
        eager_starts=empty_runs(len(compiled.attributes)),
        truth_arguments=frozen(renumbered_truths(arrays.truth_codes, arrays.truth_arguments, places), np.int32),
        **kept,
    )
    return replace(compiled, arrays=smaller)


def used_leaves(program: NDArray[np.int32], leaves: int) -> NDArray[np.bool_]:
    """Which leaves a program names."""
    used = np.zeros(leaves, bool)
    used[program[leaf_places(program)] >> 1] = True
    return used
