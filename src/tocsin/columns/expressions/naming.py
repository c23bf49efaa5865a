"""What is to be read of a list's elements? The names that a condition about them is compiled on."""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.language import to_text
from tocsin.model.expression import (
    TEMPORAL_FUNCTIONS,
    And,
    AnyElement,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    Not,
    Or,
    walk,
)
from tocsin.model.readings import SOME, WHETHER, as_condition, as_instant, of_elements
from tocsin.model.values import Instant


def names_asked(node: AnyElement, kind: str) -> list[str]:
    """The name of the condition of an ANY, SOME or WHETHER, last; before it what is to be read for it.

    Cost: linear in the size of the condition.
    """
    name = node.items.name
    inner = set(_names(node.condition, negated=False))
    if kind == WHETHER:
        inner.update(_names(node.condition, negated=True))
    return [*(of_elements(name, one) for one in sorted(inner)), as_condition(name, to_text(node.condition), kind)]


def _names(condition: Expression, *, negated: bool) -> Iterator[str]:
    """Those of a condition, or of its NOT: what it is compiled on is among them."""
    stack = [(condition, negated)]
    while stack:
        node, is_negated = stack.pop()
        if isinstance(node, Not):
            stack.append((node.operand, not is_negated))
        elif isinstance(node, And | Or):
            stack.extend((operand, is_negated) for operand in node.operands)
        elif isinstance(node, AnyElement):
            yield from names_asked(node, WHETHER if is_negated else SOME)
        else:
            yield from _of_predicate(node)


def _of_predicate(predicate: Expression) -> Iterator[str]:
    for node in walk(predicate):
        if isinstance(node, Attribute):
            yield node.name
        elif isinstance(node, AnyElement):
            yield from names_asked(node, WHETHER)
        elif isinstance(node, Call) and node.name in TEMPORAL_FUNCTIONS:
            yield from (as_instant(part.name) for part in walk(node) if isinstance(part, Attribute))
        elif isinstance(node, Comparison | In | Between):
            parts = node.children()
            if any(isinstance(part, Constant) and isinstance(part.value, Instant) for part in parts):
                yield from (as_instant(part.name) for part in parts if isinstance(part, Attribute))
