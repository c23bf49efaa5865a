"""Flattening of JSON-like events to values under dotted attribute names.

Nested objects flatten to dotted names, and a list of objects to lists. Under their own names, nested objects, lists of
objects and lists of lists are present but have no type. A GeoJSON geometry is a place under its own name, and its
members are attributes, too. So it is with an object of a latitude and a longitude. `None` and NaN mean absent. A value
that tocsin cannot represent becomes `UNTYPED` and is reported; the other fields are unaffected. An event that gives one
attribute twice is rejected as a whole.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple

from tocsin.errors import RecordError, UnsupportedError
from tocsin.model.python_values import Unreadable
from tocsin.model.reading_shapes import BYTES
from tocsin.model.shapes import place_of, shape_of_geojson, shape_of_geometry, shape_of_wkb
from tocsin.model.subscription import shown
from tocsin.model.values import LARGEST_INTEGER, UNTYPED, Box, Instant, Point, Range, Scalar, Shape, Value, class_of

MAX_EVENT_DEPTH: Final = 256
_GEOMETRIES: Final = frozenset(
    ("Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection")
)


class Problem(NamedTuple):
    """A field that could not be taken as it came, and the reason."""

    field: str
    reason: str


class FlatEvent(NamedTuple):
    """An event's attributes, and the problems found in it. Problems do not keep the event from being matched."""

    values: dict[str, Value]
    problems: list[Problem]


def flatten(record: Mapping[str, Any]) -> FlatEvent:
    """Flatten one JSON-like object.

    Raises `RecordError` when the record is not an object, nests more than 256 deep, or gives an attribute twice (both
    `{"a": {"b": 1}}` and `{"a.b": 1}`).

    >>> flatten({"price": 550, "seller": {"city": "Oslo"}, "tags": ["new", "red"], "note": None}).values
    {'price': 550.0, 'seller.city': 'Oslo', 'tags': ('new', 'red'), 'seller': UNTYPED}
    """
    if not isinstance(record, Mapping):
        raise RecordError(f"an event is an object of attributes, not {class_of(record)}")
    flat, objects = FlatEvent({}, []), dict[str, Value]()
    _flatten_into(flat, objects, record, "", 0)
    for name, value in objects.items():
        flat.values.setdefault(name, value)
    return flat


def _flatten_into(
    flat: FlatEvent, objects: dict[str, Value], record: Mapping[str, Any], prefix: str, depth: int
) -> None:
    """Add the attributes of an object to `flat`. `objects` collects the value of each nested object by its own name."""
    if depth > MAX_EVENT_DEPTH:
        raise RecordError(f"nests more than {MAX_EVENT_DEPTH} deep", prefix[:-1][:60])
    values = flat.values
    for key, raw in record.items():
        name = prefix + (key if type(key) is str else _key(key))
        if isinstance(raw, Mapping) and not is_geometry(raw):
            objects[name] = object_itself(raw, name, flat.problems)
            _flatten_into(flat, objects, raw, name + ".", depth + 1)
            continue
        if is_list_of_objects(raw):
            objects[name] = UNTYPED
            for inner, joined in _flatten_list(flat, objects, raw, name, depth).items():
                _put(values, inner, joined)
            continue
        value = value_of(raw, name, flat.problems)
        if value is not None:
            _put(values, name, value)
        if isinstance(raw, Mapping):
            members = FlatEvent(values, [])
            _flatten_into(members, objects, members_of(raw), name + ".", depth + 1)
            told = f"{name}.coordinates"  # what is wrong with these is said of the place
            flat.problems.extend(problem for problem in members.problems if problem.field != told)


def members_of(geometry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members of a GeoJSON geometry as those of an object. The geometries of a collection are a list of no type."""
    return geometry if "geometries" not in geometry else {**geometry, "geometries": _OF_NO_TYPE}


_OF_NO_TYPE: Final = ((),)
"""A list of lists."""


def _put(values: dict[str, Value], name: str, value: Value) -> None:
    if name in values:
        raise RecordError("the attribute comes twice", name)
    values[name] = value


def _key(key: object) -> str:
    raise RecordError(f"attribute names are strings, not {class_of(key)}")


def is_list_of_objects(raw: object) -> bool:
    """Whether a value is a list that contains objects, which is flattened too."""
    return isinstance(raw, list | tuple) and any(isinstance(item, Mapping) for item in raw)


def _flatten_list(
    flat: FlatEvent, objects: dict[str, Value], items: Sequence[object], name: str, depth: int
) -> dict[str, Value]:
    """Turn a list of objects into one list for each of their attributes, in order."""
    if not all(item is None or (isinstance(item, Mapping) and not is_geometry(item)) for item in items):
        flat.problems.append(Problem(name, "a list of objects and other things has no type"))
        return {name: UNTYPED}  # also if lists of other objects in the same list are sound
    joined: dict[str, list[Scalar] | None] = {}
    for item in items:
        inner = FlatEvent({}, flat.problems)
        if isinstance(item, Mapping):
            _flatten_into(inner, objects, item, name + ".", depth + 1)
        for attribute, value in inner.values.items():
            elements = joined.setdefault(attribute, [])
            if isinstance(value, Point | Box | Shape | Range) and elements is not None:
                what = "range" if isinstance(value, Range) else "place"
                flat.problems.append(Problem(attribute, f"a {what} within a list of objects has no type"))
            if isinstance(value, Point | Box | Shape | Range) or value is UNTYPED or elements is None:
                joined[attribute] = None
            else:
                elements.extend(value if isinstance(value, tuple) else (value,))
    return {attribute: UNTYPED if v is None else tuple(v) for attribute, v in joined.items()}


def value_of(raw: Any, name: str, problems: list[Problem]) -> Value | None:
    """Convert one value that is not flattened; None when it is absent.

    A value without a type becomes UNTYPED, and the reason is added to `problems`.
    """
    if type(raw) is str and raw.isascii():
        return raw
    if raw is None:
        return None
    try:
        if _is_list(raw):
            return _list(raw, name, problems)
        if type(raw).__name__ == "ndarray" and getattr(raw, "ndim", 0) == 1:
            return _list(list(raw), name, problems)
        if isinstance(raw, Point | Box | Shape | Range):
            return raw
        if isinstance(raw, Mapping):
            return _geometry(raw)
        if isinstance(raw, bytes):
            return _of_bytes(raw)
        if type(raw).__module__.partition(".")[0] == "shapely":
            return _shape(lambda: shape_of_geometry(raw))
        return _scalar(raw, name, problems)
    except _Unrepresentable as reason:
        problems.append(Problem(name, str(reason)))
        return UNTYPED


def _is_list(raw: object) -> bool:
    """Whether a value is a list. Arrow's intervals of months, days and nanoseconds are tuples, too."""
    return isinstance(raw, list | tuple | Set) and type(raw).__name__ != "MonthDayNano"


class _Unrepresentable(Exception):
    """The reason why a value has no type."""


def _scalar(raw: Any, name: str, problems: list[Problem]) -> Scalar | None:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, float):
        if math.isinf(raw):
            raise _Unrepresentable("infinity cannot be represented")
        return None if math.isnan(raw) else float(raw)
    if isinstance(raw, int):
        if abs(raw) > LARGEST_INTEGER:
            raise _Unrepresentable(f"integer {shown(raw)} is beyond 2**53; send it as a string")
        return float(raw)
    if isinstance(raw, str):
        try:
            raw.encode()
        except UnicodeEncodeError:
            raise _Unrepresentable("the string is not valid Unicode: it has a lone surrogate") from None
        return str(raw)
    return _rarer_scalar(raw, name, problems)


def _rarer_scalar(raw: Any, name: str, problems: list[Problem]) -> Scalar | None:
    """Instants, decimals, and the scalars of NumPy and pandas."""
    if isinstance(raw, Instant):
        return raw
    if isinstance(raw, Unreadable):
        raise _Unrepresentable(f"the value cannot be represented: {raw.reason}")
    if raw is UNTYPED:
        raise _Unrepresentable("it has no type")
    if isinstance(raw, dt.date):
        return None if raw != raw else Instant.of(raw)  # pandas' NaT is a datetime that differs from itself
    if isinstance(raw, decimal.Decimal):
        return _decimal(raw, name, problems)
    if isinstance(raw, uuid.UUID):
        return str(raw)
    if type(raw).__name__ == "NAType":  # pandas' missing value
        return None
    if type(raw).__module__ == "numpy" and type(raw).__name__ == "datetime64":
        return _numpy_instant(raw, name, problems)
    if type(raw).__module__ == "numpy" and type(raw).__name__ == "timedelta64" and raw == raw:  # NaT is absent
        raise _Unrepresentable("a timedelta64 is not a value")  # its `item` may be a bare number
    unwrap = getattr(raw, "item", None)  # a NumPy scalar
    if callable(unwrap) and getattr(raw, "ndim", None) == 0:
        plain = unwrap()
        if plain is None:  # NumPy's NaT
            return None
        if type(plain) is not type(raw):
            return _scalar(plain, name, problems)
    raise _Unrepresentable(f"{class_of(raw)} is not a value")


def _numpy_instant(raw: Any, name: str, problems: list[Problem]) -> Instant | None:
    """NumPy's datetime64: an instant in UTC, cut to microseconds."""
    whole = raw.astype("datetime64[us]")
    if whole != whole:  # NaT
        return None
    if whole != raw:
        problems.append(Problem(name, "the instant was cut to whole microseconds"))
    return Instant(int(whole.astype("int64")))


def _decimal(raw: decimal.Decimal, name: str, problems: list[Problem]) -> float | None:
    if raw.is_nan():
        return None
    number = float(raw)
    if math.isinf(number):
        raise _Unrepresentable(f"decimal {raw!s:.40} cannot be represented")
    if raw not in (decimal.Decimal(number), decimal.Decimal(repr(number))):  # Decimal("0.1") counts as the float 0.1
        problems.append(Problem(name, f"decimal {raw!s:.40} was rounded to {number!r}"))
    return number


def _list(raw: Sequence[Any] | Set[Any], name: str, problems: list[Problem]) -> Value:
    """A list of scalars, or UNTYPED if it contains lists: only ANY looks into those."""
    elements: list[Scalar] = []
    holds_lists = False
    for item in raw:
        if item is None:
            continue
        if _is_list(item):
            holds_lists = True
            continue
        if isinstance(item, Mapping):
            raise _Unrepresentable("a list of objects and other things has no type")
        element = _scalar(item, name, problems)
        if element is not None:
            elements.append(element)
    return UNTYPED if holds_lists else tuple(elements)


_WKB_STRUCT: Final = {"wkb", "srid"}


def is_wkb_struct(names: Iterable[str]) -> bool:
    """Whether an object with these names is a geometry in well-known binary, as Debezium and Spark write one."""
    return set(names) == _WKB_STRUCT


def object_itself(raw: Mapping[str, Any], name: str, problems: list[Problem]) -> Value:
    """The value of an object under its own name: a place as these are written without GeoJSON, else UNTYPED.

    These are well-known binary (base64 in JSON), and a latitude beside a longitude.
    """
    if len(raw) != len(_WKB_STRUCT):
        return UNTYPED
    if degrees := names_of_degrees(raw):
        return _point_in_degrees(*map(raw.get, degrees))
    if not is_wkb_struct(raw):
        return UNTYPED
    try:
        return _shape(lambda: shape_of_wkb(wkb_bytes(raw["wkb"])))
    except _Unrepresentable as reason:
        problems.append(Problem(name, str(reason)))
        return UNTYPED


_DEGREES: Final = {frozenset(names): names for names in (("lat", "lon"), ("lat", "lng"), ("latitude", "longitude"))}
"""The names that Elasticsearch, MongoDB and others write a point with."""


def names_of_degrees(names: Iterable[str]) -> tuple[str, str] | None:
    """The names of latitude and longitude, if an object has these two alone."""
    return _DEGREES.get(frozenset(names))


def _point_in_degrees(latitude: object, longitude: object) -> Value:
    """A point; UNTYPED if these are not numbers of degrees."""
    if not (_is_finite_number(latitude) and _is_finite_number(longitude)):
        return UNTYPED
    x, y = float(longitude), float(latitude)  # type: ignore[arg-type]
    return Point(x, y) if abs(x) <= LARGEST_LONGITUDE and abs(y) <= LARGEST_LATITUDE else UNTYPED


LARGEST_LATITUDE: Final = 90.0
LARGEST_LONGITUDE: Final = 180.0


def wkb_bytes(given: object) -> bytes:
    """Well-known binary from bytes, or from base64 text; raises `ValueError`."""
    if isinstance(given, str):
        return base64.b64decode(given, validate=True)
    if not isinstance(given, bytes):
        raise ValueError(f"well-known binary is bytes, or base64 in a text, not {class_of(given)}")
    return given


def is_geometry(raw: Mapping[str, Any]) -> bool:
    """Whether an object is a GeoJSON geometry, which is a value under its own name."""
    kind = raw.get("type")
    return type(kind) is str and kind in _GEOMETRIES and ("coordinates" in raw or "geometries" in raw)


def _geometry(raw: Mapping[str, Any]) -> Point | Shape:
    kind = raw["type"]
    if kind != "Point":
        return _shape(lambda: shape_of_geojson(dict(raw)))
    match raw.get("coordinates"):
        case [x, y, *height] if len(height) < 2 and all(map(_is_finite_number, (x, y, *height))):
            return Point(float(x), float(y))
    raise _Unrepresentable("a GeoJSON Point needs two or three finite numbers as coordinates")


def _of_bytes(raw: bytes) -> Point | Shape:
    """Read bytes as well-known binary. The error for other bytes says so."""
    try:
        return _shape(lambda: shape_of_wkb(raw))
    except _Unrepresentable as error:
        raise _Unrepresentable(f"{BYTES}: {error}") from None


def _shape(read: Callable[[], Shape]) -> Point | Shape:
    """The value of a geometry, which must be valid on the plane. A third coordinate is ignored."""
    try:
        return place_of(read())
    except UnsupportedError as error:
        raise _Unrepresentable(error.reason) from None
    except (ValueError, RecursionError) as error:
        raise _Unrepresentable(f"this is not a geometry: {error}") from None


def _is_finite_number(raw: object) -> bool:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return False
    return abs(raw) <= LARGEST_INTEGER if isinstance(raw, int) else math.isfinite(raw)
