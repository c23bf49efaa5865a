"""The columns of an answer with many matches, written past the processor's cache (decision 0073).

An ordinary store reads the cache line that it changes, and evicts another. A large column does not fit into the cache,
so both are in vain. And its memory is taken from a pool that keeps what was freed, because new pages cost more than
the stores.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tocsin.jit.decorators import kernel
from tocsin.jit.intrinsics import fence, store_past_cache

MANY: Final = 1 << 17
"""Columns from this length on are written past the cache: a megabyte does not stay in it until it is read."""


def repeated(values: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value as often as `starts` says: value `i` at the places from starts[i] to starts[i + 1]."""
    if starts[-1] < MANY:
        return np.repeat(values, np.diff(starts))
    out = _room(int(starts[-1]))
    _repeat(np.ascontiguousarray(values), starts, out)
    return out


def counted_on(numbers: NDArray[np.int32], first: int) -> NDArray[np.int64]:
    """`first` plus each number."""
    if len(numbers) < MANY:
        return np.add(numbers, first, dtype=np.int64)
    out = _room(len(numbers))
    _count_on(np.ascontiguousarray(numbers), first, out)
    return out


def looked_up(values: NDArray[np.int64], numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """The values with some numbers, which must be in range."""
    if len(numbers) < MANY:
        return values[numbers]
    out = _room(len(numbers))
    _look_up(values, np.ascontiguousarray(numbers), out)
    return out


def _room(count: int) -> NDArray[np.int64]:
    return np.frombuffer(pa.allocate_buffer(8 * count, _pool()), np.int64)


def _pool() -> pa.MemoryPool:
    """The pool that keeps freed pages, whichever of Arrow's pools is the default; the default where it is left out."""
    try:
        return pa.mimalloc_memory_pool()
    except NotImplementedError:
        return pa.default_memory_pool()


@kernel
def _repeat(values: NDArray[np.int64], starts: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    for i in range(len(values)):
        value = values[i]
        for place in range(starts[i], starts[i + 1]):
            store_past_cache(out, place, value)
    fence()


@kernel
def _count_on(numbers: NDArray[np.int32], first: int, out: NDArray[np.int64]) -> None:
    for place in range(len(numbers)):
        store_past_cache(out, place, first + np.int64(numbers[place]))
    fence()


@kernel
def _look_up(values: NDArray[np.int64], numbers: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    for place in range(len(numbers)):
        store_past_cache(out, place, values[np.uint32(numbers[place])])
    fence()
