"""What is a geometry beyond points and boxes? shapely reads, checks and writes it; it is kept as well-known text."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from tocsin.errors import UnsupportedError
from tocsin.model.values import Point, Shape


def shapely() -> ModuleType:
    """The library that knows geometries, imported when the first one comes."""
    try:
        import shapely
    except ImportError:
        reason = "polygons, lines and collections need shapely: pip install 'tocsin[geo]'"
        raise UnsupportedError(reason) from None
    library: ModuleType = shapely
    return library


def shape_of(text: str) -> Shape:
    """The geometry that well-known text says; raises `ValueError` with what is wrong with it."""
    return shape_of_geometry(_read(lambda library: library.from_wkt(text)))


def shape_of_geojson(document: Any) -> Shape:
    """The geometry that a GeoJSON object says; raises `ValueError`."""
    return shape_of_geometry(_read(lambda library: library.from_geojson(json.dumps(document))))


def shape_of_wkb(data: bytes) -> Shape:
    """The geometry that well-known binary says; raises `ValueError`."""
    return shape_of_geometry(_read(lambda library: library.from_wkb(data)))


def _read(read: Callable[[ModuleType], Any]) -> Any:
    library = shapely()
    try:
        return read(library)
    except (library.errors.ShapelyError, ValueError, TypeError) as error:
        raise ValueError(str(error)) from None


def shape_of_geometry(geometry: Any) -> Shape:
    """One of shapely's, on the plane; raises `ValueError` for one that is empty, not valid or not finite."""
    library = shapely()
    if geometry is None or geometry.is_empty:
        raise ValueError("the geometry is empty")
    if not library.is_valid(geometry):
        raise ValueError(str(library.is_valid_reason(geometry)))
    flat = library.force_2d(geometry)
    if not all(abs(edge) < float("inf") for edge in flat.bounds):
        raise ValueError("a coordinate is no finite number")
    return Shape(library.to_wkt(flat, rounding_precision=-1))


def place_of(shape: Shape) -> Point | Shape:
    """The same as the value of an event: a point is a `Point`.

    >>> place_of(Shape("POINT (1 2)"))
    Point(x=1.0, y=2.0)
    """
    if not shape.wkt.startswith("POINT "):
        return shape
    point = geometry_of(shape)
    return Point(point.x, point.y)


@lru_cache(maxsize=4096)
def geometry_of(shape: Shape) -> Any:
    """shapely's geometry."""
    return shapely().from_wkt(shape.wkt)


def geojson_of(shape: Shape) -> Any:
    """A geometry as a GeoJSON object."""
    return json.loads(shapely().to_geojson(geometry_of(shape)))
