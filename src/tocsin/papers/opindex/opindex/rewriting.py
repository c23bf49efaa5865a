"""Rewrites expressions as subscriptions that an OpIndex can hold: conjunctions to count, or clauses.

A conjunction of simple predicates is taken as it is. Any other expression is multiplied out, into the form that stores
fewer predicates. In disjunctive form each clause is a subscription of its own. In conjunctive form each clause has a
bit, and the whole is stored under each pivot of its smallest clause.

Paper: Zhang, Chan, Tan 2014, sections 4.1 (pivots), 4.2 (rewriting) and 6.1 (normal forms).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import reordered
from tocsin.errors import UnsuitableIndex
from tocsin.index.fields.fields import fields_and_keys
from tocsin.index.fields.kernels.key_tables import named_attributes
from tocsin.index.fields.kernels.keys import Keys
from tocsin.index.fields.kernels.layouts import Fields
from tocsin.index.normal_forms.normal_forms import MOST_CLAUSES as MOST_CONJUNCTIONS
from tocsin.index.normal_forms.normal_forms import Clause, are_plain, clauses_of
from tocsin.index.statistics import Statistics, attribute_shares
from tocsin.kernels import codes
from tocsin.papers.opindex.opindex.kernels.building import Simples
from tocsin.papers.opindex.opindex.kernels.layouts import MOST_CLAUSES, Prefixes
from tocsin.papers.opindex.opindex.kernels.rewriting import (
    HELD_BY_NONE,
    REFUSED,
    Rewritten,
    count_entries,
    rarest_fields,
    write_entries,
)
from tocsin.papers.opindex.opindex.prefixes import make_prefixes

Entry: TypeAlias = tuple[int, int]
"""An operator and a key."""

_ONLY = (
    "opindex takes comparisons of an attribute with constants, IN, BETWEEN, LIKE, MATCHES and IS NOT NULL under AND, "
    "OR and NOT; index 'auto' takes any expression"
)
_REFUSED = {
    codes.INTERSECTS: "it asks about geometries",
    codes.IS_NULL: "IS NULL holds where an attribute is absent, so that no attribute finds it",
    codes.ARRAY_SET: "it asks about arrays",
    codes.ARRAY_PAIR: "it asks about arrays",
    codes.COMPARE: "it compares two attributes, or calculates",
    codes.TERM_IS_NULL: "it asks whether what it calculates is NULL",
    codes.TRUTH: "it uses a condition as a value",
}


class Rewriting(NamedTuple):
    """The subscriptions of an OpIndex before they are laid out in lists."""

    fields: Fields
    prefixes: Prefixes
    counted: Simples
    clauses: Simples


def rewrite(compiled: CompiledExpressions, statistics: Statistics | None) -> Rewriting:
    """Raises `UnsuitableIndex` for the first expression with an unsupported predicate or too many clauses.

    Cost: O(P log P) for P predicates of conjunctions. For other expressions, Python takes a millisecond for a few dozen
    clauses.
    """
    named = named_attributes(compiled.arrays, len(compiled.attributes))
    shares = attribute_shares(compiled.attributes, named, statistics)
    fields, keys = fields_and_keys(compiled, shares)
    prefixes, numbers = make_prefixes(compiled.arrays, keys.present, len(fields.kinds))
    by_field = shares[np.repeat(np.arange(len(compiled.attributes)), np.diff(fields.starts))]
    counted, clauses = Rewriter(compiled, keys, numbers, by_field).rewritten()
    return Rewriting(fields, prefixes, counted, clauses)


class Rewriter:
    """The inputs of rewriting. `shares` are the shares of events that have each field.

    `keys` are those of all leaves, and `prefixes` the number of each leaf's prefix or suffix, or -1.
    """

    def __init__(
        self,
        compiled: CompiledExpressions,
        keys: Keys,
        prefixes: NDArray[np.int32],
        shares: NDArray[np.float64],
    ) -> None:
        self._compiled = compiled
        self._keys = keys
        self._prefixes = prefixes
        self._shares = shares

    def rewritten(self) -> tuple[Simples, Simples]:
        """The subscriptions of each form. Raises like `rewrite`."""
        plain = are_plain(self._compiled)
        own, clauses = self._general(np.flatnonzero(~plain))
        starts, literals = self._compiled.arrays.program_starts, self._compiled.arrays.program
        owners = np.flatnonzero(plain)
        plain_starts, literals = reordered(starts, literals, owners)
        sizes = np.concatenate([np.diff(plain_starts), np.array([len(clause) for _, clause in own], np.int64)])
        literals = np.concatenate([literals, np.array([one for _, clause in own for one in sorted(clause)], np.int32)])
        owners = np.concatenate([owners, np.array([owner for owner, _ in own], np.int64)])
        order = np.argsort(owners, kind="stable")
        ordered_starts, literals = reordered(starts_of(sizes, len(sizes)), literals.astype(np.int32), order)
        return self._counted(ordered_starts, literals, owners[order]), clauses

    def _expanded(self, literals: NDArray[np.int32], owners: NDArray[np.int64]) -> tuple[Rewritten, NDArray[np.int32]]:
        """Literals as entries, and the number of units of each; `owners` are the literals' subscriptions."""
        leaves = self._compiled.arrays
        counts, units = np.empty(len(literals), np.int64), np.empty(len(literals), np.int32)
        count_entries(leaves, self._keys, literals, counts, units)
        refused = np.flatnonzero(units == REFUSED)
        if len(refused):
            kind = int(leaves.leaf_kinds[literals[refused[0]] >> 1])
            raise UnsuitableIndex(f"{_REFUSED[kind]}; {_ONLY}", int(owners[refused[0]]))
        starts = starts_of(counts, len(counts))
        entries = int(starts[-1])
        out = Rewritten(starts, np.empty(entries, np.uint8), np.empty(entries, np.int64), np.empty(entries, np.int32))
        write_entries(leaves, self._keys, self._prefixes, literals, out)
        return out, units

    def _counted(self, starts: NDArray[np.int64], literals: NDArray[np.int32], owners: NDArray[np.int64]) -> Simples:
        """The conjunctions, without those that can never hold."""
        sizes = np.diff(starts)
        if (sizes == 0).any():
            _refuse_always(int(owners[np.argmax(sizes == 0)]))
        out, units = self._expanded(literals, np.repeat(owners, sizes))
        holds = np.add.reduceat(units == HELD_BY_NONE, starts[:-1]) == 0 if len(sizes) else np.empty(0, bool)
        if not holds.all():
            kept_starts, kept = reordered(starts, literals, np.flatnonzero(holds))
            return self._counted(kept_starts, kept, owners[holds])
        pivots = np.empty(len(owners), np.int32)
        rarest_fields(starts, literals, self._keys.present, self._shares, pivots)
        needed = np.add.reduceat(units, starts[:-1]) if len(sizes) else np.empty(0)
        none = np.zeros(len(out.keys), np.uint8)
        return Simples(
            owners.astype(np.int32), pivots, needed.astype(np.uint64), out.starts[starts], out.operators, out.keys, none
        )

    def _general(self, numbers: NDArray[np.int64]) -> tuple[list[tuple[int, Clause]], Simples]:
        """The conjunctions of expressions in disjunctive normal form, and the rows of those in conjunctive."""
        conjunctions: list[tuple[int, Clause]] = []
        rows: list[tuple[int, int, list[list[Entry]]]] = []
        for number in numbers.tolist():
            disjunctive, conjunctive = self._forms(number)
            if disjunctive is None and conjunctive is None:
                raise UnsuitableIndex(
                    f"in disjunctive normal form it has more than {MOST_CONJUNCTIONS} clauses, and in conjunctive more "
                    f"than {MOST_CLAUSES}; index 'auto' takes it",
                    number,
                )
            if conjunctive is None or (disjunctive is not None and disjunctive[0] <= conjunctive[0]):
                assert disjunctive is not None
                conjunctions += [(number, clause) for clause in disjunctive[1]]
            else:
                rows += [(number, pivot, conjunctive[1]) for pivot in self._pivots(conjunctive[1])]
        return conjunctions, _simples(rows)

    def _forms(self, number: int) -> tuple[tuple[int, list[Clause]] | None, tuple[int, list[list[Entry]]] | None]:
        """Both normal forms, each with the number of predicates that the lists would store."""
        length = int(np.diff(self._compiled.arrays.program_starts[number : number + 2])[0])
        most = max(MOST_CONJUNCTIONS, length)  # a long OR has no more clauses than terms, and is stored once
        disjunctive = clauses_of(self._compiled, number, most, conjunctive=False)
        conjunctive = clauses_of(self._compiled, number, MOST_CLAUSES, conjunctive=True)
        if disjunctive == [frozenset()] or conjunctive == []:
            _refuse_always(number)
        literals = sorted({one for clause in [*(disjunctive or ()), *(conjunctive or ())] for one in clause})
        expanded, units = self._expanded(np.array(literals, np.int32), np.full(len(literals), number))
        entries = {one: list(_units(expanded, units, i)) for i, one in enumerate(literals)}
        stored = None
        if disjunctive is not None:
            stored = sum(sum(map(len, entries[one])) for clause in disjunctive for one in clause), disjunctive
        clauses = None if conjunctive is None else _distributed(conjunctive, entries)
        if clauses is None:
            return stored, None
        if any(not clause for clause in clauses):
            return (0, []), None  # it never holds
        return stored, (sum(map(len, clauses)) * len(self._pivots(clauses)), clauses)

    def _pivots(self, clauses: list[list[Entry]]) -> list[int]:
        """The fields of the clause with the fewest predicates; ties go to the least sum of frequencies."""

        def cost(clause: list[Entry]) -> tuple[int, float]:
            return len(clause), float(self._shares[sorted({key >> 32 for _, key in clause})].sum())

        return sorted({key >> 32 for _, key in min(clauses, key=cost)})


def _refuse_always(number: int) -> NoReturn:
    raise UnsuitableIndex(f"it holds for every event, so that no attribute finds it; {_ONLY}", number)


def _units(expanded: Rewritten, units: NDArray[np.int32], literal: int) -> Iterator[list[Entry]]:
    """The units of a literal as lists of entries; one empty unit if it can never hold."""
    first, stop = int(expanded.starts[literal]), int(expanded.starts[literal + 1])
    for unit in range(abs(int(units[literal]))):
        yield [
            (int(expanded.operators[e]), int(expanded.keys[e])) for e in range(first, stop) if expanded.units[e] == unit
        ]


def _distributed(clauses: Iterable[Clause], entries: dict[int, list[list[Entry]]]) -> list[list[Entry]] | None:
    """Clauses of entries: each OR of literals, which are ANDs of units, multiplied out; None if too many."""
    found: dict[tuple[Entry, ...], None] = {}
    for clause in clauses:
        for chosen in itertools.product(*(entries[one] for one in sorted(clause))):
            found[tuple(sorted({entry for unit in chosen for entry in unit}))] = None
            if len(found) > MOST_CLAUSES:
                return None
    return [list(clause) for clause in found]


def _simples(rows: list[tuple[int, int, list[list[Entry]]]]) -> Simples:
    """Convert owner, pivot and clauses to arrays."""
    flat = [(operator, key, bit) for _, _, own in rows for bit, clause in enumerate(own) for operator, key in clause]
    sizes = [sum(map(len, own)) for _, _, own in rows]
    return Simples(
        owners=np.array([owner for owner, _, _ in rows], np.int32),
        pivots=np.array([pivot for _, pivot, _ in rows], np.int32),
        needed=np.array([2 ** len(own) - 1 for _, _, own in rows], np.uint64),
        starts=starts_of(sizes, len(rows)),
        operators=np.array([operator for operator, _, _ in flat], np.uint8),
        keys=np.array([key for _, key, _ in flat], np.int64),
        clauses=np.array([bit for _, _, bit in flat], np.uint8),
    )
