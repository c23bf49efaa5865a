"""How does one kernel call what is written for another table in each case? By its layout, when it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from tocsin.kernels.jit import INLINED
from tocsin.kernels.packing import is_table


def choose(function: Callable[..., Any], layout: type, called: Any) -> None:
    """In kernels let a function that has no body be `called`, where its first argument is a table of a layout.

    What is called lies in the folder of the layout: the cache of compiled kernels looks for it there (`jit`).
    """

    @overload(function, jit_options=INLINED, strict=False)
    def chosen(table: Any, *others: Any) -> Any:
        return called.py_func if is_table(table, layout) else None
