"""What are expressions as conjunctions of sets of rank codes? What the structures of `k_index` and `be_tree` hold.

Only predicates that compare an attribute with constants have codes: `=`, `<>`, `<`, `<=`, `>`, `>=`, BETWEEN, IN, and
their negations. Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, gathered, starts_of
from tocsin.columns.batch import EventBatch
from tocsin.columns.checks import ascending, check_below, check_starts, require, require_type
from tocsin.columns.compiled import CompiledExpressions
from tocsin.columns.stored import restored, stored
from tocsin.errors import UnsuitableIndex
from tocsin.index.boolean.fields import check_fields, fields_and_keys
from tocsin.index.boolean.normal_forms import disjunctive
from tocsin.index.found import collect
from tocsin.index.protocols import Found
from tocsin.kernels import codes
from tocsin.kernels.access_layouts import Fields
from tocsin.kernels.code_sets import CodeSets, merge_literals, most_scalar_values
from tocsin.kernels.finding import match_conjunctions
from tocsin.kernels.layouts import Bound

_TYPES: dict[str, Any] = {
    "fields.starts": np.int32,
    "fields.kinds": np.uint8,
    "fields.transforms": np.uint16,
    "fields.operand_starts": np.int64,
    "fields.operands": np.int64,
    "sets.starts": np.int64,
    "sets.fields": np.int32,
    "sets.negated": np.uint8,
    "sets.range_starts": np.int64,
    "sets.lows": np.int32,
    "sets.highs": np.int32,
    "owners": np.int32,
}


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Expressions, and the conjunctions that they are disjunctions of. C conjunctions."""

    expressions: CompiledExpressions
    fields: Fields
    sets: CodeSets
    owners: NDArray[np.int32]  # (C,) the subscription

    @classmethod
    def of(cls, compiled: CompiledExpressions) -> Conjunctions:
        """The disjunctive normal form of expressions, literals on one field merged, without what cannot hold.

        Raises `UnsuitableIndex` for a predicate that has no codes, and for too many conjunctions.
        Cost: O(P log P) for P predicates of plain conjunctions.
        """
        clauses = disjunctive(compiled)
        kinds = compiled.arrays.leaf_kinds[clauses.literals >> 1]
        odd = np.flatnonzero((kinds != codes.RANGE) & (kinds != codes.IN_SET))
        if len(odd):
            clause = int(np.searchsorted(clauses.starts, odd[0], side="right")) - 1
            raise UnsuitableIndex(
                "it has a predicate that does not compare an attribute with constants; index 'auto' takes it",
                int(clauses.owners[clause]),
            )
        fields, keys = fields_and_keys(compiled, np.ones(len(compiled.attributes)))
        kept, sets = merge_literals(clauses.starts, clauses.literals, keys, fields.operand_starts)
        return cls(compiled, fields, frozen_table(sets), frozen(clauses.owners[kept], np.int32))

    def reordered(self, order: NDArray[np.int64]) -> Conjunctions:
        """The same conjunctions in another order."""
        sets = self.sets
        predicates, _ = gathered(sets.starts, order)
        ranges, _ = gathered(sets.range_starts, predicates)
        sets = CodeSets(
            starts_of(np.diff(sets.starts)[order], len(order)),
            sets.fields[predicates],
            sets.negated[predicates],
            starts_of(np.diff(sets.range_starts)[predicates], len(predicates)),
            sets.lows[ranges],
            sets.highs[ranges],
        )
        return Conjunctions(self.expressions, self.fields, frozen_table(sets), frozen(self.owners[order], np.int32))

    def __len__(self) -> int:
        return len(self.owners)

    def counts(self) -> dict[str, int]:
        """How many subscriptions are one conjunction, several, or none."""
        counts = np.bincount(self.owners, minlength=len(self.expressions))
        return {
            "one conjunction": int((counts == 1).sum()),
            "several conjunctions": int((counts > 1).sum()),
            "never satisfied": int((counts == 0).sum()),
        }

    def match(self, structure: Any, batch: EventBatch, bound: Bound, alive: NDArray[np.uint64]) -> Found:
        """What a structure over these conjunctions finds; `kernels.finding` must know it."""
        widest = most_scalar_values(self.fields, batch.arrays, bound.attributes)
        tables = (structure, self.fields, self.owners, batch.arrays, bound, alive, widest)
        counts = np.zeros(2, np.int64)
        starts, found = collect(
            len(batch), lambda first, ends, out: match_conjunctions(*tables, first, ends, out, counts)
        )
        return Found(starts, found, int(counts[0]), int(counts[1]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array under its name."""
        arrays = {f"fields.{name}": array for name, array in self.fields._asdict().items()}
        arrays |= {f"sets.{name}": array for name, array in self.sets._asdict().items()}
        return arrays | {"owners": self.owners} | stored(self.expressions)

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray[Any]]) -> Conjunctions:
        """From its arrays; `ValueError` or `KeyError` where an offset or a number is out of range."""
        for name, expected in _TYPES.items():
            require_type(name, arrays[name], expected, 1)
        fields = Fields(**{name: arrays[f"fields.{name}"] for name in Fields._fields})
        sets = CodeSets(**{name: arrays[f"sets.{name}"] for name in get_type_hints(CodeSets)})
        found = cls(restored(arrays), fields, sets, arrays["owners"])
        check_fields(fields, len(found.expressions.attributes), len(found.expressions.transforms))
        _check_sets(found)
        return found

    def nbytes(self) -> int:
        """Bytes of the fields, sets and owners, without operands and expressions."""
        tables = sum(array.nbytes for table in (self.fields, self.sets) for array in table)
        return int(tables + self.owners.nbytes - self.fields.operands.nbytes)


def _check_sets(found: Conjunctions) -> None:
    sets, count = found.sets, len(found.owners)
    check_below("owner of a conjunction", found.owners, len(found.expressions))
    check_starts("conjunctions", sets.starts, len(sets.fields))
    require(len(sets.starts) == count + 1, "the conjunctions do not fit their owners")
    check_below("field of a predicate", sets.fields, len(found.fields.kinds))
    same = np.repeat(np.arange(count), np.diff(sets.starts))
    keys = same * len(found.fields.kinds) + sets.fields
    require(ascending(keys), "the predicates of a conjunction are out of order")
    require(len(sets.negated) == len(sets.fields), "the predicates differ in length")
    check_below("mark of a predicate", sets.negated, 2)
    check_starts("ranges", sets.range_starts, len(sets.lows))
    require(len(sets.range_starts) == len(sets.fields) + 1, "the ranges do not fit the predicates")
    require(len(sets.highs) == len(sets.lows), "the ranges differ in length")
    lengths = np.diff(sets.range_starts)
    require((lengths > 0).all(), "a predicate allows nothing")
    limits = 2 * np.diff(found.fields.operand_starts)[np.repeat(sets.fields, lengths)]
    require(((sets.lows >= 0) & (sets.lows <= sets.highs) & (sets.highs <= limits)).all(), "a range is out of order")
