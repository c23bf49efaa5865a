"""NOW: the present, one instant for a whole batch of events.

An attribute may be compared with the present, or with an instant at a fixed time from it. This is compiled to a
comparison of the attribute's distance from the present (`index.clock`) with a constant. So it has access keys, which do
not age.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeGuard, cast

from tocsin.kernels import codes
from tocsin.language.operators.operands import Const, Operand, Path, classify
from tocsin.language.operators.operator import Function
from tocsin.model.elements import Values
from tocsin.model.expression import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    Not,
    conjunction,
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
        """Not where no distance is compared with a constant (`columns.expressions.spelling`)."""
        return False


def is_now(node: Expression) -> bool:
    """Whether a node is the present."""
    return isinstance(node, Call) and node.name == "NOW"


class Distance(NamedTuple):
    """A comparison of an attribute's distance from the present with a number of seconds."""

    op: ComparisonOperator
    moment: Attribute
    seconds: Expression | None  # None for 0
    is_negative: bool  # whether the number is to be negated
    is_number: bool  # whether the distance itself is a number of seconds, as in `t - NOW() > 5`

    def compared(self, op: ComparisonOperator, microseconds: int) -> Expression:
        """The comparison of the distance with microseconds."""
        return Comparison(op, Attribute(as_since(self.moment.name)), Constant(Instant(microseconds)))


def distance_in(node: Comparison) -> Distance | None:
    """The distance that a comparison with the present is about; None if it is another comparison."""
    for op, own, other in ((node.op, node.left, node.right), (MIRRORED[node.op], node.right, node.left)):
        if (offset := _offset(other)) is not None and _is_dated(own):
            return Distance(op, own, *offset, is_number=False)
        if isinstance(own, Arithmetic) and own.op == "-" and _is_seconds(other):
            if is_now(own.right) and _is_dated(own.left):
                return Distance(op, own.left, other, is_negative=False, is_number=True)
            if is_now(own.left) and _is_dated(own.right):
                return Distance(MIRRORED[op], own.right, other, is_negative=True, is_number=True)
    return None


def _is_dated(node: Expression) -> TypeGuard[Attribute]:
    return isinstance(node, Attribute) and has_instants(node.name)


def _is_seconds(node: Expression) -> bool:
    operand = classify(node)
    return isinstance(operand, Const) and isinstance(operand.value, float)


def _offset(node: Expression) -> tuple[Expression | None, bool] | None:
    """How many seconds an instant is after the present, and whether that is to be negated; None if not fixed."""
    if is_now(node):
        return None, False
    if isinstance(node, Arithmetic) and node.op in ("+", "-") and is_now(node.left) and _is_seconds(node.right):
        return node.right, node.op == "-"
    if isinstance(node, Arithmetic) and node.op == "+" and is_now(node.right) and _is_seconds(node.left):
        return node.left, False
    return None


def by_distance(node: Comparison) -> Expression | None:
    """A comparison with the present as one of an attribute's distance from it; None if it is another comparison."""
    found = distance_in(node)
    if found is None:
        return None
    operand = None if found.seconds is None else classify(found.seconds)
    seconds = cast(float, operand.value) if isinstance(operand, Const) else 0.0
    if (bounds := bounds_of(0.0 - seconds if found.is_negative else seconds, is_number=found.is_number)) is None:
        return None
    if found.op in ("=", "<>"):
        equal = conjunction((found.compared(">=", bounds.first), found.compared("<", bounds.after)))
        return equal if found.op == "=" else Not(equal)
    return found.compared(*bounded(found.op, bounds))


class Bounds(NamedTuple):
    """The microseconds that a number of seconds stands for: from `first` to before `after`."""

    first: int
    after: int


def bounds_of(seconds: float, *, is_number: bool) -> Bounds | None:
    """The microseconds of a number of seconds; None if they may not fit in 64 bits.

    A number added to an instant is rounded. A number that a distance is compared with is exact: no microseconds may be
    that many seconds, or several that round to it.
    """
    if abs(seconds * codes.SECOND) > _FARTHEST:
        return None
    near = round(seconds * codes.SECOND)
    if not is_number:
        return Bounds(near, near + 1)
    around = range(near - abs(near) // 2**48 - 8, near + abs(near) // 2**48 + 8)
    sides = (side(around, seconds, key=lambda one: one / codes.SECOND) for side in (bisect_left, bisect_right))
    return Bounds(*(around[side] for side in sides))


def bounded(op: ComparisonOperator, bounds: Bounds) -> tuple[ComparisonOperator, int]:
    """A comparison with seconds, which is not an equality, as one with microseconds."""
    return "<" if op in ("<", "<=") else ">=", bounds.first if op in ("<", ">=") else bounds.after
