"""How do expressions become a k-index? By the form they are written in; then by enumerating what they ask for."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import UnsuitableIndex
from tocsin.index.boolean.conjunctions.code_sets import Conjunctions, asked_fields, require_comparisons
from tocsin.index.boolean.k_index.clause_sets import ClauseSets
from tocsin.index.boolean.k_index.kernels import values as k_values
from tocsin.index.boolean.k_index.kernels.dealing import Units, deal_lists
from tocsin.index.boolean.k_index.kernels.lists import PostingLists
from tocsin.index.boolean.k_index.layout import TYPES, KLayout
from tocsin.index.boolean.normal_forms.normal_forms import as_written
from tocsin.index.fields.kernels.code_sets import CodeSets
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.kernels.distinct import sorted_groups

MOST_VALUES: Final = 16_384
"""A range of more values is refused, and so is a larger domain."""

_PROBLEMS: Final = {
    k_values.TEXTS: "it has a range of strings, which cannot be enumerated; index 'auto' takes it",
    k_values.OPEN: "it has a range without an end, which can only be enumerated over a domain of integers: "
    "say k_index(lowest=1, highest=50), for numbers; index 'auto' takes it",
    k_values.LONG: f"it has a range of more than {MOST_VALUES} values; index 'auto' takes it",
}


class Domain(NamedTuple):
    """The integers that ranges of numbers are enumerated over: all that are exact where none are declared."""

    ends: NDArray[np.int64]  # (2,)
    declared: bool

    def problems(self, sets: CodeSets, fields: Fields) -> NDArray[np.uint8]:
        """Why each predicate cannot be enumerated."""
        about = (sets, fields.kinds, fields.operand_starts, fields.operands, self.ends)
        return k_values.problems(*about, self.declared, MOST_VALUES)


def build_layout(compiled: CompiledExpressions, domain: Domain) -> KLayout:
    """Enumerate all ranges and sort the lists.

    What is written as a conjunction of clauses stays one if its ranges can be enumerated; all else is multiplied out.
    Cost: linear in the entries, but for sorting the distinct values. Raises `UnsuitableIndex`.
    """
    clauses = as_written(compiled)
    require_comparisons(compiled, clauses)
    fields, keys = asked_fields(compiled)
    held = ClauseSets.of(clauses, keys, fields)
    problems = np.zeros(len(held), np.uint8)
    np.maximum.at(problems, held.members[_units_of_predicates(held.sets)], domain.problems(held.sets, fields))
    left_out = np.zeros(len(compiled), bool)
    left_out[clauses.owners] = True
    left_out[held.owners[problems != k_values.FINE]] = False
    try:
        conjunctions = Conjunctions.of(compiled, (fields, keys), left_out)
    except UnsuitableIndex as error:
        why = problems[held.owners == error.number]
        if not why.any():
            raise
        raise UnsuitableIndex(_PROBLEMS[int(why[0])], error.number) from None
    held = held.without(problems != k_values.FINE)
    conjunctions = conjunctions.reordered(np.argsort(np.diff(conjunctions.sets.starts), kind="stable"))
    _refuse(conjunctions, domain)
    lists, _ = _lists(fields, conjunctions.sets, _of_conjunctions(conjunctions.sets), domain.ends)
    of_clauses = Units(held.members, held.starts, np.diff(held.starts).astype(np.int32))
    clause_lists, numbers = _lists(fields, held.sets, of_clauses, domain.ends)
    return KLayout(conjunctions, lists, held, clause_lists, frozen(numbers, np.uint16))


def _units_of_predicates(sets: CodeSets) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(sets.starts) - 1), np.diff(sets.starts))


def _of_conjunctions(sets: CodeSets) -> Units:
    """Each a unit by itself."""
    count = len(sets.starts) - 1
    return Units(np.arange(count, dtype=np.int32), np.arange(count + 1), np.diff(sets.starts).astype(np.int32))


def _refuse(conjunctions: Conjunctions, domain: Domain) -> None:
    problems = domain.problems(conjunctions.sets, conjunctions.fields)
    if problems.any():
        predicate = int(np.argmax(problems != k_values.FINE))
        conjunction = int(_units_of_predicates(conjunctions.sets)[predicate])
        raise UnsuitableIndex(_PROBLEMS[int(problems[predicate])], int(conjunctions.owners[conjunction]))


def _lists(
    fields: Fields, sets: CodeSets, units: Units, domain: NDArray[np.int64]
) -> tuple[PostingLists, NDArray[np.uint16]]:
    """The lists of conjunctions or clauses, and what number each entry's has in its member."""
    about = (sets, fields.kinds, fields.operand_starts, fields.operands, domain)
    rows = k_values.intervals(*about)
    order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
    groups, payloads = k_values.enumerated(rows, order, fields.kinds)
    value_starts, values = sorted_groups(groups, payloads, len(fields.kinds))
    pairs = len(values) + k_values.PAIRS_BESIDE * len(fields.kinds)
    counts = np.zeros(pairs, np.int64)
    k_values.post(*about, value_starts, values, counts, np.empty(0, np.int32))
    pair_starts = np.concatenate([[0], np.cumsum(counts)])
    posted = np.empty(pair_starts[-1], np.int32)
    k_values.post(*about, value_starts, values, pair_starts[:-1].copy(), posted)
    list_starts, list_sizes, entry_starts, entries, numbers = deal_lists(pair_starts, posted, units)
    size_starts = np.searchsorted(units.sizes, np.arange(units.sizes.max(initial=0) + 2))
    tables = (domain, value_starts, values, list_starts, list_sizes, entry_starts, entries, size_starts)
    named = zip(PostingLists._fields, tables, strict=True)
    return PostingLists(*(frozen(array, TYPES.get(name, np.int64)) for name, array in named)), numbers
