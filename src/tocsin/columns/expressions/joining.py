"""How do several sets of compiled expressions become one? Names, strings and leaves are numbered anew, in one order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, empty_runs, frozen, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions, compile_expressions
from tocsin.columns.expressions.pools import HIGHEST, LOWEST, Pool
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.kernels.programs.moving import copy_programs, shift_leaves

_OFFSETS: Final = {
    codes.IN_SET: "set_starts",
    codes.ARRAY_SET: "set_starts",
    codes.LIKE: "pattern_starts",
    codes.COMPARE: "term_starts",
}
"""What `leaf_others` counts, by kind of leaf."""


def joined(parts: Sequence[CompiledExpressions], order: NDArray[np.int64] | None = None) -> CompiledExpressions:
    """One set of all expressions; the i-th is number `order[i]` of them laid end to end (None: as they lie).

    Expressions that `order` leaves out are dropped; their leaves stay. Cost: linear, and a sort of the strings.
    """
    if not parts:
        return compile_expressions([])
    names = _Names(parts)
    tables = [_renumbered(part, names, before) for part, before in zip(parts, _lengths_before(parts), strict=True)]
    merged: dict[str, Any] = {}
    for field in Expressions._fields:
        arrays = [getattr(table, field) for table in tables]
        if field.endswith("starts") and field != "eager_starts":
            merged[field] = _joined_starts(arrays)
        else:
            merged[field] = frozen(np.concatenate(arrays), arrays[0].dtype)
    merged["eager_starts"] = empty_runs(len(names.attributes.items))
    result = Expressions(**merged)
    if order is not None:
        starts, program = reordered(result.program_starts, result.program, order)
        result = result._replace(program_starts=starts, program=program)
    return CompiledExpressions(
        result, names.attributes.items, names.vocabulary, names.transforms.items, names.regexes.items
    )


def reordered(
    starts: NDArray[np.int64], program: NDArray[np.int32], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The programs of some expressions, in that order, in CSR form."""
    order = np.ascontiguousarray(order, np.int64)
    lengths = (starts[1:] - starts[:-1])[order]
    new_starts = starts_of(lengths, len(order))
    out = np.empty(new_starts[-1], np.int32)
    copy_programs(starts, program, order, new_starts, out)
    return new_starts, frozen(out, np.int32)


class _Names:
    """The common numbering of attributes, transforms, regular expressions and operand strings."""

    def __init__(self, parts: Sequence[CompiledExpressions]) -> None:
        self.attributes: Pool[str] = Pool()
        self.transforms: Pool[str] = Pool()
        self.regexes: Pool[tuple[str, int]] = Pool()
        self.transforms.number("")
        strings = pa.chunked_array([part.vocabulary.arrow() for part in parts], pa.large_string())
        distinct = pc.unique(strings)
        self._sorted = distinct.take(pc.sort_indices(distinct))
        self.vocabulary = Texts.of_arrow(self._sorted)

    def attribute_map(self, part: CompiledExpressions) -> NDArray[np.int64]:
        return np.array([self.attributes.number(name) for name in part.attributes], np.int64)

    def transform_map(self, part: CompiledExpressions) -> NDArray[np.int64]:
        return np.array([self.transforms.number(name) for name in part.transforms], np.int64)

    def regex_map(self, part: CompiledExpressions) -> NDArray[np.int64]:
        transforms = self.transform_map(part)
        numbers = [self.regexes.number((pattern, int(transforms[t]))) for pattern, t in part.regexes]
        return np.array(numbers, np.int64)

    def string_map(self, part: CompiledExpressions) -> NDArray[np.int64]:
        places = pc.index_in(part.vocabulary.arrow(), self._sorted)
        numbers: NDArray[np.int64] = places.to_numpy(zero_copy_only=False).astype(np.int64)
        return numbers


def _lengths_before(parts: Sequence[CompiledExpressions]) -> list[dict[str, int]]:
    """For each part, how much lies before it in every array that numbers point into."""
    counted = [
        {
            field: len(array) - (field.endswith("starts"))
            for field, array in part.arrays._asdict().items()
            if field in ("leaf_kinds", "boxes", "constants") or field.endswith("starts")
        }
        for part in parts
    ]
    if not counted:
        return []
    sums = {field: [0, *accumulate(count[field] for count in counted)] for field in counted[0]}
    return [{field: sums[field][i] for field in sums} for i in range(len(parts))]


def _renumbered(part: CompiledExpressions, names: _Names, before: dict[str, int]) -> Expressions:
    """A part's arrays with the numbers that it has among all parts."""
    arrays = part.arrays
    attributes, transforms = names.attribute_map(part), names.transform_map(part)
    strings = names.string_map(part)
    program = arrays.program.copy()
    shift_leaves(program, before["leaf_kinds"])
    on_attribute = arrays.term_codes == codes.TERM_ATTRIBUTE
    arguments = arrays.term_arguments.astype(np.int64)
    arguments[on_attribute] = attributes[arguments[on_attribute]]
    arguments[arrays.term_codes == codes.TERM_NUMBER] += before["constants"]
    asks = arrays.truth_codes == codes.TRUTH_LEAF
    set_payloads = arrays.set_payloads.copy()
    text = arrays.set_types == codes.STRING
    set_payloads[text] = 2 * strings[set_payloads[text] >> 1] + 1
    return arrays._replace(
        program=program,
        set_payloads=set_payloads,
        term_arguments=arguments.astype(np.int32),
        term_transforms=transforms[arrays.term_transforms].astype(np.uint16),
        truth_arguments=np.where(asks, arrays.truth_arguments + before["leaf_kinds"], arrays.truth_arguments).astype(
            np.int32
        ),
        **_renumbered_leaves(part, names, before, attributes, transforms, strings),
    )


def _renumbered_leaves(
    part: CompiledExpressions,
    names: _Names,
    before: dict[str, int],
    attributes: NDArray[np.int64],
    transforms: NDArray[np.int64],
    strings: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    arrays = part.arrays
    kinds = arrays.leaf_kinds
    first = arrays.leaf_attributes.astype(np.int64)
    plain = kinds < codes.COMPARE
    first[plain] = attributes[first[plain]]
    first[(kinds == codes.COMPARE) | (kinds == codes.TERM_IS_NULL)] += before["term_starts"]
    first[kinds == codes.TRUTH] += before["truth_starts"]
    others = arrays.leaf_others.astype(np.int64)
    for kind, field in _OFFSETS.items():
        others[kinds == kind] += before[field]
    others[kinds == codes.INTERSECTS] += before["boxes"]
    pairs = (kinds == codes.ARRAY_PAIR) | (kinds == codes.INTERSECTS_PAIR)
    others[pairs] = attributes[others[pairs]]
    by_regex = kinds == codes.REGEX
    others[by_regex] = names.regex_map(part)[others[by_regex]]
    lows, highs = arrays.leaf_lows.copy(), arrays.leaf_highs.copy()
    text = (kinds == codes.RANGE) & (arrays.leaf_types == codes.STRING)
    _renumber_ends(lows, text, strings, above=True)
    _renumber_ends(highs, text, strings, above=False)
    return {
        "leaf_attributes": first.astype(np.int32),
        "leaf_others": others.astype(np.int32),
        "leaf_transforms": transforms[arrays.leaf_transforms].astype(np.uint16),
        "leaf_lows": lows,
        "leaf_highs": highs,
    }


def _renumber_ends(ends: NDArray[np.int64], text: NDArray[np.bool_], strings: NDArray[np.int64], above: bool) -> None:
    """Ends of ranges of strings: an odd code is an operand; an even one, just above it (a low end) or just below it."""
    chosen = text & (ends != LOWEST) & (ends != HIGHEST)
    old = ends[chosen]
    side = old & 1
    beside = np.where(side == 1, 0, 1 if above else -1)
    operand = (old - 1 - beside) >> 1
    ends[chosen] = 2 * strings[operand] + 1 + beside


def _joined_starts(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Offsets of runs laid end to end."""
    ends = [0, *accumulate(int(part[-1]) for part in parts)]
    pieces = [np.zeros(1, np.int64), *(part[1:] + end for part, end in zip(parts, ends, strict=False))]
    return frozen(np.concatenate(pieces), np.int64)
