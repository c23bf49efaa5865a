"""Disjunctive and conjunctive normal forms of expressions.

The structures of the papers accept only these. `access` and `scan` take expressions as they are, without any expansion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import starts_of
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.joining import reordered
from tocsin.columns.expressions.programs import leaf_places
from tocsin.errors import UnsuitableIndex
from tocsin.index.normal_forms.kernels import written_clauses
from tocsin.kernels import codes

MOST_CLAUSES = 1024
"""Expressions with more clauses are refused."""

Clause: TypeAlias = frozenset[int]
_ALWAYS = frozenset([codes.TRUE_LEAF * 2, codes.FALSE_LEAF * 2 + 1])
_NEVER = frozenset([codes.TRUE_LEAF * 2 + 1, codes.FALSE_LEAF * 2, codes.UNKNOWN_LEAF * 2, codes.UNKNOWN_LEAF * 2 + 1])


class Clauses(NamedTuple):
    """Clauses in CSR form, by subscription. C clauses, L literals."""

    starts: NDArray[np.int64]  # (C + 1,) clause c has literals[starts[c]:starts[c + 1]]
    literals: NDArray[np.int32]  # (L,) leaf * 2 + negated
    owners: NDArray[np.int32]  # (C,) the subscription, ascending


def disjunctive(
    compiled: CompiledExpressions, most: int = MOST_CLAUSES, left_out: NDArray[np.bool_] | None = None
) -> Clauses:
    """Clauses of the disjunctive normal form: a subscription needs any of them, a clause all of its literals.

    A subscription that never holds has no clause; one that always holds has an empty clause. (S,) `left_out` marks
    others that get none. Raises `UnsuitableIndex` if a subscription has more than `most` clauses.
    """
    return _clauses(compiled, most, left_out, conjunctive=False)


def conjunctive(compiled: CompiledExpressions, most: int = MOST_CLAUSES) -> Clauses:
    """Clauses of the conjunctive normal form: a subscription needs all of them, a clause any of its literals.

    A subscription that never holds has an empty clause; one that always holds has none. Raises `UnsuitableIndex` if a
    subscription has more than `most` clauses.
    """
    return _clauses(compiled, most, None, conjunctive=True)


def as_written(compiled: CompiledExpressions, most: int = MOST_CLAUSES) -> Clauses:
    """The clauses, as in `conjunctive`, of expressions written in that form that would otherwise be multiplied out.

    Such an expression is an AND of 2 to `most` clauses, after folding constants. Each is a literal or an OR of
    literals, and at least one has several literals. Other subscriptions have no clauses. Cost: linear.
    """
    starts, literals, owners = written_clauses(
        compiled.arrays.program_starts, compiled.arrays.program, compiled.arrays.leaf_kinds, most
    )
    return Clauses(starts, literals, owners)


def are_plain(compiled: CompiledExpressions) -> NDArray[np.bool_]:
    """(S,) which expressions are conjunctions of literals without constants: their program is their only clause."""
    starts, program = compiled.arrays.program_starts, compiled.arrays.program
    is_leaf = leaf_places(program)
    odd = ~is_leaf
    odd[is_leaf] = compiled.arrays.leaf_kinds[program[is_leaf] >> 1] >= codes.TRUE_LEAF
    counts = np.concatenate([[0], np.cumsum(odd)])
    plain: NDArray[np.bool_] = counts[starts[1:]] == counts[starts[:-1]]
    return plain


def clauses_of(
    compiled: CompiledExpressions,
    number: int,
    most: int,
    *,
    conjunctive: bool,
    alternatives: Mapping[int, Sequence[Clause]] | None = None,
) -> list[Clause] | None:
    """The clauses of one expression, as in `disjunctive` or `conjunctive`; None if there are more than `most`.

    `alternatives` are the clauses of literals that stand for more than themselves. Returns None also if multiplying out
    would combine more than `MOST_CLAUSES` ** 2 pairs of clauses in all.
    """
    starts = compiled.arrays.program_starts
    program = compiled.arrays.program[starts[number] : starts[number + 1]].tolist()
    kinds = compiled.arrays.leaf_kinds
    return _Normal(program, kinds, most, alternatives or {}, conjunctive=conjunctive).clauses()


def _clauses(
    compiled: CompiledExpressions, most: int, left_out: NDArray[np.bool_] | None, *, conjunctive: bool
) -> Clauses:
    starts, program = compiled.arrays.program_starts, compiled.arrays.program
    wanted = np.ones(len(compiled), bool) if left_out is None else ~left_out
    plain = are_plain(compiled) & wanted
    lengths = np.diff(starts)
    literals = program[np.repeat(plain, lengths)]
    numbers = np.flatnonzero(plain)
    if conjunctive:
        owners, sizes = np.repeat(numbers, lengths[plain]), np.ones(len(literals), np.int64)
    else:
        owners, sizes = numbers, lengths[plain]
    own = _of_trees(compiled, np.flatnonzero(wanted & ~plain), most, conjunctive=conjunctive)
    owners = np.concatenate([owners, np.array([owner for owner, _ in own], np.int64)])
    sizes = np.concatenate([sizes, np.array([len(clause) for _, clause in own], np.int64)])
    literals = np.concatenate([literals, np.array([one for _, clause in own for one in sorted(clause)], np.int32)])
    order = np.argsort(owners, kind="stable")
    ordered_starts, ordered = reordered(starts_of(sizes, len(sizes)), literals.astype(np.int32), order)
    return Clauses(ordered_starts, ordered, owners[order].astype(np.int32))


def _of_trees(
    compiled: CompiledExpressions, numbers: NDArray[np.int64], most: int, *, conjunctive: bool
) -> list[tuple[int, Clause]]:
    """The clauses of expressions that are not plain conjunctions."""
    found: list[tuple[int, Clause]] = []
    for number in numbers.tolist():
        clauses = clauses_of(compiled, number, most, conjunctive=conjunctive)
        if clauses is None:
            name = "conjunctive" if conjunctive else "disjunctive"
            raise UnsuitableIndex(f"its {name} normal form has more than {most} clauses; index 'auto' takes it", number)
        found += [(number, clause) for clause in clauses]
    return found


class _Normal:
    """One program, multiplied out."""

    def __init__(
        self,
        program: list[int],
        kinds: NDArray[np.uint8],
        most: int,
        alternatives: Mapping[int, Sequence[Clause]],
        *,
        conjunctive: bool,
    ) -> None:
        self._program = program
        self._kinds = kinds
        self._most = most
        self._alternatives = alternatives
        self._multiplied_by = codes.OPEN_OR if conjunctive else codes.OPEN_AND
        self._one, self._none = (_NEVER, _ALWAYS) if conjunctive else (_ALWAYS, _NEVER)
        self._pairs_left = MOST_CLAUSES * MOST_CLAUSES

    def clauses(self) -> list[Clause] | None:
        """The clauses, none of them contained in another; None if there are too many."""
        return self._of(codes.OPEN_AND, 0, len(self._program))

    def _of(self, kind: int, place: int, end: int) -> list[Clause] | None:
        parts: list[list[Clause]] = []
        while place < end:
            code = self._program[place]
            if code >= 0:
                parts.append(self._of_literal(code))
                place += 1
                continue
            stop = place + 2 + self._program[place + 1]
            inner = self._of(code, place + 2, stop)
            if inner is None:
                return None
            parts.append(inner)
            place = stop
        return self._product(parts) if kind == self._multiplied_by else _minimal(self._most, *parts)

    def _of_literal(self, code: int) -> list[Clause]:
        if code in self._alternatives:
            return list(self._alternatives[code])
        constant = 2 * int(self._kinds[code >> 1]) + (code & 1)
        if constant in self._none:
            return []
        return [frozenset()] if constant in self._one else [frozenset([code])]

    def _product(self, parts: list[list[Clause]]) -> list[Clause] | None:
        if len(parts) == 1:
            return parts[0]
        whole: list[Clause] | None = [frozenset().union(*(part[0] for part in parts if len(part) == 1))]
        most = min(self._most, MOST_CLAUSES)  # products grow fast, unions do not
        for part in (part for part in parts if len(part) != 1):
            if whole is None or len(whole) * len(part) > min(most * most, self._pairs_left):
                return None
            self._pairs_left -= len(whole) * len(part)
            whole = _minimal(most, (left | right for left, right in product(whole, part)))
        return whole


def _minimal(most: int, *parts: Iterable[Clause]) -> list[Clause] | None:
    """The clauses that contain no other one, smallest first; None if there are too many."""
    kept: list[Clause] = []
    by_first: dict[int, list[Clause]] = {}  # if a clause contains another, it contains that one's first literal
    for clause in sorted({clause for part in parts for clause in part}, key=lambda one: (len(one), sorted(one))):
        if not clause:
            return [clause]
        if not any(other <= clause for literal in clause for other in by_first.get(literal, ())):
            kept.append(clause)
            by_first.setdefault(min(clause), []).append(clause)
            if len(kept) > most:
                return None
    return kept
