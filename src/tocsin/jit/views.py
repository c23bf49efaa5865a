"""Tables of arrays, and views that pass them to kernels as one pointer.

A table is a `NamedTuple` of arrays, numbers, other tables and views; its class is its layout. Numba takes a plain tuple
of arrays apart again in every call that passes it on. That is half of a kernel's compilation time, and every array's
references are counted. A *view* is one pointer to the addresses and shapes of all arrays: `view.name` reads those of an
array when needed, `view.part.name` those in a nested table.

- `viewed(table)`, at the top of a kernel that Python calls, lays the places out on the stack.
- `Packed` lays them out once, in Python, for a table that is passed repeatedly; `view(places, kind)` reads them.

A view holds no references: it is valid as long as the call, or as its `Packed`. So a kernel never makes a view of
arrays that it allocated itself. Arrays that Python froze are read-only by convention, because a view does not record
it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, models, overload, register_model
from numba.np.arrayobj import make_array, mark_positive, populate_array

from tocsin.jit.compiling.digests import digest_of_layout
from tocsin.jit.decorators import INLINED
from tocsin.jit.switch import LOWERING
from tocsin.jit.words import DATA, ITEMS, SHAPE, VIEWING, WORD, Handed, number_of, slots, word_of

Table = TypeVar("Table")
Element = TypeVar("Element")


def view_of(layout: type, *parts: Any) -> Any:
    """The Numba type of a view of a layout. With `parts`, which are types of views, it is a table of these views."""
    return View(numba.types.NamedTuple(parts, layout) if parts else kind_of(layout))


def kind_of(layout: type) -> Any:
    """The Numba type of a layout, from its annotations.

    An array has one dimension, or as many as `Annotated[NDArray[...], dimensions]` says: a number, or a text that lists
    the lengths (`index.tables` makes arrays from it).
    """
    return numba.types.NamedTuple([_part_of(hint) for hint in hints_of(layout).values()], layout)


def _part_of(hint: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, tuple):
        return kind_of(hint)
    if hint in _NUMBERS:
        return _NUMBERS[hint]
    kind, dimensions = array_of(hint)
    return numba.types.Array(numba.from_dtype(kind), dimensions, "C")


class _ArrayOf(Generic[Element]):
    """Stands in for `NDArray` in the annotations of layouts, because NumPy's own alias differs between versions."""


def hints_of(layout: type) -> dict[str, Any]:
    """The annotations of a layout by field. `array_of` reads the array ones."""
    return get_type_hints(layout, localns={"NDArray": _ArrayOf}, include_extras=True)


def array_of(hint: Any) -> tuple[np.dtype[Any], int]:
    """The element type and number of dimensions of an array, from its annotation in `hints_of`.

    Raises `TypeError` if the annotation is not written as `NDArray[...]`, or was evaluated before `hints_of` read it.
    """
    array, dimensions, *_ = get_args(hint) if get_origin(hint) is Annotated else (hint, 1)
    if get_origin(array) is not _ArrayOf:
        raise TypeError(
            f"a layout's field is annotated {hint}; write int, float, bool, a table, or NDArray[...], "
            "under `from __future__ import annotations`"
        )
    return np.dtype(get_args(array)[0]), dimensions.count(",") + 1 if isinstance(dimensions, str) else dimensions


_NUMBERS = {int: numba.types.int64, float: numba.types.float64, bool: numba.types.boolean}


class View(numba.types.Type):  # type: ignore[misc]
    """The type of a pointer to a table's places. There is one per layout, whether its arrays are frozen or not.

    A structure's own kernels are selected by its layout (`overload`) and compiled into a caller in another folder. The
    type's name includes the digest of the layout's folder, so that a change there makes the caller's machine code
    stale.
    """

    def __init__(self, kind: Any) -> None:
        self.kind = numba.types.NamedTuple([_plain(part) for part in kind.types], kind.instance_class)
        layout = kind.instance_class
        self.digest = digest_of_layout(layout)
        super().__init__(name=f"View({layout.__module__}.{layout.__qualname__}, {self.kind}, {self.digest})")

    @property
    def key(self) -> Any:
        return self.kind, self.digest


def _plain(kind: Any) -> Any:
    """The type without attributes that are irrelevant to a view."""
    if isinstance(kind, numba.types.BaseNamedTuple):
        return numba.types.NamedTuple([_plain(part) for part in kind.types], kind.instance_class)
    if isinstance(kind, numba.types.Array):
        return numba.types.Array(kind.dtype, kind.ndim, "C")
    return kind if isinstance(kind, View | numba.types.NoneType) else numba.types.unliteral(kind)


@register_model(View)
class _ViewModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: View) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


def is_table(kind: Any, layout: type) -> bool:
    """Whether a Numba type is a view or a tuple of a layout. Overloads use it to recognise their own structure."""
    table = kind.kind if isinstance(kind, View) else kind
    return isinstance(table, numba.types.BaseTuple) and getattr(table, "instance_class", None) is layout


class Packed(Generic[Table]):
    """A table, kept alive, with its `places`: address and shape of each array, and each number, in order.

    `kind` is the type from `kind_of`. Raises `TypeError` if an array has another type.
    """

    __slots__ = ("places", "table")

    def __init__(self, table: Table, kind: Any) -> None:
        self.table = table
        self.places = np.array([number for part in _places(table, kind) for number in part], np.int64)
        self.places.flags.writeable = False


def _places(table: Any, kind: Any) -> Iterator[tuple[int, ...]]:
    """The places of each array or number, depth first."""
    if isinstance(kind, numba.types.BaseTuple):
        for part, expected in zip(table, kind.types, strict=True):
            yield from _places(part, expected)
    elif isinstance(kind, numba.types.Array):
        same = numba.from_dtype(table.dtype) == kind.dtype and table.ndim == kind.ndim
        if not (same and table.flags.c_contiguous and table.flags.aligned):
            raise TypeError(f"an array of {table.dtype} and {table.ndim} dimensions cannot be packed as {kind}")
        yield (table.ctypes.data, *table.shape)
    else:
        exact = np.float64 if kind == numba.types.float64 else np.int64
        yield (int(np.array(table, exact).view(np.int64)),)


@infer_getattr
class _ViewAttributes(AttributeTemplate):  # type: ignore[misc]
    key = View

    def generic_resolve(self, view: View, name: str) -> Any:
        if name not in view.kind.fields:
            return None
        part = view.kind.types[view.kind.fields.index(name)]
        return View(part) if isinstance(part, numba.types.BaseNamedTuple) else part


@lower_getattr_generic(View)
def _read(context: Any, builder: Any, kind: View, pointer: Any, name: str) -> Any:
    """Read a field of a view: a borrowed array, a number, or the view of a nested table."""
    at = kind.kind.fields.index(name)
    part = kind.kind.types[at]
    place = cgutils.gep_inbounds(builder, pointer, sum(slots(before) for before in kind.kind.types[:at]))
    if isinstance(part, numba.types.BaseNamedTuple):
        return place
    if isinstance(part, View):
        return builder.inttoptr(builder.load(place), WORD.as_pointer())
    if isinstance(part, numba.types.NoneType):
        return context.get_dummy_value()
    if not isinstance(part, numba.types.Array):
        return number_of(context, builder, part, builder.load(place))
    return _array_at(context, builder, part, place)


def _array_at(context: Any, builder: Any, kind: Any, place: Any) -> Any:
    """A borrowed array, from the address and the shape at a place."""
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    shape = []
    for d in range(kind.ndim):
        extent = builder.load(cgutils.gep_inbounds(builder, place, 1 + d))
        mark_positive(builder, extent)
        shape.append(extent)
    strides = [ir.Constant(WORD, item)]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    made = context.get_value_type(kind)
    data = builder.inttoptr(builder.load(place), made.elements[DATA])
    if LOWERING:
        return _array_of(builder, made, item, data, shape, strides)
    array = make_array(kind)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=ir.Constant(WORD, item), meminfo=None)
    return array._getvalue()


def _array_of(builder: Any, made: Any, item: int, data: Any, shape: list[Any], strides: list[Any]) -> Any:
    """An array as a value, with few instructions: views are read so often that their code is most of what LLVM gets."""
    count, dimensions = functools.reduce(builder.mul, shape), len(shape)
    array = ir.Constant(made, [None, None, 0, item, None, [0] * dimensions, [0] * (dimensions - 1) + [item]])
    array = builder.insert_value(builder.insert_value(array, data, DATA), count, ITEMS)
    for d in range(dimensions):
        array = builder.insert_value(array, shape[d], [SHAPE, d])
        if d < dimensions - 1:
            array = builder.insert_value(array, strides[d], [SHAPE + 1, d])
    return array


@intrinsic
def view(typing_context: Any, places: Any, kind: Any) -> Any:
    """The view of the table whose places a `Packed` of this kind holds."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return make_array(places)(context, builder, arguments[0]).data

    return View(kind.instance_type)(places, kind), generate


@intrinsic
def viewed(typing_context: Any, table: Any) -> Any:
    """The view of a table that Python passed; to be made once, at the top of a kernel."""
    if isinstance(table, Handed):
        return View(table.kind)(table), _copied

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out = cgutils.alloca_once(builder, WORD, size=ir.Constant(WORD, max(slots(table), 1)))
        at = iter(range(slots(table)))

        def put(number: Any) -> None:
            builder.store(number, cgutils.gep_inbounds(builder, out, next(at)))

        def lay_out(kind: Any, given: Any) -> None:
            if isinstance(kind, numba.types.BaseTuple):
                for part, value in zip(kind.types, cgutils.unpack_tuple(builder, given, len(kind.types)), strict=True):
                    lay_out(part, value)
            elif isinstance(kind, numba.types.Array):
                if kind.layout != "C":
                    raise TypeError(f"a table takes C-contiguous arrays, not {kind}")
                array = make_array(kind)(context, builder, given)
                put(builder.ptrtoint(array.data, WORD))
                for extent in cgutils.unpack_tuple(builder, array.shape, kind.ndim):
                    put(extent)
            elif isinstance(kind, View):
                put(builder.ptrtoint(given, WORD))
            elif isinstance(kind, numba.types.NoneType):
                put(ir.Constant(WORD, 0))
            else:
                put(word_of(builder, kind, given))

        lay_out(table, arguments[0])
        return out

    return View(table)(table), generate


def _copied(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The words of a table, copied, so that LLVM knows that nothing else changes them."""
    count = max(slots(signature.args[0].kind), 1)
    out = cgutils.alloca_once(builder, WORD, size=ir.Constant(WORD, count))
    cgutils.raw_memcpy(builder, out, arguments[0], ir.Constant(WORD, count), WORD.width // 8, align=WORD.width // 8)
    return out


VIEWING.append(viewed)


def choose(function: Callable[..., Any], layout: type, called: Any) -> None:
    """In kernels, let a function without a body call `called` if its first argument is a table of a layout.

    `called` must lie in the layout's folder, because the kernel cache takes the digest of that folder (`caching`).
    """

    @overload(function, jit_options=INLINED, strict=False)
    def chosen(table: Any, *others: Any) -> Any:
        return called.py_func if is_table(table, layout) else None
