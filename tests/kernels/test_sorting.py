"""Numbers come out of a kernel's sort as NumPy sorts them, and nothing beside them moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel
from tocsin.kernels.sorting import sort_numbers


@kernel
def _sort(numbers: NDArray[Any], first: int, stop: int) -> None:
    sort_numbers(numbers, np.int64(first), np.int64(stop))


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(0, 5), st.sampled_from([np.int32, np.int64]))
def test_any_numbers_are_sorted(given: list[int], spared: int, kind: Any) -> None:
    numbers = np.array([7] * spared + given + [-7] * spared, kind)

    _sort(numbers, spared, spared + len(given))

    assert numbers.tolist() == [7] * spared + sorted(given) + [-7] * spared


@pytest.mark.parametrize("order", ["ascending", "descending", "equal", "two", "organ", "random"])
def test_long_runs_of_any_order_are_sorted(order: str) -> None:
    count = 20_000
    numbers = {
        "ascending": np.arange(count),
        "descending": np.arange(count)[::-1].copy(),
        "equal": np.zeros(count, np.int64),
        "two": np.arange(count) % 2,
        "organ": np.minimum(np.arange(count), np.arange(count)[::-1]),
        "random": np.random.default_rng(5).integers(-(2**62), 2**62, count),
    }[order]
    expected = np.sort(numbers)

    _sort(numbers, 0, count)

    assert (numbers == expected).all()
