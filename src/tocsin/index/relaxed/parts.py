"""Division of dimensions into ranges of one field's codes, and general ones for a Matcher."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import subset
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.fields.kernels.code_sets import CodeSets, merge_literals
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.relaxed.dimensions import Dimensions
from tocsin.index.relaxed.kernels.dimensions import are_merged_exactly, are_ranges


class RangeParts(NamedTuple):
    """The dimensions that are ranges, as sets of codes, and the others. D dimensions, P of them ranges."""

    compiled: CompiledExpressions  # of the dimensions that are conjunctions of comparisons
    fields: Fields
    sets: CodeSets  # one predicate each
    ranges: NDArray[np.int64]  # (P,) numbers of the dimensions that are ranges
    general: NDArray[np.int64]  # (G,) numbers of the dimensions that are not ranges but may hold


def range_parts(dimensions: Dimensions) -> RangeParts:
    """Separate dimensions that are ranges of one field's codes from others.

    Those that can never hold are in neither.
    """
    is_general = ~are_ranges(dimensions.compiled.arrays)
    simple = np.flatnonzero(~is_general)
    own = subset(dimensions.compiled, simple.astype(np.int32))
    fields, keys = fields_and_keys(own, np.ones(len(own.attributes)))
    kept, sets = merge_literals(own.arrays.program_starts, own.arrays.program, keys, fields.operand_starts)
    is_alone = (np.diff(sets.starts) == 1) & are_merged_exactly(own.arrays)[kept]
    alone = np.flatnonzero(is_alone)
    is_general[simple] = np.diff(own.arrays.program_starts) > 1  # ranges can meet two disjoint literals
    is_general[simple[kept]] = ~is_alone
    general = np.flatnonzero(is_general)
    predicates = sets.starts[alone]
    ranges, _ = gathered(sets.range_starts, predicates)
    chosen = CodeSets(
        starts=np.arange(len(alone) + 1),
        fields=sets.fields[predicates],
        negated=sets.negated[predicates],
        range_starts=starts_of(np.diff(sets.range_starts)[predicates], len(alone)),
        lows=sets.lows[ranges],
        highs=sets.highs[ranges],
    )
    return RangeParts(own, fields, chosen, simple[kept[alone]], general)
