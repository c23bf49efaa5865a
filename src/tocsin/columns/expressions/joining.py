"""Concatenation and selection of compiled expressions. Names, strings and leaves get new, common numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, gathered, starts_of
from tocsin.columns.expressions.compiled import NOTHING, CompiledExpressions
from tocsin.columns.expressions.leaf_kinds import (
    ATTRIBUTES,
    REGEXES,
    TABLES,
    Table,
    referring,
    refers,
    with_strings_numbered,
)
from tocsin.columns.expressions.leaf_order import with_leaves
from tocsin.columns.expressions.pools import Pools
from tocsin.columns.expressions.programs import leaf_places
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions

_COUNTED: Final = {
    "leaves": Table("", ("leaf_kinds",)),
    "constants": Table("", ("constants",)),
    **TABLES,
}
"""The tables that numbers refer to."""


def joined(parts: Sequence[CompiledExpressions], order: NDArray[np.int64] | None = None) -> CompiledExpressions:
    """Concatenate sets of expressions; the i-th result is number `order[i]` of the concatenation (None: in its order).

    Expressions missing from `order` are dropped; their leaves stay. Cost: linear, and a sort of the strings.
    """
    if not parts:
        return NOTHING
    names = Pools()
    strings = pc.unique(pa.chunked_array([part.vocabulary.arrow() for part in parts], pa.large_string()))
    strings = strings.take(pc.sort_indices(strings))
    before = dict.fromkeys(_COUNTED, 0)
    tables = []
    for part in parts:
        tables.append(_renumbered(part.arrays, _numbers(part, names, strings, before)))
        before = {name: before[name] + table.length(part.arrays) for name, table in _COUNTED.items()}
    result = Expressions(*map(_laid_end_to_end, Expressions._fields, zip(*tables, strict=True)))
    if order is not None:
        starts, program = reordered(result.program_starts, result.program, order)
        result = result._replace(program_starts=starts, program=program)
    attributes = names.attributes.items
    whole = CompiledExpressions(
        result, attributes, Texts.of_arrow(strings), names.transforms.items, names.regexes.items
    )
    return whole.with_attributes(len(attributes))


def reordered(
    starts: NDArray[np.int64], program: NDArray[np.int32], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The programs of some expressions, in that order, in CSR form."""
    places, _ = gathered(starts, order)
    return starts_of((starts[1:] - starts[:-1])[order], len(order)), frozen(program[places], np.int32)


def with_leaves_behind(program: NDArray[np.int32], others: int) -> NDArray[np.int32]:
    """Programs with their leaf numbers increased by `others`."""
    is_leaf = program >= 0
    is_leaf[1:] &= program[:-1] >= 0  # the place after AND or OR is a length
    return program + is_leaf * np.int32(2 * others)


class _Numbers(NamedTuple):
    """The new numbers for the old ones of a part. `before` counts what the parts in front of it have."""

    attributes: NDArray[np.int64]
    transforms: NDArray[np.int64]
    regexes: NDArray[np.int64]
    strings: NDArray[np.int64]
    before: dict[str, int]


def _numbers(part: CompiledExpressions, names: Pools, strings: pa.Array, before: dict[str, int]) -> _Numbers:
    attributes = [names.attributes.number(name) for name in part.attributes]
    transforms = [names.transforms.number(name) for name in part.transforms]
    regexes = [names.regexes.number((pattern, transforms[transform])) for pattern, transform in part.regexes]
    places = pc.index_in(part.vocabulary.arrow(), strings).to_numpy(zero_copy_only=False)
    return _Numbers(
        np.array(attributes, np.int64),
        np.array(transforms, np.int64),
        np.array(regexes, np.int64),
        places.astype(np.int64),
        before,
    )


def _renumbered(arrays: Expressions, numbers: _Numbers) -> Expressions:
    """A part's arrays with the numbers valid among all parts."""
    before = numbers.before
    program = with_leaves_behind(arrays.program, before["leaves"])
    arguments = arrays.term_arguments.astype(np.int64)
    on_attribute = np.isin(arrays.term_codes, codes.WITH_ATTRIBUTE)
    arguments[on_attribute] = numbers.attributes[arguments[on_attribute]]
    arguments[np.isin(arrays.term_codes, codes.WITH_CONSTANT)] += before["constants"]
    asks = arrays.truth_codes == codes.TRUTH_LEAF
    return with_strings_numbered(arrays, numbers.strings)._replace(
        program=program,
        leaf_attributes=_numbers_of(arrays, "leaf_attributes", numbers),
        leaf_others=_numbers_of(arrays, "leaf_others", numbers),
        leaf_transforms=numbers.transforms[arrays.leaf_transforms].astype(np.uint16),
        term_arguments=arguments.astype(np.int32),
        term_transforms=numbers.transforms[arrays.term_transforms].astype(np.uint16),
        truth_arguments=arrays.truth_arguments + np.where(asks, before["leaves"], 0).astype(np.int32),
    )


def _numbers_of(arrays: Expressions, column: str, numbers: _Numbers) -> NDArray[np.int32]:
    """The new references of leaves in a column: attributes, regular expressions, or entries of a table."""
    found: NDArray[np.int64] = getattr(arrays, column).astype(np.int64)
    beside = {ATTRIBUTES: numbers.attributes, REGEXES: numbers.regexes}
    for name in referring(column):
        chosen = refers(arrays.leaf_kinds, column, name)
        found[chosen] = beside[name][found[chosen]] if name in beside else found[chosen] + numbers.before[name]
    return found.astype(np.int32)


def _laid_end_to_end(field: str, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate the arrays of all parts; offsets continue after those before them."""
    if field.endswith("starts"):
        ends = accumulate((int(part[-1]) for part in parts), initial=0)
        parts = [np.zeros(1, np.int64), *(part[1:] + end for part, end in zip(parts, ends, strict=False))]
    return frozen(np.concatenate(parts), getattr(NOTHING.arrays, field).dtype)


def subset(compiled: CompiledExpressions, chosen: NDArray[np.int32]) -> CompiledExpressions:
    """The chosen expressions, in that order. Names, strings and operands of leaves stay as they are."""
    arrays = compiled.arrays
    starts, program = reordered(arrays.program_starts, arrays.program, chosen.astype(np.int64))
    used = np.zeros(len(arrays.leaf_kinds), bool)
    used[program[leaf_places(program)] >> 1] = True
    used[arrays.truth_arguments[arrays.truth_codes == codes.TRUTH_LEAF]] = True
    kept = with_leaves(arrays._replace(program_starts=starts, program=program), used, np.cumsum(used) - 1)
    return replace(compiled, arrays=kept).with_attributes(len(compiled.attributes))
