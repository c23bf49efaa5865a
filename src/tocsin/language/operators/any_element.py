"""ANY, EACH and ANY_ATTRIBUTE: whether some element, every one, or some value of an event satisfies a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, cast

from tocsin.language.canonical import name_text, to_text
from tocsin.language.evaluate import value_of
from tocsin.language.explain import explain, failures
from tocsin.language.json_form import to_json
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.named import refuse_named
from tocsin.language.operators.operator import (
    ATOM,
    ByReading,
    Function,
    Json,
    Piece,
    describe,
    listed_text,
    require_condition,
    require_count,
)
from tocsin.language.operators.outer import inside
from tocsin.language.operators.over_time import refuse_over_time
from tocsin.language.stored import stored_expression
from tocsin.language.truths import Truth, conjunction_of, disjunction_of, truth_of
from tocsin.model.elements import Elements, Values
from tocsin.model.expression import (
    EVERYTHING,
    AnyAttribute,
    AnyElement,
    Attribute,
    EachElement,
    Expression,
    Not,
    Span,
    walk,
)
from tocsin.model.readings import SOME, WHETHER, Reading, as_condition, as_elements, of_elements

MAX_LISTS: Final = 8
"""The most levels of lists within lists."""


class _OfElements(Function):
    """The common part of ANY and EACH."""

    nodes: ClassVar[type[AnyElement]]

    def call(self, name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
        require_count(name, arguments, 2, "the attribute of a list and a condition on its elements, as in price > 3")
        items, condition = arguments
        if not isinstance(items, Attribute):
            raise Misplaced(f"{name} needs the attribute of a list, not {describe(items)}", items)
        require_condition(condition, f"{name} takes a condition for elements")
        refuse_named(condition, name)
        refuse_over_time(condition, name)
        if _lists_in(condition) == MAX_LISTS:
            raise Misplaced(f"{name} nests more than {MAX_LISTS} deep; at most {MAX_LISTS} is allowed", condition)
        return self.nodes(items, condition, span=span)

    def describe(self, node: Any) -> str:
        return f"a condition with {self.names[0]}"

    def text(self, node: Any, parts: Sequence[Piece]) -> Piece:
        return Piece(self.names[0] + listed_text([parts[0].text, to_text(node.condition)]), ATOM)

    def json(self, node: Any, parts: Sequence[Json]) -> Json:
        return {"op": self.names[0].lower(), "args": [parts[0], to_json(node.condition)]}

    def came(self, node: Any, values: Values) -> str | None:
        elements = _elements(node, values)
        if elements is None:
            return None
        return (
            f"{name_text(node.items.name)} has {'one element' if len(elements) == 1 else f'{len(elements)} elements'}"
        )


class SomeElement(ByReading, _OfElements):
    held, held_or_not = SOME, WHETHER
    nodes, names = AnyElement, ("ANY",)

    def value(self, node: Any, parts: Sequence[Any], values: Values) -> Truth:
        """An OR over the elements; FALSE for an empty list."""
        elements = _elements(node, values)
        if elements is None:
            return None
        return disjunction_of(_truth(node, values, one) for one in elements)

    def needed(self, node: Any, wanted: bool, values: Values) -> str:
        items, condition = name_text(node.items.name), to_text(node.condition)
        return (
            f"an element of {items} with {condition}"
            if wanted
            else f"a list {items} where {condition} fails for every element"
        )

    def details(self, node: Any, values: Values) -> list[str]:
        """The first element that satisfies the condition or, if none does, the closest one."""
        elements = _elements(node, values) or ()
        known = [
            (number, inside(node.condition, values, one)) for number, one in enumerate(elements) if one is not None
        ]
        if not known:
            return []
        number, element = min(known, key=lambda one: failures(node.condition, one[1])) if len(known) > 1 else known[0]
        found = explain(node.condition, element, tells_all=False)
        relation = "fulfils it" if found.matched else "is nearest to it"
        which = "a value" if node.items.name == EVERYTHING else f"{name_text(node.items.name)}[{number}]"
        return [f"{which} {relation}:", *found.lines[1:]]

    def asked_by(self, reading: Reading) -> Expression | None:
        if not reading.is_condition:
            return None
        kind = AnyAttribute if reading.attribute == EVERYTHING else AnyElement
        node = kind(Attribute(reading.attribute), stored_expression(reading.rest))
        return Not(node) if reading.kind == WHETHER else node

    def reading(self, node: AnyElement, leaves: Leaves, kind: str) -> int:
        """A reading of the event, named for the condition on elements. Its names are read from the elements."""
        name = node.items.name
        inner = leaves.names_of(node.condition)
        if kind == WHETHER:
            inner |= leaves.names_of(Not(node.condition))
        asked = as_condition(name, to_text(node.condition), kind)
        return leaves.asked(asked, [of_elements(name, one) for one in sorted(inner)])


class EveryElement(_OfElements):
    nodes, names = EachElement, ("EACH",)

    def value(self, node: Any, parts: Sequence[Any], values: Values) -> Truth:
        """An AND over the elements; TRUE for an empty list."""
        elements = _elements(node, values)
        if elements is None:
            return None
        return conjunction_of(_truth(node, values, one) for one in elements)

    def needed(self, node: Any, wanted: bool, values: Values) -> str:
        items, condition = name_text(node.items.name), to_text(node.condition)
        if wanted:
            return f"a list {items} with {condition} for every element"
        return f"an element of {items} for which {condition} fails"

    def details(self, node: Any, values: Values) -> list[str]:
        """The first element that does not satisfy the condition."""
        elements = _elements(node, values) or ()
        for number, one in enumerate(elements):
            found = None if one is None else explain(node.condition, inside(node.condition, values, one))
            if found is not None and not found.matched:
                return [f"{name_text(node.items.name)}[{number}] does not fulfil it:", *found.lines[1:]]
        return []

    def meant(self, node: EachElement) -> Expression:
        return Not(AnyElement(node.items, Not(node.condition)))


class SomeAttribute(SomeElement):
    nodes, names, takes = AnyAttribute, ("ANY_ATTRIBUTE",), 1

    def call(self, name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
        require_count(name, arguments, 1, "a condition on a value, as in element LIKE '%error%'")
        refuse_named(arguments[0], name)
        refuse_over_time(arguments[0], name)
        require_condition(arguments[0], f"{name} takes a condition for values")
        if _lists_in(arguments[0]) == MAX_LISTS:
            raise Misplaced(f"{name} nests more than {MAX_LISTS} deep; at most {MAX_LISTS} is allowed", arguments[0])
        return AnyAttribute(Attribute(EVERYTHING), arguments[0], span=span)

    def text(self, node: Any, parts: Sequence[Piece]) -> Piece:
        return Piece(self.names[0] + listed_text([to_text(node.condition)]), ATOM)

    def json(self, node: Any, parts: Sequence[Json]) -> Json:
        return {"op": self.names[0].lower(), "args": [to_json(node.condition)]}

    def came(self, node: Any, values: Values) -> str | None:
        elements = _elements(node, values) or ()
        return "the event has one value" if len(elements) == 1 else f"the event has {len(elements)} values"

    def needed(self, node: Any, wanted: bool, values: Values) -> str:
        return f"{'a value' if wanted else 'no value'} with {to_text(node.condition)}"

    def meant(self, node: Any) -> Expression:
        return AnyElement(node.items, node.condition)


def _truth(node: AnyElement, values: Values, element: Values | None) -> Truth:
    """The truth of a condition for an element of an event; UNKNOWN for one that cannot be read."""
    if element is None:
        return None
    return truth_of(value_of(node.condition, inside(node.condition, values, element)))


def _elements(node: AnyElement, values: Values) -> Elements | None:
    return cast(Elements | None, values.get(as_elements(node.items.name)))


def _lists_in(condition: Expression) -> int:
    """How many levels of lists within lists a condition looks into."""
    inner = [_lists_in(node.condition) for node in walk(condition) if isinstance(node, AnyElement)]
    return 1 + max(inner) if inner else 0
