"""The spatial functions. shapely decides them for two geometries on the plane.

Whether points and boxes intersect needs no shapely. A box is the polygon of its corners, or a line or point if it has
no width or height. Source: OGC 21-065r2, the predicates of the simple features; shapely's GEOS decides them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tocsin.errors import UnsupportedError
from tocsin.language.canonical import constant_text, name_text, to_text
from tocsin.language.evaluate import evaluate
from tocsin.language.misplaced import Misplaced
from tocsin.language.operators.leaves import Leaves
from tocsin.language.operators.operator import ByReading, Function, describe
from tocsin.language.operators.scalars import is_place
from tocsin.language.stored import stored_expression
from tocsin.model.elements import Values
from tocsin.model.expression import Attribute, Call, Constant, Expression, Not, disjunction
from tocsin.model.readings import PLACED, PLACED_OR_NOT, Reading, as_condition
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
"""shapely's names for the functions. S_DISJOINT is NOT S_INTERSECTS."""
SPATIAL_FUNCTIONS: Final = ("S_INTERSECTS", "S_DISJOINT", *list(OF_SHAPES)[1:])
PLACE: Final = "place"
"""The name that replaces the attribute in a predicate's text, so that the text does not depend on the attribute."""
_MIRRORED: Final = {"S_CONTAINS": "S_WITHIN", "S_WITHIN": "S_CONTAINS"}
"""The function to use when the arguments are swapped; the other functions are symmetric."""


def of_bounds(bounds: Bounds) -> Any:
    """shapely's geometry of a point or a box; the union of both sides for a box across the antimeridian."""
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
    """The truth of a spatial function for two values; UNKNOWN if one is not a geometry."""
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
    """S_DISJOINT as NOT S_INTERSECTS."""
    return Not(Call("S_INTERSECTS", node.arguments))


def _is_plain_box(value: object) -> bool:
    """Whether a constant is a point or one box, which can be intersected without shapely."""
    return isinstance(value, Point | Box) and not crosses(value.bounds())


def _parted_at_antimeridian(node: Call) -> Expression | None:
    """S_INTERSECTS with a box across the antimeridian as an OR of both sides; None for any other call."""
    boxes = [one for one in node.arguments if isinstance(one, Constant) and isinstance(one.value, Box)]
    if node.name != "S_INTERSECTS" or len(boxes) != 1 or not crosses(boxes[0].value.bounds()):  # type: ignore[union-attr]
        return None
    return disjunction(
        Call(node.name, tuple(Constant(Box(*side)) if one is boxes[0] else one for one in node.arguments))
        for side in sides_of(boxes[0].value.bounds())  # type: ignore[union-attr]
    )


class Relation(ByReading, Function):
    held, held_or_not = PLACED, PLACED_OR_NOT
    names, of_what = SPATIAL_FUNCTIONS, "attributes, or geometries such as POINT(x y) and POLYGON((...))"

    def require(self, name: str, arguments: Sequence[Expression]) -> None:
        for node in arguments:
            if not isinstance(node, Attribute) and not is_place(node):
                reason = f"{name} needs an attribute, or a geometry such as POINT(x y), BBOX(...) or POLYGON((...))"
                raise Misplaced(f"{reason}, not {describe(node)}", node)
        if name not in ("S_INTERSECTS", "S_DISJOINT"):  # anything beyond the intersection of boxes needs a library
            try:
                shapely()
            except UnsupportedError as error:
                raise Misplaced(error.reason, unsupported=True) from None

    def value(self, node: Call, parts: Sequence[Any], values: Values) -> bool | None:
        return spatial_truth(node.name, *parts)

    def needed(self, node: Call, wanted: bool, values: Values) -> str:
        left, right = node.arguments
        if isinstance(left, Constant):
            left, right = right, left
        if node.name != "S_INTERSECTS" or not (isinstance(left, Attribute) and isinstance(right, Constant)):
            return ""
        value = values.get(left.name)
        fits = value is None or box_of(value) is not None  # type: ignore[arg-type]
        about = name_text(left.name) if fits else "a point or a box"
        relation = "at" if isinstance(right.value, Point) else "inside or touching"
        return f"{about} {relation if wanted else 'outside'} {constant_text(right.value)}"

    def meant(self, node: Call) -> Expression | None:
        return without_disjoint(node) if node.name == "S_DISJOINT" else _parted_at_antimeridian(node)

    def asked_by(self, reading: Reading) -> Expression | None:
        """This includes circles: the text holds everything that either reads besides the place."""
        return stored_expression(reading.rest) if reading.is_of_place else None

    def reading(self, node: Call, leaves: Leaves, kind: str) -> int:
        """A reading of the event, named for the predicate; a leaf if a point or a box suffices."""
        asked, names = _asked(node), [one.name for one in node.arguments if isinstance(one, Attribute)]
        if asked is not None:
            return leaves.asked(as_condition(names[0], to_text(asked), kind), names[1:])
        places = [one.value for one in node.arguments if isinstance(one, Constant)]
        if len(names) == 1 and len(places) == 1 and isinstance(places[0], Point | Box):
            return leaves.in_box(names[0], places[0].bounds())
        return leaves.known(evaluate(node, {}))


def _asked(node: Call) -> Call | None:
    """The function with a neutral name for the attribute; None if a box suffices, or there is no attribute."""
    first, second = node.arguments
    name = node.name
    if isinstance(first, Constant):
        first, second, name = second, first, _MIRRORED.get(name, name)
    if not isinstance(first, Attribute):
        return None
    if name == "S_INTERSECTS" and isinstance(second, Constant) and _is_plain_box(second.value):
        return None
    return Call(name, (Attribute(PLACE), second))
