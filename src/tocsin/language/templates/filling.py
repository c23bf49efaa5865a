"""Templates, and the trees of their instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

from tocsin.language.templates.placeholders import MARK, Scalar, Values, slot_of, slots_of_name
from tocsin.model.expression import Attribute, Constant, Expression, SomeValue, fold
from tocsin.model.readings import PART, attribute_of
from tocsin.model.values import Box, Instant, Point, Shape


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """What all texts of one skeleton share; compared by identity."""

    tree: Expression
    """The tree of the skeleton, with the placeholder of slot i in slot i, or its negation after a sign."""
    kinds: str
    """The kind of each slot, in order of appearance: 'a' attribute name, 's' string, 'n' number, 'i' instant."""

    def fill(self, values: Values) -> Expression:
        """The tree with the values in the slots and without spans. Cost: linear in the size of the tree."""
        return fold(self.tree, lambda node, parts: filled(node, parts, values))


class Instance(NamedTuple):
    """A text as a template and the values in its slots: names, strings without quotes, floats, instants."""

    template: Template
    values: tuple[Scalar, ...]

    def tree(self) -> Expression:
        """The tree that `parse` makes from the text."""
        return self.template.fill(self.values)


def scalars_of(node: Expression) -> tuple[Scalar, ...]:
    """The names and constants in a node itself, without its children."""
    if isinstance(node, Attribute):
        return (node.name,)
    value = node.value if isinstance(node, Constant) else None
    if isinstance(value, Point):
        return value.x, value.y
    if isinstance(value, Box):
        return value.bounds()
    return (value,) if isinstance(value, str | Instant | Shape) or type(value) is float else ()


def filled(node: Expression, parts: Sequence[Expression], values: Values) -> Expression:
    """Rebuild a node of a template's tree, from its filled parts or with the values of its own slots."""
    if isinstance(node, SomeValue):
        items, condition = (fold(one, partial(filled, values=values)) for one in (node.items, node.condition))
        return SomeValue(cast(Attribute, items), condition, parts[0])
    if parts or node.inner():
        inner = [fold(one, lambda inside, of_it: filled(inside, of_it, values)) for one in node.inner()]
        return node.with_children(parts).with_inner(inner)
    if isinstance(node, Attribute):
        own = attribute_of(node.name) if PART in node.name[1:] else node.name
        return Attribute(cast(str, value_for(own, values)) + node.name[len(own) :])
    if not isinstance(node, Constant):
        return node.with_children(())  # an empty array, or a call without arguments
    if isinstance(node.value, str | float | Instant | Shape):
        return Constant(value_for(node.value, values))
    if isinstance(node.value, Point | Box):
        coordinates = [cast(float, value_for(scalar, values)) for scalar in scalars_of(node)]
        return Constant(type(node.value)(*coordinates))
    return Constant(node.value)


def value_for(scalar: Scalar, values: Values) -> Scalar:
    """The value for a placeholder; any other scalar is returned as it is."""
    slot = slot_of(scalar)
    if slot is None:
        joined = slots_of_name(scalar) if isinstance(scalar, str) and scalar.startswith(MARK) else ()
        return _joined([cast(str, values[one]) for one in joined]) if joined else scalar
    value = values[slot]
    return value if not isinstance(scalar, float) or scalar > 0 else 0.0 - cast(float, value)


def _joined(names: Sequence[str]) -> str:
    """The name of a field, as SOME joins it. Of placeholders only the first keeps its mark."""
    first, *others = names
    return ".".join([first, *(name.removeprefix(MARK) for name in others)])
