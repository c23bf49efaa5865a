"""`+`, `-`, `*`, `/`, `%`, DIV and `^` on numbers. A missing operand or an impossible result gives no value.

`+` and `-` also take instants: two instants differ by seconds, and an instant and seconds give an instant. There an
attribute keeps both of its readings (`model.readings`): a string that is a date or a timestamp is an instant.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tocsin.kernels import codes
from tocsin.language.operators.leaves import TermStep
from tocsin.language.operators.operands import Const, Number, Operand, Path, classify
from tocsin.language.operators.operator import ATOM, POWER, SUM, TERM, Json, Operation, Operator, Piece
from tocsin.language.operators.scalars import require_plain
from tocsin.model.elements import Values
from tocsin.model.expression import (
    ARITHMETIC,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Constant,
    Expression,
    Span,
)
from tocsin.model.instants import read_instant
from tocsin.model.readings import as_instant, has_instants
from tocsin.model.values import Instant


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
    require_plain(left)
    require_plain(right)
    return Arithmetic(op, left, right, span=span)


def may_be_instant(node: Expression) -> bool:
    """Whether a node is arithmetic whose value may be an instant. Recurses to the tree's depth."""
    if not isinstance(node, Arithmetic) or node.op not in _OF_INSTANTS:
        return False
    moved = (node.left,) if node.op == "-" else (node.left, node.right)
    return any(may_be_instant(one) or _has_instants(classify(one)) for one in moved)


def _has_instants(operand: Operand) -> bool:
    return isinstance(operand, Path) or (isinstance(operand, Const) and isinstance(operand.value, Instant))


_OF_INSTANTS: Final = ("+", "-")


def term_of(node: Expression, *, dated: bool = False) -> list[TermStep]:
    """An operand as a term; null if it is not a number, an attribute, or arithmetic on these.

    If `dated`, instants are allowed, and strings of attributes are read as such.
    """
    operand = classify(node)
    if isinstance(operand, Number):
        made, inner = operand.node, operand.node.op in _OF_INSTANTS
        parts = (step for part in (made.left, made.right) for step in term_of(part, dated=inner))
        return [*parts, (_SIGNS[made.op].code, 0, "")]
    if isinstance(operand, Path):
        own: TermStep = (codes.TERM_ATTRIBUTE, operand.attribute, operand.transform)
        is_read = dated and not operand.transform and has_instants(operand.attribute)
        return [own, (codes.TERM_INSTANT_OF, as_instant(operand.attribute), "")] if is_read else [own]
    if isinstance(operand, Const) and type(operand.value) is float:
        return [(codes.TERM_NUMBER, operand.value, "")]
    if isinstance(operand, Const) and isinstance(operand.value, Instant) and dated:
        seconds, rest = divmod(operand.value.microseconds, 1_000_000)
        whole: TermStep = (codes.TERM_INSTANT, float(seconds), "")
        more: list[TermStep] = [(codes.TERM_NUMBER, rest / codes.SECOND, ""), (codes.TERM_ADD, 0, "")]
        return [whole, *more] if rest else [whole]
    return [(codes.TERM_NULL, 0, "")]


def as_moment(node: Expression, value: Any) -> Any:
    """The value of an operand where instants are allowed."""
    return read_instant(value) if isinstance(value, str) and isinstance(node, Attribute) else value


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

    def value(self, node: Arithmetic, parts: Sequence[Any], values: Values) -> float | Instant | None:
        left, right = parts
        if node.op in _OF_INSTANTS:
            left, right = as_moment(node.left, left), as_moment(node.right, right)
            if isinstance(left, Instant) or isinstance(right, Instant):
                return _of_instants(node.op, left, right)
        if not isinstance(left, float) or not isinstance(right, float):
            return None
        try:
            result = _SIGNS[node.op].compute(left, right)
        except (ArithmeticError, ValueError):
            return None
        return result if math.isfinite(result) else None

    def has_recipe(self, node: Arithmetic) -> bool:
        """Not with an instant, which becomes several steps."""
        return not any(isinstance(one, Constant) and isinstance(one.value, Instant) for one in node.children())

    def advice(self, node: Arithmetic, text: str) -> str:
        """`detail-type`, which is probably one name."""
        left, right = node.left, node.right
        if node.op != "-" or not (isinstance(left, Attribute) and isinstance(right, Attribute)):
            return ""
        if not (text and left.span and right.span) or text[left.span.end : right.span.start] != "-":
            return ""
        whole = f"{left.name}-{right.name}"
        return f'{whole} is a subtraction; a name with a hyphen is written in double quotes: "{whole}"'


def _of_instants(op: str, left: Any, right: Any) -> float | Instant | None:
    """The seconds between two instants, or the instant some seconds from another."""
    if isinstance(left, Instant) and isinstance(right, Instant):
        return (left.microseconds - right.microseconds) / codes.SECOND if op == "-" else None
    moment, seconds = (left, right) if isinstance(left, Instant) else (right, left)
    if not isinstance(seconds, float) or (op == "-" and moment is right):
        return None
    shift = (-seconds if op == "-" else seconds) * codes.SECOND
    if abs(shift) > codes.FARTHEST or abs(float(moment.microseconds) + shift) > codes.FARTHEST:
        return None
    return Instant(moment.microseconds + round(shift))
