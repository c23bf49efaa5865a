"""How does a kernel turn a float64 into an integer that sorts like it, and back? As `columns.payloads` does."""

from __future__ import annotations

import numpy as np

from tocsin.kernels.jit import bits_of_float, float_of_bits, inlined

_FLIP = np.int64(0x7FFFFFFFFFFFFFFF)


@inlined
def number_of_key(key: int) -> float:
    """The float64 that a sortable integer stands for."""
    return float_of_bits(key if key >= 0 else key ^ _FLIP)


@inlined
def key_of_number(number: float) -> int:
    """The sortable integer of a float64; both zeros are 0."""
    bits = bits_of_float(number + 0.0)
    return bits if bits >= 0 else bits ^ _FLIP
