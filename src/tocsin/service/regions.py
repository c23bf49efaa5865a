"""The regions that conditions name, as GeoJSON: what a map shows of subscriptions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from tocsin.language.dialects import is_tagged
from tocsin.language.distances import EARTH_M
from tocsin.language.operators.distance import DISTANCE
from tocsin.language.operators.spatial import SPATIAL_FUNCTIONS
from tocsin.model.expression import MIRRORED, Attribute, Call, Comparison, Constant, Expression, Not
from tocsin.model.shapes import geojson_of, geometry_of
from tocsin.model.values import Bounds, Box, Point, Shape, crosses, sides_of

_NAMES: Final = re.compile("|".join((DISTANCE, *SPATIAL_FUNCTIONS)), re.IGNORECASE)


class Region(NamedTuple):
    """A geometry of a condition. `bounds` is the box around it, which may cross the antimeridian."""

    attribute: str
    operator: str
    is_not: bool  # whether the condition is about places outside of it
    geometry: Mapping[str, Any]
    bounds: Bounds
    radius_m: float | None = None  # of a circle, whose geometry is its centre

    def document(self) -> dict[str, Any]:
        """The region as a document."""
        document = {
            "attribute": self.attribute,
            "operator": self.operator,
            "not": self.is_not,
            "geometry": self.geometry,
        }
        return document if self.radius_m is None else document | {"radius_m": self.radius_m}


def may_have_regions(where: str) -> bool:
    """Whether a stored condition can name a region. A quick test: most conditions name none."""
    return is_tagged(where) or _NAMES.search(where) is not None


def regions_of(tree: Expression) -> Iterator[Region]:
    """The regions of a condition, from left to right. Those of conditions on elements of lists are left out."""
    stack = [(tree, False)]
    while stack:
        node, is_not = stack.pop()
        if isinstance(node, Not):
            is_not = not is_not
        elif isinstance(node, Call) and node.name in SPATIAL_FUNCTIONS:
            yield from _of_function(node, is_not)
        elif isinstance(node, Comparison) and (found := _circle(node, is_not)) is not None:
            yield found
        stack.extend((child, is_not) for child in reversed(node.children()))


def _of_function(node: Call, is_not: bool) -> Iterator[Region]:
    names = [one.name for one in node.arguments if isinstance(one, Attribute)]
    places = [one.value for one in node.arguments if isinstance(one, Constant)]
    if len(names) != 1 or len(places) != 1 or not isinstance(places[0], Point | Box | Shape):
        return
    is_not ^= node.name == "S_DISJOINT"
    geometry, bounds = _drawn(places[0])
    yield Region(names[0], node.name, is_not, geometry, bounds)


def _circle(node: Comparison, is_not: bool) -> Region | None:
    """The circle of a comparison of a distance with a number of metres."""
    op, call, metres = node.op, node.left, node.right
    if isinstance(metres, Call):
        op, call, metres = MIRRORED[op], metres, call
    if not (isinstance(call, Call) and call.name == DISTANCE and isinstance(metres, Constant)):
        return None
    names = [one.name for one in call.arguments if isinstance(one, Attribute)]
    centres = [one.value for one in call.arguments if isinstance(one, Constant) and isinstance(one.value, Point)]
    if len(names) != 1 or len(centres) != 1 or op not in ("<", "<=", ">", ">="):
        return None
    centre, radius = centres[0], cast(float, metres.value)
    geometry = {"type": "Point", "coordinates": [centre.x, centre.y]}
    is_outside = is_not ^ (op in (">", ">="))
    return Region(names[0], DISTANCE, is_outside, geometry, _around(centre, radius), radius)


def _around(centre: Point, radius_m: float) -> Bounds:
    """A box around a circle on the sphere."""
    high = math.degrees(max(radius_m, 0.0) / EARTH_M)
    lower, upper = centre.y - high, centre.y + high
    if lower <= -90 or upper >= 90:
        return -180.0, max(lower, -90.0), 180.0, min(upper, 90.0)
    sine = math.sin(math.radians(high)) / math.cos(math.radians(centre.y))
    wide = math.degrees(math.asin(sine)) if sine < 1 else 180.0
    if wide >= 180:
        return -180.0, lower, 180.0, upper
    left, right = centre.x - wide, centre.x + wide
    return left + 360 * (left < -180), lower, right - 360 * (right > 180), upper


def _drawn(place: Point | Box | Shape) -> tuple[Mapping[str, Any], Bounds]:
    """A constant as GeoJSON, with the box around it."""
    if isinstance(place, Shape):
        geometry: Mapping[str, Any] = geojson_of(place)
        left, lower, right, upper = geometry_of(place).bounds
        return geometry, (left, lower, right, upper)
    bounds = place.bounds()
    if isinstance(place, Point):
        return {"type": "Point", "coordinates": [place.x, place.y]}, bounds
    rings = [[_ring(side)] for side in sides_of(bounds)]
    if len(rings) == 1:
        return {"type": "Polygon", "coordinates": rings[0]}, bounds
    return {"type": "MultiPolygon", "coordinates": rings}, bounds


def _ring(box: Bounds) -> list[list[float]]:
    left, lower, right, upper = box
    return [[left, lower], [right, lower], [right, upper], [left, upper], [left, lower]]


def meet(one: Bounds, other: Bounds) -> bool:
    """Whether two boxes have a point in common; each may cross the antimeridian."""
    return any(
        a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3] for a in _sides(one) for b in _sides(other)
    )


def _sides(box: Bounds) -> tuple[Bounds, ...]:
    return sides_of(box) if crosses(box) else (box,)
