"""How is every kernel compiled? The whole Numba configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

# nogil: kernels run under thread pools and beside other Python threads. The "numpy" error model: no check for a
# zero divisor, which the terms make themselves. No `parallel` (it aborts or kills under threads and forks) and no
# `fastmath` (answers are exact).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}


def kernel(function: Function) -> Function:
    """Compile with the cache on disk where a cache folder is writable, else without."""
    try:
        compiled: Function = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # Numba found no folder to keep its cache in
        compiled = numba.njit(**_OPTIONS)(function)
    return compiled


@intrinsic
def float_of_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 with these 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba.types.float64(numba.types.int64), generate


@intrinsic
def bits_of_float(typing_context: Any, number: Any) -> Any:
    """The 64 bits of a float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the lowest set bit of a uint64; 64 when none is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return numba.types.int64(numba.types.uint64), generate
