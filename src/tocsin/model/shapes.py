"""Geometries beyond points and boxes. shapely parses, checks and writes them; tocsin keeps well-known text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

import numpy as np

from tocsin.errors import UnsupportedError
from tocsin.model.reading_shapes import CURVES, has_curves, plain_reason, read_binary, read_texts
from tocsin.model.values import Point, Shape


def shapely() -> ModuleType:
    """The shapely library, imported on first use."""
    try:
        import shapely
    except ImportError:
        reason = "polygons, lines and collections need shapely: pip install 'tocsin[geo]'"
        raise UnsupportedError(reason) from None
    library: ModuleType = shapely
    return library


def shape_of(text: str) -> Shape:
    """Parse well-known text; raises `ValueError` with the reason."""
    return shape_of_geometry(_read(lambda library: library.from_wkt(text)))


def shapes_of(texts: Iterable[str]) -> dict[str, Shape]:
    """Parse many well-known texts at once; those that `shape_of` refuses are left out.

    Cost: about 5 us a small polygon, a third of that of `shape_of`.
    """
    distinct = list(texts)
    if not distinct:
        return {}
    try:
        library = shapely()
    except UnsupportedError:
        return {}
    read = read_texts(library, distinct)
    good = ~library.is_missing(read) & ~library.is_empty(read) & library.is_valid(read)
    flat = library.force_2d(read[good])
    finite = (abs(library.bounds(flat)) < float("inf")).all(axis=1)
    known = [text for text, is_good in zip(distinct, good.tolist(), strict=True) if is_good]
    written = library.to_wkt(flat, rounding_precision=-1)
    found = zip(known, written.tolist(), finite.tolist(), strict=True)
    return {text: Shape(wkt) for text, wkt, is_finite in found if is_finite}


def shape_of_geojson(document: Any) -> Shape:
    """Parse a GeoJSON object; raises `ValueError`."""
    return shape_of_geometry(_read(lambda library: library.from_geojson(json.dumps(document))))


def shape_of_wkb(data: bytes) -> Shape:
    """Parse well-known binary, also as PostGIS and MySQL write it; raises `ValueError`."""
    read, reasons = read_binary(shapely(), np.array([data], object))
    if reasons:
        raise ValueError(reasons[0])
    return shape_of_geometry(read[0])


def shape_of_text(text: str) -> Shape:
    """Parse a geometry from a string; raises `ValueError` with the reason.

    The string is well-known text, optionally as PostGIS writes it (`SRID=4326;POINT(1 1)`), well-known binary in
    hexadecimal digits, or GeoJSON.
    """
    plain = text.strip()
    if _HEX.fullmatch(plain):
        return shape_of_wkb(bytes.fromhex(plain))
    if plain.startswith("{"):
        return shape_of_geojson(json.loads(plain))
    return shape_of(_SRID.sub("", plain))


def srid_of(value: str | bytes) -> int:
    """The number of the reference system in a geometry as PostGIS or MySQL writes it; 0 if it has none."""
    if isinstance(value, str):
        plain = value.strip()
        if found := _SRID.match(plain):
            return int(found[1])
        if not _HEX.fullmatch(plain):
            return 0
        value = bytes.fromhex(plain)
    try:
        library = shapely()
    except UnsupportedError:
        return 0
    read, reasons = read_binary(library, np.array([value], object))
    return 0 if reasons else int(library.get_srid(read[0]))


_HEX: Final = re.compile(r"0[01](?:[0-9A-Fa-f]{2}){8,}")
_SRID: Final = re.compile(r"SRID\s*=\s*(\d+)\s*;", re.IGNORECASE)


def _read(read: Callable[[ModuleType], Any]) -> Any:
    library = shapely()
    try:
        return read(library)
    except NotImplementedError:
        raise ValueError(CURVES) from None
    except (library.errors.ShapelyError, ValueError, TypeError) as error:
        raise ValueError(plain_reason(str(error))) from None


def shape_of_geometry(geometry: Any) -> Shape:
    """Convert a shapely geometry to the plane; raises `ValueError` if it is empty, not valid or not finite."""
    library = shapely()
    if geometry is None or geometry.is_empty:
        raise ValueError("the geometry is empty")
    if has_curves(library, geometry):
        raise ValueError(CURVES)
    if not library.is_valid(geometry):
        raise ValueError(plain_reason(str(library.is_valid_reason(geometry))))
    flat = library.force_2d(geometry)
    if not all(abs(edge) < float("inf") for edge in flat.bounds):
        raise ValueError("a coordinate is not a finite number")
    return Shape(library.to_wkt(flat, rounding_precision=-1))


def place_of(shape: Shape) -> Point | Shape:
    """The geometry as an event value: a point becomes a `Point`.

    >>> place_of(Shape("POINT (1 2)"))
    Point(x=1.0, y=2.0)
    """
    if not shape.wkt.startswith("POINT "):
        return shape
    point = geometry_of(shape)
    return Point(point.x, point.y)


def longest_step(shape: Shape) -> float:
    """The largest difference in x between neighbouring points of a line or a ring; 0 if x leaves -180 to 180."""
    parts = shapely().get_parts(geometry_of(shape)).tolist()
    rings = [line for part in parts for line in (shapely().get_rings(part).tolist() or [part])]
    steps = [0.0]
    for ring in rings:
        x = shapely().get_coordinates(ring)[:, 0]
        if len(x) > 1 and abs(x).max() <= 180:
            steps.append(float(abs(x[1:] - x[:-1]).max()))
    return max(steps)


@lru_cache(maxsize=4096)
def geometry_of(shape: Shape) -> Any:
    """The geometry as a shapely object."""
    return shapely().from_wkt(shape.wkt)


def geojson_of(shape: Shape) -> Any:
    """A geometry as a GeoJSON object."""
    return json.loads(shapely().to_geojson(geometry_of(shape)))
