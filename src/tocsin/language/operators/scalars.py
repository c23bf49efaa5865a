"""Constants and attributes, the operands of other operators. As a condition, an attribute is TRUE when its value is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tocsin.language.canonical import constant_json, constant_text, name_text, to_text
from tocsin.language.misplaced import Misplaced
from tocsin.language.needs import subject
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.operands import Path
from tocsin.language.operators.operator import ATOM, Json, Operator, Piece, describe, operator_of
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Constant, Expression, Not
from tocsin.model.instants import read_instant
from tocsin.model.readings import attribute_of, is_reading, reading_of
from tocsin.model.shapes import longest_step
from tocsin.model.values import Box, Point, Shape, Value, a, crosses, type_name


def is_place(node: Expression) -> bool:
    """Whether a node is a geometry constant."""
    return isinstance(node, Constant) and isinstance(node.value, Point | Box | Shape)


def require_scalar(node: Expression) -> None:
    """Raise `Misplaced` for a node that cannot be compared or computed with."""
    if is_place(node):
        raise Misplaced(
            "a geometry is not allowed here; it is an argument of spatial functions such as S_INTERSECTS", node
        )
    if reason := operator_of(node).no_scalar:
        raise Misplaced(reason, node)


def require_plain(node: Expression) -> None:
    """Raise `Misplaced` for a node whose value cannot be computed with, or is not a text like others."""
    require_scalar(node)
    if reason := operator_of(node).only_compared:
        raise Misplaced(f"{describe(node)} is not allowed here: {reason}", node)


class Constants(Operator):
    nodes = Constant
    advised_by = "BBOX|LINESTRING|POLYGON|GEOMETRYCOLLECTION"

    def is_condition(self, node: Constant) -> bool:
        return isinstance(node.value, bool)

    def describe(self, node: Constant) -> str:
        value = node.value
        if isinstance(value, str):
            return f"the string '{value[:40]}'"
        if isinstance(value, bool):
            return f"the boolean {str(value).upper()}"
        return f"the number {value:g}" if isinstance(value, float) else a(type_name(value))

    def text(self, node: Constant, parts: Sequence[Piece]) -> Piece:
        return Piece(constant_text(node.value), ATOM)

    def json(self, node: Constant, parts: Sequence[Json]) -> Json:
        return constant_json(node.value)

    def value(self, node: Constant, parts: Sequence[Any], values: Values) -> Value:
        return node.value

    def needed(self, node: Constant, wanted: bool, values: Values) -> str:
        return f"another expression: {to_text(node if wanted else Not(node))} never holds"

    def advice(self, node: Constant, text: str) -> str:
        """A box across the antimeridian wider than half the globe, or edges that go the long way round."""
        value = node.value
        if isinstance(value, Box) and crosses(value.bounds()):
            width = 360 - (value.xmin - value.xmax)
            return f"the box is {width:g} degrees wide; are its left and right edges exchanged?" if width > 180 else ""
        if isinstance(value, Shape) and longest_step(value) > 180:
            return (
                "an edge is longer than 180 degrees, and takes the long way around the globe; cut the shape at "
                "the antimeridian, "
                "as RFC 7946 says: MULTIPOLYGON(((170 ..., 180 ...)), ((-180 ..., -170 ...)))"
            )
        return ""

    def literal(self, node: Constant, leaves: Leaves) -> int:
        return leaves.known(node.value is True)


class Attributes(Operator):
    nodes = Attribute

    def describe(self, node: Attribute) -> str:
        return f"the attribute {node.name[:60]}"

    def text(self, node: Attribute, parts: Sequence[Piece]) -> Piece:
        return Piece(name_text(node.name), ATOM)

    def json(self, node: Attribute, parts: Sequence[Json]) -> Json:
        return {"property": node.name}

    def value(self, node: Attribute, parts: Sequence[Any], values: Values) -> Value | None:
        if is_reading(node.name) and not reading_of(node.name).is_instant:
            return cast(Value | None, values.get(node.name))
        value = cast(Value | None, values.get(attribute_of(node.name)))
        if not is_reading(node.name):
            return value
        if isinstance(value, str):  # this name is the attribute's reading as an instant
            return read_instant(value)
        return value if type_name(value) == "instant" else None

    def needed(self, node: Attribute, wanted: bool, values: Values) -> str:
        return f"{subject(node, 'boolean', values)} = {constant_text(wanted)}"

    def literal(self, node: Attribute, leaves: Leaves) -> int:
        return leaves.compared("=", Path(node.name), True)
