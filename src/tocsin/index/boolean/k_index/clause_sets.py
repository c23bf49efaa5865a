"""What are conjunctions of clauses as sets of rank codes? What the k-index holds of them.

A clause's predicates each stand for themselves, whatever else asks about their field: they are alternatives. Only the
clauses of one predicate must hold together, so those on one field are merged, as in a conjunction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.index.boolean.conjunctions.code_sets import chosen_sets
from tocsin.index.boolean.normal_forms.normal_forms import Clauses
from tocsin.index.fields.kernels.code_sets import CodeSets, merge_literals
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import Fields


@dataclass(frozen=True, slots=True)
class ClauseSets:
    """Expressions of clauses, in order of how many they have. X expressions, C clauses."""

    owners: NDArray[np.int32]  # (X,) the subscription
    starts: NDArray[np.int64]  # (X + 1,) expression x has clauses [starts[x], starts[x + 1]), all of which it needs
    sets: CodeSets  # of clauses; clause c needs any of the predicates [sets.starts[c], sets.starts[c + 1])

    @classmethod
    def of(cls, clauses: Clauses, keys: Keys, fields: Fields) -> ClauseSets:
        """The sets of clauses, without predicates that cannot hold, and expressions that cannot.

        Cost: a sort of the literals.
        """
        firsts, starts, literals = _parts(clauses, keys.present)
        kept, sets = merge_literals(starts, literals, keys, fields.operand_starts)
        alive = np.zeros(len(clauses.owners), bool)
        alive[firsts[kept]] = True
        named = np.zeros(len(clauses.owners), bool)
        named[firsts] = True
        never = np.unique(clauses.owners[named & ~alive])
        alive &= ~np.isin(clauses.owners, never)
        sizes = np.bincount(clauses.owners[alive])
        order = np.flatnonzero(alive)
        order = order[np.lexsort((order, clauses.owners[order], sizes[clauses.owners[order]]))]
        return cls._ordered(order, clauses.owners, firsts[kept], sets)

    @classmethod
    def _ordered(
        cls, order: NDArray[np.int64], owners: NDArray[np.int32], clause_of: NDArray[np.int64], sets: CodeSets
    ) -> ClauseSets:
        """Clauses in an order that keeps each expression's together; `sets` has one predicate of `clause_of` each."""
        by_clause = np.argsort(clause_of, kind="stable")
        counts = np.bincount(clause_of, minlength=len(owners))
        predicates, _ = gathered(starts_of(counts, len(counts)), order)
        sets = chosen_sets(sets, by_clause[predicates])._replace(starts=starts_of(counts[order], len(order)))
        own = owners[order]
        firsts = np.flatnonzero(np.diff(own, prepend=-1))
        return cls(frozen(own[firsts], np.int32), frozen(np.concatenate([firsts, [len(own)]]), np.int64), sets)

    def without(self, dropped: NDArray[np.bool_]) -> ClauseSets:
        """Those of which (X,) `dropped` is not set."""
        kept = np.flatnonzero(~dropped)
        clauses, _ = gathered(self.starts, kept)
        starts = starts_of(np.diff(self.starts)[kept], len(kept))
        return ClauseSets(frozen(self.owners[kept], np.int32), starts, chosen_sets(self.sets, clauses))

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def members(self) -> NDArray[np.int32]:
        """(C,) the expression of each clause."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))

    def nbytes(self) -> int:
        return int(self.owners.nbytes + self.starts.nbytes + sum(array.nbytes for array in self.sets))


def _parts(
    clauses: Clauses, present: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The literals cut into what becomes one predicate each: the clause of each part, part starts, literals.

    A literal is a part of its own; but those of an expression's clauses of one literal are one part a field, which
    is the first clause's.
    """
    sizes = np.diff(clauses.starts)
    of = np.repeat(np.arange(len(sizes)), sizes)
    single = sizes[of] == 1
    fields = present[clauses.literals >> 1].astype(np.int64)
    keys = (clauses.owners[of].astype(np.int64) * (int(fields.max(initial=0)) + 1) + fields)[single]
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    of[single] = of[single][firsts][groups]
    order = np.argsort(of, kind="stable")
    begins = ~single[order] | (np.diff(of[order], prepend=-1) != 0)
    starts = np.concatenate([np.flatnonzero(begins), [len(order)]])
    return of[order][starts[:-1]], starts, clauses.literals[order].astype(np.int32)
