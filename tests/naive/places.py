"""How do two places lie to each other? By their DE-9IM matrices; two boxes by their edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

import shapely

from tests.naive.ranges import Either, Truth
from tocsin.model.values import Box, Point, Shape, Value

Result: TypeAlias = Value | Either | None


def _related(patterns: Callable[[int, int], tuple[str, ...]]) -> Callable[[Result, Result], Truth]:
    """A spatial predicate by the patterns of its DE-9IM matrix, as the simple features define them."""

    def function(left: Result, right: Result) -> Truth:
        one, other = _geometry(left), _geometry(right)
        if one is None or other is None:
            return None
        dimensions = shapely.get_dimensions(one), shapely.get_dimensions(other)
        return any(shapely.relate_pattern(one, other, pattern) for pattern in patterns(*dimensions))

    return function


def _geometry(value: Result) -> shapely.Geometry | None:
    if isinstance(value, Shape):
        return shapely.from_wkt(value.wkt)
    box = _box(value)
    if box is None:
        return None
    hulls = [
        shapely.convex_hull(shapely.multipoints([(x, y) for x in side[::2] for y in side[1::2]]))
        for side in _sides(box)
    ]
    return hulls[0] if len(hulls) == 1 else shapely.union_all(hulls)


def _crossing(one: int, other: int) -> tuple[str, ...]:
    if one == other:
        return ("0********",) if one == 1 else ()
    return ("T*T******",) if one < other else ("T*****T**",)


def _overlapping(one: int, other: int) -> tuple[str, ...]:
    return () if one != other else ("1*T***T**",) if one == 1 else ("T*T***T**",)


SPATIAL: Final = {
    "S_INTERSECTS": _related(lambda *_: ("T********", "*T*******", "***T*****", "****T****")),
    "S_DISJOINT": _related(lambda *_: ("FF*FF****",)),
    "S_WITHIN": _related(lambda *_: ("T*F**F***",)),
    "S_CONTAINS": _related(lambda *_: ("T*****FF*",)),
    "S_EQUALS": _related(lambda *_: ("T*F**FFF*",)),
    "S_TOUCHES": _related(lambda *_: ("FT*******", "F**T*****", "F***T****")),
    "S_CROSSES": _related(_crossing),
    "S_OVERLAPS": _related(_overlapping),
}


def intersects(left: Result, right: Result) -> Truth:
    """Whether two boxes share a point, edges included."""
    one, other = _box(left), _box(right)
    if one is None or other is None:
        return None
    return any(not _apart(a, b) for a in _sides(one) for b in _sides(other))


def _apart(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]


def _sides(box: tuple[float, float, float, float]) -> list[tuple[float, float, float, float]]:
    """The box itself; of one across the antimeridian, what lies on each side of it."""
    west, south, east, north = box
    return [box] if west <= east else [(west, south, 180.0, north), (-180.0, south, east, north)]


def _box(value: Result) -> tuple[float, float, float, float] | None:
    """The box of a geometry, or of a list of two or four numbers, or of three or six with altitudes; else None."""
    if isinstance(value, Point):
        return value.x, value.y, value.x, value.y
    if isinstance(value, Box):
        return value.xmin, value.ymin, value.xmax, value.ymax
    if not isinstance(value, tuple):
        return None
    numbers = [item for item in value if isinstance(item, float)]
    if len(numbers) in (3, 6):  # the last of each corner is an altitude
        half = len(numbers) // 3
        numbers = [number for place, number in enumerate(numbers) if place % 3 < 2]
        value = value[: 2 * half]
    if len(numbers) != len(value) or len(numbers) not in (2, 4):
        return None
    x, y, upper_x, upper_y = numbers if len(numbers) == 4 else numbers + numbers
    if x > upper_x and upper_x >= -180 and x <= 180:  # across the antimeridian
        return (x, y, upper_x, upper_y) if y <= upper_y else None
    return (x, y, upper_x, upper_y) if x <= upper_x and y <= upper_y else None


def metres_between(one: Result, other: Result) -> float | None:
    """Along the sphere, by the angle between two directions; None of what is no point of the globe."""
    directions = [_direction(_box(value)) for value in (one, other)]
    a, b = directions
    if a is None or b is None:
        return None
    cross = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return 6_371_008.8 * math.atan2(math.hypot(*cross), sum(x * y for x, y in zip(a, b, strict=True)))


def _direction(box: tuple[float, float, float, float] | None) -> tuple[float, float, float] | None:
    if box is None or box[:2] != box[2:] or abs(box[0]) > 180 or abs(box[1]) > 90:
        return None
    lon, lat = map(math.radians, box[:2])
    return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)
