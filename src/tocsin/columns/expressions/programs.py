"""How does a tree become a program? AND and OR as marks with the places that they span, NOT pushed into the leaves."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.expressions.naming import meant, parted
from tocsin.columns.expressions.pools import Pools
from tocsin.columns.expressions.predicates import PredicateCompiler
from tocsin.kernels import codes
from tocsin.model.expression import (
    And,
    AnyElement,
    Between,
    Call,
    Comparison,
    Expression,
    In,
    Not,
    Or,
    disjunction,
    expanded_between,
    is_of_place,
    may_be_short,
)

# Cheap leaves first: AND and OR stop early, and their order never changes an answer.
_COSTS = {
    codes.ARRAY_PAIR: 2,
    codes.LIKE: 2,
    codes.REGEX: 2,
    codes.ARRAY_SET: 2,
    codes.COMPARE: 3,
    codes.TERM_IS_NULL: 3,
    codes.TRUTH: 3,
}
_GROUP_COST = 4


class ProgramCompiler:
    """Compiles AND, OR and NOT; NOT is pushed into the leaves."""

    def __init__(self, pools: Pools) -> None:
        self.pools = pools
        self.predicates = PredicateCompiler(pools)

    def program(self, expression: Expression) -> list[int]:
        tree = self._level(expression, negated=False)
        if isinstance(tree, list) and tree[0] == codes.OPEN_AND:
            return tree[2:]  # a program is an AND as it stands
        return tree if isinstance(tree, list) else [tree]

    def _level(self, node: Expression, *, negated: bool) -> int | list[int]:
        """A literal, or an opened group of places."""
        while isinstance(node, Not):
            node, negated = node.operand, not negated
        if isinstance(node, And | Or):
            parts = [self._level(operand, negated=negated) for operand in node.operands]
            return self._group(isinstance(node, And) != negated, parts)
        other = meant(node) if may_be_short(node) else None
        if other is not None:
            return self._level(other, negated=negated)
        other = parted(node, negated=negated) if may_be_short(node) else None
        if other is not None:
            return self._level(other, negated=False)
        if isinstance(node, In):
            return self._in(node, negated=negated)
        if isinstance(node, Between):
            literal = self.predicates.between_literal(node)
            if literal is None:
                return self._level(expanded_between(node), negated=negated)
            return literal ^ negated
        if isinstance(node, AnyElement) and not negated:
            return self.predicates.some_element(node)
        if is_of_place(node) and not negated:
            return self.predicates.placed(cast(Call | Comparison, node))
        return self.predicates.literal(node) ^ negated

    def _in(self, node: In, *, negated: bool) -> int | list[int]:
        literals = self.predicates.in_literals(node)
        if literals is None:
            choices = disjunction(Comparison("=", node.operand, item) for item in node.items)
            return self._level(choices, negated=negated)
        return self._group(negated, [literal ^ negated for literal in literals])

    def _group(self, is_and: bool, parts: list[int | list[int]]) -> int | list[int]:
        if len(parts) == 1:
            return parts[0]
        mark = codes.OPEN_AND if is_and else codes.OPEN_OR
        places: list[int] = []
        for part in sorted(parts, key=self._cost):
            if isinstance(part, int):
                places.append(part)
            elif part[0] == mark:
                places.extend(part[2:])
            else:
                places.extend(part)
        return [mark, len(places), *places]

    def _cost(self, part: int | list[int]) -> int:
        if isinstance(part, list):
            return _GROUP_COST
        return _COSTS.get(self.pools.leaves.items[part >> 1].kind, 1)


def depths(program: NDArray[np.int32]) -> NDArray[np.int64]:
    """(P,) inside how many groups each place of some programs is; a mark is inside its own."""
    marks, steps = np.flatnonzero(program < 0), np.zeros(len(program) + 1, np.int64)
    np.add.at(steps, marks, 1)
    np.add.at(steps, marks + 2 + program[marks + 1], -1)
    return np.cumsum(steps)[:-1]


def leaf_places(program: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Where a program names leaves. What stands behind an opening mark is a length."""
    is_leaf = program >= 0
    is_leaf[1:] &= program[:-1] >= 0
    return is_leaf
