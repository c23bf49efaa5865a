"""What do the spatial functions mean? What shapely says of two geometries of the plane.

Whether points and boxes intersect needs no shapely. A box is the polygon of its corners, or the line or point that it
has shrunk to. Source: OGC 21-065r2, the predicates of the simple features; shapely's GEOS decides them.
"""

from __future__ import annotations

from typing import Any, Final

from tocsin.model.expression import Call, Constant, Expression, Not, disjunction
from tocsin.model.shapes import geometry_of, shapely
from tocsin.model.values import Bounds, Box, Point, Shape, Value, box_of, crosses, sides_of

OF_SHAPES: Final = {
    "S_INTERSECTS": "intersects",
    "S_CONTAINS": "contains",
    "S_WITHIN": "within",
    "S_EQUALS": "equals",
    "S_TOUCHES": "touches",
    "S_OVERLAPS": "overlaps",
    "S_CROSSES": "crosses",
}
"""shapely's names; S_DISJOINT is NOT S_INTERSECTS."""
PLACE: Final = "place"
"""What stands for the attribute in the text of a predicate, which is the same whichever it is."""
MIRRORED_SPATIAL: Final = {"S_CONTAINS": "S_WITHIN", "S_WITHIN": "S_CONTAINS"}
"""The others mean the same with their arguments the other way round."""


def of_bounds(bounds: Bounds) -> Any:
    """shapely's geometry of a point or a box; of one across the antimeridian, that of both sides."""
    library = shapely()
    if len(sides := sides_of(bounds)) > 1:
        return library.union_all([of_bounds(side) for side in sides])
    xmin, ymin, xmax, ymax = bounds
    if (xmin, ymin) == (xmax, ymax):
        return library.Point(xmin, ymin)
    if xmin == xmax or ymin == ymax:
        return library.LineString([(xmin, ymin), (xmax, ymax)])
    return library.box(xmin, ymin, xmax, ymax)


def spatial_truth(name: str, left: Value | None, right: Value | None) -> bool | None:
    """The truth of a spatial function of two values; UNKNOWN where one is no geometry."""
    if name == "S_DISJOINT":
        truth = spatial_truth("S_INTERSECTS", left, right)
        return None if truth is None else not truth
    one, other = _bounds(left), _bounds(right)
    if name == "S_INTERSECTS" and one is not None and other is not None:
        return any(_meet(a, b) for a in sides_of(one) for b in sides_of(other))
    sides = [value if isinstance(value, Shape) else bounds for value, bounds in ((left, one), (right, other))]
    places = [side for side in sides if side is not None]
    if len(places) < len(sides):
        return None
    geometries = [geometry_of(place) if isinstance(place, Shape) else of_bounds(place) for place in places]
    return bool(getattr(shapely(), OF_SHAPES[name])(*geometries))


def _meet(one: Bounds, other: Bounds) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def _bounds(value: Value | None) -> Bounds | None:
    return None if value is None or isinstance(value, Shape) else box_of(value)


def without_disjoint(node: Call) -> Expression:
    """S_DISJOINT as what it is the NOT of."""
    return Not(Call("S_INTERSECTS", node.arguments))


def is_plain_box(value: object) -> bool:
    """Whether a constant is one box that needs no shapely to be intersected with."""
    return isinstance(value, Point | Box) and not crosses(value.bounds())


def parted_at_antimeridian(node: Call) -> Expression | None:
    """S_INTERSECTS with a box across the antimeridian as an OR of both sides; None of any other call."""
    boxes = [one for one in node.arguments if isinstance(one, Constant) and isinstance(one.value, Box)]
    if node.name != "S_INTERSECTS" or len(boxes) != 1 or not crosses(boxes[0].value.bounds()):  # type: ignore[union-attr]
        return None
    return disjunction(
        Call(node.name, tuple(Constant(Box(*side)) if one is boxes[0] else one for one in node.arguments))
        for side in sides_of(boxes[0].value.bounds())  # type: ignore[union-attr]
    )
