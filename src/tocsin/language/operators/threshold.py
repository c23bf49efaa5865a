"""Comparisons of functions over time with numbers: how they are compiled, and which can never be TRUE."""

from __future__ import annotations

import math
from typing import Final, NamedTuple, cast

from tocsin.language.operators.operands import Const, classify
from tocsin.language.operators.over_time import COUNT, COUNT_DISTINCT, SINCE, OverTime, is_count, name_of, term_of
from tocsin.language.truths import OPPOSITES, compare
from tocsin.model.expression import (
    MIRRORED,
    And,
    Attribute,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    In,
    Not,
)


class Threshold(NamedTuple):
    """A comparison of a function over time with a number."""

    function: OverTime
    op: ComparisonOperator
    number: float


def threshold_in(node: Expression, negated: bool) -> Threshold | None:
    """A comparison, or its NOT, of a function over time with a number; None for anything else."""
    if not isinstance(node, Comparison):
        return None
    op, function, other = node.op, node.left, node.right
    if not isinstance(function, OverTime):
        op, function, other = MIRRORED[op], other, function
    number = classify(other) if isinstance(function, OverTime) else None
    if not isinstance(function, OverTime) or not isinstance(number, Const) or not isinstance(number.value, float):
        return None
    return Threshold(function, OPPOSITES[op] if negated else op, number.value)


def above_zero(node: Comparison, negated: bool) -> Expression | None:
    """A comparison, or its NOT, of a count with a number, if it is FALSE at 0: compiled to the name without zeros."""
    threshold = threshold_in(node, negated)
    if threshold is None or not is_count(threshold.function):
        return None
    if compare(threshold.op, 0.0, threshold.number) is not False:
        return None
    other = node.right if node.left is threshold.function else node.left
    return Comparison(threshold.op, Attribute(name_of(threshold.function)), other)


def advice_on_threshold(node: Comparison) -> str:
    """Why a comparison is never TRUE, or is TRUE of every object; empty for others."""
    threshold = threshold_in(node, False)
    if threshold is None or threshold.function.name not in _VALUES:
        return ""
    function, most = threshold.function, _most(threshold.function)
    values = f"{function.name} is {_VALUES[function.name]}" + (f", here at most {most:.0f}" if most < math.inf else "")
    if not _can_be(function, threshold.op, threshold.number, most):
        return f"it is never TRUE, because {values}"
    if is_count(function) and not _can_be(function, OPPOSITES[threshold.op], threshold.number, most):
        return f"it is TRUE of every object, because {values}"
    return ""


_VALUES: Final = {
    **dict.fromkeys((COUNT, COUNT_DISTINCT), "a whole number from 0 on"),
    SINCE: "a number of seconds from 0 on",
}


def _can_be(function: OverTime, op: ComparisonOperator, number: float, most: float) -> bool:
    """Whether a value from 0 to `most` satisfies a comparison."""
    if op in ("=", "<>"):
        is_value = 0 <= number <= most and (function.name == SINCE or number.is_integer())
        return is_value if op == "=" else not (is_value and most == 0)
    return compare(op, 0.0 if op in ("<", "<=") else most, number) is True


def _most(function: OverTime) -> float:
    """The most values that COUNT_DISTINCT can count, as its condition says: `ok = TRUE` leaves one of `ok`."""
    term = term_of(function)
    if function.name != COUNT_DISTINCT or term.condition is None:
        return math.inf
    parts = term.condition.operands if isinstance(term.condition, And) else (term.condition,)
    return min(_values_left(part, cast(str, term.attribute)) for part in parts)


def _values_left(part: Expression, attribute: str) -> float:
    plain = part.operand if isinstance(part, Not) else part
    if plain == Attribute(attribute):
        return 1.0
    if isinstance(part, Comparison) and part.op == "=":
        pair = (part.left, part.right)
        return 1.0 if Attribute(attribute) in pair and any(isinstance(one, Constant) for one in pair) else math.inf
    if isinstance(part, In) and part.operand == Attribute(attribute):
        return float(len(part.items)) if all(isinstance(one, Constant) for one in part.items) else math.inf
    return math.inf
