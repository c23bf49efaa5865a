"""LENGTH: the number of a list's elements, or of a text's code points. AT: an element of a list by its position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from tocsin.kernels import codes
from tocsin.language.canonical import to_text
from tocsin.language.evaluate import value_of
from tocsin.language.json_form import to_json
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.any_element import MAX_LISTS
from tocsin.language.operators.function_value import FunctionValue, needs_of
from tocsin.language.operators.operands import Path, classify
from tocsin.language.operators.operator import ATOM, Json, Piece, describe, listed_text, operator_of
from tocsin.model.elements import ELEMENT, LENGTH, Elements, Values
from tocsin.model.expression import Attribute, Call, Constant, ElementAt, Expression, Span
from tocsin.model.readings import as_elements, of_elements, reading_of
from tocsin.model.values import SCALARS, UNTYPED, Scalar, Untyped


class Length(FunctionValue):
    names, takes, of_what = (LENGTH,), 1, "an attribute"
    reads = (codes.STRING, codes.LIST, codes.UNTYPED)

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        if not isinstance(arguments[0], Attribute):
            raise Misplaced(f"{name} needs an attribute, not {describe(arguments[0])}", arguments[0])

    def needs(self, node: Call) -> list[str]:
        name = cast(Attribute, node.arguments[0]).name
        return [name, of_elements(name, ELEMENT)]

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> float | None:
        elements = elements_of(node.arguments[0], values)
        counted = elements if elements is not None else parts[0]
        return float(len(counted)) if isinstance(counted, Elements | str) else None


AT: Final = "AT"
_AS_IN: Final = "as in AT(items, 0) or AT(items, -1, price)"


class Element(FunctionValue):
    nodes, names, takes = ElementAt, (AT,), None
    reads = (codes.LIST, codes.UNTYPED)

    def call(self, name: str, arguments: Sequence[Expression], *, span: Span | None = None) -> Expression:
        if len(arguments) not in (2, 3):
            what = f"the attribute of a list, a position and perhaps a field, {_AS_IN}"
            raise Misplaced(f"{name} takes two or three arguments ({what}), not {len(arguments)}")
        items, position, *of = arguments
        if not isinstance(items, Attribute):
            raise Misplaced(f"{name} needs the attribute of a list, not {describe(items)}", items)
        if not (isinstance(position, Constant) and isinstance(position.value, float) and position.value.is_integer()):
            raise Misplaced(f"{name} needs a position, a whole number, {_AS_IN}, not {describe(position)}", position)
        value = of[0] if of else Attribute(ELEMENT)
        operator = operator_of(value)
        if not isinstance(value, Attribute) and (not isinstance(operator, FunctionValue) or operator.only_compared):
            raise Misplaced(f"{name} takes a field of the element, {_AS_IN}, not {describe(value)}", value)
        if not isinstance(classify(value), Path):
            raise Misplaced(f"{name} takes a field of the element, {_AS_IN}", value)
        if _levels(value) == MAX_LISTS:
            raise Misplaced(f"{name} nests more than {MAX_LISTS} deep; at most {MAX_LISTS} is allowed", value)
        return ElementAt(items, position, value, span=span)

    def describe(self, node: Any) -> str:
        return f"the result of {AT}"

    def text(self, node: Any, parts: Sequence[Piece]) -> Piece:
        of = [] if node.of == Attribute(ELEMENT) else [to_text(node.of)]
        return Piece(AT + listed_text([*(part.text for part in parts), *of]), ATOM)

    def json(self, node: Any, parts: Sequence[Json]) -> Json:
        of = [] if node.of == Attribute(ELEMENT) else [to_json(node.of)]
        return {"op": AT.lower(), "args": [*parts, *of]}

    def needs(self, node: ElementAt) -> list[str]:
        name, value = node.items.name, cast(Path, classify(node.of)).attribute
        inner = [value, *(needs_of(reading_of(value)) if reading_of(value).is_value else ())]
        return [name, *(of_elements(name, one) for one in inner)]

    def value(self, node: ElementAt, parts: Sequence[Any], values: Values) -> Scalar | Untyped | None:
        elements, position = elements_of(node.items, values), int(parts[1])
        if elements is None or not -len(elements) <= position < len(elements):
            return None
        element = elements[position]
        found = None if element is None else value_of(node.of, element)
        return found if found is None or isinstance(found, SCALARS) else UNTYPED


def elements_of(items: Expression, values: Values) -> Elements | None:
    """The elements of an attribute's list; None if it is not a list."""
    return cast(Elements | None, values.get(as_elements(cast(Attribute, items).name)))


def _levels(value: Expression) -> int:
    return 1 + _levels(value.of) if isinstance(value, ElementAt) else 0
