"""NAMED: a part of a condition with a name, by which a match tells whether the part held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from tocsin.errors import ExpressionError
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.operator import Function, require_condition
from tocsin.language.truths import Truth, truth_of
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression, attributes, fold, walk, walk_all

NAMED = "NAMED"


class NamedPart(NamedTuple):
    """A part of a condition, and its name."""

    name: str
    condition: Expression


class Part(Function):
    names, takes, of_what = (NAMED,), 2, "a name in single quotes and a condition, as in 'cheap', price < 5"
    described = "a condition with NAMED"

    def describe(self, node: Call) -> str:
        return self.described

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        given, condition = arguments
        if not isinstance(given, Constant) or not isinstance(given.value, str) or not given.value:
            raise Misplaced("NAMED needs a name in single quotes that is not empty", given)
        require_condition(condition, "NAMED takes a condition")

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> Truth:
        return truth_of(parts[1])

    def meant(self, node: Call) -> Expression:
        return node.arguments[1]


def named_part(node: Expression) -> NamedPart | None:
    """The part that a node names; None for other nodes."""
    if not isinstance(node, Call) or node.name != NAMED:
        return None
    name, condition = node.arguments
    return NamedPart(cast(str, cast(Constant, name).value), condition)


def parts_in(tree: Expression) -> Iterator[NamedPart]:
    """The named parts of a condition, in order of appearance."""
    return (part for node in walk(tree) if (part := named_part(node)))


def naming(tree: Expression, parts: Mapping[str, Expression]) -> Expression:
    """A condition in which the attributes with these names are named parts. Raises `ExpressionError` for unused names.

    >>> from tocsin.language import parse, to_text
    >>> to_text(naming(parse("cheap OR NOT sold"), {"cheap": parse("price < 5"), "sold": parse("stock = 0")}))
    "NAMED('cheap', price < 5) OR NOT NAMED('sold', stock = 0)"
    """
    unused = [name for name in parts if name not in attributes(tree)]
    if unused:
        raise ExpressionError(f"the condition does not use the name {unused[0]!r}")

    def combine(node: Expression, children: Sequence[Expression]) -> Expression:
        if isinstance(node, Attribute) and node.name in parts:
            return Call(NAMED, (Constant(node.name), parts[node.name]))
        return node.with_children(children)

    return fold(tree, combine)


def refuse_named(condition: Expression, within: str) -> None:
    """Raise `Misplaced` for a named part within a condition on elements, of which each has its own truth."""
    for node in walk_all(condition):
        if named_part(node):
            raise Misplaced(f"NAMED cannot stand in {within}; name the whole condition", node)
