"""Columns of large answers have the same values as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tocsin
from tocsin.kernels.answers import columns
from tocsin.kernels.answers.columns import MANY, counted_on, looked_up, repeated

LARGEST = 2**63 - 1 - 2**31
numbers = st.lists(st.integers(0, 99), max_size=50).map(lambda given: np.array(given, np.int32))


@pytest.fixture(autouse=True)
def _every_answer_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MANY", 1)


@given(st.lists(st.tuples(st.integers(-LARGEST, LARGEST), st.integers(0, 20)), max_size=20))
def test_repeats(pairs: list[tuple[int, int]]) -> None:
    values = np.array([value for value, _ in pairs], np.int64)
    counts = np.array([count for _, count in pairs], np.int64)
    found = repeated(values, np.concatenate([[0], np.cumsum(counts)]))
    np.testing.assert_array_equal(found, np.repeat(values, counts))


@given(numbers, st.integers(-LARGEST, LARGEST))
def test_counts_on(given: NDArray[np.int32], first: int) -> None:
    np.testing.assert_array_equal(counted_on(given, first), given.astype(np.int64) + first)


@given(numbers, st.lists(st.integers(-LARGEST, LARGEST), min_size=100, max_size=100))
def test_looks_up(given: NDArray[np.int32], values: list[int]) -> None:
    np.testing.assert_array_equal(looked_up(np.array(values, np.int64), given), np.array(values, np.int64)[given])


def test_takes_what_is_not_in_one_piece() -> None:
    halves = np.arange(20, dtype=np.int32)[::2]
    np.testing.assert_array_equal(counted_on(halves, 5), halves.astype(np.int64) + 5)
    np.testing.assert_array_equal(looked_up(np.arange(20) * 3, halves), halves.astype(np.int64) * 3)
    np.testing.assert_array_equal(repeated(np.arange(6)[::3], np.array([0, 2, 3])), [0, 0, 3])


def test_a_build_without_the_pool_uses_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise NotImplementedError

    monkeypatch.setattr(columns.pa, "mimalloc_memory_pool", missing)
    np.testing.assert_array_equal(counted_on(np.array([1, 2], np.int32), 5), [6, 7])


@pytest.mark.parametrize("ids", ["consecutive", "spaced", "strings"])
@pytest.mark.parametrize("threads", [1, 2])
def test_large_answers_have_every_match(monkeypatch: pytest.MonkeyPatch, ids: str, threads: int) -> None:
    """More matches than the limit, so that no part of the limit is left to the test's own setting."""
    monkeypatch.setattr(columns, "MANY", MANY)
    count, bound = 400, 1_000
    names: list[Any] = {
        "consecutive": list(range(7, 7 + count)),
        "spaced": [3 * n + n % 2 for n in range(count)],
        "strings": [f"s{n:03}" for n in range(count)],
    }[ids]
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": name, "where": f"price > {n}"} for n, name in enumerate(names)])
    prices = [n % (count + 1) for n in range(bound)]
    found = engine.match_batch([{"price": price} for price in prices], threads=threads).table
    assert len(found) > MANY
    assert found["event"].to_pylist() == [event for event, price in enumerate(prices) for _ in range(price)]
    assert found["subscription"].to_pylist() == [name for price in prices for name in names[:price]]
