"""Conditions on strings that ignore case, which `explain` and `check` propose."""

from __future__ import annotations

from typing import Final

from tocsin.model.expression import Attribute, Call, Comparison, Constant, Expression, In, Like

_ANY_CASE: Final = "(?i)"


def ignoring_case(node: Expression) -> Expression | None:
    """A condition that compares an attribute with strings, changed to ignore case; None for any other condition.

    >>> from tocsin.language import parse, to_text
    >>> to_text(ignoring_case(parse("name LIKE 'ip%'"))), ignoring_case(parse("price = 5"))
    ("CASEI(name) LIKE CASEI('ip%')", None)
    """
    match node:
        case Like(Attribute() as text, Constant(str()) as pattern):
            return Like(_folded(text), _folded(pattern))
        case Comparison("=", Attribute() as text, Constant(str()) as value):
            return Comparison("=", _folded(text), _folded(value))
        case In(Attribute() as text, items) if all(map(_is_string, items)):
            return In(_folded(text), tuple(map(_folded, items)))
        case Call("MATCHES", (Attribute() as text, Constant(str(pattern)))) if not pattern.startswith(_ANY_CASE):
            return Call("MATCHES", (text, Constant(_ANY_CASE + pattern)))
    return None


def _is_string(node: Expression) -> bool:
    return isinstance(node, Constant) and isinstance(node.value, str)


def _folded(node: Expression) -> Expression:
    return Call("CASEI", (node,))
