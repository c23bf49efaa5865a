"""Decomposition of subscriptions with alternatives into rows, each with a region and keywords of its own.

`region AND (iphone4s AND AT&T OR ipad2 AND AT&T)` becomes two rows of one subscription. The rows are the clauses of the
disjunctive normal form, after every condition other than a region or keywords is taken to hold. So other alternatives
are not multiplied out. A subscription with such conditions is verified as a whole.

Source: Yu et al. 2015, section 2.1. Departs: docs/papers/location_aware.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions, leaf_arrays
from tocsin.columns.expressions.joining import reordered
from tocsin.columns.expressions.leaf_kinds import ATTRIBUTES, refers
from tocsin.columns.expressions.programs import leaf_places
from tocsin.index.normal_forms.normal_forms import MOST_CLAUSES, Clause, clauses_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.model.readings import reading_of

MOST_ROWS: Final = MOST_CLAUSES
"""A subscription with more rows is not decomposed."""

MOST_KEYWORDS: Final = 1 << 16
"""Neither is one with more keywords in all of its rows together."""


class Rows(NamedTuple):
    """Subscriptions, some of them decomposed. R rows, S subscriptions."""

    expressions: CompiledExpressions  # of the rows, over the attributes and strings of the subscriptions
    owners: NDArray[np.int32]  # (R,) the subscription of each row, ascending
    asks_more: NDArray[np.bool_]  # (S,) whether a subscription also has conditions that its rows leave out


def decomposed(compiled: CompiledExpressions, chosen: NDArray[np.bool_]) -> Rows:
    """The rows of the chosen subscriptions; others, and those with too many rows, are one row as they are.

    A subscription that never holds is a row of FALSE. Cost: 20 to 100 us for each chosen one.
    """
    widened, firsts = _with_elements(compiled.arrays, chosen)
    relaxed, asks_more = _relaxed(compiled, widened, chosen)
    lengths = _keyword_counts(widened)
    alternatives = {
        2 * leaf: [frozenset([2 * element]) for element in range(first, first + int(lengths[leaf]))]
        for leaf, first in firsts.items()
    }
    never = frozenset([2 * (len(widened.leaf_kinds) - 1)])
    clauses: list[tuple[int, Clause]] = []
    is_whole = ~chosen
    for number in np.flatnonzero(chosen).tolist():
        own = clauses_of(relaxed, number, MOST_ROWS, conjunctive=False, alternatives=alternatives)
        if own is None or sum(int(lengths[code >> 1]) for clause in own for code in clause) > MOST_KEYWORDS:
            is_whole[number] = True
        else:
            clauses += [(number, clause) for clause in own or [never]]
    return _rows(replace(compiled, arrays=widened), is_whole, clauses, asks_more & ~is_whole)


def _with_elements(arrays: Expressions, chosen: NDArray[np.bool_]) -> tuple[Expressions, dict[int, int]]:
    """The expressions with a leaf for each element of an A_OVERLAPS, and by such a leaf the first of its elements.

    Sets with more than `MOST_ROWS` elements are left out. The last two leaves are TRUE and FALSE.
    """
    leaves = len(arrays.leaf_kinds)
    overlaps = (arrays.leaf_kinds == codes.ARRAY_SET) & (arrays.leaf_operations == codes.OVERLAPS)
    program = arrays.program[np.repeat(chosen, np.diff(arrays.program_starts))]
    is_used = np.zeros(leaves, bool)
    is_used[program[leaf_places(program)] >> 1] = True
    wide = np.flatnonzero(overlaps & is_used)
    sizes = np.diff(arrays.set_starts)[arrays.leaf_others[wide]]
    wide, sizes = wide[sizes <= MOST_ROWS], sizes[sizes <= MOST_ROWS]
    members, _ = gathered(arrays.set_starts, arrays.leaf_others[wide])
    copied = np.repeat(wide, sizes)
    constant = leaf_arrays(2, kinds=[codes.TRUE_LEAF, codes.FALSE_LEAF])
    columns = {name: getattr(arrays, name)[copied] for name in constant}
    columns["leaf_operations"] = np.full(len(copied), codes.CONTAINS)
    columns["leaf_others"] = len(arrays.set_starts) - 1 + np.arange(len(copied))
    added = {
        **{name: [column, constant[name]] for name, column in columns.items()},
        "set_starts": [arrays.set_starts[-1] + 1 + np.arange(len(copied))],
        "set_types": [arrays.set_types[members]],
        "set_payloads": [arrays.set_payloads[members]],
    }
    whole = {name: _appended(getattr(arrays, name), more) for name, more in added.items()}
    firsts = leaves + np.cumsum(sizes) - sizes
    return arrays._replace(**whole), dict(zip(wide.tolist(), firsts.tolist(), strict=True))


def _appended(array: NDArray[Any], more: list[NDArray[Any]]) -> NDArray[Any]:
    return frozen(np.concatenate([array, *more]), array.dtype)


def _relaxed(
    compiled: CompiledExpressions, widened: Expressions, chosen: NDArray[np.bool_]
) -> tuple[CompiledExpressions, NDArray[np.bool_]]:
    """The programs with all literals but regions and keywords replaced by truth, and which programs had others."""
    kinds, program = widened.leaf_kinds, widened.program.copy()
    asks = (kinds == codes.INTERSECTS) | (kinds >= codes.TRUE_LEAF)
    asks |= (kinds == codes.ARRAY_SET) & np.isin(widened.leaf_operations, (codes.CONTAINS, codes.OVERLAPS))
    of_place = np.array([reading_of(name).is_of_place for name in compiled.attributes], bool)
    on_attribute = refers(kinds, "leaf_attributes", ATTRIBUTES)
    asks[on_attribute] |= of_place[widened.leaf_attributes[on_attribute]]
    literals = np.flatnonzero(leaf_places(program))
    leaves, is_negated = program[literals] >> 1, program[literals] & 1 == 1
    others = literals[(~asks[leaves] | is_negated) & (kinds[leaves] < codes.TRUE_LEAF)]
    program[others] = 2 * (len(kinds) - 2)
    asks_more = np.zeros(len(compiled), bool)
    asks_more[np.searchsorted(compiled.arrays.program_starts, others, side="right") - 1] = True
    return replace(compiled, arrays=widened._replace(program=program)), asks_more & chosen


def _keyword_counts(arrays: Expressions) -> NDArray[np.int64]:
    """(F,) the number of elements of each leaf on an array; 0 for other leaves."""
    counts = np.zeros(len(arrays.leaf_kinds), np.int64)
    on_array = arrays.leaf_kinds == codes.ARRAY_SET
    counts[on_array] = np.diff(arrays.set_starts)[arrays.leaf_others[on_array]]
    return counts


def _rows(
    compiled: CompiledExpressions,
    is_whole: NDArray[np.bool_],
    clauses: list[tuple[int, Clause]],
    asks_more: NDArray[np.bool_],
) -> Rows:
    """Rows of whole expressions and of clauses, by subscription."""
    arrays = compiled.arrays
    lengths = np.diff(arrays.program_starts)
    whole = np.flatnonzero(is_whole)
    owners = np.concatenate([whole, np.array([number for number, _ in clauses], np.int64)])
    sizes = np.concatenate([lengths[whole], np.array([len(clause) for _, clause in clauses], np.int64)])
    literals = np.array([code for _, clause in clauses for code in sorted(clause)], np.int32)
    program = np.concatenate([arrays.program[np.repeat(is_whole, lengths)], literals])
    order = np.argsort(owners, kind="stable")
    starts, program = reordered(starts_of(sizes, len(sizes)), program, order)
    rows = replace(compiled, arrays=arrays._replace(program_starts=starts, program=program))
    return Rows(rows, frozen(owners[order], np.int32), asks_more)
