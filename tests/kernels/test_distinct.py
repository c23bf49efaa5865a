"""Numbers of many runs, each in order and each once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tocsin.kernels.distinct import order_runs

RUNS = st.lists(st.one_of(st.lists(st.integers(0, 300), max_size=60), st.lists(st.integers(0, 300), min_size=60)))


@given(RUNS)
def test_runs_are_sets_in_order(runs: list[list[int]]) -> None:
    """Short ones, which are sorted, and long ones, which are found by bits; no bit is left behind."""
    numbers = np.array([one for run in runs for one in run], np.int64)
    lengths = np.array([len(run) for run in runs], np.int64)
    words = np.zeros(5, np.uint64)

    kept = order_runs(lengths, numbers, words)

    expected = [sorted(set(run)) for run in runs]
    assert numbers[:kept].tolist() == [one for run in expected for one in run]
    assert lengths.tolist() == [len(run) for run in expected]
    assert not words.any()
