"""What stands for a constant in a leaf? Its payload: an integer, and those of one type sort as its values do.

Just below and just above a number, a boolean or an instant are the integers beside it. Strings are numbered, so that
they have neighbours too: `2 * number + 1` is one, and what is even lies between two. The numbers are those of a sorted
vocabulary; where strings still come, each has the number that it came with, and `with_strings_numbered` mends it. An
even payload then belongs to the string below it at the low end of a range, to the one above it at the high end.
"""

from __future__ import annotations

import math
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.columns.arrays import frozen
from tocsin.columns.numbers import key_of
from tocsin.kernels import codes
from tocsin.kernels.programs.layouts import Expressions
from tocsin.model.values import EARLIEST, LAST_INSTANT

Payload = TypeVar("Payload", int, NDArray[np.int64])

LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1
"""The ends of a range that is open."""

JUST_BELOW: Final = -1
AT: Final = 0
JUST_ABOVE: Final = 1


def string_payload(number: Payload, side: Payload | int = AT) -> Payload:
    """The payload of a string, or what lies beside it."""
    return 2 * number + 1 + side


def string_of(payload: Payload, *, at_low_end: bool) -> Payload:
    """The number of the string that an end of a range is at; or just above, at the low end, or just below."""
    return (payload - at_low_end) >> 1


def first_and_last(kind: int, strings: int) -> tuple[int, int]:
    """The least and the greatest payload that a constant of a type has, or what lies beside it."""
    if kind == codes.STRING:
        return 0, 2 * strings
    least, greatest = {
        codes.NUMBER: (key_of(-math.inf), key_of(math.inf)),
        codes.BOOLEAN: (0, 1),
        codes.INSTANT: (EARLIEST.microseconds, LAST_INSTANT.microseconds),
    }[kind]
    return least + JUST_BELOW, greatest + JUST_ABOVE


def with_strings_numbered(arrays: Expressions, numbers: NDArray[np.int64]) -> Expressions:
    """The same leaves and sets when string n becomes number `numbers[n]`. Elements of sets stay in their order."""
    ranges = (arrays.leaf_kinds == codes.RANGE) & (arrays.leaf_types == codes.STRING)
    lows, highs = arrays.leaf_lows, arrays.leaf_highs
    changes = 2 * (numbers - np.arange(len(numbers)))
    return arrays._replace(
        leaf_lows=_moved(lows, ranges & (lows != LOWEST), changes, at_low_end=True),
        leaf_highs=_moved(highs, ranges & (highs != HIGHEST), changes, at_low_end=False),
        set_payloads=_moved(arrays.set_payloads, arrays.set_types == codes.STRING, changes, at_low_end=False),
    )


def _moved(
    payloads: NDArray[np.int64], chosen: NDArray[np.bool_], changes: NDArray[np.int64], *, at_low_end: bool
) -> NDArray[np.int64]:
    if not chosen.any():
        return payloads
    moved = payloads.copy()
    moved[chosen] += changes[string_of(moved[chosen], at_low_end=at_low_end)]
    return frozen(moved, np.int64)
