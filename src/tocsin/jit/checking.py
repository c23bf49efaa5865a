"""Checks of indices in a debug run, which `TOCSIN_CHECKED=1` starts: a kernel then raises `IndexError`.

A view has the shapes of its arrays, so items of these are checked, too. Some things are not checked:

- slices, because Numba shortens them to the array;
- whether a negative index, which counts from the end, was meant as one;
- sixteen numbers that one instruction writes (`kernels.compacting`), and stores past the cache (`answers.columns`);
- prefetching, which may go beyond an array;
- an array that was freed while a view still points to it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils


def require_below(context: Any, builder: Any, place: Any, length: Any, what: str) -> None:
    """Return from the kernel with an error unless 0 <= place < length."""
    with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", place, length)):
        context.call_conv.return_user_exc(builder, IndexError, (what,))


def require_bytes(context: Any, builder: Any, array: Any, place: Any, kind: Any, count: int) -> None:
    """Return from the kernel with an error unless an array of bytes has `count` of them from a place on."""
    place = context.cast(builder, place, kind, types.int64 if kind.signed else types.uint64)
    last = builder.add(place, ir.Constant(ir.IntType(64), count - 1))
    require_below(context, builder, last, array.nitems, f"{count} bytes are read beyond the end of an array")


def propagate(context: Any, builder: Any, status: Any) -> None:
    """Return from the kernel with the error of a function that it called by its address."""
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
