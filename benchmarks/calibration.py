"""A fixed calibration loop. Its rate is printed beside every row, so that runs can be compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import numba
import numpy as np

from benchmarks.rows import Row


@numba.njit(nogil=True)
def _spin(table: np.ndarray, steps: int) -> int:
    """Chase pointers through a table that fits the second-level cache, with dependent arithmetic."""
    at = np.uint64(1)
    for _ in range(steps):
        at = (table[at & np.uint64(0xFFFF)] ^ (at * np.uint64(0x9E3779B97F4A7C15))) >> np.uint64(1)
    return at


def calibrate() -> float:
    """Millions of steps a second of the fixed loop: the median of five runs."""
    table = np.random.default_rng(7).integers(0, 2**63, 1 << 16).astype(np.uint64)
    _spin(table, 10)
    return statistics.median(2.0 / seconds(lambda: _spin(table, 2_000_000)) for _ in range(5))


def rows() -> Iterator[Row]:
    """The rate by itself, which tells a slow machine from a slow program."""
    yield Row("calibration", "", "the fixed loop", calibrate(), "M steps/s")


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call in this thread, which other processes disturb less than wall time."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def wall_seconds(work: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def median_seconds(work: Callable[[], object], times: int = 3) -> float:
    """The median of several calls, after one that compiles and warms up."""
    work()
    return statistics.median(seconds(work) for _ in range(times))
