"""Warnings about coordinates that are not longitude and latitude; tocsin takes them as they are.

Data may name another reference system: GeoParquet in the file's metadata, GeoArrow in the column's metadata, PostGIS
and MySQL in each value, and GeoJSON before it was a standard in its member `crs`. Points that DISTANCE_M measures may
lie beyond the globe, often because x and y were exchanged. Names tell that, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tocsin.columns.events.batch import EventBatch
from tocsin.columns.meeting import box_numbers
from tocsin.model.shapes import shapely, srid_of

_DEGREES: Final = frozenset(
    ("OGC:CRS84", "OGC:CRS84H", "EPSG:4326", "EPSG:4979", "CRS84", "WGS84", "WGS 84", "WGS 84 (CRS84)")
)
_OF_FILE: Final = b"geo"
_OF_COLUMN: Final = b"ARROW:extension:metadata"


def systems_of(schema: pa.Schema) -> dict[str, str]:
    """The columns in a reference system other than longitude and latitude, with its name."""
    found = dict(_in_file((schema.metadata or {}).get(_OF_FILE, b"")))
    for field in schema:
        own = (field.metadata or {}).get(_OF_COLUMN)
        if own is not None and (name := _named(_object(own).get("crs"))):
            found[field.name] = name
    return {name: system for name, system in found.items() if system.upper() not in _DEGREES}


def edges_of(schema: pa.Schema) -> dict[str, str]:
    """The columns whose edges are not straight lines on the plane, with their kind: "spherical" and others."""
    columns = _object((schema.metadata or {}).get(_OF_FILE, b"")).get("columns")
    about = dict(columns) if isinstance(columns, dict) else {}
    for field in schema:
        own = (field.metadata or {}).get(_OF_COLUMN)
        if own is not None:
            about[field.name] = _object(own)
    edges = {name: one.get("edges") for name, one in about.items() if isinstance(one, dict)}
    return {name: str(kind) for name, kind in edges.items() if kind not in (None, "planar")}


@lru_cache(64)
def _in_file(text: bytes) -> tuple[tuple[str, str], ...]:
    """The reference systems of a file's columns, without unknown ones."""
    columns = _object(text).get("columns")
    if not isinstance(columns, dict):
        return ()
    named = ((name, _named(own.get("crs"))) for name, own in columns.items() if isinstance(own, dict))
    return tuple((name, system) for name, system in named if system)


def _object(text: bytes) -> dict[str, Any]:
    """Parse a JSON object; empty if the text is not one."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _named(system: Any) -> str:
    """The identifier of a reference system, otherwise its name; empty if it has neither.

    >>> _named({"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::25832"}})
    'EPSG:25832'
    >>> _named('{"type": "GeographicCRS", "name": "WGS 84", "id": {"authority": "EPSG", "code": 4326}}')
    'EPSG:4326'
    """
    if isinstance(system, str):
        if system.lstrip().startswith("{"):
            return _named(_object(system.encode()))
        if number := _SRID.fullmatch(system):
            return _coded(int(number[1]))
        found = _IDENTIFIER.search(system)
        return f"{found[1]}:{found[2]}".upper() if found else system
    if not isinstance(system, dict):
        return ""
    own = system.get("id")
    if isinstance(own, dict) and "authority" in own and "code" in own:
        return f"{own['authority']}:{own['code']}"
    properties = system.get("properties")
    return _named(properties.get("name", "") if isinstance(properties, dict) else str(system.get("name", "")))


_SRID: Final = re.compile(r"(?:srid:)?([0-9]{1,9})", re.IGNORECASE)
"""A number of EPSG, as Parquet and GeoArrow write one. 0 is an unknown system."""

_IDENTIFIER: Final = re.compile(
    r"(?:urn:(?:x-)?ogc:def:crs:|opengis\.net/def/crs/|\b(?:ID|AUTHORITY)\[\s*\"|^)"
    r"(EPSG|OGC)(?::|/|\"\s*,\s*\"?)(?:[\d.]*[:/])?(\w+)\"?(?:\s*\]\s*\])?\s*$",
    re.IGNORECASE,
)
"""A system's identifier: as it is, or at the end of a URN, a URL or well-known text."""


def system_of(value: Any) -> str:
    """The reference system that a value of an event names, if it is not longitude and latitude; otherwise empty."""
    found = ""
    if isinstance(value, Mapping):
        found = _named(value.get("crs")) if "crs" in value else _coded(value.get("srid"))
    elif isinstance(value, str | bytes):
        found = _coded(srid_of(value))
    elif type(value).__module__.partition(".")[0] == "shapely":
        found = _coded(int(shapely().get_srid(value)))
    return "" if found.upper() in _DEGREES else found


def _coded(srid: Any) -> str:
    return f"EPSG:{srid}" if isinstance(srid, int) and srid > 0 else ""


def beyond_globe(batch: EventBatch) -> dict[str, int]:
    """Count the points beyond longitude 180 or latitude 90, by attribute, in a batch that has places.

    Cost: some nanoseconds per place, unless there are such points.
    """
    arrays = batch.arrays
    left, lower, right, upper = arrays.boxes.T
    if (
        left.min() >= -_LONGITUDE
        and right.max() <= _LONGITUDE
        and lower.min() >= -_LATITUDE
        and upper.max() <= _LATITUDE
    ):
        return {}
    is_beyond = (left == right) & (lower == upper) & ((np.abs(left) > _LONGITUDE) | (np.abs(lower) > _LATITUDE))
    boxes = box_numbers(arrays.types, arrays.payloads, arrays.list_boxes)
    entries = np.flatnonzero(boxes >= 0)
    numbers, counts = np.unique(arrays.attributes[entries[is_beyond[boxes[entries]]]], return_counts=True)
    return {batch.attributes[number]: count for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)}


_LONGITUDE: Final = 180.0
_LATITUDE: Final = 90.0


def is_latitude_first(x: str, y: str) -> bool:
    """Whether the names of two coordinates say that they are a latitude and a longitude, in this order.

    `x` and `y` themselves say nothing: in some national grids x is the northing.

    >>> is_latitude_first("lat", "lon"), is_latitude_first("pickupLatitude", "pickup_lng"), is_latitude_first("y", "x")
    (True, True, False)
    """
    return _axes(x) == _LATITUDES and _axes(y) == _LONGITUDES


def _axes(name: str) -> frozenset[str] | None:
    """The words for the only axis that a name has a word for; else None."""
    words = {word.casefold() for word in _WORD.findall(name)}
    found = [axis for axis in (_LATITUDES, _LONGITUDES) if words & axis]
    return found[0] if len(found) == 1 else None


_WORD: Final = re.compile(r"[A-ZÄÖÜ]?[a-zäöüß]+|[A-ZÄÖÜ]+(?![a-zäöüß])")
_LATITUDES: Final = frozenset(("lat", "latitude", "breitengrad"))
_LONGITUDES: Final = frozenset(("lon", "lng", "long", "longitude", "längengrad", "laengengrad"))
