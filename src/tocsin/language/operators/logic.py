"""AND, OR and NOT on truths: `language.truths`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.kernels import codes
from tocsin.language.operators.leaves import Leaves, Lowered, TruthStep
from tocsin.language.operators.operator import (
    AND,
    NOT,
    OR,
    PREDICATE,
    Json,
    Operation,
    Operator,
    Piece,
    lowered,
    require_condition,
    truth_steps,
)
from tocsin.language.truths import Truth, conjunction_of, disjunction_of, negation_of, truth_of
from tocsin.model.elements import Values
from tocsin.model.expression import And, Expression, Not, Or, Span, conjunction, disjunction


def all_of(operands: Sequence[Expression], *, span: Span | None = None) -> Expression:
    for operand in operands:
        require_condition(operand, "AND joins conditions")
    return conjunction(operands, span)


def any_of(operands: Sequence[Expression], *, span: Span | None = None) -> Expression:
    for operand in operands:
        require_condition(operand, "OR joins conditions")
    return disjunction(operands, span)


def negated(operand: Expression, *, span: Span | None = None) -> Expression:
    require_condition(operand, "NOT reverses a condition")
    return Not(operand, span=span)


class _Group(Operator):
    """The common part of AND and OR."""

    name: str
    binding: int

    def text(self, node: And | Or, parts: Sequence[Piece]) -> Piece:
        tighter = self.binding + 1
        return Piece(f" {self.name} ".join([part.at_least(tighter) for part in parts]), self.binding)

    def json(self, node: And | Or, parts: Sequence[Json]) -> Json:
        return {"op": self.name.lower(), "args": list(parts)}

    def lower(self, node: And | Or, leaves: Leaves, negated: bool) -> Lowered:
        parts = []
        for operand in node.operands:  # not a comprehension, which in Python 3.11 costs another call for each level
            parts.append(lowered(operand, leaves, negated=negated))
        return leaves.group((self.name == "AND") != negated, parts)

    def truth_steps(self, node: And | Or, leaves: Leaves) -> list[TruthStep]:
        code = codes.TRUTH_AND if self.name == "AND" else codes.TRUTH_OR
        steps = truth_steps(node.operands[0], leaves)
        for operand in node.operands[1:]:
            steps += [*truth_steps(operand, leaves), (code, 0)]
        return steps


class All(_Group):
    nodes, described, name, binding = And, "a condition with AND", "AND", AND

    def operations(self) -> Mapping[str, Operation]:
        return {"AND": Operation(all_of)}

    def value(self, node: And, parts: Sequence[Any], values: Values) -> Truth:
        return conjunction_of(map(truth_of, parts))


class Either(_Group):
    nodes, described, name, binding = Or, "a condition with OR", "OR", OR

    def operations(self) -> Mapping[str, Operation]:
        return {"OR": Operation(any_of)}

    def value(self, node: Or, parts: Sequence[Any], values: Values) -> Truth:
        return disjunction_of(map(truth_of, parts))


class Negation(Operator):
    nodes, described = Not, "a condition with NOT"

    def operations(self) -> Mapping[str, Operation]:
        return {"NOT": Operation(lambda parts: negated(*parts), 1)}

    def text(self, node: Not, parts: Sequence[Piece]) -> Piece:
        inner = parts[0]
        return Piece(inner.opposite, PREDICATE) if inner.opposite else Piece(f"NOT {inner.at_least(NOT)}", NOT)

    def json(self, node: Not, parts: Sequence[Json]) -> Json:
        return {"op": "not", "args": list(parts)}

    def value(self, node: Not, parts: Sequence[Any], values: Values) -> Truth:
        return negation_of(truth_of(parts[0]))

    def truth_steps(self, node: Not, leaves: Leaves) -> list[TruthStep]:
        return [*truth_steps(node.operand, leaves), (codes.TRUTH_NOT, 0)]
