"""`+`, `-`, `*`, `/`, `%`, DIV and `^` on numbers, and NUMBER, which makes a number of a string or a boolean.

A missing operand or an impossible result gives no value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tocsin.kernels import codes
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import TermStep
from tocsin.language.operators.operands import NUMBER, Const, Number, Path, classify
from tocsin.language.operators.operator import (
    ATOM,
    POWER,
    SUM,
    TERM,
    Function,
    Json,
    Operation,
    Operator,
    Piece,
    describe,
)
from tocsin.language.operators.scalars import require_scalar
from tocsin.model.elements import Values
from tocsin.model.expression import (
    ARITHMETIC,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Call,
    Constant,
    Expression,
    Span,
)
from tocsin.model.numbers import as_number


def _truncated_quotient(left: float, right: float) -> float:
    return float(math.trunc(left / right))


class _Sign(NamedTuple):
    """The function of an arithmetic operator, and how tightly the operator binds."""

    compute: Callable[[float, float], float]
    code: int
    binding: int
    of_left: int  # the binding that its left operand needs
    of_right: int


_SIGNS: Final = {
    "+": _Sign(operator.add, codes.TERM_ADD, SUM, SUM, TERM),
    "-": _Sign(operator.sub, codes.TERM_SUBTRACT, SUM, SUM, TERM),
    "*": _Sign(operator.mul, codes.TERM_MULTIPLY, TERM, TERM, POWER),
    "/": _Sign(operator.truediv, codes.TERM_DIVIDE, TERM, TERM, POWER),
    "%": _Sign(math.fmod, codes.TERM_MODULO, TERM, TERM, POWER),
    "DIV": _Sign(_truncated_quotient, codes.TERM_INTEGER_DIVIDE, TERM, TERM, POWER),
    "^": _Sign(math.pow, codes.TERM_POWER, POWER, ATOM, POWER),
}


def arithmetic(op: ArithmeticOperator, left: Expression, right: Expression, *, span: Span | None = None) -> Expression:
    """Make the node of an arithmetic operation. Raises `Misplaced` for operands that are not scalars."""
    require_scalar(left)
    require_scalar(right)
    return Arithmetic(op, left, right, span=span)


def term_of(node: Expression) -> list[TermStep]:
    """An operand as a term; null if it is not a number, an attribute, or arithmetic on these."""
    operand = classify(node)
    if isinstance(operand, Number):
        made = operand.node
        return [*term_of(made.left), *term_of(made.right), (_SIGNS[made.op].code, 0, "")]
    if isinstance(operand, Path):
        return [(codes.TERM_ATTRIBUTE, operand.attribute, operand.transform)]
    if isinstance(operand, Const) and type(operand.value) is float:
        return [(codes.TERM_NUMBER, operand.value, "")]
    return [(codes.TERM_NULL, 0, "")]


class Computed(Operator):
    nodes, described = Arithmetic, "an arithmetic expression"
    advised_by = "-"

    def operations(self) -> Mapping[str, Operation]:
        def maker(op: ArithmeticOperator) -> Callable[[Sequence[Expression]], Expression]:
            return lambda parts: arithmetic(op, *parts)

        return {op: Operation(maker(op), 2) for op in ARITHMETIC}

    def is_condition(self, node: Arithmetic) -> bool:
        return False

    def text(self, node: Arithmetic, parts: Sequence[Piece]) -> Piece:
        sign = _SIGNS[node.op]
        return Piece(f"{parts[0].at_least(sign.of_left)} {node.op} {parts[1].at_least(sign.of_right)}", sign.binding)

    def json(self, node: Arithmetic, parts: Sequence[Json]) -> Json:
        return {"op": node.op.lower(), "args": list(parts)}

    def value(self, node: Arithmetic, parts: Sequence[Any], values: Values) -> float | None:
        left, right = parts
        if not isinstance(left, float) or not isinstance(right, float):
            return None
        try:
            result = _SIGNS[node.op].compute(left, right)
        except (ArithmeticError, ValueError):
            return None
        return result if math.isfinite(result) else None

    def advice(self, node: Arithmetic, text: str) -> str:
        """`detail-type`, which is probably one name."""
        left, right = node.left, node.right
        if node.op != "-" or not (isinstance(left, Attribute) and isinstance(right, Attribute)):
            return ""
        if not (text and left.span and right.span) or text[left.span.end : right.span.start] != "-":
            return ""
        whole = f"{left.name}-{right.name}"
        return f'{whole} is a subtraction; a name with a hyphen is written in double quotes: "{whole}"'


class Spelled(Function):
    names, takes, of_what = (NUMBER,), 1, "an attribute"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        (operand,) = arguments
        if not isinstance(operand, Attribute | Constant):
            raise Misplaced(f"{name} needs an attribute, not {describe(operand)}", operand)

    def is_condition(self, node: Call) -> bool:
        return False

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> float | None:
        return as_number(parts[0])

    def has_recipe(self, node: Call) -> bool:
        """Not for a constant, which is read at compile time."""
        return isinstance(node.arguments[0], Attribute)
