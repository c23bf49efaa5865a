"""DISTANCE_M: the distance of a place from a point, compared with a number of metres. Computed by `distances.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from tocsin.language.canonical import to_text
from tocsin.language.distances import distance_m, is_on_globe
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.comparison import Compared
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.operator import ByReading, Function, describe
from tocsin.language.operators.spatial import PLACE
from tocsin.model.elements import Values
from tocsin.model.expression import (
    MIRRORED,
    Attribute,
    Call,
    Comparison,
    ComparisonOperator,
    Constant,
    Expression,
    Not,
)
from tocsin.model.readings import PLACED, PLACED_OR_NOT, as_condition
from tocsin.model.values import Point

DISTANCE: Final = "DISTANCE_M"
_AS_IN: Final = "as in DISTANCE_M(location, POINT(13.4 52.5)) <= 500"


_HOW_FAR: Final[dict[ComparisonOperator, tuple[str, str]]] = {
    "<=": ("at most", "more than"),
    "<": ("less than", "at least"),
    ">": ("more than", "at most"),
    ">=": ("at least", "less than"),
}
"""What makes a comparison of a distance TRUE, and what makes it FALSE."""


def _is_distance(node: Expression) -> bool:
    return isinstance(node, Call) and node.name == DISTANCE


class Circle(ByReading, Compared):
    """A comparison of a distance: whether a place lies within a circle on the sphere."""

    nodes = None
    held, held_or_not = PLACED, PLACED_OR_NOT
    advised_by = ""

    def meant(self, node: Comparison) -> Expression | None:
        """More than a number of metres becomes NOT within that many."""
        op, call, metres = node.op, node.left, node.right
        if _is_distance(metres):
            op, call, metres = MIRRORED[op], metres, call
        first, second = cast(Call, call).arguments
        if isinstance(first, Constant):
            call = Call(DISTANCE, (second, first))
        circle = Comparison("<" if op in ("<", ">=") else "<=", call, metres)
        if op in (">", ">="):
            return Not(circle)
        return None if circle == node else circle

    def needed(self, node: Comparison, wanted: bool, values: Values) -> str:
        op, call, metres = node.op, node.left, node.right
        if _is_distance(metres):
            op, call, metres = MIRRORED[op], metres, call
        (centre,) = (one for one in cast(Call, call).arguments if isinstance(one, Constant))
        return f"a place {_HOW_FAR[op][not wanted]} {to_text(metres)} m from {to_text(centre)}"

    def rule_of_values(self, node: Comparison) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        return _metres_problem, [one for one in (node.left, node.right) if isinstance(one, Constant)]

    def reading(self, node: Comparison, leaves: Leaves, kind: str) -> int:
        """A reading of the event, named for the circle."""
        place, centre = cast(Call, node.left).arguments
        asked = Comparison(node.op, Call(DISTANCE, (Attribute(PLACE), centre)), node.right)
        return leaves.asked(as_condition(cast(Attribute, place).name, to_text(asked), kind))


class Distance(Function):
    names = (DISTANCE,)
    of_what = "an attribute and POINT(longitude latitude)"
    no_scalar = f"a distance is compared with a number of metres, {_AS_IN}"
    comparison = Circle()

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        """Require an attribute and a point on the globe, in either order."""
        points = [one for one in arguments if isinstance(one, Constant) and isinstance(one.value, Point)]
        if len(points) != 1 or not any(isinstance(one, Attribute) for one in arguments):
            raise Misplaced(f"{name} is between an attribute and a point, {_AS_IN}")
        if problem := _place_problem(cast(Point, points[0].value)):
            raise Misplaced(problem, points[0])

    def require_comparison(self, op: ComparisonOperator, left: Expression, right: Expression) -> None:
        """Require <, <=, > or >= and a constant that can be a distance."""
        call, metres = (left, right) if _is_distance(left) else (right, left)
        if op in ("=", "<>"):
            raise Misplaced(f"a distance is compared with <, <=, > or >=, not with = or <>, {_AS_IN}", call)
        if not isinstance(metres, Constant) or not isinstance(metres.value, float):
            reason = f"{self.no_scalar}, not with {describe(metres)}"
            raise Misplaced(reason, metres)
        if problem := _metres_problem(metres.value):
            raise Misplaced(problem, metres)

    def is_condition(self, node: Call) -> bool:
        return False

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> float | None:
        return distance_m(*parts)

    def rule_of_values(self, node: Call) -> tuple[Callable[..., str | None], Sequence[Expression]]:
        return _place_problem, [one for one in node.arguments if isinstance(one, Constant)]


def _place_problem(where: Point) -> str | None:
    if is_on_globe(where.x, where.y):
        return None
    return (
        f"{DISTANCE} needs a longitude from -180 to 180 and then a latitude from -90 to 90, not {where.x:g} and "
        f"{where.y:g}"
    )


def _metres_problem(metres: float) -> str | None:
    return f"a distance is a number of metres from 0 on, not {metres:g}" if metres < 0 else None
