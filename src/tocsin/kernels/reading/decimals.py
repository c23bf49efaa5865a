"""Decimal numbers in plain text: where they end, and their values, correctly rounded.

Any number that is not plain, valid or not, is SLOW: the caller leaves it to a standard parser.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tocsin.jit.decorators import inlined, inner
from tocsin.jit.intrinsics import float_of_bits, highest_bit, load_word, lowest_bit
from tocsin.kernels.numbers import key_of_number

SLOW = np.int64(-1)

_HIGH = np.uint64(0x8080808080808080)
_ZEROS = np.uint64(0x3030303030303030)
_NO_DIGIT = np.uint64(0x7676767676767676)
"""Added to a byte minus 48, it leaves the highest bit clear only if the byte is a digit."""
_FIRST_HIGH = np.uint64(0x80)
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_THREE = np.uint64(3)
_WORD = np.uint64(8)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_EXACT = np.uint64(2**53)
_ROOM = np.uint64(10**18)
"""Below this, one more digit fits into 64 bits."""
_CLINGER: Final = 22
_POWERS = np.array([float(f"1e{k}") for k in range(_CLINGER + 1)])
_LONGEST_NUMBER = 64  # bytes; longer ones are left to the standard parser
_MOST = 64
"""Powers of ten beyond this, in either direction, are left to the standard parser."""


def _power_of_five(exponent: int) -> int:
    """The 128 leading bits of 5**exponent, the highest one set.

    They are rounded up where a product with them may be exact, because the power divides the mantissa; else down.
    """
    power = 5 ** abs(exponent)
    if exponent >= 0:
        return power << 128 >> power.bit_length()
    return (1 << (power.bit_length() + 127)) // power + (exponent >= -27)


_FIVES = np.array(
    [(power >> 64, power & (1 << 64) - 1) for power in map(_power_of_five, range(-_MOST, _MOST + 1))], np.uint64
)
"""(2 _MOST + 1, 2) the high and the low word of each power."""


@inlined
def _digits(text: NDArray[np.uint8], i: int, stop: int) -> int:
    while i < stop and 48 <= text[i] <= 57:
        i += 1
    return i


@inner
def number_end(text: NDArray[np.uint8], i: int, stop: int) -> tuple[int, int, int]:
    """The place after a number (or SLOW), the place after its integer part, and the place after its fraction."""
    start = i
    if text[i] == 45:
        i += 1
    whole = i
    i = _digits(text, i, stop)
    if i == whole or (text[whole] == 48 and i > whole + 1):  # no digit, or 01
        return SLOW, SLOW, SLOW
    point = i
    if i < stop and text[i] == 46:  # .
        i = _digits(text, i + 1, stop)
        if i == point + 1:
            return SLOW, SLOW, SLOW
    last = i
    if i < stop and (text[i] == 101 or text[i] == 69):  # e
        i += 1
        if i < stop and (text[i] == 45 or text[i] == 43):
            i += 1
        first = i
        i = _digits(text, i, stop)
        if i == first:
            return SLOW, SLOW, SLOW
    return (i if i - start <= _LONGEST_NUMBER else SLOW), point, last


@inlined
def read_number(text: NDArray[np.uint8], start: int, stop: int) -> tuple[int, int, bool]:
    """The place after a number (or SLOW), its payload, and whether the payload is exact."""
    whole = np.uint64(start) + np.uint64(text[start] == 45)
    if whole + _WORD <= np.uint64(len(text)):
        value, digits = _few_digits(load_word(text, whole))
        behind = text[whole + digits] if whole + digits < np.uint64(stop) else np.uint8(44)
        goes_on = behind == 46 or behind == 101 or behind == 69 or np.int64(whole + digits) > stop
        if digits != _NONE and not goes_on and (text[whole] != 48 or digits == _ONE):
            number = np.float64(np.int64(value))
            return np.int64(whole + digits), key_of_number(-number if np.uint64(start) < whole else number), True
    end, number, is_exact = read_decimal(text, start, stop)
    return end, key_of_number(number), is_exact


@inlined
def _few_digits(word: int) -> tuple[int, int]:
    """The integer at the start of a word, and its number of digits: 1 to 7, else 0. Reads all eight bytes at once."""
    digits = word ^ _ZEROS
    others = (((digits & ~_HIGH) + _NO_DIGIT) | digits) & _HIGH
    if others == _NONE or others & _FIRST_HIGH != _NONE:
        return _NONE, _NONE
    bits = np.uint64(lowest_bit(others)) - np.uint64(7)
    pairs = digits << (np.uint64(64) - bits)  # as if padded with zeros on the left
    pairs = (pairs * np.uint64(10) + (pairs >> _WORD)) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(10_000) + (fours >> np.uint64(32))) & np.uint64(0xFFFFFFFF), bits >> _THREE


@inner
def read_decimal(text: NDArray[np.uint8], start: int, stop: int) -> tuple[int, float, bool]:
    """Read a number of any form: the place after it (or SLOW), its value, and whether the value is exact.

    A mantissa up to 2**53, multiplied or divided by a power of ten up to 10**22, is correctly rounded (Clinger 1990).
    Up to 19 digits are multiplied in 128 bits. Other fractions are left to Python. Integers beyond 2**53, and numbers
    that may overflow, are SLOW.
    """
    whole = start + np.int64(text[start] == 45)
    end, point, last = number_end(text, start, stop)
    if end < 0:
        return SLOW, 0.0, False
    mantissa, is_whole = np.uint64(0), True
    for k in range(whole, last):
        if k != point:
            is_whole = is_whole and mantissa < _ROOM
            if is_whole:
                mantissa = mantissa * np.uint64(10) + np.uint64(text[k] - 48)
    exponent = _exponent(text, last, end) - max(last - point - 1, 0)
    if mantissa > _EXACT and end == point:
        return SLOW, 0.0, False
    if mantissa <= _EXACT and -_CLINGER <= exponent <= _CLINGER:
        number = np.float64(np.int64(mantissa))
        number = number / _POWERS[-exponent] if exponent < 0 else number * _POWERS[exponent]
        is_exact = True
    elif is_whole and mantissa != _NONE and -_MOST <= exponent <= _MOST:
        number, is_exact = _rounded(mantissa, exponent)
    else:
        return (end, 0.0, False) if exponent + last - whole < 300 else (SLOW, 0.0, False)
    return end, -number if text[start] == 45 else number, is_exact


@inlined
def _exponent(text: NDArray[np.uint8], last: int, end: int) -> int:
    """The exponent in text[last:end], capped; 0 if there is none."""
    value = np.int64(0)
    for k in range(last + 1, end):
        if 48 <= text[k] <= 57 and value < 10_000:
            value = value * 10 + np.int64(text[k]) - 48
    return -value if end > last and text[last + 1] == 45 else value


@inner
def _rounded(mantissa: int, exponent: int) -> tuple[float, bool]:
    """mantissa * 10**exponent as the nearest float64, and whether that is certain. The mantissa is not 0.

    The mantissa times 128 bits of the power of five has enough correct bits, unless those below the float64's are all
    ones. With an exponent of at most 64, no result is subnormal or overflows.

    Source: Lemire, Number Parsing at a Gigabyte per Second, 2021, section 5.
    """
    zeros = np.int64(63) - np.int64(highest_bit(mantissa))
    shifted = mantissa << np.uint64(zeros)
    high, low = _product(shifted, _FIVES[exponent + _MOST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the rest of the power may carry into the bits that count
        more, _ = _product(shifted, _FIVES[exponent + _MOST, 1])
        low += more
        high += np.uint64(low < more)
        if low == ~_NONE:
            return 0.0, False
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)  # leaves 54 bits: one more than a float64 has
    bits = high >> shift
    if low <= _ONE and -4 <= exponent <= 23 and bits & _THREE == _ONE and bits << shift == high:
        bits &= ~_ONE  # halfway between two floats: to the even one
    bits = (bits + (bits & _ONE)) >> _ONE
    power = (np.int64(217_706) * exponent >> np.int64(16)) + np.int64(63) + np.int64(top) - zeros + np.int64(1023)
    if bits == np.uint64(1 << 53):
        bits, power = bits >> _ONE, power + 1
    fraction = np.int64(bits) & np.int64((1 << 52) - 1)
    return float_of_bits(power << np.int64(52) | fraction), True


@inlined
def _product(one: int, two: int) -> tuple[int, int]:
    """The high and the low word of the product of two words."""
    a, b = one >> _HALF, one & _LOW_HALF
    c, d = two >> _HALF, two & _LOW_HALF
    middle = a * d + (b * d >> _HALF)
    cross = b * c + (middle & _LOW_HALF)
    return a * c + (middle >> _HALF) + (cross >> _HALF), one * two
