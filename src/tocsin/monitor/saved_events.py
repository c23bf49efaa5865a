"""Events that a monitor keeps, as JSON: lines as they came, and Python objects by their meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tocsin.model.event import value_of
from tocsin.model.shapes import shape_of_text
from tocsin.model.values import UNTYPED, Box, Instant, Point, Range, Shape
from tocsin.monitor.visiting import Reading
from tocsin.records.csv_files import checked_types
from tocsin.records.json_lines import parse_line

_KIND: Final = "\0kind"
"""The attribute that marks a value that JSON does not have."""
_MARK: Final = json.dumps(_KIND).encode()


def event_as_json(record: Any) -> Any:
    """A text for a JSON line; an object as it is, for `as_line`."""
    return record.decode() if isinstance(record, bytes) else record


def event_of_json(saved: Any) -> Any:
    """The inverse. Raises `ValueError` or `RecordError` if it cannot be read."""
    if isinstance(saved, str):
        line = saved.encode()
        parse_line(line, 0)
        return line
    if not isinstance(saved, dict):
        raise ValueError
    return saved


def as_line(content: Any) -> bytes:
    """Content with events as a line of JSON."""
    return json.dumps(content, default=_plain).encode() + b"\n"


def of_line(line: bytes) -> Any:
    """The inverse. Raises `ValueError`, `KeyError` or `TypeError` if it cannot be read."""
    content = json.loads(line)
    return _marked(content) if _MARK in line else content


def reading_as_json(how: Reading) -> list[Any]:
    """How events are read."""
    schema = {name: kind if isinstance(kind, str) else f"text {kind}" for name, kind in (how.schema or {}).items()}
    return [schema, {name: list(pair) for name, pair in (how.points or {}).items()}]


def reading_of_json(saved: Any) -> Reading:
    """The inverse. Raises `ValueError` if it cannot be read."""
    schema, points = saved
    pairs = {name: (x, y) for name, (x, y) in points.items()}
    if not all(isinstance(one, str) for pair in pairs.values() for one in pair):
        raise ValueError
    return Reading(dict(checked_types(schema)) or None, pairs or None)


def _plain(raw: Any) -> Any:
    """A value that JSON does not have, by its meaning."""
    if isinstance(raw, Mapping):
        return dict(raw)
    value = value_of(raw, "", [])
    if isinstance(value, Instant):
        return {_KIND: "instant", "value": value.microseconds}
    if isinstance(value, Point):
        return {_KIND: "point", "value": [value.x, value.y]}
    if isinstance(value, Box):
        return {_KIND: "box", "value": list(value.bounds())}
    if isinstance(value, Shape):
        return {_KIND: "shape", "value": value.wkt}
    if isinstance(value, Range):
        return {_KIND: "range", "value": [value.lo, value.hi, value.contained]}
    return {_KIND: "untyped"} if value is UNTYPED else value


def _marked(saved: Any) -> Any:
    """What `_plain` stands for, also within lists and objects."""
    if isinstance(saved, list):
        return [_marked(item) for item in saved]
    if not isinstance(saved, dict):
        return saved
    kind, value = saved.get(_KIND), _marked(saved.get("value"))
    if kind is None:
        return {name: _marked(item) for name, item in saved.items()}
    if kind == "instant":
        return Instant(int(value))
    if kind == "shape":
        return shape_of_text(value)
    if kind == "range":
        lo, hi, contained = value
        return Range(lo, hi, contained=contained)
    places = {"point": Point, "box": Box}
    return UNTYPED if kind == "untyped" else places[kind](*map(float, value))
