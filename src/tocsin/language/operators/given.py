"""GIVEN: whether an event has an attribute, be it as null. IS NULL is TRUE of a null and of an absent attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tocsin.language.canonical import name_text
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.operator import Function, describe
from tocsin.model.elements import GIVEN, Values
from tocsin.model.expression import Attribute, Call, Expression, IsNull, Not, disjunction
from tocsin.model.readings import as_null


class Given(Function):
    names, takes, of_what = (GIVEN,), 1, "an attribute"
    described = "a condition with GIVEN"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if not isinstance(arguments[0], Attribute):
            raise Misplaced(f"{name} needs an attribute, not {describe(arguments[0])}", arguments[0])

    def describe(self, node: Call) -> str:
        return self.described

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool:
        return parts[0] is not None or as_null(_name(node)) in values

    def came(self, node: Call, values: Values) -> str | None:
        return f"{name_text(_name(node))} is null" if as_null(_name(node)) in values else None

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        return f"{name_text(_name(node))} {'given' if wanted else 'absent'}"

    def meant(self, node: Call) -> Expression:
        """A value, or the reading that is there for a null."""
        return disjunction(Not(IsNull(one)) for one in (node.arguments[0], Attribute(as_null(_name(node)))))


def _name(node: Call) -> str:
    return cast(Attribute, node.arguments[0]).name
