"""Decimal numbers are what Python's `float` says, to the last bit, or are left to it."""

from __future__ import annotations

import json
import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.payloads import key_of
from tocsin.jit.decorators import kernel
from tocsin.kernels.reading import decimals
from tocsin.kernels.reading.decimals import SLOW


@kernel
def read_number(text: np.ndarray, start: int, stop: int) -> tuple[int, int, bool]:
    return decimals.read_number(text, start, stop)


@kernel
def read_decimal(text: np.ndarray, start: int, stop: int) -> tuple[int, float, bool]:
    return decimals.read_decimal(text, start, stop)


def is_right(written: str) -> bool:
    """Whether a number is read; if so, it must be what Python reads."""
    text = np.frombuffer(written.encode(), np.uint8)
    end, number, is_exact = read_decimal(text, 0, len(text))
    if is_exact:
        assert (end, struct.pack("d", number)) == (len(text), struct.pack("d", float(written))), written
    return bool(is_exact)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_texts_of_floats(number: float) -> None:
    """With the exponents that places and prices have, none is left to Python, unless it is a large integer."""
    is_read = is_right(repr(number))

    assert is_read or not 1e-40 < abs(number) < 1e40


@given(st.integers(1, 19), st.integers(-90, 90), st.randoms(use_true_random=False))
def test_any_digits_and_any_exponent(digits: int, exponent: int, draw: random.Random) -> None:
    is_right(f"{draw.randrange(10 ** (digits - 1), 10**digits)}e{exponent}")


@given(st.floats(1e-5, 1e18), st.integers(-1, 1), st.integers(17, 19))
def test_the_middle_between_two_floats(number: float, more: int, digits: int) -> None:
    """The texts that are the hardest to round: the middle itself, and its neighbours of so many digits."""
    middle = (Fraction(number) + Fraction(float(np.nextafter(number, np.inf)))) / 2
    exponent = len(str(int(middle))) - digits
    written = int(middle / Fraction(10) ** exponent) + more

    is_right(f"{written}e{exponent}")


@pytest.mark.parametrize("text", [f"{odd}.0" for odd in (2**53 + 1, 2**53 + 3, 2**54 + 2, 2**54 + 6, 2**56 + 8)])
def test_a_middle_goes_to_the_even_float(text: str) -> None:
    assert is_right(text)


def test_powers_have_128_bits() -> None:
    """The highest one set, and rounded as section 5 of the paper says: up from 5**-27 to 5**-1, else down."""
    for exponent, (high, low) in zip(range(-64, 65), decimals._FIVES.tolist(), strict=True):
        exact = Fraction(5) ** exponent
        while exact < 2**127:
            exact *= 2
        while exact >= 2**128:
            exact /= 2
        assert high << 64 | low == int(exact) + (-27 <= exponent < 0)


@pytest.mark.parametrize("behind", ["", ",", "}", " "])
@given(st.one_of(st.integers(-(10**18), 10**18), st.integers(-99, 99)))
def test_integers(behind: str, number: int) -> None:
    """Beyond 2**53 they are left to the standard parser."""
    text = np.frombuffer((json.dumps(number) + behind).encode(), np.uint8)
    end, key, exact = read_number(text, 0, len(text))
    if abs(number) <= 2**53:
        assert (end, key, exact) == (len(text) - len(behind), key_of(float(number)), True)
    else:
        assert end == SLOW


@pytest.mark.parametrize(
    ("written", "is_read"),
    [("-", False), ("01", False), ("-01", False), ("0", True), ("-0", True), ("1.", False), ("1e", False)],
)
def test_what_begins_like_an_integer(written: str, is_read: bool) -> None:
    text = np.frombuffer(written.encode(), np.uint8)
    end, key, _ = read_number(text, 0, len(text))
    assert (end == len(text)) == is_read
    if is_read:
        assert key == key_of(0.0)
