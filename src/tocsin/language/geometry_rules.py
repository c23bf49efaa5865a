"""What may stand where a place is meant? Geometries, as they come out of text and of GeoJSON, and functions of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from tocsin.errors import InvalidInput, UnsupportedError
from tocsin.language.distances import is_on_globe
from tocsin.language.functions import not_supported
from tocsin.language.misplaced import Misplaced, describe
from tocsin.model.expression import Attribute, ComparisonOperator, Constant, Expression, Span
from tocsin.model.shapes import shape_of, shape_of_geojson, shapely
from tocsin.model.values import Box, Point, Shape

AS_IN: Final = "as in DISTANCE_M(location, POINT(13.4 52.5)) <= 500"


def point(coordinates: Sequence[float], *, span: Span | None = None) -> Constant:
    """Of two numbers; a third is ignored."""
    if len(coordinates) == 4:
        raise Misplaced(not_supported("POINT with four coordinates"), unsupported=True)
    if len(coordinates) not in (2, 3):
        raise Misplaced(f"POINT takes two numbers, POINT(x y), not {len(coordinates)}")
    return Constant(Point(*coordinates[:2]), span=span)


def box(coordinates: Sequence[float], *, span: Span | None = None) -> Constant:
    """Of four numbers; of six the third dimension is ignored."""
    if len(coordinates) == 6:
        if coordinates[2] > coordinates[5]:
            raise Misplaced(
                f"the box has a lowest z of {coordinates[2]:g} and a highest of {coordinates[5]:g}; write xmin, ymin, "
                "zmin, xmax, ymax, zmax"
            )
        coordinates = [*coordinates[:2], *coordinates[3:5]]
    if len(coordinates) != 4:
        raise Misplaced(f"BBOX takes four numbers (xmin, ymin, xmax, ymax) or six, not {len(coordinates)}")
    try:
        return Constant(Box(*coordinates), span=span)
    except InvalidInput as error:
        raise Misplaced(str(error)) from None


def shape(text: str, *, span: Span | None = None) -> Constant:
    """A line, polygon or collection in well-known text."""
    return _shape(lambda: shape_of(text), span)


def geojson_shape(document: Any, *, span: Span | None = None) -> Constant:
    """The same in GeoJSON."""
    return _shape(lambda: shape_of_geojson(document), span)


def _shape(read: Callable[[], Shape], span: Span | None) -> Constant:
    try:
        return Constant(read(), span=span)
    except UnsupportedError as error:
        raise Misplaced(error.reason, unsupported=True) from None
    except ValueError as error:
        raise Misplaced(f"this is no geometry: {error}") from None


def require_relation() -> None:
    """What is more than whether boxes meet takes a library."""
    try:
        shapely()
    except UnsupportedError as error:
        raise Misplaced(error.reason, unsupported=True) from None


def require_geometry(name: str, node: Expression) -> None:
    if isinstance(node, Constant) and isinstance(node.value, Point | Box | Shape):
        return
    if not isinstance(node, Attribute):
        reason = f"{name} needs an attribute, or a geometry such as POINT(x y), BBOX(...) or POLYGON((...))"
        raise Misplaced(f"{reason}, not {describe(node)}", node)


def require_metres(op: ComparisonOperator, metres: Expression, call: Expression) -> None:
    """A distance is compared by <, <=, > or >= with a constant that can be one."""
    if op in ("=", "<>"):
        raise Misplaced(f"a distance is hardly ever equal to anything; ask for a limit, {AS_IN}", call)
    if not isinstance(metres, Constant) or not isinstance(metres.value, float):
        raise Misplaced(f"a distance is compared with a number of metres, {AS_IN}, not with {describe(metres)}", metres)
    if metres.value < 0:
        raise Misplaced(f"a distance is no negative number of metres, and {metres.value:g} is one", metres)


def require_point(name: str, arguments: Sequence[Expression]) -> None:
    """An attribute and a point of the globe, in either order."""
    points = [one for one in arguments if isinstance(one, Constant) and isinstance(one.value, Point)]
    if len(points) != 1 or not any(isinstance(one, Attribute) for one in arguments):
        raise Misplaced(f"{name} is between an attribute and a point, {AS_IN}")
    where = cast(Point, points[0].value)
    if not is_on_globe(where.x, where.y):
        raise Misplaced(
            f"{name} needs a longitude from -180 to 180 and then a latitude from -90 to 90, not {where.x:g} and "
            f"{where.y:g}",
            points[0],
        )
