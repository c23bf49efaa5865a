"""The words in which a table is laid out in memory: of each array its address and lengths, and numbers as 64 bits."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core.datamodel import default_manager
from numba.extending import models, register_model

WORD: Final = ir.IntType(64)

_ARRAY: Final = default_manager[types.Array(types.int64, 1, "C")]
COUNTED: Final[int] = _ARRAY.get_field_position("meminfo")
"""The place of the count of references in Numba's arrays."""

ITEMS: Final[int] = _ARRAY.get_field_position("nitems")
"""The place of the number of items."""

DATA: Final[int] = _ARRAY.get_field_position("data")
"""The place of the address."""

SHAPE: Final[int] = _ARRAY.get_field_position("shape")
"""The place of the shape, before that of the strides."""

VIEWING: Final[list[Any]] = []
"""The functions that make a view of a table (`views.viewed`)."""


class Handed(types.Type):  # type: ignore[misc]
    """The type of a pointer to a table's words, which Python passes to a kernel (`lowering.handing`)."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(name=f"Handed({kind})")


@register_model(Handed)
class _HandedModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Handed) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


def slots(kind: Any) -> int:
    """The number of words that a part of a table takes."""
    if isinstance(kind, types.BaseTuple):
        return sum(slots(part) for part in kind.types)
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def word_of(builder: Any, kind: Any, number: Any) -> Any:
    """Convert a number to 64 bits."""
    if isinstance(number.type, ir.DoubleType):
        return builder.bitcast(number, WORD)
    if number.type == WORD:
        return number
    return (builder.sext if getattr(kind, "signed", False) else builder.zext)(number, WORD)


def number_of(context: Any, builder: Any, kind: Any, word: Any) -> Any:
    """Convert 64 bits to a number."""
    made = context.get_value_type(kind)
    if isinstance(made, ir.DoubleType):
        return builder.bitcast(word, made)
    return word if made == WORD else builder.trunc(word, made)
