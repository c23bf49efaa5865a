"""The columns of an answer with many matches, written past the processor's cache (decision 0073).

An ordinary store reads the cache line that it changes, and evicts another. A large column does not fit into the cache,
so both are in vain. And its memory is taken from a pool that keeps what was freed, because new pages cost more than
the stores.
"""

from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from tocsin.kernels.jit import kernel

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
            _stream(out, place, value)
    _settle()


@kernel
def _count_on(numbers: NDArray[np.int32], first: int, out: NDArray[np.int64]) -> None:
    for place in range(len(numbers)):
        _stream(out, place, first + np.int64(numbers[place]))
    _settle()


@kernel
def _look_up(values: NDArray[np.int64], numbers: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    for place in range(len(numbers)):
        _stream(out, place, values[np.uint32(numbers[place])])
    _settle()


@intrinsic
def _stream(typing_context: Any, array: Any, place: Any, number: Any) -> Any:
    """Store a number at a place of an array, past the cache."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        store = builder.store(arguments[2], builder.gep(data, [arguments[1]]), align=8)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()

    return numba.types.void(array, place, array.dtype), generate


@intrinsic
def _settle(typing_context: Any) -> Any:
    """Let other threads see what was stored past the cache before they see what is stored later."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return numba.types.void(), generate
