"""Geometries from well-known text and binary, many at once: what shapely reads, and what is wrong with the rest.

shapely ends a whole call at a curve, takes a collection of curves, and ignores bytes behind a geometry. MySQL writes
the reference system in four bytes before the geometry, which may then look like another geometry with bytes behind it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

BYTES: Final = "bytes are read as well-known binary, unless a schema says that they are a string"
CURVES: Final = "curves have no type here; convert them to lines, for example by ST_CurveToLine"

_COLLECTION: Final = 7
_MYSQL: Final = 4
"""The bytes of the reference system before a geometry of MySQL."""


def read_texts(library: ModuleType, texts: Sequence[str]) -> NDArray[Any]:
    """(N,) the geometries of well-known texts; None for what is not one, or has a curve."""
    read = _read_each(library.from_wkt, np.array(texts, object))
    return _without_curves(library, read)


def read_binary(library: ModuleType, values: NDArray[Any]) -> tuple[NDArray[Any], dict[int, str]]:
    """(N,) the geometries of well-known binary, also as PostGIS and MySQL write it, and why others are None, by place.

    Cost: 0.8 us a point more than shapely takes.
    """
    read = _read_whole(library, values)
    missing = np.flatnonzero(library.is_missing(read))
    if len(missing):
        read[missing] = _read_whole(library, np.array([value[_MYSQL:] for value in values[missing]], object))
    for place in missing[~library.is_missing(read[missing])].tolist():
        read[place] = library.set_srid(read[place], int.from_bytes(values[place][:_MYSQL], "little"))
    missing = np.flatnonzero(library.is_missing(read))
    return read, {place: _reason(library, values[place]) for place in missing.tolist()}


def has_curves(library: ModuleType, geometry: Any) -> bool:
    """Whether a geometry is a collection with a curve, at any depth."""
    if library.get_type_id(geometry) != _COLLECTION:
        return False
    try:
        parts = library.get_parts([geometry])
        while len(parts):
            parts = library.get_parts(parts[library.get_type_id(parts) == _COLLECTION])
    except NotImplementedError:
        return True
    return False


def _read_each(read: Callable[..., Any], values: NDArray[Any]) -> NDArray[Any]:
    """Read many values at once; if a curve ends that, one by one."""
    with np.errstate(all="ignore"):  # a coordinate beyond the largest number
        try:
            return np.array(read(values, on_invalid="ignore"), object)
        except NotImplementedError:
            return np.array([_read_one(read, value) for value in values], object)


def _read_one(read: Callable[..., Any], value: Any) -> Any:
    try:
        return read(value, on_invalid="ignore")
    except NotImplementedError:
        return None


def _without_curves(library: ModuleType, read: NDArray[Any]) -> NDArray[Any]:
    """The geometries with None for collections that have a curve."""
    for place in np.flatnonzero(library.get_type_id(read) == _COLLECTION).tolist():
        if has_curves(library, read[place]):
            read[place] = None
    return read


def _read_whole(library: ModuleType, values: NDArray[Any]) -> NDArray[Any]:
    """(N,) the geometries that take all bytes of their value; otherwise None."""
    read = _without_curves(library, _read_each(library.from_wkb, values))
    written = library.to_wkb(read, include_srid=True)
    for place, (one, value) in enumerate(zip(written.tolist(), values.tolist(), strict=True)):
        if one is not None and len(one) != len(value) and _length(value) != len(value):
            read[place] = None
    return read


def _reason(library: ModuleType, value: bytes) -> str:
    """Why a value is not a geometry."""
    length = _length(value)
    if length is not None and length < len(value):
        return f"{len(value) - length} bytes follow the geometry"
    try:
        library.from_wkb(value)
    except NotImplementedError:
        return CURVES
    except (library.errors.ShapelyError, ValueError, TypeError) as error:
        return plain_reason(str(error))
    return CURVES


def _length(value: bytes) -> int | None:
    """The bytes that the geometry at the beginning of a value takes; None if the value is not well-known binary."""
    at, left = 0, 1
    try:
        while left:
            left -= 1
            order = "<>"[value[at] == 0]
            (code,) = struct.unpack_from(f"{order}I", value, at + 1)
            kind, flags = (code & 0xFFFF) % 1000, (code & 0xFFFF) // 1000
            if value[at] > 1 or flags >= len(_ISO) or kind not in _KINDS:
                return None
            at += 5 + 4 * bool(code & _HAS_SRID)
            width = 8 * (2 + max(_ISO[flags], bool(code & _HAS_Z) + bool(code & _HAS_M)))
            count = 1
            if kind != _POINT:
                (count,) = struct.unpack_from(f"{order}I", value, at)
                at += 4
            if kind in _OF_POINTS:
                at += count * width
            elif kind in _OF_RINGS:
                for _ in range(count):
                    (points,) = struct.unpack_from(f"{order}I", value, at)
                    at += 4 + points * width
            else:
                left += count
    except (struct.error, IndexError):
        return None
    return at if at <= len(value) else None


_POINT: Final = 1
_OF_POINTS: Final = (_POINT, 2, 8)
_OF_RINGS: Final = (3, 17)
_KINDS: Final = range(_POINT, 18)
"""ISO 13249-3 numbers points, lines, polygons and collections up to 7, curves and surfaces above."""
_HAS_Z, _HAS_M, _HAS_SRID = 0x80000000, 0x40000000, 0x20000000
_ISO: Final = (0, 1, 1, 2)
"""Coordinates beyond two, by the thousands of a type's number."""


def plain_reason(said: str) -> str:
    """Translate shapely's reason why a geometry is wrong into the user's words.

    >>> plain_reason("Self-intersection[0.5 0.5]"), plain_reason("ParseException: Expected number but encountered ')'")
    ('it crosses itself at 0.5 0.5', "expected number, found ')'")
    """
    where = _PLACE.search(said)
    for part, reason in _REASONS.items():
        if part in said:
            return reason if where is None else f"{reason} at {where[1]}"
    plain = _PLACE.sub(r" at \1", said.strip()).replace(" but encountered", ", found")
    for name in ("ParseException: ", "IllegalArgumentException: "):
        plain = plain.removeprefix(name)
    return plain[:1].lower() + plain[1:]


_PLACE: Final = re.compile(r"\[([^\[\]]*)\]\s*$")
_REASONS: Final = {
    "closed linestring": "a ring is not closed; repeat its first point as its last",
    "point array must contain": "a line needs at least two points, and a ring at least four",
    "linearring requires": "a ring needs at least four points",
    "Too few points": "a line needs at least two different points, and a ring at least three",
    "Ring Self-intersection": "a ring touches itself",
    "Self-intersection": "it crosses itself",
    "Invalid Coordinate": "a coordinate is not a finite number",
    "parsing JSON": "its coordinates are not those of its GeoJSON type",
    "EOF": "the bytes end too early",
}
"""Reasons by a part of what GEOS reports. The first part that occurs decides."""
