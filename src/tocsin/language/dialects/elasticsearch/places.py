"""Queries on places: boxes, circles and polygons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from tocsin.language import geometry_rules
from tocsin.language.dialects.dialect import Json, Reader, call, compared, in_polygon
from tocsin.language.dialects.elasticsearch.reading import Fields, members_of
from tocsin.model.expression import Attribute, Constant, Expression
from tocsin.model.subscription import shown
from tocsin.model.values import Point

_PARAMETERS: Final = ("distance", "distance_type", "validation_method", "ignore_unmapped", "type", "boost", "_name")
_METRES: Final = {
    "m": 1.0, "meters": 1.0, "km": 1e3, "kilometers": 1e3, "cm": 0.01, "mm": 0.001, "mi": 1609.344, "miles": 1609.344,
    "yd": 0.9144, "yards": 0.9144, "ft": 0.3048, "feet": 0.3048, "in": 0.0254, "inch": 0.0254,
    "nmi": 1852.0, "nm": 1852.0, "nauticalmiles": 1852.0, "": 1.0,
}  # fmt: skip

_PAIR: Final = re.compile(r"\s*(-?[0-9]+\.?[0-9]*)\s*,\s*(-?[0-9]+\.?[0-9]*)\s*")


def _field_in(inner: Json, reader: Reader) -> tuple[str, Json]:
    if not isinstance(inner, Mapping):
        reader.fail(f"an object with a field is needed, not {shown(inner)}")
    names = [name for name in inner if name not in _PARAMETERS]
    if len(names) != 1:
        reader.fail(f"one field is needed, not {len(names)}")
    return names[0], inner[names[0]]


def _place(field: str, reader: Reader, fields: Fields) -> Attribute:
    return Attribute(".".join(fields.path_of(field, reader)))


def point_of(given: Json, reader: Reader) -> tuple[float, float]:
    """The longitude and latitude of a point: `{"lat", "lon"}`, `[lon, lat]`, `"lat,lon"` or GeoJSON."""
    if isinstance(given, Mapping):
        if given.get("type") == "Point" and isinstance(given.get("coordinates"), list):
            given = given["coordinates"]
        else:
            members = members_of(given, reader, ("lat", "lon"), needed="lat")
            return reader.number(members.get("lon"), "lon"), reader.number(members["lat"], "lat")
    if isinstance(given, list) and len(given) == 2:
        return reader.number(given[0], "a longitude"), reader.number(given[1], "a latitude")
    if isinstance(given, str) and (found := _PAIR.fullmatch(given)):
        return float(found[2]), float(found[1])
    if isinstance(given, str):
        reader.refuse("a geohash or well-known text as a point", 'write {"lat": 52.5, "lon": 13.4}')
    return reader.fail(f"a point is needed, not {shown(given)}")


def _bounding_box(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, corners = _field_in(inner, reader)
    with reader.at(field):
        place = _place(field, reader, fields)
        west, south, east, north = _sides(corners, reader)
        box = reader.made(lambda: geometry_rules.box([west, south, east, north]))
        return call("HOLDS", call("S_INTERSECTS", place, box))


def _sides(corners: Json, reader: Reader) -> tuple[float, float, float, float]:
    members = reader.members(corners, "geo_bounding_box")
    if "top_left" in members and "bottom_right" in members:
        (west, north), (east, south) = (point_of(members[name], reader) for name in ("top_left", "bottom_right"))
    elif "top_right" in members and "bottom_left" in members:
        (east, north), (west, south) = (point_of(members[name], reader) for name in ("top_right", "bottom_left"))
    elif all(name in members for name in ("left", "bottom", "right", "top")):
        west, south, east, north = (reader.number(members[name], name) for name in ("left", "bottom", "right", "top"))
    else:
        reader.refuse("a box in this form", "write top_left and bottom_right, or top, left, bottom and right")
    return west, south, east, north


def _distance(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = _field_in(inner, reader)
    if inner.get("distance_type", "arc") != "arc":
        reader.refuse("the distance_type plane", "tocsin measures on the sphere")
    with reader.at("distance"):
        metres = _metres(inner.get("distance"), reader)
    with reader.at(field):
        place, centre = _place(field, reader, fields), Constant(Point(*point_of(given, reader)))
        distance = reader.made(lambda: call("DISTANCE_M", place, centre))
        return call("HOLDS", compared(distance, "<=", Constant(metres)))


def _metres(given: Json, reader: Reader) -> float:
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*", str(given))
    if found is None or found[2].lower() not in _METRES:
        reader.fail(f'a distance such as "200km" is needed, not {shown(given)}')
    return float(found[1]) * _METRES[found[2].lower()]


def _polygon(inner: Json, reader: Reader, fields: Fields) -> Expression:
    field, given = _field_in(inner, reader)
    with reader.at(field):
        place = _place(field, reader, fields)
        corners = members_of(given, reader, ("points",), needed="points")["points"]
        ring = [point_of(one, reader) for one in reader.items(corners, "points")]
        return in_polygon(place, ring, reader)


PLACES: Final[Mapping[str, Callable[[Json, Reader, Fields], Expression]]] = {
    "geo_bounding_box": _bounding_box,
    "geo_distance": _distance,
    "geo_polygon": _polygon,
}
