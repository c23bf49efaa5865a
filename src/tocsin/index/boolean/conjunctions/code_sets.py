"""What are expressions as conjunctions of sets of rank codes? What the structures of `k_index` and `be_tree` hold.

Only predicates that compare an attribute with constants have codes: `=`, `<>`, `<`, `<=`, `>`, `>=`, BETWEEN, IN, and
their negations. Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen, frozen_table, gathered, starts_of
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.checks import ascending, check_below, check_starts, require, require_type
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.stored import restored, stored
from tocsin.errors import UnsuitableIndex
from tocsin.index.boolean.conjunctions.kernels import match_conjunctions
from tocsin.index.boolean.normal_forms.normal_forms import Clauses, disjunctive
from tocsin.index.fields.fields import check_fields, fields_and_keys
from tocsin.index.fields.kernels.code_sets import CodeSets, merge_literals, most_scalar_values
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.found import collect
from tocsin.index.protocols import Found
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Bound

_TYPES: dict[str, Any] = {
    "fields.starts": np.int32,
    "fields.kinds": np.uint8,
    "fields.transforms": np.uint16,
    "fields.operand_starts": np.int64,
    "fields.operands": np.int64,
    "owners": np.int32,
}
_SET_TYPES: dict[str, Any] = {
    "starts": np.int64,
    "fields": np.int32,
    "negated": np.uint8,
    "range_starts": np.int64,
    "lows": np.int32,
    "highs": np.int32,
}


def asked_fields(compiled: CompiledExpressions) -> tuple[Fields, Keys]:
    """`fields_and_keys`, where no predicate has a choice of fields."""
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
    """Some conjunctions, in that order."""
    predicates, _ = gathered(sets.starts, order)
    ranges, _ = gathered(sets.range_starts, predicates)
    return frozen_table(
        CodeSets(
            starts_of(np.diff(sets.starts)[order], len(order)),
            sets.fields[predicates],
            sets.negated[predicates],
            starts_of(np.diff(sets.range_starts)[predicates], len(predicates)),
            sets.lows[ranges],
            sets.highs[ranges],
        )
    )


def restored_sets(arrays: Mapping[str, NDArray[Any]], prefix: str) -> CodeSets:
    """Sets from arrays whose names have a prefix; `ValueError` or `KeyError` where one is of another type."""
    for name, expected in _SET_TYPES.items():
        require_type(f"{prefix}{name}", arrays[f"{prefix}{name}"], expected, 1)
    return CodeSets(**{name: arrays[f"{prefix}{name}"] for name in _SET_TYPES})


def match_held(
    structure: Any,
    fields: Fields,
    owners: NDArray[np.int32],
    batch: EventBatch,
    bound: Bound,
    alive: NDArray[np.uint64],
) -> Found:
    """What a structure that registered in `kernels` finds; `owners` has the subscription of each that it may find."""
    widest = most_scalar_values(fields, batch.arrays, bound.attributes)
    tables = (structure, fields, owners, batch.arrays, bound, alive, widest)
    counts = np.zeros(2, np.int64)
    starts, found = collect(len(batch), lambda first, ends, out: match_conjunctions(*tables, first, ends, out, counts))
    return Found(starts, found, int(counts[0]), int(counts[1]))


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Expressions, and the conjunctions that they are disjunctions of. C conjunctions."""

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
    ) -> Conjunctions:
        """The disjunctive normal form of expressions, literals on one field merged, without what cannot hold.

        `asked` is `fields_and_keys` of them, where it is known; of those `left_out` there is no conjunction. Raises
        `UnsuitableIndex` for a predicate that has no codes, and for too many conjunctions.
        Cost: O(P log P) for P predicates of plain conjunctions.
        """
        clauses = disjunctive(compiled, left_out=left_out)
        require_comparisons(compiled, clauses)
        fields, keys = asked or asked_fields(compiled)
        kept, sets = merge_literals(clauses.starts, clauses.literals, keys, fields.operand_starts)
        return cls(compiled, fields, frozen_table(sets), frozen(clauses.owners[kept], np.int32))

    def reordered(self, order: NDArray[np.int64]) -> Conjunctions:
        """The same conjunctions in another order."""
        sets = chosen_sets(self.sets, order)
        return Conjunctions(self.expressions, self.fields, sets, frozen(self.owners[order], np.int32))

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
        sets = restored_sets(arrays, "sets.")
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
    require(len(sets.starts) == count + 1, "the conjunctions do not fit their owners")
    check_sets(sets, found.fields)
    same = np.repeat(np.arange(count), np.diff(sets.starts))
    keys = same * len(found.fields.kinds) + sets.fields
    require(ascending(keys), "the predicates of a conjunction are out of order")


def check_sets(sets: CodeSets, fields: Fields) -> None:
    """Raise `ValueError` unless every offset and number is in range."""
    check_starts("conjunctions", sets.starts, len(sets.fields))
    check_below("field of a predicate", sets.fields, len(fields.kinds))
    require(len(sets.negated) == len(sets.fields), "the predicates differ in length")
    check_below("mark of a predicate", sets.negated, 2)
    check_starts("ranges", sets.range_starts, len(sets.lows))
    require(len(sets.range_starts) == len(sets.fields) + 1, "the ranges do not fit the predicates")
    require(len(sets.highs) == len(sets.lows), "the ranges differ in length")
    lengths = np.diff(sets.range_starts)
    require((lengths > 0).all(), "a predicate allows nothing")
    limits = 2 * np.diff(fields.operand_starts)[np.repeat(sets.fields, lengths)]
    require(((sets.lows >= 0) & (sets.lows <= sets.highs) & (sets.highs <= limits)).all(), "a range is out of order")
