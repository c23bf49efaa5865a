"""The truth of a condition for a place that is only known to lie within a circle, such as a GPS fix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tocsin.language.operators.distance import DISTANCE
from tocsin.language.operators.operator import operator_of
from tocsin.language.operators.spatial import SPATIAL_FUNCTIONS, spatial_truth
from tocsin.language.truths import EITHER, Truth, truth_of
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Comparison, Expression, fold
from tocsin.model.shapes import shapely
from tocsin.model.values import Point, Shape, Value, box_of

_CORNERS: Final = 64
_METRES_A_DEGREE: Final = 111_194.93
"""On the sphere of DISTANCE_M, along a meridian."""
_HIGHEST: Final = 89.9
"""Circles at higher latitudes are as wide as those here."""


def radius_of(value: Any) -> float | None:
    """The metres in a value of the attribute with the accuracy; None if it has none that says something."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < math.inf else None


def truth_within(tree: Expression, values: Values, metres: float) -> bool | None:
    """TRUE or FALSE if a condition is so for all places in circles around the event's points, otherwise None."""
    circles: dict[Point, Shape] = {}

    def around(node: Expression, value: Any) -> Any:
        place = _point_of(value) if isinstance(node, Attribute) else None
        if place is None:
            return value
        if place not in circles:
            circles[place] = _circle(place, metres)
        return circles[place]

    def combine(node: Expression, parts: Sequence[Any]) -> Value | Truth:
        if isinstance(node, Call) and node.name in SPATIAL_FUNCTIONS:
            sides = list(map(around, node.arguments, parts))
            if any(new is not old for new, old in zip(sides, parts, strict=True)):
                return _spatial(node.name, parts, sides)
        if isinstance(node, Comparison) and any(map(_is_distance, (node.left, node.right))):
            return _distance(node, parts, values, metres)
        return operator_of(node).value(node, parts, values)

    truth = truth_of(fold(tree, combine))
    return None if truth is EITHER else truth


def _point_of(value: Any) -> Point | None:
    """A value as a point, also if it is a list of two numbers; None for anything else."""
    bounds = None if value is None or isinstance(value, Shape) else box_of(value)
    is_point = bounds is not None and bounds[:2] == bounds[2:]
    return Point(*bounds[:2]) if bounds is not None and is_point else None


def _spatial(name: str, at_point: Sequence[Any], around: Sequence[Any]) -> Truth:
    """A spatial function of a circle: certain if it lies wholly inside of the other geometry, or wholly outside."""
    meets = spatial_truth("S_INTERSECTS", *around)
    inside = spatial_truth("S_WITHIN", *around) or spatial_truth("S_CONTAINS", *around)
    if meets and not inside:
        return EITHER
    return spatial_truth(name, *at_point)


def _is_distance(node: Expression) -> bool:
    return isinstance(node, Call) and node.name == DISTANCE


def _distance(node: Comparison, parts: Sequence[Any], values: Values, metres: float) -> Truth:
    """A comparison of a distance, which may be shorter or longer by the radius."""
    left, right = parts
    bounds = [
        (max(left - metres, 0.0), right) if _is_distance(node.left) and left is not None else (left, right),
        (left + metres, right) if _is_distance(node.left) and left is not None else (left, right),
    ]
    if _is_distance(node.right) and right is not None:
        bounds = [(left, max(right - metres, 0.0)), (left, right + metres)]
    nearest, farthest = (truth_of(operator_of(node).value(node, bound, values)) for bound in bounds)
    return nearest if nearest is farthest else EITHER


def _circle(place: Point, metres: float) -> Shape:
    """A polygon around a circle on the sphere. It is as wide as a circle at the highest latitude that it reaches."""
    height = metres / _METRES_A_DEGREE / math.cos(math.pi / _CORNERS)
    width = height / math.cos(math.radians(min(abs(place.y) + height, _HIGHEST)))
    angles = [2 * math.pi * corner / _CORNERS for corner in range(_CORNERS)]
    ring = [(place.x + width * math.cos(angle), place.y + height * math.sin(angle)) for angle in angles]
    library = shapely()
    return Shape(library.to_wkt(library.Polygon(ring), rounding_precision=-1))
