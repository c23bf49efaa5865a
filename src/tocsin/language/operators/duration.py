"""DURATION: a length of time of ISO 8601 as its number of seconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, cast

from tocsin.language.canonical import constant_text
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.operands import Const, Operand
from tocsin.language.operators.operator import Function, describe
from tocsin.language.operators.ordered_text import PLACEHOLDER
from tocsin.model.elements import Values
from tocsin.model.expression import Call, Constant, Expression
from tocsin.model.values import LARGEST_INTEGER

_COUNT: Final = r"(\d+(?:[.,]\d+)?)"
_FIXED: Final = re.compile(
    rf"P(?:{_COUNT}W)?(?:{_COUNT}D)?(?:T(?=\d)(?:{_COUNT}H)?(?:{_COUNT}M)?(?:{_COUNT}S)?)?", re.ASCII
)
_SECONDS: Final = (604_800, 86_400, 3_600, 60, 1)
_CALENDAR: Final = re.compile(r"P[^T]*\d[YM]", re.ASCII)


class Duration(Function):
    names, takes, of_what = ("DURATION",), 1, "a length of time such as 'P1DT2H'"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        (length,) = arguments
        if not (isinstance(length, Constant) and isinstance(length.value, str)):
            raise Misplaced(f"{name} needs a length of time in single quotes, not {describe(length)}", length)
        if problem := duration_problem(length.value):
            raise Misplaced(problem, length)

    def is_condition(self, node: Call) -> bool:
        return False

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> float | None:
        return seconds_of(parts[0])

    def operand(self, node: Call) -> Operand:
        return Const(seconds_of(str(cast(Constant, node.arguments[0]).value)) or 0.0)  # 0 for a placeholder

    def has_recipe(self, node: Call) -> bool:
        """Not for a constant, which is read at compile time."""
        return False

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        return duration_problem, node.arguments


def seconds_of(text: str) -> float | None:
    """The seconds of a length of time, to the nearest number; None if the text is not one of fixed length.

    >>> seconds_of("P1DT2H"), seconds_of("PT0,5S"), seconds_of("P1M"), seconds_of("P")
    (93600.0, 0.5, None, None)
    """
    exact = _exact(text)
    return None if exact is None or exact > LARGEST_INTEGER else float(exact)


def _exact(text: str) -> Fraction | None:
    found = _FIXED.fullmatch(text)
    counts = [] if found is None else [one for one in found.groups() if one]
    if found is None or not counts or not all(one.isdigit() for one in counts[:-1]):  # only the last has a fraction
        return None
    pairs = zip(found.groups(), _SECONDS, strict=True)
    return sum((Fraction(count.replace(",", ".")) * unit for count, unit in pairs if count), Fraction(0))


def microseconds_of(text: str) -> int | None:
    """A length of time in whole microseconds, rounded; None if the text is not one of fixed length.

    >>> microseconds_of("PT10M"), microseconds_of("PT0.0000015S"), microseconds_of("P1Y")
    (600000000, 2, None)
    """
    exact = _exact(text)
    return None if exact is None or exact > LARGEST_INTEGER else round(exact * 1_000_000)


def duration_problem(text: str) -> str | None:
    """What is wrong with a length of time; None if nothing is."""
    if text.startswith(PLACEHOLDER) or seconds_of(text) is not None:
        return None
    shown = constant_text(text[:60])
    if _CALENDAR.match(text):
        return f"{shown} has years or months, which have no fixed length; write weeks, days or seconds, as in 'P30D'"
    if _exact(text) is not None:
        return f"{shown} is too long: a duration has at most 2**53 seconds"
    meant = duration_meant(text)
    if meant is not None:
        return f"{shown} is not a length of time; write {constant_text(meant)}"
    return f"{shown} is not a length of time; write weeks, days, hours, minutes and seconds, as in 'P1DT2H'"


_UNITS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "PT{}S"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "PT{}M"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "PT{}H"),
    **dict.fromkeys(("d", "day", "days"), "P{}D"),
    **dict.fromkeys(("w", "week", "weeks"), "P{}W"),
}
_AS_SPOKEN: Final = re.compile(r"\s*(\d{1,15})\s*([a-z]+)", re.ASCII | re.IGNORECASE)


def duration_meant(text: str) -> str | None:
    """The length of time with which a text begins as people write it, in ISO 8601; None if there is none.

    >>> duration_meant("5 minutes"), duration_meant("2h"), duration_meant("5 apples")
    ('PT5M', 'PT2H', None)
    """
    found = _AS_SPOKEN.match(text)
    form = None if found is None else _UNITS.get(found[2].lower())
    return None if found is None or form is None else form.format(found[1])
