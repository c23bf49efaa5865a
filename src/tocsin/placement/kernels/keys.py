"""Keys of events and subscriptions: 64-bit hashes of an attribute, a kind and a value.

If two keys have the same hash, an event visits a part without a match. It never misses one with a match.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, kernel
from tocsin.kernels.numbers import FNV_BASIS, FNV_PRIME, scattered

PRESENCE: Final = 64  # an attribute is present; follows the kinds of `index.fields.kernels.layouts`
LEAF: Final = 65  # a leaf of the tree that divides the map; the value is its number

_HALF = np.uint64(32)


@inlined
def mixed(one: int, other: int) -> int:
    """Mix two numbers into one hash; all are uint64."""
    bits = scattered(one ^ other)
    bits = scattered(bits ^ (bits >> _HALF))
    return bits ^ (bits >> _HALF)


@inlined
def key_of(attribute: int, kind: int, value: int) -> int:
    """The key of a value: the hash of the attribute's name, a kind, and the value's payload or hash."""
    return mixed(mixed(attribute, np.uint64(kind + 1)) * FNV_PRIME, value)


@kernel
def hash_texts(starts: NDArray[np.int64], text: NDArray[np.uint8], out: NDArray[np.uint64]) -> None:
    """Write the hash of each string (FNV-1a, then mixed)."""
    for i in range(len(starts) - 1):
        bits = FNV_BASIS
        for place in range(starts[i], starts[i + 1]):
            bits = (bits ^ np.uint64(text[place])) * FNV_PRIME
        out[i] = mixed(bits, np.uint64(starts[i + 1] - starts[i]))


@kernel
def hash_numbers(numbers: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
    """Write the hash of each number."""
    for i in range(len(numbers)):
        out[i] = mixed(FNV_BASIS, np.uint64(numbers[i]))


@kernel
def write_keys(
    attributes: NDArray[np.uint64], kinds: NDArray[np.int64], values: NDArray[np.uint64], out: NDArray[np.uint64]
) -> None:
    """Write the key of each value: hashes of attributes, kinds, and payloads or hashes of strings."""
    for i in range(len(attributes)):
        out[i] = key_of(attributes[i], kinds[i], values[i])
