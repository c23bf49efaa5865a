"""What `+`, `-`, `*`, `/`, `%`, DIV and `^` make of two results; null for what cannot be computed."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from tests.naive.instants import moment_of
from tests.naive.places import Result
from tocsin.model.expression import Attribute, Expression
from tocsin.model.values import Instant

_COMPUTE: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "DIV": lambda x, y: float(math.trunc(x / y)),
    "%": math.fmod,
    "^": math.pow,
}


def computed(op: str, nodes: tuple[Expression, ...], left: Result, right: Result) -> Result:
    """Arithmetic on two numbers; in a sum or a difference also on instants, which an attribute's text may spell."""
    if op in ("+", "-"):
        left, right = (
            moment_of(one) if isinstance(one, str) and isinstance(node, Attribute) else one
            for node, one in zip(nodes, (left, right), strict=True)
        )
        match op, left, right:
            case "-", Instant(end), Instant(start):
                return float(end - start) / 1e6
            case "-", Instant(moment), float(seconds):
                return _later(moment, -seconds)
            case "+", Instant(moment), float(seconds):
                return _later(moment, seconds)
            case "+", float(seconds), Instant(moment):
                return _later(moment, seconds)
    if not isinstance(left, float) or not isinstance(right, float):
        return None
    try:
        number = _COMPUTE[op](left, right)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _later(moment: int, seconds: float) -> Instant | None:
    """An instant some seconds later, to the nearest microsecond, of two the even one; null far beyond the calendar."""
    if abs(seconds) > 9.2e12 or abs(moment + seconds * 1e6) > 9.2e18:
        return None
    return Instant(moment + round(Fraction(seconds * 1e6)))
