"""Builds a k-index from expressions: chooses a normal form, enumerates ranges and makes the posting lists."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen_table, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import UnsuitableIndex
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.normal_forms.normal_forms import as_written
from tocsin.kernels.distinct import sorted_groups
from tocsin.papers.opindex.conjunctions.code_sets import CodedConjunctions, asked_fields, require_comparisons
from tocsin.papers.opindex.k_index.kernels import values
from tocsin.papers.opindex.k_index.kernels.listing import OfMembers, make_lists
from tocsin.papers.opindex.k_index.kernels.lists import PostingLists
from tocsin.papers.opindex.k_index.layout import KLayout
from tocsin.papers.opindex.k_index.members import Members

MOST_VALUES: Final = 16_384
"""Ranges with more values are refused, and so are larger domains."""

MOST_OF_ONE: Final = 2**16 - 1
"""Larger conjunctions are refused, because an entry stores its clause's number in 16 bits."""

_PROBLEMS: Final = {
    values.TEXTS: "it has a range of strings, which cannot be enumerated; index 'auto' takes it",
    values.OPEN: "it has a range without an end, which can only be enumerated over a domain of integers: "
    "for numbers, give k_index(lowest=1, highest=50); index 'auto' takes it",
    values.LONG: f"it has a range of more than {MOST_VALUES} values; index 'auto' takes it",
    values.LARGE: f"it has a condition with more than {MOST_OF_ONE} values; index 'auto' takes it",
}


class Domain(NamedTuple):
    """The integers over which ranges of numbers are enumerated; without a declared domain, all exact ones."""

    ends: NDArray[np.int64]  # (2,)
    declared: bool

    def problems(self, members: Members, fields: Fields) -> NDArray[np.uint8]:
        """(M,) why a member cannot be enumerated; the most severe reason of several."""
        found = np.zeros(len(members), np.uint8)
        asked = values.EnumeratedRanges(members.sets, fields, self.ends)
        np.maximum.at(found, members.of_predicate, values.problems(asked, self.declared, MOST_VALUES))
        found[members.sizes > MOST_OF_ONE] = values.LARGE
        return found


def build_layout(compiled: CompiledExpressions, domain: Domain) -> KLayout:
    """Enumerate all ranges and sort the lists.

    An expression written as a conjunction of clauses keeps that form if its ranges can be enumerated. Any other is
    multiplied out. Cost: linear in the entries, except for sorting the distinct values. Raises `UnsuitableIndex`.
    """
    clauses = as_written(compiled)
    require_comparisons(compiled, clauses)
    fields, keys = asked_fields(compiled)
    written = Members.of_clauses(clauses, keys, fields)
    problems = domain.problems(written, fields)
    left_out = np.zeros(len(compiled), bool)
    left_out[clauses.owners] = True
    left_out[written.owners[problems != values.FINE]] = False
    try:
        multiplied = Members.of_conjunctions(CodedConjunctions.of(compiled, (fields, keys), left_out))
    except UnsuitableIndex as error:
        _refuse(problems, written.owners, written.owners == error.number)
        raise
    others = domain.problems(multiplied, fields)
    _refuse(others, multiplied.owners, others != values.FINE)
    members = written.chosen(np.flatnonzero(problems == values.FINE)).by_size(multiplied)
    return KLayout(compiled, fields, members, _lists(members, fields, domain.ends))


def _refuse(problems: NDArray[np.uint8], owners: NDArray[np.int32], some: NDArray[np.bool_]) -> None:
    """Raise `UnsuitableIndex` for the first of the selected members that has a problem."""
    for member in np.flatnonzero(some & (problems != values.FINE))[:1].tolist():
        raise UnsuitableIndex(_PROBLEMS[int(problems[member])], int(owners[member])) from None


def _lists(members: Members, fields: Fields, domain: NDArray[np.int64]) -> PostingLists:
    """The posting lists of all clauses."""
    asked = values.EnumeratedRanges(members.sets, fields, domain)
    rows = values.intervals(asked)
    order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
    groups, payloads = values.enumerated(rows, order, fields.kinds)
    found = values.FieldValues(*sorted_groups(groups, payloads, len(fields.kinds)))
    counts = np.zeros(len(found.values) + values.PAIRS_BESIDE * len(fields.kinds), np.int64)
    values.post(asked, found, counts, np.empty(0, np.int32))
    pair_starts = starts_of(counts, len(counts))
    posted = np.empty(pair_starts[-1], np.int32)
    values.post(asked, found, pair_starts[:-1].copy(), posted)
    sizes = members.sizes.astype(np.int32)
    listed = make_lists(pair_starts, posted, OfMembers(members.of_clause, members.starts, sizes))
    size_starts = np.searchsorted(sizes, np.arange(sizes.max(initial=0) + 2))
    lists = {"value_starts": found.starts, "values": found.values, "size_starts": size_starts, **listed._asdict()}
    return frozen_table(PostingLists(domain=domain, **lists))
