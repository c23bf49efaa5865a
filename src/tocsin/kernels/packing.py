"""How does a kernel take a hundred arrays at the cost of one? As a table of where they lie.

Handing an array to a kernel costs some 200 ns, whatever its size; an index has dozens, and an event takes microseconds.
Tuples of arrays that are handed over again and again are packed once; the kernel makes them anew out of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

Table = TypeVar("Table")


def kind_of(layout: type, *, writeable: bool = False, dimensions: Mapping[str, int] | None = None) -> Any:
    """The Numba type of a NamedTuple class of arrays, or of such classes, by its annotations.

    Arrays have one dimension, but for those that `dimensions` names.
    """
    parts = []
    for name, hint in get_type_hints(layout).items():
        if isinstance(hint, type) and issubclass(hint, tuple):
            parts.append(kind_of(hint, writeable=writeable, dimensions=dimensions))
        else:
            scalar = numba.from_dtype(np.dtype(get_args(get_args(hint)[1])[0]))
            parts.append(numba.types.Array(scalar, (dimensions or {}).get(name, 1), "C", readonly=not writeable))
    return numba.types.NamedTuple(parts, layout)


def is_table(kind: Any, layout: type) -> bool:
    """Whether a Numba type is that of a NamedTuple class: what an `overload` asks to know its own structure by."""
    return isinstance(kind, numba.types.BaseTuple) and getattr(kind, "instance_class", None) is layout


class Packed(Generic[Table]):
    """A (nested) tuple of arrays, kept alive, and `places`: address and shape of each, in order.

    `kind` is what `kind_of` says of it; raises `TypeError` where an array is of another type.
    """

    __slots__ = ("places", "table")

    def __init__(self, table: Table, kind: Any) -> None:
        self.table = table
        self.places = np.array([number for array in _arrays(table, kind) for number in array], np.int64)
        self.places.flags.writeable = False


def _arrays(table: Any, kind: Any) -> Iterator[tuple[int, ...]]:
    """The place of each array, depth first."""
    if isinstance(kind, numba.types.BaseTuple):
        for part, expected in zip(table, kind.types, strict=True):
            yield from _arrays(part, expected)
        return
    same = numba.from_dtype(table.dtype) == kind.dtype and table.ndim == kind.ndim
    if not (same and table.flags.c_contiguous and table.flags.aligned and (table.flags.writeable or not kind.mutable)):
        raise TypeError(f"an array of {table.dtype} and {table.ndim} dimensions cannot be packed as {kind}")
    yield (table.ctypes.data, *table.shape)


@intrinsic
def unpacked(typing_context: Any, places: Any, kind: Any) -> Any:
    """The tuple of arrays that a `Packed` of a kind has the places of.

    The arrays are borrowed: they live as long as the `Packed`, and nobody counts references to them.
    """
    made = kind.instance_type

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = make_array(places)(context, builder, arguments[0]).data
        at = iter(range(1 << 16))

        def number() -> Any:
            return builder.load(cgutils.gep_inbounds(builder, table, next(at)))

        def value(of: Any) -> Any:
            if isinstance(of, numba.types.BaseTuple):
                return context.make_tuple(builder, of, [value(part) for part in of.types])
            array = make_array(of)(context, builder)
            item = context.get_abi_sizeof(context.get_data_type(of.dtype))
            data = builder.inttoptr(number(), array.data.type)
            shape = [number() for _ in range(of.ndim)]
            strides = [ir.Constant(ir.IntType(64), item)]
            for extent in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], extent))
            populate_array(array, data, shape, strides, item, None)
            return array._getvalue()

        return value(made)

    return made(places, kind), generate


@intrinsic
def borrowed(typing_context: Any, table: Any) -> Any:
    """The same (nested tuple of) arrays and numbers; nobody counts references: an atomic operation each, in every call.

    For the arguments of a kernel that Python calls: they live as long as the call.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def value(of: Any, given: Any) -> Any:
            if isinstance(of, numba.types.BaseTuple):
                parts = cgutils.unpack_tuple(builder, given, len(of.types))
                return context.make_tuple(builder, of, [value(*pair) for pair in zip(of.types, parts, strict=True)])
            if not isinstance(of, numba.types.Array):
                return given
            array = make_array(of)(context, builder, given)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            return array._getvalue()

        return value(table, arguments[0])

    return table(table), generate
