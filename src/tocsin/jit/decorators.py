"""The decorators that compile kernels, and the whole Numba configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock

from tocsin.forking import awaited
from tocsin.jit.compiling.caching import KernelCache
from tocsin.jit.compiling.stores import CHECKED
from tocsin.jit.switch import LOWERING

Function = TypeVar("Function", bound=Callable[..., Any])

awaited(global_compiler_lock, is_innermost=True)  # a kernel may be compiled while any of tocsin's locks is held

# nogil: kernels run in thread pools and beside other Python threads. The "numpy" error model: no check for a
# zero divisor, since terms check that themselves. Indices are checked in a debug run alone (`checking`). No
# `parallel` (it aborts or kills under threads and forks) and no `fastmath` (answers are exact).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": CHECKED}
_NO_WAY_IN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_LINKED: dict[str, Any] = {}
"""The pipeline for what is only linked into kernels, and that for kernels; without our passes, both are Numba's own."""
_WHOLE: dict[str, Any] = {}
if LOWERING:
    from tocsin.jit.lowering.pipelines import LinkedPipeline, Pipeline

    _LINKED, _WHOLE = {"pipeline_class": LinkedPipeline}, {"pipeline_class": Pipeline}

INLINED: Final[Mapping[str, Any]] = {"forceinline": True, **_OPTIONS, **_NO_WAY_IN, **_LINKED}
"""The Numba options of `inlined`."""


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, and cache the result (`caching`)."""
    return _compiled(function, cache=True, **_OPTIONS, no_cfunc_wrapper=True, **_WHOLE)


def inner(function: Function) -> Function:
    """Compile a function that only kernels call. It becomes machine code only within these (`lowering.libraries`)."""
    return _closed(_compiled(function, cache=True, **_OPTIONS, **_NO_WAY_IN, **_LINKED))


def part(function: Function) -> Function:
    """Compile a function that kernels call by its address."""
    return _closed(_compiled(function, cache=True, **_OPTIONS, **_NO_WAY_IN, **_WHOLE))


def inlined(function: Function) -> Function:
    """Like `inner`, but inlined into the machine code of its callers."""
    return _closed(_compiled(function, **INLINED))


def pasted(function: Function) -> Function:
    """Like `inner`, but inlined in Numba's own representation: only for straight-line code without branches or loops.

    It needs no compilation of its own. Branches or loops made Numba produce wrong code (decision 0020).
    """
    return _closed(_compiled(function, inline="always", **_OPTIONS, **_NO_WAY_IN, **_LINKED))


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
