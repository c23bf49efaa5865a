"""How far is a place from a point? In metres along the sphere, as the haversine formula says.

`DISTANCE_M(location, POINT(lon lat)) <= 500` asks of a point whether it lies in a circle on the sphere, right across
the antimeridian and at the poles. Source: R. W. Sinnott, Virtues of the Haversine, 1984; the radius is the mean of
WGS 84's (IUGG).
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from tocsin.model.expression import MIRRORED, Attribute, Call, Comparison, Constant, Expression, Not
from tocsin.model.values import Point, Value, box_of

EARTH_M: Final = 6_371_008.8
"""The mean radius."""

FARTHEST_M: Final = math.pi * EARTH_M

DISTANCE: Final = "DISTANCE_M"


def distance_m(one: Value | None, other: Value | None) -> float | None:
    """Metres between two points, None where one is no point of the globe: longitude +-180, latitude +-90."""
    first, second = _on_globe(one), _on_globe(other)
    if first is None or second is None:
        return None
    (lon, lat), (other_lon, other_lat) = first, second
    across = math.sin(math.radians(other_lon - lon) / 2) ** 2
    along = math.sin(math.radians(other_lat - lat) / 2) ** 2
    part = along + math.cos(math.radians(lat)) * math.cos(math.radians(other_lat)) * across
    return 2 * EARTH_M * math.asin(math.sqrt(min(part, 1.0)))


def _on_globe(value: Value | None) -> tuple[float, float] | None:
    bounds = None if value is None else box_of(value)
    if bounds is None or bounds[:2] != bounds[2:] or not is_on_globe(bounds[0], bounds[1]):
        return None
    return bounds[0], bounds[1]


def is_on_globe(lon: float, lat: float) -> bool:
    """Whether these are a longitude and a latitude."""
    return abs(lon) <= 180 and abs(lat) <= 90


def is_distance(node: Expression) -> bool:
    return isinstance(node, Call) and node.name == DISTANCE


def asks_distance(node: Expression) -> bool:
    """Whether a node compares a distance."""
    return isinstance(node, Comparison) and (is_distance(node.left) or is_distance(node.right))


def is_circle(node: Expression) -> bool:
    """Whether it does so as `DISTANCE_M(attribute, point) <= metres`, or `<`."""
    return (
        isinstance(node, Comparison)
        and isinstance(node.left, Call)
        and node.left.name == DISTANCE
        and isinstance(node.left.arguments[0], Attribute)
        and node.op in ("<", "<=")
    )


def as_circle(node: Comparison) -> Expression:
    """A comparison of a distance by circles: more than so many metres is NOT within as many."""
    op, call, metres = node.op, node.left, node.right
    if is_distance(metres):
        op, call, metres = MIRRORED[op], metres, call
    assert isinstance(call, Call)
    first, second = call.arguments
    if isinstance(first, Constant):
        call = Call(DISTANCE, (second, first))
    if op == ">":
        return Not(Comparison("<=", call, metres))
    return Not(Comparison("<", call, metres)) if op == ">=" else Comparison(op, call, metres)


class Circle(NamedTuple):
    """Where a distance is at most, or below, so many metres."""

    centre: Point
    metres: float
    has_edge: bool

    @classmethod
    def of_text(cls, text: str) -> Circle:
        """The one that a canonical text of `is_circle` says; raises `ValueError`."""
        found = _CIRCLE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r:.80} is no condition on a distance")
        x, y, op, metres = found.groups()
        circle = cls(Point(float(x), float(y)), float(metres), op == "<=")
        if not is_on_globe(circle.centre.x, circle.centre.y) or not 0 <= circle.metres < math.inf:
            raise ValueError(f"{text!r:.80} is no circle on the globe")
        return circle


_CIRCLE: Final = re.compile(r"DISTANCE_M\(\S+, POINT\((\S+) (\S+)\)\) (<=?) (\S+)")


def boxes_around(centre: Point, metres: float) -> list[tuple[float, float, float, float]]:
    """Boxes that a circle lies in: one, two across the antimeridian, a cap of all longitudes where it has a pole."""
    angle = math.degrees(min(metres, FARTHEST_M) / EARTH_M) + _SLACK
    lower, upper = centre.y - angle, centre.y + angle
    if lower <= -90 or upper >= 90:
        return [(-180.0, max(lower, -90.0), 180.0, min(upper, 90.0))]
    ratio = math.sin(math.radians(angle)) / math.cos(math.radians(centre.y))
    width = math.degrees(math.asin(min(ratio, 1.0))) + _SLACK
    left, right = centre.x - width, centre.x + width
    if left < -180:
        return [(-180.0, lower, right, upper), (left + 360 - _SLACK, lower, 180.0, upper)]
    if right > 180:
        return [(left, lower, 180.0, upper), (-180.0, lower, right - 360 + _SLACK, upper)]
    return [(left, lower, right, upper)]


_SLACK: Final = 1e-6
"""Degrees, some 10 cm: more than any rounding of what is computed here."""
