"""Removal of leaves, operands, strings and names that only removed expressions used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import Texts, frozen, gathered
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.leaf_kinds import TABLES, refers, renumbered, with_strings_numbered
from tocsin.columns.expressions.leaf_order import with_leaves
from tocsin.columns.expressions.leaves import PooledLeaves
from tocsin.columns.expressions.pools import Pools
from tocsin.columns.expressions.programs import leaf_places
from tocsin.columns.payloads import HIGHEST, LOWEST, string_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.language.operators.operator import asked_by_reading
from tocsin.model.readings import is_reading, reading_of


def without_the_unused(compiled: CompiledExpressions) -> CompiledExpressions:
    """The same expressions without anything that none of them uses. Cost: linear.

    A name without a leaf may still be needed by a reading (a name in a condition on elements, a second place). Finding
    out takes the texts of conditions, so it is done only when such names are as many as the others.
    """
    arrays = _with_leaves_used(compiled.arrays)
    for name in TABLES:
        arrays = _without_runs(arrays, name)
    arrays = _without_constants(arrays)
    compiled = _without_strings(replace(compiled, arrays=arrays))
    return _without_names(_without_regexes(compiled))


def _with_leaves_used(arrays: Expressions) -> Expressions:
    """Remove leaves that occur neither in a program nor in a condition used as a value."""
    used = np.zeros(len(arrays.leaf_kinds), bool)
    used[arrays.program[leaf_places(arrays.program)] >> 1] = True
    truths = arrays.leaf_attributes[used & (arrays.leaf_kinds == codes.TRUTH)]
    steps, _ = gathered(arrays.truth_starts, truths)
    used[arrays.truth_arguments[steps][arrays.truth_codes[steps] == codes.TRUTH_LEAF]] = True
    return with_leaves(_without_runs(arrays, "truths", used), used, np.cumsum(used) - 1)


def _without_runs(arrays: Expressions, name: str, alive: NDArray[np.bool_] | None = None) -> Expressions:
    """Remove the entries of a table that no leaf, or no leaf of `alive`, refers to."""
    table = TABLES[name]
    kinds = arrays.leaf_kinds if alive is None else np.where(alive, arrays.leaf_kinds, codes.UNKNOWN_LEAF)
    used = np.zeros(table.length(arrays), bool)
    for column in ("leaf_attributes", "leaf_others"):
        used[getattr(arrays, column)[refers(kinds, column, name)]] = True
    if used.all():
        return arrays
    changed = renumbered(arrays, name, np.cumsum(used) - 1, kinds)
    return arrays._replace(**changed, **table.chosen(arrays, np.flatnonzero(used)))


def _without_constants(arrays: Expressions) -> Expressions:
    """Remove numbers that occur in no term."""
    refers = np.isin(arrays.term_codes, codes.WITH_CONSTANT)
    used, places = _used(len(arrays.constants), arrays.term_arguments[refers])
    arguments = arrays.term_arguments.copy()
    arguments[refers] = places[arguments[refers]]
    return arrays._replace(
        constants=frozen(arrays.constants[used], np.float64), term_arguments=frozen(arguments, np.int32)
    )


def _used(count: int, numbers: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which of `count` things are used, and the new number of each."""
    used = np.zeros(count, bool)
    used[numbers] = True
    return used, np.cumsum(used) - 1


def _without_strings(compiled: CompiledExpressions) -> CompiledExpressions:
    """Remove strings that no leaf compares with."""
    arrays, count = compiled.arrays, len(compiled.vocabulary)
    own = (arrays.leaf_kinds == codes.RANGE) & (arrays.leaf_types == codes.STRING)
    lows, highs = arrays.leaf_lows[own], arrays.leaf_highs[own]
    numbers = [
        string_of(lows[lows != LOWEST], at_low_end=True),
        string_of(highs[highs != HIGHEST], at_low_end=False),
        string_of(arrays.set_payloads[arrays.set_types == codes.STRING], at_low_end=False),
    ]
    used, places = _used(count, np.concatenate(numbers).astype(np.int64))
    if used.all():
        return compiled
    kept = compiled.vocabulary.arrow().filter(used)
    return replace(compiled, arrays=with_strings_numbered(arrays, places), vocabulary=Texts.of_arrow(kept))


def _without_regexes(compiled: CompiledExpressions) -> CompiledExpressions:
    """Remove regular expressions that no leaf uses."""
    arrays = compiled.arrays
    refers = arrays.leaf_kinds == codes.REGEX
    used, places = _used(len(compiled.regexes), arrays.leaf_others[refers])
    others = arrays.leaf_others.copy()
    others[refers] = places[others[refers]]
    regexes = [compiled.regexes[number] for number in np.flatnonzero(used).tolist()]
    return replace(compiled, arrays=arrays._replace(leaf_others=frozen(others, np.int32)), regexes=regexes)


def _without_names(compiled: CompiledExpressions) -> CompiledExpressions:
    """Remove attributes, and readings of attributes, that are not used."""
    arrays, names = compiled.arrays, compiled.attributes
    plain, pairs = arrays.leaf_kinds < codes.COMPARE, arrays.leaf_kinds == codes.ARRAY_PAIR
    in_terms = np.isin(arrays.term_codes, codes.WITH_ATTRIBUTE)
    named = (arrays.leaf_attributes[plain], arrays.leaf_others[pairs], arrays.term_arguments[in_terms])
    used, _ = _used(len(names), np.concatenate(named))
    used |= _needed(names, used)
    if used.all():
        return compiled
    places = (np.cumsum(used) - 1).astype(np.int32)
    columns = {"leaf_attributes": plain, "leaf_others": pairs, "term_arguments": in_terms}
    renumbered: Mapping[str, Any] = {
        field: frozen(
            np.where(refers, places[np.where(refers, getattr(arrays, field), 0)], getattr(arrays, field)), np.int32
        )
        for field, refers in columns.items()
    }
    kept = [names[number] for number in np.flatnonzero(used).tolist()]
    return replace(compiled, arrays=arrays._replace(**renumbered), attributes=kept).with_attributes(len(kept))


def _needed(names: list[str], used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which names without leaves are still needed: not readings, but the names that readings look at, and keys."""
    keys = np.array([reading_of(name).is_key for name in names], bool)
    needed = np.array([not is_reading(name) or reading_of(name).is_of_elements for name in names], bool) & ~used
    if needed.sum() > max(_FEW, used.sum()):
        by_readings = {one for number in np.flatnonzero(used).tolist() for one in _needed_by(names[number])}
        needed &= np.array([name in by_readings for name in names], bool)
    needed |= keys
    return needed


def _needed_by(name: str) -> set[str]:
    """The names to be read for a compiled name: those in a condition on elements, a place or an array of attributes."""
    asked = asked_by_reading(reading_of(name))
    return set() if asked is None else PooledLeaves(Pools()).names_of(asked)


_FEW: Final = 16
"""Up to this many possibly unused names are kept without a check."""
