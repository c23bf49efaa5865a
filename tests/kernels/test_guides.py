"""Guides say what halving says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tocsin.kernels.guides import codes_by, guide_to

finite = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-5, 5).map(float))


@given(st.lists(finite, min_size=1, max_size=40), st.lists(st.floats(), max_size=20))
def test_codes_are_ranks(numbers, sought):
    """Of numbers of any size, crowded and far apart, and of what lies beyond, or is no number."""
    ascending = np.unique(numbers)
    asked = np.array([*sought, *numbers, *np.nextafter(numbers, 0.0)])
    found = codes_by(guide_to(ascending), asked)
    for number, code in zip(asked.tolist(), found.tolist(), strict=True):
        if number == number:
            below = int((ascending < number).sum())
            assert code == 2 * below + (number in ascending.tolist())
        else:
            assert 0 <= code <= 2 * len(ascending)
