"""What does each predicate ask of which attribute: which types of a value could ever make it true or false?"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import gathered
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.kernels import codes

ANY: Final = 0xFFFFFFFF
_OF_TYPE: Final = {
    codes.NUMBER: 1 << codes.NUMBER | 1 << (codes.RANGED + codes.NUMBER),
    codes.STRING: 1 << codes.STRING,
    codes.BOOLEAN: 1 << codes.BOOLEAN,
    codes.INSTANT: 1 << codes.INSTANT | 1 << (codes.RANGED + codes.INSTANT),
    codes.LIST: 1 << codes.LIST,
    codes.GEOMETRY: 1 << codes.GEOMETRY | 1 << codes.SHAPE | 1 << codes.LIST,  # a list of numbers may be read as a box
}
"""The types of values that a predicate on a type is about, a bit each; that of a range beside its ends'."""


class Asked(NamedTuple):
    """What leaves ask. N of them, those on two attributes twice."""

    leaves: NDArray[np.int64]  # (N,)
    attributes: NDArray[np.int64]  # (N,)
    types: NDArray[np.uint32]  # (N,) a bit for each type of a value that the leaf is not UNKNOWN of


class Literals(NamedTuple):
    """The literals of all programs. L of them."""

    owners: NDArray[np.int64]  # (L,) the expression
    leaves: NDArray[np.int64]  # (L,)
    negated: NDArray[np.bool_]  # (L,)


def asked(compiled: CompiledExpressions) -> Asked:
    """What every leaf asks; of a condition that is used as a value, what the leaves in it ask."""
    leaves = compiled.arrays
    kinds = leaves.leaf_kinds
    on_one = np.flatnonzero(kinds < codes.COMPARE)
    on_two = np.flatnonzero(kinds == codes.ARRAY_PAIR)
    terms = [_of_terms(compiled, np.flatnonzero(kinds == codes.COMPARE), leaves.leaf_others)]
    calculating = np.flatnonzero((kinds == codes.COMPARE) | (kinds == codes.TERM_IS_NULL))
    terms.append(_of_terms(compiled, calculating, leaves.leaf_attributes))
    named = np.concatenate([on_one, on_two])
    attributes = np.concatenate([leaves.leaf_attributes[on_one], leaves.leaf_others[on_two]]).astype(np.int64)
    own = Asked(named, attributes, _types(kinds[named], leaves.leaf_types[named]))
    direct = Asked(*(np.concatenate(columns) for columns in zip(own, *terms, strict=True)))
    return _with_truths(compiled, direct)


def literals(compiled: CompiledExpressions) -> Literals:
    """The literals of all programs, in their order."""
    program, starts = compiled.arrays.program, compiled.arrays.program_starts
    is_mark = program < 0
    is_literal = ~is_mark
    is_literal[1:] &= ~is_mark[:-1]  # behind a mark is a length
    places = np.flatnonzero(is_literal)
    owners = np.searchsorted(starts, places, side="right") - 1
    found = program[places].astype(np.int64)
    return Literals(owners, found >> 1, (found & 1).astype(bool))


def _types(kinds: NDArray[np.uint8], types: NDArray[np.uint8]) -> NDArray[np.uint32]:
    table = np.full(codes.UNTYPED + 1, ANY, np.uint32)
    for kind, bits in _OF_TYPE.items():
        table[kind] = bits
    own = np.where(kinds == codes.INTERSECTS, codes.GEOMETRY, types)
    return np.where(kinds == codes.IS_NULL, np.uint32(ANY), table[own]).astype(np.uint32)


def _of_terms(compiled: CompiledExpressions, chosen: NDArray[np.int64], terms: NDArray[np.int32]) -> Asked:
    arrays = compiled.arrays
    steps, owners = gathered(arrays.term_starts, terms[chosen])
    on_attribute = arrays.term_codes[steps] == codes.TERM_ATTRIBUTE
    attributes = arrays.term_arguments[steps][on_attribute]
    return Asked(chosen[owners[on_attribute]], attributes.astype(np.int64), np.full(len(attributes), ANY, np.uint32))


def _with_truths(compiled: CompiledExpressions, direct: Asked) -> Asked:
    arrays = compiled.arrays
    outer = np.flatnonzero(arrays.leaf_kinds == codes.TRUTH)
    if not len(outer):
        return direct
    steps, owners = gathered(arrays.truth_starts, arrays.leaf_attributes[outer])
    asks = arrays.truth_codes[steps] == codes.TRUTH_LEAF
    inner, by = arrays.truth_arguments[steps][asks], outer[owners[asks]]
    order = np.argsort(direct.leaves, kind="stable")
    starts = np.searchsorted(direct.leaves[order], np.arange(len(arrays.leaf_kinds) + 1))
    rows, which = gathered(starts, inner)
    rows = order[rows]
    return Asked(
        np.concatenate([direct.leaves, by[which]]),
        np.concatenate([direct.attributes, direct.attributes[rows]]),
        np.concatenate([direct.types, direct.types[rows]]),
    )
