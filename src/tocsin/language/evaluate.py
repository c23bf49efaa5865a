"""What is the truth of an expression about an event? The reference: on the tree itself, one event at a time.

Every node has a value, None standing for "no value": an absent attribute, the result of impossible
arithmetic, the truth UNKNOWN. So a condition used as a scalar is its truth, and nothing needs a second set of rules.
A comparison of a `Range` may be TRUE of some of its values and FALSE of others: it is EITHER (`language.truths`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from tocsin.language.distances import distance_m
from tocsin.language.keywords import text_in, text_truth
from tocsin.language.spatial import spatial_truth
from tocsin.language.strings import fold_case, like_matches, regex_matches, strip_accents
from tocsin.language.temporal import expanded
from tocsin.language.truths import (
    EITHER,
    Truth,
    compare,
    compare_range,
    conjunction_of,
    disjunction_of,
    negation_of,
    truth_of,
)
from tocsin.model.elements import Elements
from tocsin.model.expression import (
    DISTANCE,
    MIRRORED,
    SPATIAL_FUNCTIONS,
    TEMPORAL_FUNCTIONS,
    TEXT,
    And,
    AnyElement,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    In,
    Interval,
    IsNull,
    Like,
    Not,
    Or,
    fold,
)
from tocsin.model.instants import read_instant
from tocsin.model.readings import as_elements, attribute_of, is_reading
from tocsin.model.values import SCALARS, Instant, Range, Value, type_name

Values = Mapping[str, Value | Elements]
"""The values of a flattened event; under `as_elements(name)` the elements of a list: `model.elements.values_for`."""


def evaluate(expression: Expression, values: Values) -> bool | None:
    """The truth of an expression about one flattened event; None is UNKNOWN. Absent attributes have no entry.

    True where it can be TRUE of an event with ranges. Cost: linear in the size of the expression, no short cuts.

    >>> from tocsin.language import parse
    >>> tree = parse("model = 'iphone5s' AND price <= 580")
    >>> evaluate(tree, {"model": "iphone5s", "price": 550.0}), evaluate(tree, {"price": 600.0})
    (True, False)
    """
    truth = truth_of(value_of(expression, values))
    return True if truth is EITHER else truth


def value_of(expression: Expression, values: Values) -> Value | Truth:
    """The value of a scalar expression, or the truth of a condition; None is neither."""
    return fold(expression, lambda node, parts: _value(node, parts, values))


def values_of_parts(expression: Expression, values: Values) -> dict[int, Value | Truth]:
    """The value of every node of a tree, by the node's `id`."""
    found: dict[int, Value | Truth] = {}

    def combine(node: Expression, parts: Sequence[Value | Truth]) -> Value | Truth:
        found[id(node)] = value = _value(node, parts, values)
        return value

    fold(expression, combine)
    return found


def _value(node: Expression, parts: Sequence[Any], values: Values) -> Value | Truth:
    if isinstance(node, Attribute):
        value = cast(Value | None, values.get(attribute_of(node.name)))
        return _as_instant(value) if is_reading(node.name) else value
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Call) and node.name in TEMPORAL_FUNCTIONS:
        return value_of(expanded(node), values)
    if isinstance(node, Call) and node.name == TEXT:
        return text_truth(text_in(node, values), *parts[1:])
    if isinstance(node, AnyElement):
        return _any_element(node, cast(Elements | None, values.get(as_elements(node.items.name))))
    return _RULES[type(node)](node, parts)


def _as_instant(value: Value | None) -> Value | None:
    """What a value is to those who ask for an instant."""
    if isinstance(value, str):
        return read_instant(value)
    return value if type_name(value) == "instant" else None


# ---- predicates


def _compare(op: ComparisonOperator, left: Expression, right: Expression, of_left: Any, of_right: Any) -> Truth:
    """A comparison of two nodes by their values. A range is compared with constants alone.

    A string that an attribute has is read as an instant where it is compared with one (`model.readings`).
    """
    if isinstance(of_left, str) and isinstance(left, Attribute) and _is_instant(right):
        of_left = read_instant(of_left)
    if isinstance(of_right, str) and isinstance(right, Attribute) and _is_instant(left):
        of_right = read_instant(of_right)
    if isinstance(of_left, Range):
        return compare_range(op, of_left, of_right) if isinstance(right, Constant) else None
    if isinstance(of_right, Range):
        return compare_range(MIRRORED[op], of_right, of_left) if isinstance(left, Constant) else None
    return compare(op, of_left, of_right)


def _is_instant(node: Expression) -> bool:
    return isinstance(node, Constant) and isinstance(node.value, Instant)


def _like(node: Expression, parts: Sequence[Value | None]) -> bool | None:
    text, pattern = parts
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    return like_matches(pattern, text)


def _between(node: Between, parts: Sequence[Any]) -> Truth:
    value, low, high = parts
    if isinstance(value, Range) and _is_reversed(node) and type_name(value) == type_name(low):
        return False  # no value lies within
    of_low = _compare(">=", node.operand, node.low, value, low)
    return conjunction_of((of_low, _compare("<=", node.operand, node.high, value, high)))


def _is_reversed(node: Between) -> bool:
    """Whether two constants are a lower bound above an upper one."""
    low, high = node.low, node.high
    return isinstance(low, Constant) and isinstance(high, Constant) and compare(">", low.value, high.value) is True


def _in(node: In, parts: Sequence[Any]) -> Truth:
    value, *items = parts
    return disjunction_of(
        _compare("=", node.operand, item, value, of_item) for item, of_item in zip(node.items, items, strict=True)
    )


def _any_element(node: AnyElement, elements: Elements | None) -> Truth:
    """As an OR over the elements; FALSE of an empty list."""
    if elements is None:
        return None
    return disjunction_of(truth_of(value_of(node.condition, one)) if one is not None else None for one in elements)


# ---- arithmetic


def _arithmetic(node: Expression, parts: Sequence[Value | None]) -> float | None:
    left, right = parts
    if not isinstance(left, float) or not isinstance(right, float):
        return None
    try:
        result = _CALCULATE[cast(Arithmetic, node).op](left, right)
    except (ArithmeticError, ValueError):
        return None
    return result if math.isfinite(result) else None


def _truncated_quotient(left: float, right: float) -> float:
    return float(math.trunc(left / right))


_CALCULATE: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": math.fmod,
    "DIV": _truncated_quotient,
    "^": math.pow,
}


# ---- functions


def _call(node: Expression, parts: Sequence[Value | None]) -> Value | None:
    return _FUNCTIONS[cast(Call, node).name](*parts)


def _casei(value: Value | None) -> str | None:
    return fold_case(value) if isinstance(value, str) else None


def _accenti(value: Value | None) -> str | None:
    return strip_accents(value) if isinstance(value, str) else None


def _on_sets(law: Callable[[set[Any], set[Any]], bool]) -> Callable[..., bool | None]:
    def answer(left: Value | None, right: Value | None) -> bool | None:
        if not isinstance(left, tuple) or not isinstance(right, tuple):
            return None
        return law(_members(left), _members(right))

    return answer


def array_of(parts: Sequence[Value | Truth]) -> tuple[Any, ...] | None:
    """An array of some values; None where one of them is absent, or no scalar."""
    return tuple(parts) if all(isinstance(part, SCALARS) for part in parts) else None


def _members(items: tuple[Any, ...]) -> set[Any]:
    # Beside its type, since Python takes 1.0 for True.
    return {(type(item), item) for item in items}


def _matches(text: Value | None, pattern: Value | None) -> bool | None:
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    return regex_matches(pattern, text)


_FUNCTIONS: Final[dict[str, Callable[..., Value | None]]] = {
    "CASEI": _casei,
    "ACCENTI": _accenti,
    "A_EQUALS": _on_sets(operator.eq),
    "A_CONTAINS": _on_sets(operator.ge),
    "A_CONTAINEDBY": _on_sets(operator.le),
    "A_OVERLAPS": _on_sets(lambda left, right: not left.isdisjoint(right)),
    **{name: partial(spatial_truth, name) for name in SPATIAL_FUNCTIONS},
    "MATCHES": _matches,
    DISTANCE: distance_m,
}

_Rule = Callable[[Any, Sequence[Any]], Value | Truth]

_RULES: Final[dict[type, _Rule]] = {
    And: lambda _node, parts: conjunction_of(map(truth_of, parts)),
    Or: lambda _node, parts: disjunction_of(map(truth_of, parts)),
    Not: lambda _node, parts: negation_of(truth_of(parts[0])),
    Comparison: lambda node, parts: _compare(node.op, node.left, node.right, *parts),
    In: _in,
    Between: _between,
    Like: _like,
    IsNull: lambda _node, parts: parts[0] is None,
    Array: lambda _node, parts: array_of(parts),
    Interval: lambda _node, _parts: None,  # it is no value: `expanded` looks at its ends
    Arithmetic: _arithmetic,
    Call: _call,
}
