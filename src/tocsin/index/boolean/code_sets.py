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

from tocsin.columns.arrays import frozen
from tocsin.columns.checks import ascending, check_below, check_starts, require, require_type
from tocsin.columns.compiled import CompiledExpressions
from tocsin.columns.stored import restored, stored
from tocsin.errors import UnsuitableIndex
from tocsin.index.boolean.fields import fields_and_keys
from tocsin.index.boolean.normal_forms import disjunctive
from tocsin.kernels import codes
from tocsin.kernels.access_layouts import ELEMENT, Fields
from tocsin.kernels.code_sets import CodeSets, merge_literals

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
        return cls(compiled, fields, _frozen(sets), frozen(clauses.owners[kept], np.int32))

    def reordered(self, order: NDArray[np.int64]) -> Conjunctions:
        """The same conjunctions in another order."""
        starts, predicates = _gathered(self.sets.starts, order)
        range_starts, ranges = _gathered(self.sets.range_starts, predicates)
        sets = CodeSets(
            starts,
            self.sets.fields[predicates],
            self.sets.negated[predicates],
            range_starts,
            self.sets.lows[ranges],
            self.sets.highs[ranges],
        )
        return Conjunctions(self.expressions, self.fields, _frozen(sets), frozen(self.owners[order], np.int32))

    def __len__(self) -> int:
        return len(self.owners)

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
        _check_fields(fields, found.expressions)
        _check_sets(found)
        return found

    def nbytes(self) -> int:
        """Bytes of the fields, sets and owners, without operands and expressions."""
        tables = sum(array.nbytes for table in (self.fields, self.sets) for array in table)
        return int(tables + self.owners.nbytes - self.fields.operands.nbytes)


def _gathered(starts: NDArray[np.int64], order: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """New offsets of runs in another order, and where each of their members was."""
    lengths = np.diff(starts)[order]
    new = np.concatenate([[0], np.cumsum(lengths)])
    return new, np.arange(new[-1]) + np.repeat(starts[:-1][order] - new[:-1], lengths)


def _frozen(sets: CodeSets) -> CodeSets:
    return CodeSets(*(frozen(array, array.dtype) for array in sets))


def _check_fields(fields: Fields, expressions: CompiledExpressions) -> None:
    count = len(fields.kinds)
    check_starts("fields", fields.starts, count)
    require(len(fields.starts) == len(expressions.attributes) + 1, "the fields do not fit the attributes")
    require(len(fields.transforms) == count, "the fields differ in length")
    check_below("kind of a field", fields.kinds, ELEMENT + codes.LIST)
    check_below("transform of a field", fields.transforms, len(expressions.transforms))
    check_starts("operands", fields.operand_starts, len(fields.operands))
    require(len(fields.operand_starts) == count + 1, "the operands do not fit the fields")


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
