"""What does a k-index hold?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.index.boolean.conjunctions.code_sets import Conjunctions
from tocsin.index.boolean.k_index.clause_sets import ClauseSets
from tocsin.index.boolean.k_index.kernels.clauses import ClauseLists
from tocsin.index.boolean.k_index.kernels.finding import HeldLists
from tocsin.index.boolean.k_index.kernels.lists import PostingLists

EXACT: Final = 2**53
"""Integers from -EXACT to EXACT are exact numbers."""

TYPES: Final = {"list_sizes": np.int32, "entries": np.int32}
"""Of the arrays of `PostingLists`; everything else is int64."""


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

    def nbytes(self) -> int:
        """Bytes of all of it, without values, operands and expressions."""
        lists = sum(array.nbytes for table in (self.lists, self.clause_lists) for array in table)
        return int(
            self.conjunctions.nbytes() + self.clauses.nbytes() + lists + self.numbers.nbytes - self.value_bytes()
        )

    def value_bytes(self) -> int:
        return int(self.lists.values.nbytes + self.clause_lists.values.nbytes)


def _keys_of_lists(lists: PostingLists) -> NDArray[np.int64]:
    """A number for each pair and size, ascending with both."""
    pairs = np.repeat(np.arange(len(lists.list_starts) - 1), np.diff(lists.list_starts))
    return pairs * len(lists.size_starts) + lists.list_sizes


def _deepest(lists: PostingLists) -> int:
    """The most lists of one size that a pair has."""
    firsts = np.flatnonzero(np.diff(_keys_of_lists(lists), prepend=-1))
    return int(np.diff(firsts, append=len(lists.list_sizes)).max(initial=0))
