"""Which functions count references: those that make or return an array.

Numba counts the references of each array where a variable takes it and loses it. That was a third of what LLVM was
given. A function's arguments live as long as its call, and so do their parts. A function with a statement of an unknown
kind, as a newer Numba may make it, counts as Numba does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from numba import types
from numba.core import ir

_STATEMENTS: Final = (ir.Assign, ir.Del, ir.Return, ir.Jump, ir.Branch, ir.SetItem, ir.StaticSetItem)
_VALUES: Final = (ir.Arg, ir.Const, ir.Global, ir.FreeVar, ir.Var)
_EXPRESSIONS: Final = {
    *("binop", "inplace_binop", "unary", "cast", "call", "getattr", "getitem", "static_getitem", "build_tuple"),
    *("getiter", "iternext", "pair_first", "pair_second", "exhaust_iter", "null", "undef", "phi"),
}
"""What a function may consist of, as far as it is known here which of it takes or loses references."""

_PARTS: Final = ("getitem", "static_getitem")
_HELD: Final = types.Array | types.BaseTuple
"""What variables may hold without being counted, if it is a part of an argument."""


def counts(state: Any) -> bool:
    """Whether a function must count references, from its inferred types."""

    def is_counted(kind: Any) -> bool:
        return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

    if is_counted(state.return_type) or not all(map(_is_known, _statements(state.func_ir))):
        return True
    if any(is_counted(kind) and not isinstance(kind, _HELD) for kind in state.typemap.values()):
        return True
    made = [one.return_type for expression, one in state.calltypes.items() if one and not _is_part(expression, one)]
    return any(map(is_counted, made))


def _statements(function: Any) -> Iterator[Any]:
    for block in function.blocks.values():
        yield from block.body


def _is_known(statement: Any) -> bool:
    """Whether a statement is of a known kind, and so is what it assigns."""
    if type(statement) not in _STATEMENTS:
        return False
    if type(statement) is not ir.Assign:
        return True
    value: Any = statement.value
    return value.op in _EXPRESSIONS if type(value) is ir.Expr else type(value) in _VALUES


def _is_part(expression: Any, signature: Any) -> bool:
    """Whether an expression is an item or a slice of an array."""
    if getattr(expression, "op", None) not in _PARTS:
        return False
    return len(signature.args) < 2 or isinstance(signature.args[1], types.Integer | types.SliceType)
