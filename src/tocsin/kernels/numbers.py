"""Numbers that stand for others: integers that sort like float64 (as `columns.payloads` has them), and hashes.

Hashes multiply by a constant (Knuth, volume 3, section 6.4). Their high bits depend on all bits of the key, so these
are used, or shifted down. Some hashes are saved, so the constants never change.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tocsin.kernels.jit import bits_of_float, float_of_bits, inlined, pasted

_FLIP = np.int64(0x7FFFFFFFFFFFFFFF)

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 by the golden ratio."""
GOLDEN_32: Final = 2654435761
"""2^32 by the same."""

FNV_BASIS: Final = np.uint64(0xCBF29CE484222325)
FNV_PRIME: Final = np.uint64(0x100000001B3)
"""What FNV-1a begins with, and multiplies by for each byte."""


@inlined
def number_of_key(key: int) -> float:
    """The float64 that a sortable integer stands for."""
    return float_of_bits(key if key >= 0 else key ^ _FLIP)


@inlined
def key_of_number(number: float) -> int:
    """The sortable integer of a float64; both zeros are 0."""
    bits = bits_of_float(number + 0.0)
    return bits if bits >= 0 else bits ^ _FLIP


@pasted
def scattered(key: int) -> int:
    """A hash of an integer: 64 bits, of which the high ones are good."""
    return np.uint64(key) * GOLDEN


@pasted
def scattered_32(key: int) -> int:
    """A hash of an integer of 32 bits: the high ones of the lower half are good, and so are those above."""
    return np.uint64(key) * np.uint64(GOLDEN_32)
