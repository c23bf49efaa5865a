"""Expressions as conjunctions of sets of rank codes, for `k_index` and `be_tree`.

Only predicates that compare an attribute with constants have codes: `=`, `<>`, `<`, `<=`, `>`, `>=`, BETWEEN, IN, and
their negations. Other predicates are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, gathered, starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.errors import UnsuitableIndex
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.fields.kernels.code_sets import CodeSets, merge_literals
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.normal_forms.normal_forms import Clauses, disjunctive
from tocsin.kernels import codes


def asked_fields(compiled: CompiledExpressions) -> tuple[Fields, Keys]:
    """Like `fields_and_keys`, but without a preference among a predicate's possible fields."""
    return fields_and_keys(compiled, np.ones(len(compiled.attributes)))


def require_comparisons(compiled: CompiledExpressions, clauses: Clauses) -> None:
    """Raise `UnsuitableIndex` unless all literals have codes."""
    kinds = compiled.arrays.leaf_kinds[clauses.literals >> 1]
    odd = np.flatnonzero((kinds != codes.RANGE) & (kinds != codes.IN_SET))
    if len(odd):
        clause = int(np.searchsorted(clauses.starts, odd[0], side="right")) - 1
        raise UnsuitableIndex(
            "it has a predicate that does not compare an attribute with constants; index 'auto' takes it",
            int(clauses.owners[clause]),
        )


def chosen_sets(sets: CodeSets, order: NDArray[np.int64]) -> CodeSets:
    """Select conjunctions, in the given order."""
    predicates, _ = gathered(sets.starts, order)
    ranges, _ = gathered(sets.range_starts, predicates)
    return frozen_table(
        CodeSets(
            starts=starts_of(np.diff(sets.starts)[order], len(order)),
            fields=sets.fields[predicates],
            negated=sets.negated[predicates],
            range_starts=starts_of(np.diff(sets.range_starts)[predicates], len(predicates)),
            lows=sets.lows[ranges],
            highs=sets.highs[ranges],
        )
    )


@dataclass(frozen=True, slots=True)
class CodedConjunctions:
    """Expressions, and the conjunctions of their disjunctive normal form. C conjunctions."""

    expressions: CompiledExpressions
    fields: Fields
    sets: CodeSets
    owners: NDArray[np.int32]  # (C,) the subscription

    @classmethod
    def of(
        cls,
        compiled: CompiledExpressions,
        asked: tuple[Fields, Keys] | None = None,
        left_out: NDArray[np.bool_] | None = None,
    ) -> CodedConjunctions:
        """The disjunctive normal form of expressions, with literals on one field merged.

        Impossible conjunctions are dropped. `asked` is the expressions' `fields_and_keys`, if known. Expressions in
        `left_out` get no conjunctions. Raises `UnsuitableIndex` for a predicate without codes, and for too many
        conjunctions. Cost: O(P log P) for P predicates of plain conjunctions.
        """
        clauses = disjunctive(compiled, left_out=left_out)
        require_comparisons(compiled, clauses)
        fields, keys = asked or asked_fields(compiled)
        kept, sets = merge_literals(clauses.starts, clauses.literals, keys, fields.operand_starts)
        return cls(compiled, fields, frozen_table(sets), frozen(clauses.owners[kept], np.int32))

    def reordered(self, order: NDArray[np.int64]) -> CodedConjunctions:
        """The same conjunctions in another order."""
        sets = chosen_sets(self.sets, order)
        return CodedConjunctions(self.expressions, self.fields, sets, frozen(self.owners[order], np.int32))

    def __len__(self) -> int:
        return len(self.owners)

    def counts(self) -> dict[str, int]:
        """The numbers of subscriptions with one conjunction, several, or none."""
        counts = np.bincount(self.owners, minlength=len(self.expressions))
        return {
            "one conjunction": int((counts == 1).sum()),
            "several conjunctions": int((counts > 1).sum()),
            "never satisfied": int((counts == 0).sum()),
        }

    def nbytes(self) -> int:
        """Bytes of the fields, sets and owners, without operands and expressions."""
        tables = sum(array.nbytes for table in (self.fields, self.sets) for array in table)
        return int(tables + self.owners.nbytes - self.fields.operands.nbytes)
