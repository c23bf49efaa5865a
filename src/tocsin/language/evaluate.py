"""The reference evaluator: it computes an expression on the tree itself, one event at a time.

Every node has a value. None means "no value": an absent attribute, the result of impossible arithmetic, or the truth
UNKNOWN. So a condition used as a scalar has its truth as value, without a second set of rules. A comparison of a
`Range` may be TRUE for some of its values and FALSE for others: it is EITHER (`language.truths`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.language.operators.operator import operator_of
from tocsin.language.truths import EITHER, Truth, truth_of
from tocsin.model.elements import Values
from tocsin.model.expression import Expression, fold
from tocsin.model.values import Value


def evaluate(expression: Expression, values: Values) -> bool | None:
    """The truth of an expression for one flattened event; None is UNKNOWN. Absent attributes have no entry.

    For an event with ranges, the result is True if the expression can be TRUE. Cost: linear in the size of the
    expression, without short cuts.

    >>> from tocsin.language import parse
    >>> tree = parse("model = 'iphone5s' AND price <= 580")
    >>> evaluate(tree, {"model": "iphone5s", "price": 550.0}), evaluate(tree, {"price": 600.0})
    (True, False)
    """
    truth = truth_of(value_of(expression, values))
    return True if truth is EITHER else truth


def value_of(expression: Expression, values: Values) -> Value | Truth:
    """The value of a scalar expression, or the truth of a condition; None for no value or UNKNOWN."""
    return fold(expression, lambda node, parts: operator_of(node).value(node, parts, values))


def values_of_parts(expression: Expression, values: Values) -> dict[int, Value | Truth]:
    """The value of every node of a tree, by the node's `id`."""
    found: dict[int, Value | Truth] = {}

    def combine(node: Expression, parts: Sequence[Value | Truth]) -> Value | Truth:
        found[id(node)] = value = operator_of(node).value(node, parts, values)
        return value

    fold(expression, combine)
    return found
