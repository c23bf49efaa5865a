"""Members, to which posting lists lead: conjunctions of clauses, as sets of rank codes.

An expression written in clauses is one member. An expression that is multiplied out has one member per conjunction,
with a clause for each predicate.

The predicates of a clause are alternatives, so each stays separate, even if they share a field. Clauses of one
predicate must hold together, so those on the same field are merged, as in a conjunction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, gathered, starts_of
from tocsin.index.fields.kernels.code_sets import CodeSets, merge_literals
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.normal_forms.normal_forms import Clauses
from tocsin.papers.opindex.conjunctions.code_sets import CodedConjunctions, chosen_sets


@dataclass(frozen=True, slots=True)
class Members:
    """Conjunctions of clauses. M members, C clauses; a member's size is its number of clauses."""

    owners: NDArray[np.int32]  # (M,) the subscription
    starts: NDArray[np.int64]  # (M + 1,) member m has clauses [starts[m], starts[m + 1]) and needs all of them
    sets: CodeSets  # of clauses; clause c needs one of the predicates [sets.starts[c], sets.starts[c + 1])

    @classmethod
    def of_clauses(cls, clauses: Clauses, keys: Keys, fields: Fields) -> Members:
        """One member per expression, without predicates and expressions that can never hold.

        Cost: a sort of the literals.
        """
        clause_of, starts, literals = _parts(clauses, keys.present)
        kept, sets = merge_literals(starts, literals, keys, fields.operand_starts)
        alive = np.zeros(len(clauses.owners), bool)
        alive[clause_of[kept]] = True
        named = np.zeros(len(clauses.owners), bool)
        named[clause_of] = True
        alive &= ~np.isin(clauses.owners, clauses.owners[named & ~alive])
        order = np.flatnonzero(alive)
        by_clause = np.argsort(clause_of[kept], kind="stable")
        counts = np.bincount(clause_of[kept], minlength=len(alive))
        predicates, _ = gathered(starts_of(counts, len(counts)), order)
        sets = chosen_sets(sets, by_clause[predicates])._replace(starts=starts_of(counts[order], len(order)))
        own = clauses.owners[order]
        firsts = np.flatnonzero(np.diff(own, prepend=-1))
        return cls(frozen(own[firsts], np.int32), frozen(np.concatenate([firsts, [len(own)]]), np.int64), sets)

    @classmethod
    def of_conjunctions(cls, conjunctions: CodedConjunctions) -> Members:
        """One member per conjunction, with a clause for each predicate."""
        sets = conjunctions.sets
        of_one = sets._replace(starts=frozen(np.arange(len(sets.fields) + 1), np.int64))
        return cls(conjunctions.owners, sets.starts, of_one)

    def by_size(self, others: Members) -> Members:
        """These members and others, sorted by size, then subscription."""
        both = Members(
            np.concatenate([self.owners, others.owners]),
            _end_to_end(self.starts, others.starts),
            CodeSets(
                starts=_end_to_end(self.sets.starts, others.sets.starts),
                fields=np.concatenate([self.sets.fields, others.sets.fields]),
                negated=np.concatenate([self.sets.negated, others.sets.negated]),
                range_starts=_end_to_end(self.sets.range_starts, others.sets.range_starts),
                lows=np.concatenate([self.sets.lows, others.sets.lows]),
                highs=np.concatenate([self.sets.highs, others.sets.highs]),
            ),
        )
        return both.chosen(np.lexsort((both.owners, both.sizes)))

    def chosen(self, order: NDArray[np.int64]) -> Members:
        """Select members, in the given order."""
        clauses, _ = gathered(self.starts, order)
        starts = starts_of(self.sizes[order], len(order))
        return Members(frozen(self.owners[order], np.int32), starts, chosen_sets(self.sets, clauses))

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(M,) the number of clauses."""
        return np.diff(self.starts)

    @property
    def of_clause(self) -> NDArray[np.int32]:
        """(C,) the member of each clause."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.sizes)

    @property
    def of_predicate(self) -> NDArray[np.int32]:
        """(P,) the member of each predicate."""
        return np.repeat(self.of_clause, np.diff(self.sets.starts))

    @property
    def have_alternatives(self) -> NDArray[np.bool_]:
        """(M,) whether any clause has several predicates."""
        several = np.diff(self.sets.starts) > 1
        return np.bincount(self.of_clause[several], minlength=len(self)) > 0

    def nbytes(self) -> int:
        return int(self.owners.nbytes + self.starts.nbytes + sum(array.nbytes for array in self.sets))


def _end_to_end(starts: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([starts, starts[-1] + others[1:]])


def _parts(
    clauses: Clauses, present: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The literals grouped by future predicate: the clause of each group, group starts, literals.

    A literal is a group of its own. The clauses of a single literal are an exception: those of one expression and field
    form one group, which belongs to the first such clause.
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
