"""Functions of an event's values. Their value becomes an attribute of its own (`index.values`), which leaves compare.

So every comparison of `IP(source)` has the access keys that a comparison of an attribute has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, cast

from tocsin.language.canonical import to_text
from tocsin.language.operators.operands import Operand, Path
from tocsin.language.operators.operator import Function, operator_of
from tocsin.language.stored import stored_expression
from tocsin.model.elements import Values
from tocsin.model.expression import Expression, IsNull, attributes
from tocsin.model.readings import Reading, as_value
from tocsin.model.values import Value


class FunctionValue(Function):
    """Functions whose value is a scalar. They look at one attribute at least."""

    reads: ClassVar[Sequence[int]] = ()
    """The types, as in `kernels.codes`, of the attribute's values that can have a value of the function."""

    def is_condition(self, node: Any) -> bool:
        return False

    def needs(self, node: Any) -> list[str]:
        """The names to be read from an event for the value."""
        return attributes(node)

    def value(self, node: Any, parts: Sequence[Any], values: Values) -> Value | None:
        raise NotImplementedError

    def operand(self, node: Any) -> Operand:
        return Path(as_value(attributes(node)[0], to_text(node)))

    def asked_by(self, reading: Reading) -> Expression | None:
        return IsNull(function_of(reading)) if reading.is_value else None


@lru_cache(1 << 12)
def function_of(reading: Reading) -> Expression:
    """The function whose value is a reading."""
    return cast(IsNull, stored_expression(f"{reading.rest} IS NULL")).operand


def needs_of(reading: Reading) -> list[str]:
    """The names to be read from an event for the value of a function."""
    tree = function_of(reading)
    return cast(FunctionValue, operator_of(tree)).needs(tree)


def types_read(reading: Reading) -> int:
    """The types of the attribute's values that can have a value of a reading's function, one bit each."""
    return sum(1 << kind for kind in cast(FunctionValue, operator_of(function_of(reading))).reads)
