"""Which attributes does an event have? A JSON-like object becomes a mapping of attribute name to value.

The laws, in order of strength:

* an attribute reached by two different paths of keys (`{"a.b": 1, "a": {"b": 2}}`), or a key that is no
  string, makes the whole event bad;
* null and NaN are absence, wherever they stand;
* an object is its members, under dotted names; a list of objects that are no geometries is a list of each
  of their attributes, lists inside concatenated; the object, or the list, is `UNTYPED` itself, where nothing else
  has its name; a geometry is a place itself, and so are a latitude and a longitude;
* a list of lists is present and `UNTYPED`;
* what else has no type is present, `UNTYPED`, and reported.

Every list that lies in objects alone is kept beside them, element by element, each an event of its own.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import shapely

from tocsin.errors import RecordError
from tocsin.model.values import LARGEST_INTEGER, UNTYPED, Box, Instant, Point, Range, Scalar, Shape, Untyped, Value

_LISTS = (list, tuple, set, frozenset)
_SHAPES = ("Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon")


class _Leaf(NamedTuple):
    """A value as it came, the keys that lead to it, and whether a list of objects stood on the way."""

    path: tuple[str, ...]
    value: object
    listed: bool
    told: bool = True
    """Whether what is wrong with it is told; of coordinates, the place tells it."""


class Flat(dict[str, Value]):
    """An event's values by attribute, and its lists by dotted name: of each element the values, None for a bad one."""

    lists: dict[str, list[Flat | None]]
    record: Mapping[str, object] = {}
    nulls: frozenset[str] = frozenset()
    """What was given as null, by its dotted name, outside of lists."""


def flatten(record: Mapping[str, object]) -> tuple[Flat, list[tuple[str, str]]]:
    """The attributes of an event, and its problems as (attribute, reason), at most one an attribute.

    Raises `RecordError` for an event that cannot be used as a whole.
    """
    if not isinstance(record, Mapping):
        raise RecordError(f"an event is an object, not {type(record).__name__}")
    found: dict[str, list[_Leaf]] = {}
    for leaf in _leaves((), record, listed=False):
        found.setdefault(".".join(leaf.path), []).append(leaf)

    values = Flat()
    values.lists = dict(_lists((), record))
    values.record = record
    values.nulls = frozenset(_nulls((), record))
    problems: list[tuple[str, str]] = []
    for name, leaves in found.items():
        values[name], reason = _attribute(name, leaves)
        if reason and any(leaf.told for leaf in leaves):
            problems.append((name, reason))
    return values, problems


def _lists(path: tuple[str, ...], members: Mapping[str, object]) -> Iterator[tuple[str, list[Flat | None]]]:
    for key, value in members.items():
        if isinstance(value, Mapping):
            yield from _lists((*path, key), value)  # type: ignore[arg-type]
        elif isinstance(value, _LISTS):
            yield ".".join((*path, key)), [_element(item) for item in value]


def _nulls(path: tuple[str, ...], members: Mapping[str, object]) -> Iterator[str]:
    for key, value in members.items():
        if _is_absent(value):
            yield ".".join((*path, key))
        elif isinstance(value, Mapping):
            yield from _nulls((*path, key), value)  # type: ignore[arg-type]


def everything(values: Mapping[str, Value]) -> list[Flat | None]:
    """Every scalar of an event, wherever it stands, as an event of its own."""
    return [_element(one) for one in _scalars(getattr(values, "record", {}))]


def _scalars(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for member in () if _is_geometry(value) else value.values():
            yield from _scalars(member)
    elif isinstance(value, _LISTS):
        for member in value:
            yield from _scalars(member)
    elif not _is_absent(value) and not isinstance(value, Point | Box | Shape | Range | bytes):
        yield value


def _element(item: object) -> Flat | None:
    """An element as an event: an object is one, anything else is what `element` is. No range is within a list."""
    members = dict(item) if isinstance(item, Mapping) else {}
    try:
        values, _ = flatten(members if _is_object(item) else {**members, "element": item})
    except RecordError:
        return None
    values.update({name: UNTYPED for name, value in values.items() if isinstance(value, Range)})
    return values


_OBJECT = object()
"""Stands for an object, or a list of such, under its own name."""


class _InDegrees(NamedTuple):
    """An object that is a point, under its own name, where nothing else has it."""

    point: Point


def _in_degrees(members: Mapping[str, object]) -> object:
    """The point of an object with a latitude, a longitude and nothing else."""
    for north, east in (("lat", "lon"), ("lat", "lng"), ("latitude", "longitude")):
        if members.keys() != {north, east}:
            continue
        y, x = members[north], members[east]
        if any(isinstance(n, bool) or not isinstance(n, int | float) for n in (x, y)):
            continue
        if -180 <= x <= 180 and -90 <= y <= 90:  # type: ignore[operator]
            return _InDegrees(Point(float(x), float(y)))  # type: ignore[arg-type]
    return _OBJECT


def _leaves(path: tuple[str, ...], members: Mapping[str, object], listed: bool) -> Iterator[_Leaf]:
    for key, value in members.items():
        if not isinstance(key, str):
            raise RecordError(f"an attribute's name is a string, not {key!r}", ".".join(path))
        here = (*path, key)
        if _is_absent(value):
            continue
        if _is_object(value):
            yield _Leaf(here, _OBJECT if listed else _in_degrees(value), listed)  # type: ignore[arg-type]
            yield from _leaves(here, value, listed)  # type: ignore[arg-type]
        elif objects := _objects(value):
            yield _Leaf(here, _OBJECT, listed)
            for item in objects:
                yield from _leaves(here, item, listed=True)
        else:
            yield _Leaf(here, value, listed)
            if isinstance(value, Mapping):
                of_no_type = {"geometries": [[]]} if "geometries" in value else {}
                for leaf in _leaves(here, {**value, **of_no_type}, listed):
                    yield leaf._replace(told=leaf.told and leaf.path != (*here, "coordinates"))


def _is_absent(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_object(value: object) -> bool:
    """Whether a value is an object and no place."""
    return isinstance(value, Mapping) and not _is_geometry(value)


def _is_geometry(value: Mapping[str, object]) -> bool:
    kind = value.get("type")
    return (kind in _SHAPES and "coordinates" in value) or (kind == "GeometryCollection" and "geometries" in value)


def _objects(value: object) -> list[Mapping[str, object]]:
    """The items of a list of objects; nothing for any other value, or for a list with no object in it."""
    if not isinstance(value, _LISTS):
        return []
    items = [item for item in value if not _is_absent(item)]
    return items if all(map(_is_object, items)) else []


def _attribute(name: str, leaves: list[_Leaf]) -> tuple[Value, str]:
    """An attribute's value, and what is wrong with it, if anything."""
    places = [leaf.value.point for leaf in leaves if isinstance(leaf.value, _InDegrees)]
    leaves = [leaf for leaf in leaves if leaf.value is not _OBJECT and not isinstance(leaf.value, _InDegrees)]
    if not leaves:
        return (places[0] if places else UNTYPED), ""
    if len({leaf.path for leaf in leaves}) > 1:
        raise RecordError("comes twice, as a dotted name and as a nested object; send one of them", name)
    if not leaves[0].listed:
        return _value(leaves[0].value)
    parts = [leaf.value if isinstance(leaf.value, _LISTS) else [leaf.value] for leaf in leaves]
    return _list(item for part in parts for item in part)


def _value(value: object) -> tuple[Value, str]:
    if isinstance(value, Point | Box | Shape | Range):
        return value, ""
    if isinstance(value, Mapping):
        return _geometry(value)
    if isinstance(value, _LISTS):
        return _list(value)
    return _scalar(value)


def _geometry(value: Mapping[str, object]) -> tuple[Value, str]:
    place = value.get("coordinates")
    if value["type"] != "Point":
        return _beyond_points(value)
    if not isinstance(place, list | tuple):
        return UNTYPED, "a GeoJSON Point has no coordinates"
    numbers = [_scalar(number)[0] for number in place]
    if len(numbers) not in (2, 3) or not all(type(n) is float and math.isfinite(n) for n in numbers):
        return UNTYPED, f"a GeoJSON Point needs two or three finite numbers, not {place!r}"
    x, y = numbers[:2]
    return Point(x, y), ""  # type: ignore[arg-type]


def _beyond_points(value: object) -> tuple[Value, str]:
    """What shapely reads of GeoJSON, as well-known text of the plane, if there is anything valid and finite in it."""
    try:
        read = shapely.force_2d(shapely.from_geojson(json.dumps(value)))
    except (shapely.errors.ShapelyError, ValueError, TypeError) as error:
        return UNTYPED, f"no geometry: {error}"
    if read is None or read.is_empty or not read.is_valid or not np.isfinite(shapely.get_coordinates(read)).all():
        return UNTYPED, "no geometry: it is empty, crosses itself or is infinite"
    return Shape(shapely.to_wkt(read, rounding_precision=-1)), ""


def _list(items: Iterable[object]) -> tuple[Value, str]:
    """A list of scalars; one item of no type takes the type from the whole list."""
    pairs = [_item(item) for item in items if not _is_absent(item)]
    scalars = tuple(scalar for scalar, _ in pairs if not isinstance(scalar, Untyped))
    reasons = [reason for _, reason in pairs if reason]
    if len(scalars) < len(pairs):
        untyped = [reason for scalar, reason in pairs if isinstance(scalar, Untyped)]
        return UNTYPED, next(filter(None, untyped), "")
    return scalars, reasons[0] if reasons else ""


def _item(item: object) -> tuple[Scalar | Untyped, str]:
    if isinstance(item, _LISTS):
        return UNTYPED, ""
    if isinstance(item, Mapping | Point | Box | Range):
        return UNTYPED, "a list of scalars holds an object, a geometry or a range"
    return _scalar(item)


def _scalar(value: object) -> tuple[Scalar | Untyped, str]:
    if isinstance(value, bool | Instant):
        return value, ""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dt.date):
        return Instant.of(value), ""
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return UNTYPED, f"integer {value} is beyond +-2**53; send a string"
    if isinstance(value, float) and not math.isfinite(value):
        return UNTYPED, f"{value} is no finite number"
    if isinstance(value, int | float):
        return float(value), ""
    return UNTYPED, f"{type(value).__name__} is no type of value"


def _text(value: str) -> tuple[str | Untyped, str]:
    if any("\ud800" <= character <= "\udfff" for character in value):
        return UNTYPED, "a lone surrogate is no text"
    return str(value), ""


def _decimal(value: Decimal) -> tuple[float | Untyped, str]:
    number = float(value)
    if not math.isfinite(number):
        return UNTYPED, f"{value} is no finite number"
    return number, "" if value in (Decimal(number), Decimal(repr(number))) else f"{value} became {number!r}"


def raw(value: object, names: tuple[str, ...]) -> Iterator[object]:
    """What lies at a path: several values, where lists are on the way; names in events may have dots."""
    if not names:
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from raw(inner, names)
    elif isinstance(value, Mapping):
        for end in range(1, len(names) + 1):
            name = ".".join(names[:end])
            if name in value:
                yield from raw(value[name], names[end:])


def scalars_at(record: Mapping[str, object], field: str) -> list[Any]:
    """The scalars that lie under a dotted name: lists are flattened, and nulls and objects are not among them."""

    def flat(value: object) -> Iterator[object]:
        if isinstance(value, list):
            for inner in value:
                yield from flat(inner)
        elif value is not None and not isinstance(value, Mapping):
            yield value

    return [leaf for value in raw(record, tuple(field.split("."))) for leaf in flat(value)]
