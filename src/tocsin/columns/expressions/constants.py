"""Which predicates can never hold, or always do, whatever the events? Told from the compiled form alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.asking import Literals
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.like_tokens import like_text
from tocsin.columns.expressions.operands import transformed
from tocsin.columns.payloads import HIGHEST, LOWEST
from tocsin.kernels import codes


def empty_ranges(compiled: CompiledExpressions) -> NDArray[np.bool_]:
    """(F,) leaves whose range has no value."""
    leaves = compiled.arrays
    found: NDArray[np.bool_] = (leaves.leaf_kinds == codes.RANGE) & (leaves.leaf_lows > leaves.leaf_highs)
    return found


def unfolded(compiled: CompiledExpressions) -> dict[int, tuple[str, str]]:
    """The leaves that compare folded text with a constant that is not: the constant, and what it would be."""
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


def contradictory(compiled: CompiledExpressions, literals: Literals) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """ANDs of predicates whose ranges of one attribute have no value in common: the expressions, and the attributes."""
    leaves = compiled.arrays
    lengths = np.diff(leaves.program_starts)
    counts = np.bincount(literals.owners, minlength=len(lengths))
    is_and = counts == lengths  # no groups
    chosen = is_and[literals.owners] & ~literals.negated & (leaves.leaf_kinds[literals.leaves] == codes.RANGE)
    owners, own = literals.owners[chosen], literals.leaves[chosen]
    keys = np.stack([owners, leaves.leaf_attributes[own], leaves.leaf_transforms[own]]).astype(np.int64)
    order = np.lexsort(keys[::-1])
    keys, own = keys[:, order], own[order]
    if not len(own):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    firsts = np.flatnonzero(np.concatenate([[True], (keys[:, 1:] != keys[:, :-1]).any(axis=0)]))
    low = np.maximum.reduceat(np.where(leaves.leaf_lows[own] == LOWEST, LOWEST, leaves.leaf_lows[own]), firsts)
    high = np.minimum.reduceat(np.where(leaves.leaf_highs[own] == HIGHEST, HIGHEST, leaves.leaf_highs[own]), firsts)
    least, greatest = (reduce.reduceat(leaves.leaf_types[own], firsts) for reduce in (np.minimum, np.maximum))
    several = np.diff(np.append(firsts, len(own))) > 1
    apart = several & ((low > high) | (least != greatest))
    return keys[0, firsts[apart]], keys[1, firsts[apart]]
