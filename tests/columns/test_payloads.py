"""A number's payload sorts as the number does, and leads back to it."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tocsin.columns.payloads import key_of, keys_of, numbers_of
from tocsin.jit.decorators import kernel
from tocsin.kernels.numbers import key_of_number, number_of_key


@kernel
def _number(key: int) -> float:
    return number_of_key(key)


@kernel
def _key(number: float) -> int:
    return key_of_number(number)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
def test_keys_sort_as_numbers_do(left, right):
    """The order of keys is the order of numbers; equal numbers, both zeros included, have one key."""
    assert (key_of(left) < key_of(right)) == (left < right)
    assert (key_of(left) == key_of(right)) == (left == right)


@given(FINITE)
def test_neighbours_have_neighbouring_keys(number):
    """No number lies between a key and the next, so that `<` can be written as `<=` of the key before.

    Key -1, which would be that of -0.0, is no number's.
    """
    above = math.nextafter(number, math.inf)

    assert math.isinf(above) or key_of(above) - key_of(number) == (2 if above == 0.0 > number else 1)


@given(st.lists(FINITE))
def test_keys_lead_back_to_their_numbers(numbers):
    """In arrays and in kernels alike."""
    keys = keys_of(np.array(numbers, np.float64))

    assert numbers_of(keys).tolist() == [n + 0.0 for n in numbers]
    assert [_number(k) for k in keys.tolist()] == [n + 0.0 for n in numbers]
    assert [_key(n) for n in numbers] == keys.tolist()
