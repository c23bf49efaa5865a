"""A_EQUALS, A_CONTAINS, A_CONTAINEDBY and A_OVERLAPS: lists as sets, compared with each other or with constants."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from tocsin.kernels import codes
from tocsin.language.canonical import to_text
from tocsin.language.evaluate import evaluate, value_of
from tocsin.language.misplaced import Misplaced
from tocsin.language.needs import listed, subject
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.operands import STRING_FUNCTIONS, Path, classify
from tocsin.language.operators.operator import (
    ATOM,
    Function,
    Json,
    Operator,
    Piece,
    describe,
    listed_text,
)
from tocsin.language.operators.scalars import is_place
from tocsin.language.stored import stored_expression
from tocsin.language.truths import Truth
from tocsin.model.elements import Values
from tocsin.model.expression import (
    Arithmetic,
    Array,
    Attribute,
    Call,
    Constant,
    Expression,
    Not,
    Span,
    attributes,
    conjunction,
    disjunction,
    walk,
)
from tocsin.model.readings import Reading, as_array
from tocsin.model.values import SCALARS, Value

ARRAY_FUNCTIONS: Final = ("A_EQUALS", "A_CONTAINS", "A_CONTAINEDBY", "A_OVERLAPS")
_MIRRORED: Final = {"A_CONTAINS": "A_CONTAINEDBY", "A_CONTAINEDBY": "A_CONTAINS"}
"""The function to use when the arguments are swapped; the other functions are symmetric."""

NO_LISTS_IN_LISTS: Final = (
    "{} is not supported, because lists of events cannot hold lists; leave the inner parentheses out"
)

# ---- the literal


def array(items: Sequence[Expression], *, span: Span | None = None) -> Array:
    """Make the node of `('a', 'b')`. Raises `Misplaced` for elements that are not scalars."""
    return Array(tuple(map(_element, items)), span=span)


def _element(item: Expression) -> Constant | Attribute:
    """An element of an array: an attribute or a constant, computed if necessary."""
    if is_place(item):
        raise Misplaced("an array holds numbers, strings, booleans, dates and timestamps", item)
    if isinstance(item, Constant | Attribute):
        return item
    if isinstance(item, Array):
        raise Misplaced(NO_LISTS_IN_LISTS.format("an array inside an array"), item, unsupported=True)
    if not _is_computed(item):
        reason = f"{describe(item)} inside an array is not supported yet; write constants and attributes"
        raise Misplaced(reason, item, unsupported=True)
    value = value_of(item, {})
    if not isinstance(value, str | float):
        raise Misplaced(f"{describe(item)} inside an array has no value; write a value", item)
    return Constant(value, span=item.span)


def _is_computed(item: Expression) -> bool:
    """Whether an element consists of constants only. Placeholders of a template cannot be computed with."""
    if not isinstance(item, Arithmetic) and not (isinstance(item, Call) and item.name in STRING_FUNCTIONS):
        return False
    leaves = [node for node in walk(item) if not node.children()]
    return all(isinstance(one, Constant) and not str(one.value).startswith("\x00") for one in leaves)


class Arrays(Operator):
    nodes, described = Array, "an array"
    no_scalar = "an array is not allowed here; it is an argument of functions such as A_CONTAINS"

    def is_condition(self, node: Array) -> bool:
        return False

    def text(self, node: Array, parts: Sequence[Piece]) -> Piece:
        return Piece(listed_text([part.text for part in parts]), ATOM)

    def json(self, node: Array, parts: Sequence[Json]) -> Json:
        return list(parts)

    def value(self, node: Array, parts: Sequence[Any], values: Values) -> tuple[Any, ...] | None:
        return _array_of(parts)


def _array_of(parts: Sequence[Value | Truth]) -> tuple[Any, ...] | None:
    """An array of values; None if one of them is absent or not a scalar."""
    return tuple(parts) if all(isinstance(part, SCALARS) for part in parts) else None


def _has_attributes(node: Expression) -> bool:
    """Whether it is an array with attributes among its elements, so that its content depends on the event."""
    return isinstance(node, Array) and any(isinstance(item, Attribute) for item in node.items)


def _is_constant(node: Expression) -> bool:
    return isinstance(node, Array) and not _has_attributes(node)


# ---- the functions

_RELATIONS: Final[dict[str, Callable[[set[Any], set[Any]], bool]]] = {
    "A_EQUALS": operator.eq,
    "A_CONTAINS": operator.ge,
    "A_CONTAINEDBY": operator.le,
    "A_OVERLAPS": lambda left, right: not left.isdisjoint(right),
}
_CODES: Final = {
    "A_EQUALS": codes.EQUALS,
    "A_CONTAINS": codes.CONTAINS,
    "A_CONTAINEDBY": codes.CONTAINED_BY,
    "A_OVERLAPS": codes.OVERLAPS,
}
_WORDS: Final = {
    "A_CONTAINS": ("with all of", "present, without at least one of"),
    "A_CONTAINEDBY": ("with nothing but", "present, with something beside"),
    "A_OVERLAPS": ("with at least one of", "present, with none of"),
    "A_EQUALS": ("exactly", "present, and not exactly"),
}


class Relation(Function):
    names, of_what, takes_arrays = ARRAY_FUNCTIONS, "attributes or arrays such as ('a', 'b')", True

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        for node in arguments:
            if not isinstance(node, Attribute | Array):
                raise Misplaced(f"{name} needs an attribute or an array such as ('a', 'b'), not {describe(node)}", node)

    def json(self, node: Call, parts: Sequence[Json]) -> Json:
        return {"op": "a_containedBy" if node.name == "A_CONTAINEDBY" else node.name.lower(), "args": list(parts)}

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool | None:
        left, right = parts
        if not isinstance(left, tuple) or not isinstance(right, tuple):
            return None
        return _RELATIONS[node.name](_members(left), _members(right))

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        """For an attribute and an array: which elements were missing, or too many."""
        left, right, name = _attribute_first(node)
        elements = _array_of([value_of(item, values) for item in right.children()])
        if not (isinstance(left, Attribute) and isinstance(right, Array)) or elements is None:
            return ""
        items = list(elements)
        came = values.get(left.name)
        about = subject(left, "list", values)
        if wanted and isinstance(came, tuple):
            if name == "A_CONTAINS":
                return f"{about} with {listed(_without(items, came))} too"
            if name == "A_CONTAINEDBY":
                return f"{about} without {listed(_without(came, items))}"
        return f"{about} {_WORDS[name][0 if wanted else 1]} {listed(items)}"

    def asked_by(self, reading: Reading) -> Expression | None:
        return stored_expression(f"A_EQUALS(a, {reading.rest})") if reading.is_array else None

    def where(self, node: Call, negated: bool) -> Expression | None:
        """Split A_CONTAINS and A_OVERLAPS by element. Then an event needs one array per attribute, not one per pair."""
        left, right, name = _attribute_first(node)
        if not isinstance(left, Attribute) or not isinstance(right, Array) or name not in ("A_CONTAINS", "A_OVERLAPS"):
            return None
        singles = [Array((item,)) for item in dict.fromkeys(right.items) if isinstance(item, Attribute)]
        if not singles or len(right.items) == 1:
            return None
        constants = tuple(item for item in right.items if isinstance(item, Constant))
        parts: list[Expression] = [Call("A_CONTAINS", (left, one)) for one in singles]
        parts += [Call(name, (left, Array(constants)))] if constants else []
        if (name == "A_CONTAINS") != negated:  # an AND over all parts, so that an element without a value is in none
            return conjunction(Not(part) if negated else part for part in parts)
        are_there = [Call("A_EQUALS", (one, one)) for one in singles]
        return conjunction([*are_there, disjunction(Not(part) if negated else part for part in parts)])

    def literal(self, node: Call, leaves: Leaves) -> int:
        left, right = node.arguments
        name = node.name
        if _is_constant(left):
            left, right, name = right, left, _MIRRORED.get(name, name)
        if _is_constant(left):
            return leaves.known(evaluate(node, {}))
        first = _list_name(left, leaves)
        if first is None:
            return leaves.known(None)
        if _is_constant(right):
            return leaves.array(first, _CODES[name], [item.value for item in right.children()])  # type: ignore[union-attr]
        other = _list_name(right, leaves)
        return leaves.known(None) if other is None else leaves.arrays(first, _CODES[name], other)


def _attribute_first(node: Call) -> tuple[Expression, Expression, str]:
    """The arguments with the attribute first, and the function's name in that order."""
    left, right = node.arguments
    if isinstance(left, Array):
        return right, left, _MIRRORED.get(node.name, node.name)
    return left, right, node.name


def _list_name(node: Expression, leaves: Leaves) -> str | None:
    """The name of an attribute, or of the list made by an array of attributes; None for anything else."""
    if isinstance(node, Array):
        leaves.reads(attributes(node))
        return as_array(attributes(node)[0], to_text(node))
    path = classify(node)
    if not isinstance(path, Path) or path.transform:
        return None
    leaves.reads([path.attribute])
    return path.attribute


def _members(items: tuple[Any, ...]) -> set[Any]:
    # With its type, since Python treats 1.0 and True as equal.
    return {(type(item), item) for item in items}


def _without(values: Any, others: Any) -> list[Any]:
    """The values that are not among the others, by type and value."""
    known = _members(tuple(others))
    return [value for value in values if (type(value), value) not in known]
