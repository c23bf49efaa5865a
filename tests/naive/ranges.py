"""What can a condition be, of an event whose values include ranges? TRUE, FALSE, either of them, or neither."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

from tocsin.model.values import Instant, Range


class Either(Enum):
    """The type of `EITHER`."""

    EITHER = "either"


EITHER: Final = Either.EITHER
"""Can be TRUE, and can be FALSE: what came is a range on both sides of what is asked."""

Truth: TypeAlias = bool | Either | None

COMPARE: Final[dict[str, Callable[..., bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def can_be(truth: Truth) -> set[bool]:
    """What a condition can be; nothing where it is UNKNOWN."""
    if truth is EITHER:
        return {True, False}
    return set() if truth is None else {truth}


def truth_that(can_be_true: bool, can_be_false: bool) -> Truth:
    """The truth of what can be TRUE, or FALSE, or both, or is UNKNOWN."""
    if can_be_true and can_be_false:
        return EITHER
    return True if can_be_true else False if can_be_false else None


def judge(op: str, span: Range, constant: object) -> Truth:
    """`span op constant`: of a range that need only overlap what it can be, else what all of it is.

    UNKNOWN where the constant is of another type than the range's ends.
    """
    if not is_of_type(span, constant):
        return None
    found = {COMPARE[op](side, 0) for side in _sides(span, constant)}
    if span.contained and len(found) == 2:
        return None
    return truth_that(True in found, False in found)


def is_of_type(span: Range, constant: object) -> bool:
    """Whether a constant is of the type of a range's ends."""
    is_of_instants = isinstance(span.lo, Instant) or isinstance(span.hi, Instant)
    return type(constant) is (Instant if is_of_instants else float)


def _sides(span: Range, constant: object) -> set[int]:
    """Where a range has values: below a constant (-1), at it (0), above it (1)."""
    starts_below = _is_open(span.lo) or span.lo < constant  # type: ignore[operator]
    ends_above = _is_open(span.hi) or span.hi > constant  # type: ignore[operator]
    reaches_up = ends_above or span.hi == constant
    reaches_down = starts_below or span.lo == constant
    here = {-1: starts_below, 0: reaches_down and reaches_up, 1: ends_above}
    return {side for side, is_there in here.items() if is_there}


def _is_open(end: float | Instant | None) -> bool:
    return end is None or (isinstance(end, float) and math.isinf(end))
