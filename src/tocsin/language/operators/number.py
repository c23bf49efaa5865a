"""NUMBER: a value as a number. Strings are read by what they spell, and booleans are 1 and 0."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

from tocsin.kernels import codes
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.function_value import FunctionValue
from tocsin.language.operators.operands import Const, Null, Operand
from tocsin.language.operators.operator import describe
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression

_SPELLED: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class AsNumber(FunctionValue):
    names, takes, of_what = ("NUMBER",), 1, "an attribute"
    reads = (codes.NUMBER, codes.STRING, codes.BOOLEAN)

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        (operand,) = arguments
        if not isinstance(operand, Attribute | Constant):
            raise Misplaced(f"{name} needs an attribute, not {describe(operand)}", operand)

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> float | None:
        return as_number(parts[0])

    def operand(self, node: Call) -> Operand:
        (operand,) = node.arguments
        if not isinstance(operand, Constant):
            return super().operand(node)
        number = as_number(operand.value)
        return Null() if number is None else Const(number)

    def has_recipe(self, node: Call) -> bool:
        """Not for a constant, which is read at compile time."""
        return isinstance(node.arguments[0], Attribute)


def as_number(value: Any) -> float | None:
    """A number itself, a boolean as 1 or 0, and a string as the number that it spells; None for all else.

    >>> as_number(True), as_number("7"), as_number(("7",)), as_number("-.5e1"), as_number(" 5"), as_number("1e999")
    (1.0, 7.0, None, -5.0, None, None)
    """
    if isinstance(value, str):
        number = float(value) if _SPELLED.fullmatch(value) else math.inf
        return number if math.isfinite(number) else None
    return float(value) if isinstance(value, bool | float) else None
