"""Which functions count references: those that make or return an array.

Numba counts the references of each array where a variable takes it and loses it. That was a third of what LLVM was
given. A function's arguments live as long as its call, and so do their parts.
"""

from __future__ import annotations

from typing import Any, Final

from numba import types

_PARTS: Final = ("getitem", "static_getitem")
_HELD: Final = types.Array | types.BaseTuple
"""What variables may hold without being counted, if it is a part of an argument."""


def counts(state: Any) -> bool:
    """Whether a function must count references, from its inferred types."""

    def is_counted(kind: Any) -> bool:
        return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())

    if is_counted(state.return_type):
        return True
    if any(is_counted(kind) and not isinstance(kind, _HELD) for kind in state.typemap.values()):
        return True
    made = [one.return_type for expression, one in state.calltypes.items() if one and not _is_part(expression, one)]
    return any(map(is_counted, made))


def _is_part(expression: Any, signature: Any) -> bool:
    """Whether an expression is an item or a slice of an array."""
    if getattr(expression, "op", None) not in _PARTS:
        return False
    return len(signature.args) < 2 or isinstance(signature.args[1], types.Integer | types.SliceType)
