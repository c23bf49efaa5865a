"""A table of addresses of the code for uncommon kinds of leaves.

Patterns, arrays, terms, boxes, conditions used as values, and ranges in events take most of the compilation time of
leaf evaluation. So each part is compiled on its own, when a subscription uses it: `loading` fills the table.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tocsin.kernels.compiling.stores import CHECKED
from tocsin.kernels.lowering.checking import propagate

RANGED: Final = 15
"""The part for events with ranges, after one part for each kind of leaf."""

OWN: Final = RANGED + 1
"""The part reserved for an index: `access` uses it for expressions under keys of several attributes."""

BEST: Final = OWN + 1
"""The part of `access` that keeps an event's best matches."""

PARTS: Final[NDArray[np.int64]] = np.zeros(BEST + 1, np.int64)
"""Addresses, 0 for parts that are not loaded yet; shared by the whole process."""


def signature(walk: Any) -> tuple[Any, ...]:
    """The argument types of a part: a view of the walk, leaves [first, stop) of one kind, and lanes.

    A part writes the masks of its leaves.
    """
    return walk, types.int64, types.int64, types.uint64


@intrinsic
def call_part(typing_context: Any, parts: Any, kind: Any, walk: Any, first: Any, stop: Any, lanes: Any) -> Any:
    """Call the part of a kind, which writes the masks of leaves [first, stop)."""
    given = signature(walk)

    def generate(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
        table, at, *rest = arguments
        data = context.make_array(made.args[0])(context, builder, table).data
        function = context.call_conv.get_function_type(types.none, given)
        address = builder.inttoptr(builder.load(builder.gep(data, [at])), function.as_pointer())
        status, _ = context.call_conv.call_function(builder, address, types.none, given, rest)
        if CHECKED:
            propagate(context, builder, status)
        return context.get_dummy_value()

    return types.none(parts, types.int64, *given), generate


@intrinsic
def call_address(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the function at an address with these arguments; it returns nothing."""
    given = tuple(arguments.types)

    def generate(context: Any, builder: Any, made: Any, values: Any) -> Any:
        function = context.call_conv.get_function_type(types.none, given)
        pointer = builder.inttoptr(values[0], function.as_pointer())
        parts = cgutils.unpack_tuple(builder, values[1], len(given))
        status, _ = context.call_conv.call_function(builder, pointer, types.none, given, parts)
        if CHECKED:
            propagate(context, builder, status)
        return context.get_dummy_value()

    return types.none(types.int64, arguments), generate


def address_of(function: Any, given: tuple[Any, ...]) -> int:
    """The address of a function's code for these argument types, compiled if necessary."""
    function.compile(given)
    compiled = function.overloads[given]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
