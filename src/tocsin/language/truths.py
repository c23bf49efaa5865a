"""The truth values: TRUE, FALSE and UNKNOWN as in SQL, and EITHER.

A comparison with a range is EITHER if it is TRUE for some values of the range and FALSE for others. A truth is a pair:
can it be TRUE, can it be FALSE. UNKNOWN can be neither. Pairs combine component by component, as in Belnap's
four-valued logic. Without EITHER this is SQL's three-valued logic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Final, TypeAlias

from tocsin.model.expression import ComparisonOperator
from tocsin.model.values import Instant, Range, Value


class Either(Enum):
    """The type of `EITHER`."""

    EITHER = "either"


EITHER: Final = Either.EITHER

Truth: TypeAlias = bool | Either | None
"""TRUE, FALSE, EITHER, and None for UNKNOWN."""


def truth_of(value: Value | Truth) -> Truth:
    """Interpret a value as a truth: anything but a boolean is UNKNOWN."""
    return value if isinstance(value, bool | Either) else None


def truth_from(can_be_true: bool, can_be_false: bool) -> Truth:
    """The truth of a pair."""
    if can_be_true:
        return EITHER if can_be_false else True
    return False if can_be_false else None


def conjunction_of(truths: Iterable[Truth]) -> Truth:
    """AND: it can be TRUE when all can, FALSE when any can.

    >>> conjunction_of([True, None]), conjunction_of([False, None]), conjunction_of([EITHER, True])
    (None, False, <Either.EITHER: 'either'>)
    """
    known = list(truths)
    return truth_from(
        all(one is True or one is EITHER for one in known), any(one is False or one is EITHER for one in known)
    )


def disjunction_of(truths: Iterable[Truth]) -> Truth:
    """OR: it can be TRUE when any can, FALSE when all can."""
    return negation_of(conjunction_of(negation_of(one) for one in truths))


def negation_of(truth: Truth) -> Truth:
    """NOT: UNKNOWN and EITHER stay as they are."""
    return not truth if isinstance(truth, bool) else truth


_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPPOSITES: Final[dict[ComparisonOperator, ComparisonOperator]] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
"""The operator that is TRUE where another is FALSE."""

_COMPARABLE: Final = (float, str, bool, Instant)


def compare(op: str, left: Value | Truth, right: Value | Truth) -> Truth:
    """Compare two scalars of one type; otherwise UNKNOWN. An EITHER operand stands for both truths."""
    if left is EITHER or right is EITHER:
        given = [_possible(left), _possible(right)]
        results = {compare(op, one, other) for one in given[0] for other in given[1]}
        return truth_from(True in results, False in results)
    if type(left) is not type(right) or type(left) not in _COMPARABLE:
        return None
    return _COMPARE[op](left, right)


def _possible(value: Value | Truth) -> tuple[Value | Truth, ...]:
    return (True, False) if value is EITHER else (value,)


def compare_range(op: str, value: Range, constant: Value | Truth) -> Truth:
    """Compare a range with a constant; EITHER if the comparison holds for some values of the range, but not for others.

    For a contained range, the result is TRUE or FALSE only if all values agree.

    >>> compare_range("<", Range(3, 8), 5.0), compare_range("<", Range(3, 8, contained=True), 5.0)
    (<Either.EITHER: 'either'>, None)
    """
    low, high = value.lo, value.hi
    if type(low if high is None else high) is not type(constant):
        return None
    below = low is None or low < constant  # type: ignore[operator]
    above = high is None or high > constant  # type: ignore[operator]
    meets = (low is None or low <= constant) and (high is None or high >= constant)  # type: ignore[operator]
    holds = {"<": below, ">": above, "=": meets}
    fails = {"<": meets or above, ">": meets or below, "=": below or above}
    if op not in holds:
        opposite = {"<>": "=", "<=": ">", ">=": "<"}[op]
        holds, fails, op = fails, holds, opposite
    truth = truth_from(holds[op], fails[op])
    return None if value.contained and truth is EITHER else truth
