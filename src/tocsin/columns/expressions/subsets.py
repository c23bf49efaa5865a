"""Which of a set of compiled expressions are kept? The programs of some of them, and the leaves that these use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import reordered
from tocsin.columns.expressions.leaf_order import with_leaves
from tocsin.columns.expressions.programs import leaf_places
from tocsin.kernels import codes


def subset(compiled: CompiledExpressions, chosen: NDArray[np.int32]) -> CompiledExpressions:
    """The chosen expressions, in that order. Names, strings and what leaves refer to stay as they are."""
    arrays = compiled.arrays
    starts, program = reordered(arrays.program_starts, arrays.program, chosen.astype(np.int64))
    used = np.zeros(len(arrays.leaf_kinds), bool)
    used[program[leaf_places(program)] >> 1] = True
    used[arrays.truth_arguments[arrays.truth_codes == codes.TRUTH_LEAF]] = True
    kept = with_leaves(arrays._replace(program_starts=starts, program=program), used, np.cumsum(used) - 1)
    return replace(compiled, arrays=kept).with_attributes(len(compiled.attributes))
