"""How does a float64 become an integer that sorts like it?

The bits of a float, read as an integer, sort like the float when it is positive and backwards when it is negative;
flipping all but the sign bit of a negative one mends that. Neighbouring floats have neighbouring keys, so that
`x < 5` is `key(x) <= key(5) - 1`. Both zeros have key 0; key -1 is no number's.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

_FLIP = np.int64(0x7FFFFFFFFFFFFFFF)
_NUMBER, _BITS = struct.Struct("<d"), struct.Struct("<q")


def keys_of(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The sortable integers of an array of floats (no NaN).

    >>> keys_of(np.array([-1.0, -0.0, 0.0, 5e-324])).tolist()[1:]
    [0, 0, 1]
    """
    bits = (np.ascontiguousarray(numbers, np.float64) + 0.0).view(np.int64)  # + 0.0 makes -0.0 into 0.0
    keys: NDArray[np.int64] = bits ^ ((bits >> 63) & _FLIP)  # a negative one's shifted bits are all ones
    return keys


def numbers_of(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The floats that sortable integers stand for: the inverse of `keys_of`."""
    return np.where(keys >= 0, keys, keys ^ _FLIP).view(np.float64)


def key_of(number: float) -> int:
    """The sortable integer of one float."""
    bits: int = _BITS.unpack(_NUMBER.pack(number + 0.0))[0]
    return bits if bits >= 0 else bits ^ int(_FLIP)
