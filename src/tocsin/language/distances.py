"""Distances in metres on the sphere, by the haversine formula.

`DISTANCE_M(location, POINT(lon lat)) <= 500` is TRUE for a point inside a circle on the sphere, and for a line that
reaches into the circle. It is correct across the antimeridian and at the poles. Source: R. W. Sinnott, Virtues of the
Haversine, 1984; the radius is the mean radius of WGS 84 (IUGG).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from tocsin.model.shapes import geometry_of
from tocsin.model.values import Point, Shape, Value, box_of

EARTH_M: Final = 6_371_008.8
"""The mean radius of the earth."""

FARTHEST_M: Final = math.pi * EARTH_M

Line: TypeAlias = Sequence[tuple[float, float]]
"""Vertices, longitude first. They are joined by great circles, along the shorter way."""
Direction: TypeAlias = tuple[float, float, float]

SHORTEST: Final = 1e-12
"""The sine of an angle. No great circle is drawn between vertices that are this close, or this close to opposite."""


def distance_m(one: Value | None, other: Value | None) -> float | None:
    """Metres between two points, or from a line to a point. None if one is neither, or is off the globe.

    Longitudes reach +-180, latitudes +-90. Any geometry without an area counts as a line, including several lines and
    points.
    """
    if isinstance(one, Shape):
        lines, centre = lines_on_globe(geometry_of(one)), _on_globe(other)
        return None if lines is None or centre is None else min(_line_m(line, centre) for line in lines)
    first, second = _on_globe(one), _on_globe(other)
    return None if first is None or second is None else _haversine_m(first, second)


def lines_on_globe(geometry: Any) -> list[Line] | None:
    """The lines and points that make up a shapely geometry; None for an area, or for a geometry off the globe."""
    if hasattr(geometry, "geoms"):
        parts = [lines_on_globe(part) for part in geometry.geoms]
        return None if None in parts else _rejoined([line for part in parts if part is not None for line in part])
    if geometry.geom_type == "Polygon":
        return None
    line = [(x, y) for x, y, *_ in geometry.coords]
    return [line] if all(is_on_globe(*vertex) for vertex in line) else None


def _rejoined(lines: list[Line]) -> list[Line]:
    """Rejoin lines that were cut at the antimeridian as RFC 7946 asks. The cut is not a vertex of the line."""
    whole: list[Line] = []
    for line in lines:
        before = whole[-1] if whole else ()
        if len(before) > 1 and len(line) > 1 and _is_seam(before[-1], line[0]):
            whole[-1] = [*before[:-1], *line[1:]]
        else:
            whole.append(line)
    return whole


def _is_seam(end: tuple[float, float], start: tuple[float, float]) -> bool:
    return abs(end[0]) == 180 and start == (-end[0], end[1])


def _line_m(line: Line, centre: tuple[float, float]) -> float:
    """Metres from a point to the nearest point of a line."""
    nearest = min(_haversine_m(vertex, centre) for vertex in line)
    vertices, middle = [_direction(vertex) for vertex in line], _direction(centre)
    sines = [_passing(*ends, middle) for ends in pairwise(vertices)]
    return min([nearest, *(EARTH_M * math.asin(min(sine, 1.0)) for sine in sines if sine is not None)])


def _passing(one: Direction, other: Direction, middle: Direction) -> float | None:
    """The sine of the distance from a point to a great-circle arc; None if an end of the arc is nearer."""
    pole = _cross(one, other)
    size = math.sqrt(_dot(pole, pole))
    if size <= SHORTEST or _dot(_cross(pole, one), middle) <= 0 or _dot(_cross(other, pole), middle) <= 0:
        return None
    return abs(_dot(pole, middle)) / size


def _direction(point: tuple[float, float]) -> Direction:
    lon, lat = math.radians(point[0]), math.radians(point[1])
    return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)


def _cross(one: Direction, other: Direction) -> Direction:
    (a, b, c), (x, y, z) = one, other
    return b * z - c * y, c * x - a * z, a * y - b * x


def _dot(one: Direction, other: Direction) -> float:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def _haversine_m(one: tuple[float, float], other: tuple[float, float]) -> float:
    (lon, lat), (other_lon, other_lat) = one, other
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
    """Whether the numbers are a longitude and a latitude."""
    return abs(lon) <= 180 and abs(lat) <= 90


class Circle(NamedTuple):
    """The condition that a distance is at most, or below, a number of metres."""

    centre: Point
    metres: float
    has_edge: bool

    @classmethod
    def of_text(cls, text: str) -> Circle:
        """Parse the canonical text of an `is_circle` condition; raises `ValueError`."""
        found = _CIRCLE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r:.80} is not a condition on a distance")
        x, y, op, metres = found.groups()
        circle = cls(Point(float(x), float(y)), float(metres), op == "<=")
        if not is_on_globe(circle.centre.x, circle.centre.y) or not 0 <= circle.metres < math.inf:
            raise ValueError(f"{text!r:.80} is not a circle on the globe")
        return circle


_CIRCLE: Final = re.compile(r"DISTANCE_M\(\S+, POINT\((\S+) (\S+)\)\) (<=?) (\S+)")


def boxes_around(centre: Point, metres: float) -> list[tuple[float, float, float, float]]:
    """Boxes that contain a circle: one; two across the antimeridian; all longitudes if it contains a pole."""
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
"""In degrees, about 10 cm: more than any rounding error here."""
