"""What is the truth of an expression about an event? The reference: on the tree itself, one event at a time.

Every node has a value, None standing for "no value": an absent attribute, the result of impossible
arithmetic, the truth UNKNOWN. So a condition used as a scalar is its truth, and nothing needs a second set of rules.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from tocsin.language.fold import fold
from tocsin.language.strings import fold_case, like_matches, regex_matches, strip_accents
from tocsin.model.expression import (
    And,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Or,
)
from tocsin.model.values import Instant, Value, box_of

Values = Mapping[str, Value]


def evaluate(expression: Expression, values: Values) -> bool | None:
    """The truth of an expression about one flattened event; None is UNKNOWN. Absent attributes have no entry.

    Cost: linear in the size of the expression, no short cuts.

    >>> from tocsin.language import parse
    >>> tree = parse("model = 'iphone5s' AND price <= 580")
    >>> evaluate(tree, {"model": "iphone5s", "price": 550.0}), evaluate(tree, {"price": 600.0})
    (True, False)
    """
    return truth_of(value_of(expression, values))


def value_of(expression: Expression, values: Values) -> Value | None:
    """The value of a scalar expression, or the truth of a condition; None is neither."""
    return fold(expression, lambda node, parts: _value(node, parts, values))


def values_of_parts(expression: Expression, values: Values) -> dict[int, Value | None]:
    """The value of every node of a tree, by the node's `id`."""
    found: dict[int, Value | None] = {}

    def combine(node: Expression, parts: Sequence[Value | None]) -> Value | None:
        found[id(node)] = value = _value(node, parts, values)
        return value

    fold(expression, combine)
    return found


def _value(node: Expression, parts: Sequence[Value | None], values: Values) -> Value | None:
    if isinstance(node, Attribute):
        return values.get(node.name)
    if isinstance(node, Constant):
        return node.value
    return _RULES[type(node)](node, parts)


def truth_of(value: Value | None) -> bool | None:
    """A value where a truth is needed: anything but a boolean is UNKNOWN."""
    return value if isinstance(value, bool) else None


# ---- the three values of truth


def conjunction_of(truths: Iterable[bool | None]) -> bool | None:
    """AND: FALSE when any is FALSE, else UNKNOWN when any is UNKNOWN, else TRUE."""
    known = list(truths)
    if False in known:
        return False
    return None if None in known else True


def disjunction_of(truths: Iterable[bool | None]) -> bool | None:
    """OR: TRUE when any is TRUE, else UNKNOWN when any is UNKNOWN, else FALSE."""
    known = list(truths)
    if True in known:
        return True
    return None if None in known else False


def negation_of(truth: bool | None) -> bool | None:
    """NOT: UNKNOWN stays UNKNOWN."""
    return None if truth is None else not truth


# ---- predicates

_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARABLE: Final = (float, str, bool, Instant)


def compare(op: str, left: Value | None, right: Value | None) -> bool | None:
    """A comparison: of two scalars of one type, else UNKNOWN."""
    if type(left) is not type(right) or type(left) not in _COMPARABLE:
        return None
    return _COMPARE[op](left, right)


def _like(node: Expression, parts: Sequence[Value | None]) -> bool | None:
    text, pattern = parts
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    return like_matches(pattern, text)


def _between(node: Expression, parts: Sequence[Value | None]) -> bool | None:
    value, low, high = parts
    return conjunction_of((compare(">=", value, low), compare("<=", value, high)))


def _in(node: Expression, parts: Sequence[Value | None]) -> bool | None:
    return disjunction_of([compare("=", parts[0], item) for item in parts[1:]])


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


def _members(items: tuple[Any, ...]) -> set[Any]:
    # Beside its type, since Python takes 1.0 for True.
    return {(type(item), item) for item in items}


def _s_intersects(left: Value | None, right: Value | None) -> bool | None:
    a = None if left is None else box_of(left)
    b = None if right is None else box_of(right)
    if a is None or b is None:
        return None
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


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
    "S_INTERSECTS": _s_intersects,
    "MATCHES": _matches,
}

_Rule = Callable[[Any, Sequence[Any]], Value | None]

_RULES: Final[dict[type, _Rule]] = {
    And: lambda _node, parts: conjunction_of(map(truth_of, parts)),
    Or: lambda _node, parts: disjunction_of(map(truth_of, parts)),
    Not: lambda _node, parts: negation_of(truth_of(parts[0])),
    Comparison: lambda node, parts: compare(node.op, *parts),
    In: _in,
    Between: _between,
    Like: _like,
    IsNull: lambda _node, parts: parts[0] is None,
    Array: lambda _node, parts: tuple(parts),
    Arithmetic: _arithmetic,
    Call: _call,
}
