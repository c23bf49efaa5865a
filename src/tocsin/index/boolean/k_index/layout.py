"""What does a k-index hold, how does that lie among named arrays, and do its numbers stay within them?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.checks import check_below, check_starts, require, require_type
from tocsin.index.boolean.conjunctions.code_sets import Conjunctions
from tocsin.index.boolean.k_index.clause_sets import ClauseSets
from tocsin.index.boolean.k_index.kernels import values as k_values
from tocsin.index.boolean.k_index.kernels.clauses import ClauseLists
from tocsin.index.boolean.k_index.kernels.finding import HeldLists
from tocsin.index.boolean.k_index.kernels.lists import PostingLists
from tocsin.index.fields.kernels.code_sets import CodeSets
from tocsin.index.fields.kernels.layouts import Fields

EXACT: Final = 2**53
"""Integers from -EXACT to EXACT are exact numbers."""

TYPES: Final = {"list_sizes": np.int32, "entries": np.int32}
"""Of the arrays of `PostingLists`; everything else is int64."""

_NUMBERS: Final = "clauses.numbers"


@dataclass(frozen=True, slots=True)
class KLayout:
    """Conjunctions and expressions of clauses, and the posting lists of each."""

    conjunctions: Conjunctions
    lists: PostingLists
    clauses: ClauseSets
    clause_lists: PostingLists
    numbers: NDArray[np.uint16]  # of each entry of `clause_lists`: which of its expression's clauses it is of

    def held(self) -> HeldLists:
        """All of it as it is matched against."""
        deepest = _deepest(self.clause_lists)
        clauses = ClauseLists(self.clause_lists, self.numbers, self.clauses.starts, self.clauses.sets, deepest)
        return HeldLists(self.lists, self.conjunctions.sets, clauses)

    def owners(self) -> NDArray[np.int32]:
        """The subscription of each conjunction, and then of each expression of clauses."""
        return np.concatenate([self.conjunctions.owners, self.clauses.owners])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array under its name."""
        lists = {f"lists.{name}": array for name, array in self.lists._asdict().items()}
        lists |= {f"clauses.lists.{name}": array for name, array in self.clause_lists._asdict().items()}
        return self.conjunctions.arrays() | self.clauses.arrays() | lists | {_NUMBERS: self.numbers}

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> KLayout:
        """From its arrays; `ValueError` or `KeyError` where an offset or a number is out of range."""
        conjunctions = Conjunctions.restored(arrays)
        fields = conjunctions.fields
        clauses = ClauseSets.restored(arrays, fields, len(conjunctions.expressions))
        require_type(_NUMBERS, arrays[_NUMBERS], np.uint16, 1)
        both = _restored_lists(arrays, "lists."), _restored_lists(arrays, "clauses.lists.")
        found = cls(conjunctions, both[0], clauses, both[1], arrays[_NUMBERS])
        sizes = np.diff(conjunctions.sets.starts)
        _check_lists(both[0], sizes, fields)
        require(_deepest(both[0]) <= 1, "a pair has two lists of one size")
        _check_entries(both[0], conjunctions.sets, fields, both[0].entries >> 1)
        _check_clauses(found, fields)
        return found

    def nbytes(self) -> int:
        """Bytes of all of it, without values, operands and expressions."""
        lists = sum(array.nbytes for table in (self.lists, self.clause_lists) for array in table)
        return int(
            self.conjunctions.nbytes() + self.clauses.nbytes() + lists + self.numbers.nbytes - self.value_bytes()
        )

    def value_bytes(self) -> int:
        return int(self.lists.values.nbytes + self.clause_lists.values.nbytes)


def _restored_lists(arrays: Mapping[str, NDArray[Any]], prefix: str) -> PostingLists:
    for name in PostingLists._fields:
        require_type(f"{prefix}{name}", arrays[f"{prefix}{name}"], TYPES.get(name, np.int64), 1)
    return PostingLists(**{name: arrays[f"{prefix}{name}"] for name in PostingLists._fields})


def _keys_of_lists(lists: PostingLists) -> NDArray[np.int64]:
    """A number for each pair and size, ascending with both."""
    pairs = np.repeat(np.arange(len(lists.list_starts) - 1), np.diff(lists.list_starts))
    return pairs * len(lists.size_starts) + lists.list_sizes


def _deepest(lists: PostingLists) -> int:
    """The most lists of one size that a pair has."""
    firsts = np.flatnonzero(np.diff(_keys_of_lists(lists), prepend=-1))
    return int(np.diff(firsts, append=len(lists.list_sizes)).max(initial=0))


def _check_lists(lists: PostingLists, sizes: NDArray[np.int64], fields: Fields) -> None:
    """Raise `ValueError` unless offsets and numbers are in range, and the lists of members as matching expects them."""
    require(len(lists.domain) == 2, "the domain has not two ends")
    require(-EXACT <= lists.domain[0] <= lists.domain[1] <= EXACT, "the domain is out of range")
    check_starts("values", lists.value_starts, len(lists.values))
    require(len(lists.value_starts) == len(fields.kinds) + 1, "the values do not fit the fields")
    check_starts("lists", lists.list_starts, len(lists.list_sizes))
    pairs = len(lists.values) + k_values.PAIRS_BESIDE * len(fields.kinds)
    require(len(lists.list_starts) == pairs + 1, "the lists do not fit the values")
    check_starts("entries", lists.entry_starts, len(lists.entries))
    require(len(lists.entry_starts) == len(lists.list_sizes) + 1, "the entries do not fit the lists")
    check_below("what an entry leads to", lists.entries, 2 * len(sizes))
    check_starts("sizes", lists.size_starts, len(sizes))
    sized = np.searchsorted(sizes, np.arange(sizes.max(initial=0) + 2))
    require((np.diff(sizes) >= 0).all(), "what the entries lead to is not in order of size")
    require(np.array_equal(lists.size_starts, sized), "the sizes do not fit what the entries lead to")
    lengths = np.diff(lists.entry_starts)
    require((lengths > 0).all(), "a list is empty")
    require((sizes[lists.entries >> 1] == np.repeat(lists.list_sizes, lengths)).all(), "an entry is in another's list")
    within = np.ones(len(lists.entries), bool)
    within[lists.entry_starts[:-1]] = False
    require((np.diff(lists.entries >> 1, prepend=-1) > 0)[within].all(), "the entries of a list are out of order")
    require((np.diff(_keys_of_lists(lists)) >= 0).all(), "the lists of a pair are out of order")


def _check_entries(lists: PostingLists, sets: CodeSets, fields: Fields, units: NDArray[Any]) -> None:
    """Raise `ValueError` unless a predicate of its conjunction or clause, `units`, names where each entry is."""
    about = (sets, fields.kinds, fields.operand_starts, lists.domain, lists.value_starts, lists.values)
    numbers = units.astype(np.int32)
    sound = k_values.sound_entries(*about, lists.list_starts, lists.entry_starts, lists.entries, numbers)
    require(sound, "an entry is under a value that its conjunction or clause does not name")


def _check_clauses(found: KLayout, fields: Fields) -> None:
    clauses, lists = found.clauses, found.clause_lists
    sizes = np.diff(clauses.starts)
    require((sizes > 0).all(), "an expression has no clauses")
    _check_lists(lists, sizes, fields)
    require(np.array_equal(lists.domain, found.lists.domain), "there are two domains")
    require(len(found.numbers) == len(lists.entries), "the clauses do not fit the entries")
    require((found.numbers < sizes[lists.entries >> 1]).all(), "an entry is of a clause that its expression lacks")
    _check_entries(lists, clauses.sets, fields, clauses.starts[lists.entries >> 1] + found.numbers)
