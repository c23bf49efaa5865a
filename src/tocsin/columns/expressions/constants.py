"""Predicates that never hold, or always hold, for any event. Derived from the compiled form alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.asking import Literals, types_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.pools import like_text
from tocsin.columns.payloads import HIGHEST, LOWEST, numbers_of
from tocsin.kernels import codes
from tocsin.language.operators.operands import transformed
from tocsin.language.operators.pattern import never_met
from tocsin.model.values import LARGEST_INTEGER


def empty_ranges(compiled: CompiledExpressions) -> NDArray[np.bool_]:
    """(F,) leaves with an empty range."""
    leaves = compiled.arrays
    found: NDArray[np.bool_] = (leaves.leaf_kinds == codes.RANGE) & (leaves.leaf_lows > leaves.leaf_highs)
    return found


def of_no_single(compiled: CompiledExpressions) -> NDArray[np.int64]:
    """The leaves that compare a number with a constant that a 32-bit float cannot equal."""
    leaves = compiled.arrays
    ranges = np.flatnonzero((leaves.leaf_kinds == codes.RANGE) & (leaves.leaf_types == codes.NUMBER))
    lows, highs = leaves.leaf_lows[ranges], leaves.leaf_highs[ranges]
    # The bound of `x < 0.5` is the neighbour of 0.5.
    is_none = (lows > LOWEST) & ~_is_single(lows) & ~_is_single(lows - 1)
    is_none |= (highs < HIGHEST) & ~_is_single(highs) & ~_is_single(highs + 1)
    return np.union1d(ranges[is_none], _with_numbers(compiled, lambda keys: ~_is_single(keys)))


def of_large_numbers(compiled: CompiledExpressions) -> NDArray[np.int64]:
    """The leaves that test equality with a number from 2**53 on."""
    leaves = compiled.arrays
    asks = (leaves.leaf_kinds == codes.RANGE) & (leaves.leaf_types == codes.NUMBER)
    equals = np.flatnonzero(asks & (leaves.leaf_lows == leaves.leaf_highs))
    large = equals[_is_large(leaves.leaf_lows[equals])]
    return np.union1d(large, _with_numbers(compiled, _is_large))


def _is_single(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    numbers = numbers_of(keys)
    with np.errstate(over="ignore", invalid="ignore"):
        found: NDArray[np.bool_] = numbers.astype(np.float32).astype(np.float64) == numbers
    return found


def _is_large(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.abs(numbers_of(keys)) >= LARGEST_INTEGER
    return found


def _with_numbers(
    compiled: CompiledExpressions, holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """The leaves of sets that contain a number for which `holds`."""
    leaves = compiled.arrays
    own = np.flatnonzero((leaves.leaf_kinds == codes.IN_SET) & (leaves.leaf_types == codes.NUMBER))
    some = np.concatenate([[0], np.cumsum((leaves.set_types == codes.NUMBER) & holds(leaves.set_payloads))])
    sets = leaves.leaf_others[own]
    return own[some[leaves.set_starts[sets + 1]] > some[leaves.set_starts[sets]]]


def unfolded(compiled: CompiledExpressions) -> dict[int, tuple[str, str]]:
    """The leaves that compare folded text with a constant that is not folded: the constant, and its folded form."""
    leaves = compiled.arrays
    found = {}
    for leaf in np.flatnonzero(leaves.leaf_transforms).tolist():
        transform = compiled.transforms[leaves.leaf_transforms[leaf]]
        for text in _texts(compiled, leaf):
            folded = transformed(text, transform)
            if folded != text:
                found[leaf] = text, folded
                break
    return found


def _texts(compiled: CompiledExpressions, leaf: int) -> list[str]:
    """The constants of a leaf on text."""
    leaves, kind = compiled.arrays, int(compiled.arrays.leaf_kinds[leaf])
    if kind == codes.RANGE and leaves.leaf_lows[leaf] == leaves.leaf_highs[leaf]:
        numbers = [int(leaves.leaf_lows[leaf])]
    elif kind == codes.IN_SET:
        own = leaves.leaf_others[leaf]
        numbers = leaves.set_payloads[leaves.set_starts[own] : leaves.set_starts[own + 1]].tolist()
    elif kind == codes.LIKE:
        own = leaves.leaf_others[leaf]
        tokens = leaves.pattern_tokens[leaves.pattern_starts[own] : leaves.pattern_starts[own + 1]]
        return [like_text(tokens.tolist())]
    else:
        numbers = []
    return [compiled.vocabulary.text(number >> 1) for number in numbers]


def unknown(compiled: CompiledExpressions) -> NDArray[np.int64]:
    """Comparisons with a term that never has a value: `(a = 1) + 2`, since a condition is not a number."""
    leaves = compiled.arrays
    compares = np.flatnonzero(leaves.leaf_kinds == codes.COMPARE)
    has_none = _without_value(compiled)
    chosen = has_none[leaves.leaf_attributes[compares]] | has_none[leaves.leaf_others[compares]]
    return compares[chosen] if len(compares) else compares


def always_null(compiled: CompiledExpressions) -> NDArray[np.int64]:
    """IS NULL on terms that never have a value."""
    leaves = compiled.arrays
    nulls = np.flatnonzero(leaves.leaf_kinds == codes.TERM_IS_NULL)
    return nulls[_without_value(compiled)[leaves.leaf_attributes[nulls]]] if len(nulls) else nulls


def _without_value(compiled: CompiledExpressions) -> NDArray[np.bool_]:
    """(X,) the terms that are null for any event."""
    starts, steps = compiled.arrays.term_starts, compiled.arrays.term_codes
    before = np.concatenate([[0], np.cumsum(steps == codes.TERM_NULL)])
    found: NDArray[np.bool_] = before[starts[1:]] > before[starts[:-1]]
    return found


def capitals(compiled: CompiledExpressions) -> dict[int, str]:
    """By leaf, the letters that its regular expression looks for and folded text never has."""
    leaves = compiled.arrays
    found = {}
    for leaf in np.flatnonzero((leaves.leaf_kinds == codes.REGEX) & (leaves.leaf_transforms > 0)).tolist():
        transform = compiled.transforms[leaves.leaf_transforms[leaf]]
        letters = never_met(compiled.regexes[leaves.leaf_others[leaf]][0], partial(transformed, transform=transform))
        if letters:
            found[leaf] = letters
    return found


def contradictory(compiled: CompiledExpressions, literals: Literals) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """ANDs of predicates that no value of an attribute satisfies together: the expressions, and the attributes.

    Their ranges are disjoint, or they need values of different types. A negated predicate also needs a value of its
    type.
    """
    leaves = compiled.arrays
    kinds = leaves.leaf_kinds[literals.leaves]
    chosen = np.flatnonzero(~literals.is_or & (kinds < codes.COMPARE) & (kinds != codes.IS_NULL))
    own = literals.leaves[chosen]
    keys = np.stack([literals.owners[chosen], literals.groups[chosen], leaves.leaf_attributes[own]])
    order = np.lexsort(keys[::-1])
    keys, own, chosen = keys[:, order], own[order], chosen[order]
    if not len(own):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    firsts = np.flatnonzero(np.concatenate([[True], (keys[1:, 1:] != keys[1:, :-1]).any(axis=0)]))
    types = np.bitwise_and.reduceat(types_of(leaves.leaf_kinds[own], leaves.leaf_types[own]), firsts)
    apart = types == 0
    apart |= _are_apart(compiled, own, literals.negated[chosen], firsts)
    return keys[0, firsts[apart]], keys[2, firsts[apart]].astype(np.int64)


def _are_apart(
    compiled: CompiledExpressions, own: NDArray[np.int64], negated: NDArray[np.bool_], firsts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the ranges of a run, on one attribute with one folding, are disjoint."""
    leaves = compiled.arrays
    run = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(own))))
    ranges = np.flatnonzero((leaves.leaf_kinds[own] == codes.RANGE) & ~negated)
    apart = np.zeros(len(firsts), bool)
    if not len(ranges):
        return apart
    keys = np.stack([run[ranges], leaves.leaf_transforms[own[ranges]].astype(np.int64)])
    order = np.lexsort(keys[::-1])
    keys, ranges = keys[:, order], own[ranges[order]]
    begins = np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))
    low = np.maximum.reduceat(leaves.leaf_lows[ranges], begins)
    high = np.minimum.reduceat(leaves.leaf_highs[ranges], begins)
    several = np.diff(np.append(begins, len(ranges))) > 1
    apart[keys[0, begins[several & (low > high)]]] = True
    return apart
