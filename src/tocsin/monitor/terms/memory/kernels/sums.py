"""Exact sums of floats: each bit is added where it belongs, and the whole is rounded once."""

from __future__ import annotations

import math

import numpy as np

from tocsin.jit.decorators import inlined, inner
from tocsin.jit.intrinsics import bits_of_float
from tocsin.kernels.numbers import number_of_key
from tocsin.monitor.terms.memory.layouts import LIMBS, Memory

_LIMB = 32
_LOW = np.int64(0xFFFFFFFF)
_FRACTION = np.int64((1 << 52) - 1)
_LOWEST = -1074
"""The exponent of the least bit of a float64."""
_MANTISSA = 53
_HIGHEST = 1023


@inner
def sum_of(memory: Memory, start: int, head: int, count: int, capacity: int) -> float:
    """The sum of a ring's numbers, rounded once; infinite beyond float64.

    Most sums lose nothing on the way. That is checked, addition by addition; only others need the slow way.
    """
    total, lost = 0.0, False
    for i in range(count):
        number = _number_at(memory, start, head, capacity, i)
        new = total + number
        rest = new - total
        lost |= (total - (new - rest)) + (number - rest) != 0.0
        total = new
    if lost or not math.isfinite(total):
        return _exact(memory, start, head, count, capacity)
    return total


@inlined
def _number_at(memory: Memory, start: int, head: int, capacity: int, i: int) -> float:
    at = head + i
    at -= capacity if at >= capacity else 0
    return number_of_key(memory.words[start + 2 * at + 1])


@inner
def _exact(memory: Memory, start: int, head: int, count: int, capacity: int) -> float:
    """The same with an accumulator as wide as float64's range."""
    limbs = memory.limbs
    for i in range(LIMBS):
        limbs[i] = 0
    for i in range(count):
        _add(memory, _number_at(memory, start, head, capacity, i))
    _carry(memory)
    negative = limbs[LIMBS - 1] < 0
    if negative:
        for i in range(LIMBS):
            limbs[i] = -limbs[i]
        _carry(memory)
    value = _rounded(memory)
    return -value if negative else value


@inlined
def _add(memory: Memory, number: float) -> None:
    """Add the bits of a number to the three limbs that they fall into."""
    limbs, bits = memory.limbs, bits_of_float(number)
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & _FRACTION
    if exponent > 0:
        mantissa |= np.int64(1) << 52
        exponent -= 1
    place, shift = exponent // _LIMB, exponent % _LIMB
    low, high = (mantissa & _LOW) << shift, (mantissa >> _LIMB) << shift
    sign = -1 if bits < 0 else 1
    limbs[place] += sign * (low & _LOW)
    limbs[place + 1] += sign * ((low >> _LIMB) & _LOW) + sign * (high & _LOW)
    limbs[place + 2] += sign * ((high >> _LIMB) & _LOW)


@inlined
def _carry(memory: Memory) -> None:
    """Bring all limbs but the last between 0 and 2**32; the last has the sign."""
    limbs = memory.limbs
    for i in range(LIMBS - 1):
        limbs[i + 1] += limbs[i] >> _LIMB
        limbs[i] &= _LOW


@inner
def _rounded(memory: Memory) -> float:
    """The float next to limbs that are not negative; of two that are as near, the even one."""
    limbs = memory.limbs
    top = LIMBS - 1
    while top > 0 and limbs[top] == 0:
        top -= 1
    length = _LIMB * top
    rest = limbs[top]
    while rest > 0:
        rest >>= 1
        length += 1
    cut = max(length - _MANTISSA, 0)
    mantissa, half, below = np.int64(0), np.int64(0), False
    for i in range(length - cut):
        mantissa |= _bit(memory, cut + i) << i
    if cut > 0:
        half = _bit(memory, cut - 1)
        for i in range(cut - 1):
            below |= _bit(memory, i) == 1
    if half == 1 and (below or mantissa & 1 == 1):
        mantissa += 1
    if cut + _LOWEST + _MANTISSA - 1 > _HIGHEST or (
        cut + _LOWEST + _MANTISSA - 1 == _HIGHEST and mantissa == np.int64(1) << _MANTISSA
    ):
        return np.inf
    return math.ldexp(float(mantissa), cut + _LOWEST)


@inlined
def _bit(memory: Memory, place: int) -> int:
    return (memory.limbs[place // _LIMB] >> (place % _LIMB)) & 1
