"""Places of events that lie within a box, a polygon or a circle of a query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, cast

from tocsin.language import geometry_rules
from tocsin.language.dialects.dialect import VALUE, Json, Reader, all_of, any_of, call, compared
from tocsin.model.expression import Attribute, Between, Constant, Expression
from tocsin.model.subscription import shown
from tocsin.model.values import Point

_EARTH_RADIUS_M: Final = 6_371_008.8  # of DISTANCE_M, which so gets the angle that MongoDB gets


def geo_within(path: Sequence[str], shape: Json, reader: Reader) -> Expression:
    members = reader.members(shape, "$geoWithin")
    name = next(iter(members))
    place = Attribute(".".join(path)) if path else VALUE
    with reader.at(name):
        if name in reader.dialect.refused:
            reader.refuse(name)
        if name == "$box":
            low, high = _points(members[name], reader, 2)
            return any_of([_in_box(place, low, high, reader), *_pairs_in_box(path, low, high)])
        if name == "$polygon":
            return _covered(place, _points(members[name], reader, 3), reader)
        if name == "$centerSphere":
            return _circle(place, members[name], reader)
    return reader.fail(f"$geoWithin takes $box, $polygon and $centerSphere, not {shown(name)}")


def _points(values: Json, reader: Reader, fewest: int) -> list[tuple[float, float]]:
    if not isinstance(values, list) or len(values) < fewest:
        reader.fail(f"at least {fewest} points are needed, each a list of two numbers")
    return [_point(value, reader) for value in values]


def _point(value: Json, reader: Reader) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        reader.fail(f"a point is a list of two numbers, not {shown(value)}")
    return reader.number(value[0], "a point"), reader.number(value[1], "a point")


def _circle(place: Attribute, argument: Json, reader: Reader) -> Expression:
    if not isinstance(argument, list) or len(argument) != 2:
        reader.fail("$centerSphere needs a list of a point and a radius in radians")
    centre, radius = Constant(Point(*_point(argument[0], reader))), reader.number(argument[1], "$centerSphere")
    distance = reader.made(lambda: call("DISTANCE_M", place, centre))
    is_near = compared(distance, "<=", Constant(radius * _EARTH_RADIUS_M))
    ring = _ring_around(cast(Point, centre.value), radius * _MARGIN)
    within = [reader.made(lambda: call("S_WITHIN", place, _area(ring, reader)))] if ring else []
    return call("HOLDS", all_of([is_near, *within]))


_MARGIN: Final = 1.001
_CORNERS: Final = 128


def _ring_around(centre: Point, radius: float) -> list[tuple[float, float]]:
    """Corners of a polygon about a circle on the sphere; none if it reaches a pole, or crosses the antimeridian."""
    latitude, longitude = math.radians(centre.y), math.radians(centre.x)
    if not 0 < radius < math.pi / 2 - abs(latitude):
        return []
    ring = []
    for number in range(_CORNERS):
        bearing = 2 * math.pi * number / _CORNERS
        north = math.sin(latitude) * math.cos(radius) + math.cos(latitude) * math.sin(radius) * math.cos(bearing)
        east = math.sin(bearing) * math.sin(radius) * math.cos(latitude)
        turned = math.atan2(east, math.cos(radius) - math.sin(latitude) * north)
        ring.append((math.degrees(longitude + turned), math.degrees(math.asin(north))))
    return ring if all(-180 <= x <= 180 for x, _ in ring) else []


# ---- places that lie within others


def _area(ring: Sequence[tuple[float, float]], reader: Reader) -> Expression:
    document = {"type": "Polygon", "coordinates": [[list(point) for point in (*ring, ring[0])]]}
    return reader.made(lambda: geometry_rules.geojson_shape(document))


def _edge(ring: Sequence[tuple[float, float]], reader: Reader) -> Expression:
    document = {"type": "LineString", "coordinates": [list(point) for point in (*ring, ring[0])]}
    return reader.made(lambda: geometry_rules.geojson_shape(document))


def _covered(place: Attribute, ring: Sequence[tuple[float, float]], reader: Reader) -> Expression:
    """Whether no part of a place lies outside of a polygon. What lies on its edge alone is not WITHIN it."""
    ring = ring[:-1] if ring[0] == ring[-1] else ring
    return call(
        "HOLDS",
        any_of([call("S_WITHIN", place, _area(ring, reader)), call("S_WITHIN", place, _edge(ring, reader))]),
    )


def _in_box(place: Attribute, low: tuple[float, float], high: tuple[float, float], reader: Reader) -> Expression:
    (west, south), (east, north) = low, high
    box = reader.made(lambda: geometry_rules.box([west, south, east, north]))
    meets = call("S_INTERSECTS", place, box)
    if not (west < east and south < north):
        return call("HOLDS", meets)
    edge = _edge([(west, south), (east, south), (east, north), (west, north)], reader)
    return call("HOLDS", all_of([meets, any_of([call("S_WITHIN", place, box), call("S_WITHIN", place, edge)])]))


_PAIRS: Final = (("lng", "lat"), ("lon", "lat"), ("longitude", "latitude"), ("x", "y"))
"""The names that objects give to the numbers of a legacy coordinate pair."""


def _pairs_in_box(path: Sequence[str], low: tuple[float, float], high: tuple[float, float]) -> list[Expression]:
    """Whether a legacy pair that is an object lies in a box."""
    prefix = "".join(f"{name}." for name in path)
    limits = list(zip(low, high, strict=True))
    return [
        call("HOLDS", all_of([_between(f"{prefix}{name}", *limit) for name, limit in zip(names, limits, strict=True)]))
        for names in _PAIRS
    ]


def _between(name: str, low: float, high: float) -> Expression:
    return Between(Attribute(name), Constant(low), Constant(high))
