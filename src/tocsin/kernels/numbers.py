"""Sortable integers for float64 values (the form of `columns.payloads`), and hashes of integers.

Hashes multiply by a constant (Knuth, volume 3, section 6.4). Their high bits depend on all bits of the key, so callers
use these, or shift them down. Some hashes are saved, so the constants never change.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tocsin.jit.decorators import inlined, pasted
from tocsin.jit.intrinsics import bits_of_float, float_of_bits

_FLIP = np.int64(0x7FFFFFFFFFFFFFFF)

GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio."""
GOLDEN_32: Final = 2654435761
"""2^32 divided by the golden ratio."""

FNV_BASIS: Final = np.uint64(0xCBF29CE484222325)
FNV_PRIME: Final = np.uint64(0x100000001B3)
"""The start value of FNV-1a, and its factor for each byte."""


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
    """A hash of an integer: 64 bits; the high ones are well mixed."""
    return np.uint64(key) * GOLDEN


@pasted
def scattered_32(key: int) -> int:
    """A hash of a 32-bit integer. The high bits of the lower half are well mixed, and so are all bits above."""
    return np.uint64(key) * np.uint64(GOLDEN_32)
