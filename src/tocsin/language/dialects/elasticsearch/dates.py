"""Bounds of ranges: numbers, strings and dates, with date maths."""

from __future__ import annotations

import re
from typing import Final

from tocsin.errors import InvalidInput
from tocsin.language.dialects.dialect import PRESENT, VALUE, Json, Reader, compared, later
from tocsin.model.expression import ComparisonOperator, Constant, Expression
from tocsin.model.subscription import shown
from tocsin.model.values import Instant

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:[T ].*)?)?")
_STEP: Final = re.compile(r"([+-])([0-9]*)([a-zA-Z])")
_SECONDS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "H": 3_600, "m": 60, "s": 1}
_PARTS: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9:.]+))?(?:Z|[+-][0-9:]+)?")


def as_bound(op: ComparisonOperator, bound: Json, reader: Reader) -> Expression:
    """`element` compared with a bound. A bound that is a date, or `now`, is compared with instants."""
    if isinstance(bound, str):
        if bound.startswith("now"):
            return compared(VALUE, op, later(PRESENT, _seconds_of(bound[3:], reader)))
        date, bars, maths = bound.partition("||")
        if _DATE.fullmatch(date):
            return _date(op, date, maths if bars else None, reader)
    return compared(VALUE, op, reader.constant(bound))


def _date(op: ComparisonOperator, date: str, maths: str | None, reader: Reader) -> Expression:
    """A date whose missing parts are the first ones.

    For `gt` and `lte` the missing parts of the time are the last ones, to the millisecond, unless date maths follow.
    """
    try:
        instant = Instant.parse(f"{date}-01" if len(date) == len("2024-05") else date)
    except InvalidInput as error:
        reader.fail(str(error))
    moment = instant.microseconds + 1_000_000 * _seconds_of(maths or "", reader)
    missing = _missing(date) if maths is None else 0
    if missing and op in (">", "<="):
        op, moment = (">=", moment + missing) if op == ">" else ("<", moment + missing)
    return compared(VALUE, op, Constant(Instant(moment)))


def _missing(date: str) -> int:
    """The length in microseconds of what a date leaves open: a day, a minute, a second."""
    parts = _PARTS.fullmatch(date)
    if parts is None or parts[2] is None:
        return 86_400_000_000
    return {2: 3_600_000_000, 5: 60_000_000, 8: 1_000_000}.get(len(parts[2]), 0)


def _seconds_of(maths: str, reader: Reader) -> int:
    """The sum of date maths such as `-1d+2h`. Units without a fixed length, and rounding, are refused."""
    if "/" in maths:
        reader.refuse("rounding in date maths", "the start of a day or month depends on a time zone")
    seconds, end = 0, 0
    for step in _STEP.finditer(maths):
        if step.start() != end:
            break
        end = step.end()
        sign, count, unit = step.groups()
        if unit not in _SECONDS:
            if unit not in "yM":
                reader.fail(f"{shown(unit)} is no unit of date maths")
            reader.refuse(f"the unit {unit} in date maths", "years and months have no fixed length; write days")
        seconds += (1 if sign == "+" else -1) * int(count or 1) * _SECONDS[unit]
    if end != len(maths):
        reader.fail(f"{shown(maths)} is no date maths, such as -1d")
    return seconds
