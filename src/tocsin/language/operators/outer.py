"""OUTER: an attribute of the whole event, inside a condition on the elements of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.operands import Operand, Path
from tocsin.language.operators.operator import Function, describe
from tocsin.model.elements import Elements, Values
from tocsin.model.expression import Attribute, Call, Expression, walk_all
from tocsin.model.readings import as_outer
from tocsin.model.values import SCALARS, UNTYPED, Value

OUTER: Final = "OUTER"


class Outer(Function):
    names, takes, of_what = (OUTER,), 1, "an attribute of the whole event"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if not isinstance(arguments[0], Attribute):
            raise Misplaced(f"{name} needs an attribute, not {describe(arguments[0])}", arguments[0])

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> Any:
        return _outer_value(_name(node), values)

    def operand(self, node: Call) -> Operand:
        return Path(as_outer(_name(node)))

    def literal(self, node: Call, leaves: Leaves) -> int:
        return leaves.compared("=", Path(as_outer(_name(node))), True)


def is_outer(node: Expression) -> bool:
    """Whether a node is an attribute of the whole event."""
    return isinstance(node, Call) and node.name == OUTER


def inside(condition: Expression, values: Values, element: Values) -> Values:
    """The values of an element of an event, with those of the whole event that a condition on it asks for."""
    names = {_name(cast(Call, node)) for node in walk_all(condition) if is_outer(node)}
    if not names:
        return element
    found = {as_outer(name): _outer_value(name, values) for name in names}
    return cast("Mapping[str, Value | Elements]", {**element, **found})


def _outer_value(name: str, values: Values) -> Value | None:
    """A scalar of the whole event; all else has no type there. The values may be those of an element."""
    known = as_outer(name)
    value = values[known] if known in values else values.get(name)
    return value if value is None or isinstance(value, SCALARS) else UNTYPED


def _name(node: Call) -> str:
    return cast(Attribute, node.arguments[0]).name
