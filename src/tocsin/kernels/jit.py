"""The decorators that compile kernels, and the whole Numba configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from tocsin.forking import awaited
from tocsin.kernels.compiling.caching import KernelCache
from tocsin.kernels.compiling.stores import CHECKED
from tocsin.kernels.lowering.checking import require_bytes
from tocsin.kernels.lowering.pipelines import LinkedPipeline, Pipeline

Function = TypeVar("Function", bound=Callable[..., Any])

awaited(global_compiler_lock, is_innermost=True)  # a kernel may be compiled while any of tocsin's locks is held

# nogil: kernels run in thread pools and beside other Python threads. The "numpy" error model: no check for a
# zero divisor, since terms check that themselves. Indices are checked in a debug run alone (`lowering.checking`). No
# `parallel` (it aborts or kills under threads and forks) and no `fastmath` (answers are exact).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": CHECKED}
_NO_WAY_IN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": LinkedPipeline}

INLINED: Final[Mapping[str, Any]] = {"forceinline": True, **_OPTIONS, **_NO_WAY_IN}
"""The Numba options of `inlined`."""


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, and cache the result (`caching`)."""
    return _compiled(function, cache=True, **_OPTIONS, no_cfunc_wrapper=True, pipeline_class=Pipeline)


def inner(function: Function) -> Function:
    """Compile a function that only kernels call. It becomes machine code only within these (`lowering.libraries`)."""
    return _closed(_compiled(function, cache=True, **_OPTIONS, **_NO_WAY_IN))


def part(function: Function) -> Function:
    """Compile a function that kernels call by its address."""
    return _closed(_compiled(function, cache=True, **{**_OPTIONS, **_NO_WAY_IN, "pipeline_class": Pipeline}))


def inlined(function: Function) -> Function:
    """Like `inner`, but inlined into the machine code of its callers."""
    return _closed(_compiled(function, **INLINED))


def pasted(function: Function) -> Function:
    """Like `inner`, but inlined in Numba's own representation: only for straight-line code without branches or loops.

    It needs no compilation of its own. Branches or loops made Numba produce wrong code (decision 0020).
    """
    return _closed(_compiled(function, inline="always", **_OPTIONS, **_NO_WAY_IN))


def _closed(compiled: Any) -> Any:
    """Make a compiled function refuse calls from Python. It has no entry point, and Numba would end the process."""

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"only kernels call {compiled.py_func.__name__}; call one that is a kernel, or its py_func")

    compiled._insert = lambda *_, **__: None
    compiled._compile_for_args = refuse
    return compiled


def _compiled(function: Function, *, cache: bool = False, **options: Any) -> Function:
    compiled: Any = numba.njit(**options)(function)
    if cache:
        compiled._cache = KernelCache(function)  # Numba's `cache=True` does the same with its own cache
        compiled.compile = compiled._cache.watched(compiled.compile)
    return cast(Function, compiled)


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
def count_bits(typing_context: Any, mask: Any) -> Any:
    """The number of set bits of a uint64, as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of an array's element, which may lie beyond the array's end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte_pointer)
        to_read, keep, data = (ir.Constant(word, n) for n in (0, 3, 1))
        builder.call(function, [address, to_read, keep, data])
        return context.get_dummy_value()

    return numba.types.void(array, index), generate


@intrinsic
def load_word(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight bytes of an array from an index on, as a little-endian uint64. They must lie within the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        word = ir.IntType(64)
        if CHECKED:
            require_bytes(context, builder, view, arguments[1], signature.args[1], 8)
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), word.as_pointer())
        return builder.load(address, align=1)

    return numba.types.uint64(array, index), generate


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the lowest set bit of a uint64; 64 if none is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return numba.types.int64(numba.types.uint64), generate


@intrinsic
def highest_bit(typing_context: Any, mask: Any) -> Any:
    """The number of the highest set bit of a uint64; -1 if none is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return numba.types.int64(numba.types.uint64), generate
