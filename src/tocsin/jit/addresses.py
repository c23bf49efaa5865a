"""Calls of compiled functions by their address, so that their callers are compiled without them."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tocsin.jit.checking import propagate
from tocsin.jit.compiling.stores import CHECKED


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
