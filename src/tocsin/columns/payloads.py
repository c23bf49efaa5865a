"""Payloads: integers that sort like the values in a batch and the constants in leaves.

The bits of a float, read as an integer, sort like the float when it is positive and in reverse when it is negative.
Flipping all but the sign bit of a negative float corrects this. Neighbouring floats have neighbouring keys, so `x < 5`
is `key(x) <= key(5) - 1`. Both zeros have key 0; no number has key -1.

Just below and just above a number, boolean or instant are thus the neighbouring integers. Strings are numbered to have
neighbours, too: `2 * number + 1` is a string, and an even payload lies between two strings. The numbers are positions
in a sorted vocabulary. While strings are still being added, each has the number of its arrival, and
`leaf_kinds.with_strings_numbered` corrects it. An even payload then belongs to the string below it at the low end of a
range, and to the string above it at the high end.
"""

from __future__ import annotations

import math
import struct
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tocsin.kernels import codes
from tocsin.model.values import EARLIEST, LAST_INSTANT

Payload = TypeVar("Payload", int, NDArray[np.int64])

LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1
"""The ends of an open range."""

JUST_BELOW: Final = -1
AT: Final = 0
JUST_ABOVE: Final = 1

_FLIP = np.int64(0x7FFFFFFFFFFFFFFF)
_NUMBER, _BITS = struct.Struct("<d"), struct.Struct("<q")


def keys_of(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The sortable integers of an array of floats (no NaN).

    >>> keys_of(np.array([-1.0, -0.0, 0.0, 5e-324])).tolist()[1:]
    [0, 0, 1]
    """
    bits = (np.ascontiguousarray(numbers, np.float64) + 0.0).view(np.int64)  # + 0.0 turns -0.0 into 0.0
    keys: NDArray[np.int64] = bits ^ ((bits >> 63) & _FLIP)  # a negative number's shifted bits are all ones
    return keys


def numbers_of(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The floats of sortable integers: the inverse of `keys_of`."""
    return np.where(keys >= 0, keys, keys ^ _FLIP).view(np.float64)


def key_of(number: float) -> int:
    """The sortable integer of one float."""
    bits: int = _BITS.unpack(_NUMBER.pack(number + 0.0))[0]
    return bits if bits >= 0 else bits ^ int(_FLIP)


def string_payload(number: Payload, side: Payload | int = AT) -> Payload:
    """The payload of a string, or of the gap beside it."""
    return 2 * number + 1 + side


def string_of(payload: Payload, *, at_low_end: bool) -> Payload:
    """The number of the string for an end of a range. A low end may lie just above it, a high end just below."""
    return (payload - at_low_end) >> 1


def first_and_last(kind: int, strings: int) -> tuple[int, int]:
    """The least and the greatest payload of a constant of some type, including the gaps beside constants."""
    if kind == codes.STRING:
        return 0, 2 * strings
    least, greatest = {
        codes.NUMBER: (key_of(-math.inf), key_of(math.inf)),
        codes.BOOLEAN: (0, 1),
        codes.INSTANT: (EARLIEST.microseconds, LAST_INSTANT.microseconds),
    }[kind]
    return least + JUST_BELOW, greatest + JUST_ABOVE
