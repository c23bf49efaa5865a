"""NOW: the present, one instant for a whole batch of events.

An attribute may be compared with the present, or with an instant at a fixed time from it. This is compiled to a
comparison of the attribute's distance from the present (`index.clock`) with a constant. So it has access keys, which do
not age.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, Final

from tocsin.kernels import codes
from tocsin.language.operators.operands import Const, Operand, Path, classify
from tocsin.language.operators.operator import Function
from tocsin.model.elements import Values
from tocsin.model.expression import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    Not,
)
from tocsin.model.instants import present
from tocsin.model.readings import NOW, as_since, has_instants
from tocsin.model.values import Instant

_FARTHEST: Final = 8e18
"""Microseconds; an instant that is so far from the present surely fits in 64 bits."""


class Now(Function):
    names, takes, of_what = ("NOW",), 0, "it is one instant for all events of a batch"

    def is_condition(self, node: Any) -> bool:
        return False

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> Any:
        moment = values.get(NOW)
        return present() if moment is None else moment

    def operand(self, node: Call) -> Operand:
        return Path(NOW)

    def has_recipe(self, node: Call) -> bool:
        """Not yet: the distance from the present is computed from the constants beside it."""
        return False


def is_now(node: Expression) -> bool:
    """Whether a node is the present."""
    return isinstance(node, Call) and node.name == "NOW"


def by_distance(node: Comparison) -> Expression | None:
    """A comparison with the present as one of an attribute's distance from it; None if it is another comparison."""
    for op, own, other in ((node.op, node.left, node.right), (MIRRORED[node.op], node.right, node.left)):
        if isinstance(own, Attribute) and has_instants(own.name) and (offset := _offset(other)) is not None:
            return Comparison(op, Attribute(as_since(own.name)), Constant(Instant(offset)))
        seconds = _constant(other)
        if seconds is not None and abs(seconds * codes.SECOND) <= _FARTHEST and isinstance(own, Arithmetic):
            if own.op == "-" and is_now(own.right) and _is_dated(own.left):
                return _apart(op, own.left, seconds)
            if own.op == "-" and is_now(own.left) and _is_dated(own.right):
                return _apart(MIRRORED[op], own.right, 0.0 - seconds)
    return None


def _is_dated(node: Expression) -> bool:
    return isinstance(node, Attribute) and has_instants(node.name)


def _constant(node: Expression) -> float | None:
    """The number that a node is."""
    operand = classify(node)
    return operand.value if isinstance(operand, Const) and isinstance(operand.value, float) else None


def _offset(node: Expression) -> int | None:
    """How many microseconds an instant is after the present; None if it is not at a fixed distance."""
    if is_now(node):
        return 0
    if not isinstance(node, Arithmetic) or node.op not in ("+", "-"):
        return None
    moment, other = (node.left, node.right) if is_now(node.left) else (node.right, node.left)
    seconds = _constant(other)
    if not is_now(moment) or seconds is None or (node.op == "-" and moment is node.right):
        return None
    shift = (-seconds if node.op == "-" else seconds) * codes.SECOND
    return round(shift) if abs(shift) <= _FARTHEST else None


def _apart(op: ComparisonOperator, moment: Expression, seconds: float) -> Expression:
    """A comparison of the seconds from the present to an attribute's instant, as one of microseconds.

    Several numbers of microseconds may round to one number of seconds.
    """
    since = Attribute(as_since(moment.name)) if isinstance(moment, Attribute) else moment
    near = round(seconds * codes.SECOND)
    around = range(near - abs(near) // 2**48 - 8, near + abs(near) // 2**48 + 8)
    first = around[bisect_left(around, seconds, key=lambda one: one / codes.SECOND)]
    after = around[bisect_right(around, seconds, key=lambda one: one / codes.SECOND)]
    if op in ("=", "<>"):
        equal = Between(since, Constant(Instant(first)), Constant(Instant(after - 1)))
        return equal if op == "=" else Not(equal)
    bound = first if op in ("<", ">=") else after
    return Comparison("<" if op in ("<", "<=") else ">=", since, Constant(Instant(bound)))
