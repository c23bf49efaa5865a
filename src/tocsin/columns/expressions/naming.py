"""What is to be read of a list's elements? The names that a condition about them is compiled on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from tocsin.language import to_text
from tocsin.language.distances import as_circle
from tocsin.language.keywords import text_meant
from tocsin.language.spatial import MIRRORED_SPATIAL, PLACE, is_plain_box, parted_at_antimeridian, without_disjoint
from tocsin.language.stored import stored_expression
from tocsin.language.temporal import expanded
from tocsin.model.expression import (
    MIRRORED_FUNCTIONS,
    TEMPORAL_FUNCTIONS,
    And,
    AnyElement,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    Not,
    Or,
    asks_distance,
    attributes,
    conjunction,
    disjunction,
    has_attributes,
    is_circle,
    is_of_place,
    is_text,
    walk,
)
from tocsin.model.readings import (
    PLACED,
    PLACED_OR_NOT,
    SOME,
    WHETHER,
    as_array,
    as_condition,
    as_instant,
    of_elements,
    reading_of,
)
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


def needed_by(name: str) -> list[str]:
    """What is to be read beside a compiled name: of a condition about elements, a place or an array of attributes."""
    reading = reading_of(name)
    if reading.is_condition:
        return names_asked(AnyElement(Attribute(reading.attribute), stored_expression(reading.rest)), reading.kind)[:-1]
    if reading.is_of_place:
        return [one for one in attributes(stored_expression(reading.rest)) if one != PLACE]
    if reading.is_array:
        return attributes(stored_expression(f"A_EQUALS(a, {reading.rest})"))[1:]
    return []


def meant(node: Expression) -> Expression | None:
    """What a function that is short for others is compiled as; None of any other node."""
    if isinstance(node, Call) and node.name in TEMPORAL_FUNCTIONS:
        return expanded(node)
    if is_text(node):
        return text_meant(cast(Call, node))
    return place_meant(node)


def place_meant(node: Expression) -> Expression | None:
    """What a predicate about a place is short for: a circle, S_INTERSECTS, NOT or OR of these; None of any other."""
    if isinstance(node, Comparison) and asks_distance(node):
        return None if is_circle(node) else as_circle(node)
    if not isinstance(node, Call):
        return None
    return without_disjoint(node) if node.name == "S_DISJOINT" else parted_at_antimeridian(node)


def place_asked(node: Call | Comparison, kind: str) -> str | None:
    """The name of a spatial function of an attribute, or of a circle; None where it needs none."""
    if isinstance(node, Comparison):
        call = cast(Call, node.left)
        text = to_text(Comparison(node.op, Call(call.name, (Attribute(PLACE), call.arguments[1])), node.right))
        return as_condition(cast(Attribute, call.arguments[0]).name, text, kind)
    first, second = node.arguments
    name = node.name
    if isinstance(first, Constant):
        first, second, name = second, first, MIRRORED_SPATIAL.get(name, name)
    if not isinstance(first, Attribute) or not isinstance(second, Attribute | Constant):
        return None
    if name == "S_INTERSECTS" and isinstance(second, Constant) and is_plain_box(second.value):
        return None
    return as_condition(first.name, to_text(Call(name, (Attribute(PLACE), second))), kind)


def array_asked(node: Array) -> str:
    """The name of the list that an array is which has attributes."""
    first = next(item.name for item in node.items if isinstance(item, Attribute))
    return as_array(first, to_text(node))


def parted(node: Expression, *, negated: bool) -> Expression | None:
    """What is TRUE where A_CONTAINS or A_OVERLAPS of several elements is (`negated`: FALSE), by element.

    So an array is made of an event for each attribute, whatever the constants beside it. None of any other node.
    """
    if not isinstance(node, Call) or node.name not in ("A_CONTAINS", "A_CONTAINEDBY", "A_OVERLAPS"):
        return None
    (left, right), name = node.arguments, node.name
    if isinstance(left, Array):
        left, right, name = right, left, MIRRORED_FUNCTIONS.get(name, name)
    if not isinstance(left, Attribute) or not isinstance(right, Array) or name == "A_CONTAINEDBY":
        return None
    singles = [Array((item,)) for item in dict.fromkeys(right.items) if isinstance(item, Attribute)]
    if not singles or len(right.items) == 1:
        return None
    constants = tuple(item for item in right.items if isinstance(item, Constant))
    parts: list[Expression] = [Call("A_CONTAINS", (left, one)) for one in singles]
    parts += [Call(name, (left, Array(constants)))] if constants else []
    if (name == "A_CONTAINS") != negated:  # of all parts, so that an element without a value is in none
        return conjunction(Not(part) if negated else part for part in parts)
    are_there = [Call("A_EQUALS", (one, one)) for one in singles]
    return conjunction([*are_there, disjunction(Not(part) if negated else part for part in parts)])


def others_asked(node: Call | Comparison) -> list[str]:
    """The attributes that a predicate about a place is about beside the first, whose name it has."""
    arguments = cast(Call, node.left).arguments if isinstance(node, Comparison) else node.arguments
    return [one.name for one in arguments if isinstance(one, Attribute)][1:]


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
        elif is_text(node):
            stack.append((text_meant(cast(Call, node)), is_negated))
        elif (other := place_meant(node)) is not None:
            stack.append((other, is_negated))
        elif (other := parted(node, negated=is_negated)) is not None:
            stack.append((other, False))
        elif is_of_place(node) and not is_negated:
            yield from (part.name for part in walk(node) if isinstance(part, Attribute))
            yield from filter(None, [place_asked(cast(Call | Comparison, node), PLACED)])
        else:
            yield from _of_predicate(node)


def _of_predicate(predicate: Expression) -> Iterator[str]:
    for node in walk(predicate):
        if isinstance(node, Attribute):
            yield node.name
        elif has_attributes(node):
            yield array_asked(cast(Array, node))
        elif is_text(node):
            yield from attributes(text_meant(cast(Call, node)))
        elif isinstance(node, AnyElement):
            yield from names_asked(node, WHETHER)
        elif is_of_place(node) or place_meant(node) is not None:
            other = place_meant(node) or node
            asked = cast(Call | Comparison, other.operand if isinstance(other, Not) else other)
            yield from others_asked(asked)
            yield from filter(None, [place_asked(asked, PLACED_OR_NOT)])
        elif isinstance(node, Call) and node.name in TEMPORAL_FUNCTIONS:
            yield from (as_instant(part.name) for part in walk(node) if isinstance(part, Attribute))
        elif isinstance(node, Comparison | In | Between):
            parts = node.children()
            if any(isinstance(part, Constant) and isinstance(part.value, Instant) for part in parts):
                yield from (as_instant(part.name) for part in parts if isinstance(part, Attribute))
