"""IN and BETWEEN: a value among constants, or between two. Short for `=` and OR, and for `>=` AND `<=`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tocsin.language.canonical import constant_text, to_text
from tocsin.language.evaluate import evaluate, value_of
from tocsin.language.misplaced import Misplaced
from tocsin.language.needs import listed, subject
from tocsin.language.operators.comparison import compared, read_together
from tocsin.language.operators.leaves import Leaves, Lowered, TruthStep
from tocsin.language.operators.operands import Const, Path, classify
from tocsin.language.operators.operator import (
    PREDICATE,
    SUM,
    Json,
    Operation,
    Operator,
    Piece,
    listed_text,
    lowered,
    truth_steps,
)
from tocsin.language.truths import Truth, compare, conjunction_of, disjunction_of
from tocsin.model.elements import Values
from tocsin.model.expression import Between, Comparison, Constant, Expression, In, Span, conjunction, disjunction
from tocsin.model.values import Range, Value, a, type_name


def within(operand: Expression, items: Sequence[Expression], *, span: Span | None = None) -> Expression:
    """Make the node of IN. Raises `Misplaced` for operands that cannot be compared."""
    if not items:
        raise Misplaced("IN needs at least one value, as in color IN ('silver', 'gold')")
    operand, *items = read_together(operand, *items)
    return In(operand, tuple(items), span=span)


def between(operand: Expression, low: Expression, high: Expression, *, span: Span | None = None) -> Expression:
    """Make the node of BETWEEN. Raises `Misplaced` for operands that cannot be compared."""
    return Between(*read_together(operand, low, high), span=span)


def _unknown_because(node: In | Between, constants: Sequence[Expression], values: Values) -> str:
    """Say which of several constants make a condition UNKNOWN; empty if none does, or all.

    >>> from tocsin.language import parse
    >>> node = parse("zip IN ('01234', 94110)")
    >>> _unknown_because(node, node.items, {"zip": "555"})
    ' (UNKNOWN of a string because of 94110)'
    """
    came = value_of(node.operand, values)
    is_known = came is None or evaluate(node, values) is not None
    if is_known or not all(isinstance(one, Constant) for one in constants):
        return ""
    unknown = [one for one in constants if evaluate(Comparison("=", node.operand, one), values) is None]
    if not 0 < len(unknown) < len(constants):
        return ""
    shown = listed([cast(Constant, one).value for one in unknown])
    return f" (UNKNOWN of {a(type_name(cast(Value, came)))} because of {shown})"


class Member(Operator):
    nodes, described = In, "a condition with IN"

    def operations(self) -> Mapping[str, Operation]:
        return {"IN": Operation(lambda parts: within(parts[0], parts[1:]), 2, ends_in_list=True)}

    def text(self, node: In, parts: Sequence[Piece]) -> Piece:
        first, *rest = (part.at_least(SUM) for part in parts)
        tail = "IN " + listed_text(rest)
        return Piece(f"{first} {tail}", PREDICATE, f"{first} NOT {tail}")

    def json(self, node: In, parts: Sequence[Json]) -> Json:
        return {"op": "in", "args": [parts[0], list(parts[1:])]}

    def value(self, node: In, parts: Sequence[Any], values: Values) -> Truth:
        value, *items = parts
        pairs = zip(node.items, items, strict=True)
        return disjunction_of(compared("=", node.operand, item, value, of_item) for item, of_item in pairs)

    def needed(self, node: In, wanted: bool, values: Values) -> str:
        if not all(isinstance(item, Constant) for item in node.items):
            return ""
        constants = [cast(Constant, item).value for item in node.items]
        kinds = {type_name(value) for value in constants}
        about = subject(node.operand, kinds.pop(), values) if len(kinds) == 1 else to_text(node.operand)
        return f"{about} {'in' if wanted else 'present, and none of'} {listed(constants)}"

    def unknown_because(self, node: In, values: Values) -> str:
        return _unknown_because(node, node.items, values)

    def lower(self, node: In, leaves: Leaves, negated: bool) -> Lowered:
        literals = self._sets(node, leaves)
        if literals is None:
            return lowered(_expanded_in(node), leaves, negated=negated)
        return leaves.group(negated, [literal ^ negated for literal in literals])

    def truth_steps(self, node: In, leaves: Leaves) -> list[TruthStep]:
        return truth_steps(_expanded_in(node), leaves)

    @staticmethod
    def _sets(node: In, leaves: Leaves) -> list[int] | None:
        """One literal for each type, if all items are constants."""
        path, items = classify(node.operand), [classify(item) for item in node.items]
        constants = [item.value for item in items if isinstance(item, Const)]
        if not isinstance(path, Path) or len(constants) < len(items):
            return None
        if path.transform and not all(isinstance(value, str) for value in constants):
            return None
        return leaves.one_of(path, constants)


def _expanded_in(node: In) -> Expression:
    return disjunction(Comparison("=", node.operand, item) for item in node.items)


class Within(Operator):
    nodes, described = Between, "a condition with BETWEEN"

    def operations(self) -> Mapping[str, Operation]:
        return {"BETWEEN": Operation(lambda parts: between(*parts), 3)}

    def text(self, node: Between, parts: Sequence[Piece]) -> Piece:
        first, low, high = (part.at_least(SUM) for part in parts)
        tail = f"BETWEEN {low} AND {high}"
        return Piece(f"{first} {tail}", PREDICATE, f"{first} NOT {tail}")

    def json(self, node: Between, parts: Sequence[Json]) -> Json:
        return {"op": "between", "args": list(parts)}

    def value(self, node: Between, parts: Sequence[Any], values: Values) -> Truth:
        value, low, high = parts
        if isinstance(value, Range) and _is_reversed(node) and type_name(value) == type_name(low):
            return False  # no value lies within
        of_low = compared(">=", node.operand, node.low, value, low)
        return conjunction_of((of_low, compared("<=", node.operand, node.high, value, high)))

    def needed(self, node: Between, wanted: bool, values: Values) -> str:
        if not (isinstance(node.low, Constant) and isinstance(node.high, Constant)):
            return ""
        about = subject(node.operand, type_name(node.low.value), values)
        low, high = constant_text(node.low.value), constant_text(node.high.value)
        return f"{about} from {low} to {high}" if wanted else f"{about} below {low} or above {high}"

    def unknown_because(self, node: Between, values: Values) -> str:
        return _unknown_because(node, (node.low, node.high), values)

    def lower(self, node: Between, leaves: Leaves, negated: bool) -> Lowered:
        literal = self._range(node, leaves)
        return lowered(_expanded_between(node), leaves, negated=negated) if literal is None else literal ^ negated

    def truth_steps(self, node: Between, leaves: Leaves) -> list[TruthStep]:
        literal = self._range(node, leaves)
        return truth_steps(_expanded_between(node), leaves) if literal is None else leaves.steps_of(literal)

    @staticmethod
    def _range(node: Between, leaves: Leaves) -> int | None:
        """One range, if an attribute lies between two constants of one type."""
        path, low, high = classify(node.operand), classify(node.low), classify(node.high)
        if not (isinstance(path, Path) and isinstance(low, Const) and isinstance(high, Const)):
            return None
        return leaves.between(path, low.value, high.value)


def _is_reversed(node: Between) -> bool:
    """Whether the lower bound is a constant above the upper one."""
    low, high = node.low, node.high
    return isinstance(low, Constant) and isinstance(high, Constant) and compare(">", low.value, high.value) is True


def _expanded_between(node: Between) -> Expression:
    return conjunction((Comparison(">=", node.operand, node.low), Comparison("<=", node.operand, node.high)))
