"""Lowering of items of arrays with one dimension: few instructions for what occurs most."""

from __future__ import annotations

from typing import Any, Final

from numba import types
from numba.core.ir import Const, FreeVar, Global
from numba.core.lowering import Lower
from numba.np.arrayobj import load_item, store_item

from tocsin.jit.checking import require_below
from tocsin.jit.compiling.stores import CHECKED
from tocsin.jit.words import COUNTED, DATA, SHAPE

_NUMBERS: Final = (types.Number, types.Boolean)


class LowerItems(Lower):  # type: ignore[misc]
    """Numba's lowering. It puts arrays into memory for each item; this one computes the address from their values."""

    def lower_getitem(self, kind: Any, expression: Any, value: Any, index: Any, signature: Any) -> Any:
        array = self.typeof(value.name)
        if not self._is_simple(array, signature):
            return super().lower_getitem(kind, expression, value, index, signature)
        item = load_item(self.context, self.builder, array, self._place(value, index, signature))
        return self.context.cast(self.builder, item, array.dtype, kind)

    def lower_setitem(self, array_name: Any, index: Any, value: Any, signature: Any) -> Any:
        array, kind = self.typeof(array_name.name), self.typeof(value.name)
        if not (self._is_simple(array, signature) and isinstance(kind, _NUMBERS)):
            return super().lower_setitem(array_name, index, value, signature)
        place = self._place(array_name, index, signature)
        number = self.context.cast(self.builder, self.loadvar(value.name), kind, signature.args[2])
        number = self.context.cast(self.builder, number, signature.args[2], array.dtype)
        store_item(self.context, self.builder, array, number, place)
        return None

    def lower_assign(self, kind: Any, assignment: Any) -> Any:
        """Numba loads the address of each function that is called by name, and nothing uses it.

        The optimiser removes these loads. But an address of this process must not be in a module that is kept.
        """
        if isinstance(kind, types.Dispatcher) and isinstance(assignment.value, Const | Global | FreeVar):
            return self.context.get_constant_null(kind)
        return super().lower_assign(kind, assignment)

    def incref(self, kind: Any, value: Any) -> None:
        super().incref(*self._counted(kind, value))

    def decref(self, kind: Any, value: Any) -> None:
        super().decref(*self._counted(kind, value))

    def _counted(self, kind: Any, value: Any) -> tuple[Any, Any]:
        """An array's own count alone, because Numba would take the whole array apart to find it."""
        if self.context.enable_nrt and isinstance(kind, types.Array):
            return types.MemInfoPointer(types.voidptr), self.builder.extract_value(value, COUNTED)
        return kind, value

    def _is_simple(self, array: Any, signature: Any) -> bool:
        return (
            isinstance(array, types.Array)
            and (array.ndim, array.layout) == (1, "C")
            and isinstance(array.dtype, _NUMBERS)
            and isinstance(signature.args[1], types.Integer)
        )

    def _place(self, array: Any, index: Any, signature: Any) -> Any:
        """The address of an item. A negative index counts from the end, as everywhere in Python."""
        given, wanted = self.loadvar(array.name), signature.args[1]
        at = self.context.cast(self.builder, self.loadvar(index.name), self.typeof(index.name), wanted)
        if wanted.signed:
            from_end = self.builder.add(at, self.builder.extract_value(given, [SHAPE, 0]))
            at = self.builder.select(self.builder.icmp_signed("<", at, at.type(0)), from_end, at)
        if CHECKED:
            where = f"{self.func_ir.func_id.func_qualname}, line {self.loc.line}"
            what = f"an index is beyond the end of its array, in {where}"
            require_below(self.context, self.builder, at, self.builder.extract_value(given, [SHAPE, 0]), what)
        return self.builder.gep(self.builder.extract_value(given, DATA), [at])
