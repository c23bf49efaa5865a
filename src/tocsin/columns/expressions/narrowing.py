"""Merging of comparisons into ranges: `price > 3 AND price < 5` becomes one predicate, like BETWEEN.

For a value of another type, or an absent one, both comparisons are UNKNOWN, and so is the range. For any other value
the range is TRUE if both are, and FALSE if one is. This also holds for events with ranges, unless the merged range is
empty. So comparisons that exclude each other stay separate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.programs import depths, leaf_places
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions


def narrowed(compiled: CompiledExpressions) -> CompiledExpressions:
    """Merge comparisons of one attribute that are joined by AND into ranges. Cost: O(P log P).

    Only numbers and instants are merged. Strings have no operand for the gap between two neighbouring operands.
    """
    arrays = compiled.arrays
    places = _comparisons(arrays)
    leaves = arrays.program[places] >> 1
    owners = np.searchsorted(arrays.program_starts, places, side="right") - 1
    same = owners, arrays.leaf_attributes[leaves], arrays.leaf_types[leaves]
    order = np.lexsort((places, *reversed(same)))
    begins = np.ones(len(places), bool)
    begins[1:] = np.any([column[order][1:] != column[order][:-1] for column in same], axis=0)
    firsts = np.flatnonzero(begins)
    if len(firsts) == len(places):
        return compiled
    lows = np.maximum.reduceat(arrays.leaf_lows[leaves[order]], firsts)
    highs = np.minimum.reduceat(arrays.leaf_highs[leaves[order]], firsts)
    merged = (np.diff(firsts, append=len(places)) > 1) & (lows <= highs)
    group = np.cumsum(begins) - 1
    gone = order[~begins & merged[group]]
    kept = order[firsts[merged]]
    return _with_ranges(compiled, places[kept], leaves[kept], lows[merged], highs[merged], places[gone])


def _comparisons(arrays: Expressions) -> NDArray[np.int64]:
    """The places of literals in the outermost AND that compare a number or an instant."""
    program = arrays.program
    places: NDArray[np.int64] = np.flatnonzero(leaf_places(program))
    leaves = program[places] >> 1
    is_one = (
        (program[places] & 1 == 0) & (arrays.leaf_kinds[leaves] == codes.RANGE) & (arrays.leaf_transforms[leaves] == 0)
    )
    is_one &= np.isin(arrays.leaf_types[leaves], (codes.NUMBER, codes.INSTANT))
    if (program < 0).any():
        is_one &= depths(program)[places] == 0
    chosen: NDArray[np.int64] = places[is_one]
    return chosen


def _with_ranges(
    compiled: CompiledExpressions,
    places: NDArray[np.int64],
    like: NDArray[np.int32],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    gone: NDArray[np.int64],
) -> CompiledExpressions:
    """The same expressions with new ranges at some places, and without the literals at the places `gone`."""
    arrays = compiled.arrays
    new = {name: array[like] for name, array in arrays._asdict().items() if name.startswith("leaf_")}
    new |= {"leaf_lows": lows, "leaf_highs": highs}
    program = arrays.program.copy()
    program[places] = 2 * (len(arrays.leaf_kinds) + np.arange(len(places)))
    keep = np.ones(len(program), bool)
    keep[gone] = False
    before = np.concatenate([[0], np.cumsum(keep)])
    leaves = {
        name: frozen(np.concatenate([getattr(arrays, name), values]), values.dtype) for name, values in new.items()
    }
    changed = arrays._replace(
        program=frozen(program[keep], np.int32),
        program_starts=frozen(before[arrays.program_starts], np.int64),
        **leaves,
    )
    return replace(compiled, arrays=changed)
