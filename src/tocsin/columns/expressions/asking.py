"""Which types of values could make each predicate TRUE or FALSE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.programs import stops_of
from tocsin.kernels import codes
from tocsin.model.readings import is_reading

ANY: Final = 0xFFFFFFFF
_NUMBER: Final = 1 << codes.NUMBER | 1 << (codes.RANGED + codes.NUMBER)
_OF_TYPE: Final = {
    codes.NUMBER: _NUMBER,
    codes.STRING: 1 << codes.STRING,
    codes.BOOLEAN: 1 << codes.BOOLEAN,
    codes.INSTANT: 1 << codes.INSTANT | 1 << (codes.RANGED + codes.INSTANT),
    codes.LIST: 1 << codes.LIST,
    codes.GEOMETRY: 1 << codes.GEOMETRY | 1 << codes.SHAPE | 1 << codes.LIST,  # a list of numbers may be read as a box
}
"""For each type of predicate, the types of values that it applies to, one bit each. Ranges have bits of their own."""

_NUMBER_OR_INSTANT: Final = _NUMBER | 1 << codes.INSTANT

OF_PLACE: Final = _OF_TYPE[codes.GEOMETRY]

# Kinds of requirements. Earlier kinds are reported before later ones.
OF_TYPE: Final = 0  # first: an attribute, second: the types that its value may have
COMPARED: Final = 1  # like OF_TYPE, for an attribute compared with another one
UNLESS_NULL: Final = 2  # like OF_TYPE; if no value has such a type, the leaf always holds
SAME_TYPE: Final = 3  # first, second: attributes
ALL_ELEMENTS: Final = 4  # first: an attribute, second: types that must each occur among a list's elements
SOME_ELEMENT: Final = 5  # like ALL_ELEMENTS, but one of the types suffices


class Asks(NamedTuple):
    """What leaves require to be TRUE or, if `negated`, to be FALSE. N rows; a leaf may have several."""

    leaves: NDArray[np.int64]  # (N,)
    negated: NDArray[np.bool_]  # (N,)
    kinds: NDArray[np.int64]  # (N,) OF_TYPE .. SOME_ELEMENT
    first: NDArray[np.int64]  # (N,)
    second: NDArray[np.int64]  # (N,)


class Literals(NamedTuple):
    """The literals of all programs. L literals, S programs, G groups: first the programs, then each AND and OR."""

    owners: NDArray[np.int64]  # (L,) the expression
    leaves: NDArray[np.int64]  # (L,)
    negated: NDArray[np.bool_]  # (L,)
    groups: NDArray[
        np.int64
    ]  # (L,) the innermost AND or OR: the expression's number for its own, numbers from S on for groups
    is_or: NDArray[np.bool_]  # (L,) whether that group is an OR
    parents: NDArray[np.int64]  # (G,) the group around each; -1 for a program
    ors: NDArray[np.bool_]  # (G,) which groups are an OR


def asked(compiled: CompiledExpressions) -> Asks:
    """What every leaf requires. A condition used as a value requires what the leaves in it require."""
    kinds = compiled.arrays.leaf_kinds
    own = [_on_one(compiled), _on_lists(compiled), *_compared(compiled), *_of_nulls(compiled)]
    direct = _joined(own)
    return _joined([direct, *_of_truths(compiled, direct)]) if (kinds == codes.TRUTH).any() else direct


def literals(compiled: CompiledExpressions) -> Literals:
    """The literals of all programs, in their order."""
    program, starts = compiled.arrays.program, compiled.arrays.program_starts
    is_mark = program < 0
    is_literal = ~is_mark
    is_literal[1:] &= ~is_mark[:-1]  # a mark is followed by a length
    places = np.flatnonzero(is_literal)
    owners = np.searchsorted(starts, places, side="right") - 1
    groups, is_or = owners.astype(np.int64), np.zeros(len(places), bool)
    marks = np.flatnonzero(is_mark)
    programs = len(starts) - 1
    parents = np.concatenate([np.full(programs, -1), np.searchsorted(starts, marks, side="right") - 1])
    ors = np.concatenate([np.zeros(programs, bool), program[marks] == codes.OPEN_OR])
    for chosen in _by_depth(marks, program[marks + 1].astype(np.int64)):  # outer groups first
        ends = stops_of(program, marks[chosen])
        at = np.searchsorted(marks[chosen], places, side="right") - 1
        within = (at >= 0) & (places < ends[np.maximum(at, 0)])
        groups[within] = programs + chosen[at[within]]
        is_or[within] = program[marks[chosen[at[within]]]] == codes.OPEN_OR
        at = np.searchsorted(marks[chosen], marks) - 1
        inside = (at >= 0) & (marks < ends[np.maximum(at, 0)])
        parents[programs:][inside] = programs + chosen[at[inside]]
    found = program[places].astype(np.int64)
    return Literals(owners, found >> 1, (found & 1).astype(bool), groups, is_or, parents, ors)


def _by_depth(marks: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterable[NDArray[np.int64]]:
    """For each depth, the marks that open groups at it."""
    if not len(marks):
        return []
    ends = np.sort(marks + 2 + lengths)
    depths = np.arange(len(marks)) - np.searchsorted(ends, marks, side="right")
    return [np.flatnonzero(depths == depth) for depth in range(int(depths.max()) + 1)]


def types_of(kinds: NDArray[np.uint8], types: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The types of values for which leaves of these kinds are not UNKNOWN, one bit each."""
    table = np.full(codes.UNTYPED + 1, ANY, np.int64)
    for kind, bits in _OF_TYPE.items():
        table[kind] = bits
    return table[np.where(kinds == codes.INTERSECTS, codes.GEOMETRY, types)]


def _joined(parts: Iterable[Asks]) -> Asks:
    return Asks(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _asks(leaves: NDArray[np.int64], negated: bool, kind: object, first: NDArray[np.int32], second: object) -> Asks:
    count = len(leaves)
    wide = (np.broadcast_to(np.asarray(one, np.int64), count) for one in (kind, first, second))
    return Asks(leaves, np.full(count, negated), *wide)


def _both(leaves: NDArray[np.int64], kind: object, first: NDArray[np.int32], second: object) -> Asks:
    return _joined(_asks(leaves, negated, kind, first, second) for negated in (False, True))


def _on_one(compiled: CompiledExpressions) -> Asks:
    """For predicates on one attribute, and for arrays on two."""
    arrays = compiled.arrays
    kinds = arrays.leaf_kinds
    on_one = np.flatnonzero((kinds < codes.COMPARE) & (kinds != codes.IS_NULL))
    on_two = np.flatnonzero(kinds == codes.ARRAY_PAIR)
    leaves = np.concatenate([on_one, on_two])
    named = np.concatenate([arrays.leaf_attributes[on_one], arrays.leaf_others[on_two]])
    types = types_of(kinds[leaves], arrays.leaf_types[leaves])
    nulls = np.flatnonzero(kinds == codes.IS_NULL)
    of_nulls = arrays.leaf_attributes[nulls]
    return _joined(
        [
            _both(leaves, OF_TYPE, named, types),
            _asks(nulls, False, UNLESS_NULL, of_nulls, ANY),
            _asks(nulls, True, OF_TYPE, of_nulls, ANY),
        ]
    )


def _on_lists(compiled: CompiledExpressions) -> Asks:
    """For arrays of constants: the types that elements of a list must have to contain or overlap them."""
    arrays = compiled.arrays
    own = np.array([not is_reading(name) for name in compiled.attributes], bool)
    leaves = np.flatnonzero(arrays.leaf_kinds == codes.ARRAY_SET)
    leaves = leaves[own[arrays.leaf_attributes[leaves]]] if len(leaves) else leaves
    steps, owners = gathered(arrays.set_starts, arrays.leaf_others[leaves])
    types = np.zeros(len(leaves), np.int64)
    np.bitwise_or.at(types, owners, np.int64(1) << arrays.set_types[steps].astype(np.int64))
    operations = arrays.leaf_operations[leaves]
    parts = []
    for kind, chosen in (
        (ALL_ELEMENTS, np.isin(operations, (codes.CONTAINS, codes.EQUALS))),
        (SOME_ELEMENT, operations == codes.OVERLAPS),
    ):
        chosen &= types > 0
        parts.append(_asks(leaves[chosen], False, kind, arrays.leaf_attributes[leaves[chosen]], types[chosen]))
    return _joined(parts)


class _Steps(NamedTuple):
    """The attributes in the terms of some leaves. N attributes, L leaves."""

    places: NDArray[np.int64]  # (N,) the index among the leaves
    attributes: NDArray[np.int32]  # (N,)
    types: NDArray[np.int64]  # (N,) the type that the term treats it as
    is_bare: NDArray[np.bool_]  # (L,) whether the term is just an unchanged attribute


def _steps(compiled: CompiledExpressions, terms: NDArray[np.int32]) -> _Steps:
    arrays = compiled.arrays
    steps, places = gathered(arrays.term_starts, terms)
    is_alone = np.diff(arrays.term_starts)[terms] == 1
    named = arrays.term_codes[steps] == codes.TERM_ATTRIBUTE
    steps, places = steps[named], places[named]
    is_folded = arrays.term_transforms[steps] > 0
    after = np.minimum(steps + 1, len(arrays.term_codes) - 1)
    is_dated = ~is_alone[places] & (arrays.term_codes[after] == codes.TERM_INSTANT_OF)
    of_sums = np.where(is_dated, _NUMBER_OR_INSTANT, _NUMBER)
    types = np.where(is_folded, _OF_TYPE[codes.STRING], np.where(is_alone[places], ANY, of_sums))
    is_bare = np.zeros(len(terms), bool)
    is_bare[places[is_alone[places] & ~is_folded]] = True
    return _Steps(places, arrays.term_arguments[steps], types, is_bare)


def _compared(compiled: CompiledExpressions) -> list[Asks]:
    """For comparisons of attributes and arithmetic. A bare attribute must have the type of the other side."""
    arrays = compiled.arrays
    leaves = np.flatnonzero(arrays.leaf_kinds == codes.COMPARE)
    terms = arrays.leaf_attributes[leaves], arrays.leaf_others[leaves]
    sides = [_steps(compiled, one) for one in terms]
    found = []
    for own, other in (sides, sides[::-1]):
        of_other = np.full(len(leaves), _NUMBER, np.int64)  # arithmetic, and numbers
        of_other[other.places] = np.where(other.is_bare[other.places], ANY, other.types)
        types = np.where(own.is_bare[own.places], of_other[own.places], own.types)
        kinds = np.where((own.is_bare & other.is_bare)[own.places], COMPARED, OF_TYPE)
        found.append(_both(leaves[own.places], kinds, own.attributes, types))
    both = np.flatnonzero(sides[0].is_bare & sides[1].is_bare)
    alone = [arrays.term_arguments[arrays.term_starts[one[both]]] for one in terms]
    return [*found, _both(leaves[both], SAME_TYPE, alone[0], alone[1])]


def _of_nulls(compiled: CompiledExpressions) -> list[Asks]:
    """For arithmetic, or folded text, under IS NULL."""
    arrays = compiled.arrays
    leaves = np.flatnonzero(arrays.leaf_kinds == codes.TERM_IS_NULL)
    own = _steps(compiled, arrays.leaf_attributes[leaves])
    return [
        _asks(leaves[own.places], negated, kind, own.attributes, own.types)
        for negated, kind in ((False, UNLESS_NULL), (True, OF_TYPE))
    ]


def _of_truths(compiled: CompiledExpressions, direct: Asks) -> list[Asks]:
    """For conditions used as values, if they are known only when each part is known; not with AND or OR.

    `(n > 1) IS NULL` holds if a part is not known.
    """
    arrays = compiled.arrays
    outer = np.flatnonzero(arrays.leaf_kinds == codes.TRUTH)
    steps, owners = gathered(arrays.truth_starts, arrays.leaf_attributes[outer])
    operations = arrays.truth_codes[steps]
    open_, nulls = np.zeros(len(outer), bool), np.zeros(len(outer), np.int64)
    open_[owners[np.isin(operations, (codes.TRUTH_AND, codes.TRUTH_OR, codes.TRUTH_COUNT))]] = True
    np.add.at(nulls, owners[operations == codes.TRUTH_IS_NULL], 1)
    ends = arrays.truth_starts[arrays.leaf_attributes[outer] + 1] - 1
    of_null = (nulls == 1) & (arrays.truth_codes[ends] == codes.TRUTH_IS_NULL)
    asks = (operations == codes.TRUTH_LEAF) & ((nulls == 0) | of_null)[owners] & ~open_[owners]
    inner, by = arrays.truth_arguments[steps][asks], owners[asks]
    rows = np.flatnonzero(~direct.negated & (direct.kinds <= COMPARED) | ~direct.negated & (direct.kinds == SAME_TYPE))
    rows = rows[np.argsort(direct.leaves[rows], kind="stable")]
    starts = np.searchsorted(direct.leaves[rows], np.arange(len(arrays.leaf_kinds) + 1))
    at, which = gathered(starts, inner)
    at, by = rows[at], by[which]
    kinds, first, second = direct.kinds[at], direct.first[at], direct.second[at]
    is_null = of_null[by]
    as_it_is = np.where(is_null & (kinds <= COMPARED), UNLESS_NULL, kinds)
    told = ~is_null | (kinds != SAME_TYPE)
    return [
        Asks(outer[by][told], np.zeros(int(told.sum()), bool), as_it_is[told], first[told], second[told]),
        Asks(outer[by], np.ones(len(by), bool), kinds, first, second),
    ]
