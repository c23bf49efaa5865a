"""Numbers come out of a kernel's sort as NumPy sorts them, and nothing beside them moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel
from tocsin.kernels.sorting import select, sort_numbers, stable_order


@kernel
def _sort(numbers: NDArray[Any], first: int, stop: int) -> None:
    sort_numbers(numbers, np.int64(first), np.int64(stop))


@kernel
def _order(keys: NDArray[Any]) -> NDArray[np.int64]:
    return stable_order(keys)


@kernel
def _select(numbers: NDArray[Any], count: int, place: int) -> Any:
    return select(numbers, count, place)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=100), st.data())
def test_one_number_in_order(given: list[int], data: st.DataObject) -> None:
    numbers, place = np.array([*given, 99], np.int32), data.draw(st.integers(0, len(given) - 1))
    assert _select(numbers, len(given), place) == sorted(given)[place]
    assert sorted(numbers[:-1].tolist()) == sorted(given) and numbers[-1] == 99


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


@given(st.lists(st.integers(-9, 9), max_size=200), st.sampled_from([np.int32, np.int64, np.float64]))
def test_equal_keys_keep_their_order(given: list[int], kind: Any) -> None:
    keys = np.array(given, kind)
    assert _order(keys).tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("count", [15, 16, 17, 31, 32, 33, 5_000])
def test_the_order_of_any_number_of_keys(count: int) -> None:
    keys = np.random.default_rng(count).integers(0, count, count).astype(np.float64)
    for arranged in (keys, np.sort(keys), np.sort(keys)[::-1].copy(), np.zeros(count)):
        assert (_order(arranged) == np.argsort(arranged, kind="stable")).all()
