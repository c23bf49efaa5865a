"""Dates with date maths, places, and regular expressions as Elasticsearch and Lucene write them."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo


class NotRead(Exception):
    """This reading stops short of it, or versions of Elasticsearch differ."""


# Dates

_DATE_TIME: Final = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:T(?:(?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?)?)?)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?)?)?"
)
_MATHS: Final = re.compile(r"([+-])(\d*)([yMwdhHms])|/([yMwdhHms])")
_SPANS: Final = {"w": dt.timedelta(weeks=1), "d": dt.timedelta(days=1), "h": dt.timedelta(hours=1)}
_SPANS |= {"H": _SPANS["h"], "m": dt.timedelta(minutes=1), "s": dt.timedelta(seconds=1)}
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


def instant(text: str, round_up: bool, zone: str | None) -> dt.datetime | None:
    """A date, to the millisecond; `round_up` for `gt` and `lte`. The date before `||` itself is not rounded up."""
    anchor, bars, maths = text.partition("||")
    found = _date_time(anchor, round_up and not bars, _zone(zone))
    if found is None or not bars:
        return found
    for sign, count, unit, rounding in _MATHS.findall(maths):
        if rounding:
            found = _floor(found, rounding)
            if round_up:
                found = _add(found, 1, rounding) - _MILLISECOND
        else:
            found = _add(found, int(sign + (count or "1")), unit)
    return found


def _zone(name: str | None) -> dt.tzinfo:
    if name is None or name in ("Z", "UTC"):
        return dt.UTC
    if name[0] in "+-":
        hours, minutes = int(name[1:3]), int(name[3:].removeprefix(":") or 0)
        return dt.timezone(dt.timedelta(hours=hours, minutes=minutes) * (-1 if name[0] == "-" else 1))
    return ZoneInfo(name)


def _date_time(text: str, round_up: bool, zone: dt.tzinfo) -> dt.datetime | None:
    """Missing parts are the first ones; with `round_up` those of the day are the last ones, not month and day."""
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return None
    last = {"hour": 23, "minute": 59, "second": 59} if round_up else {"hour": 0, "minute": 0, "second": 0}
    parts = {name: int(found[name]) if found[name] else last.get(name, 1) for name in ("month", "day", *last)}
    fraction = found["fraction"] or ("999" if round_up else "0")
    own = _zone(found["zone"]) if found["zone"] else zone
    try:
        return dt.datetime(int(found["year"]), microsecond=int(fraction[:3].ljust(3, "0")) * 1000, tzinfo=own, **parts)
    except ValueError:
        return None


def _add(when: dt.datetime, count: int, unit: str) -> dt.datetime:
    if unit not in "yM":
        return (when.astimezone(dt.UTC) + count * _SPANS[unit]).astimezone(when.tzinfo)
    months = when.year * 12 + when.month - 1 + count * (12 if unit == "y" else 1)
    year, month = months // 12, months % 12 + 1
    return when.replace(year=year, month=month, day=min(when.day, calendar.monthrange(year, month)[1]))


def _floor(when: dt.datetime, unit: str) -> dt.datetime:
    if unit == "w":
        when -= dt.timedelta(days=when.weekday())
    kept = {"y": 1, "M": 2, "w": 3, "d": 3, "h": 4, "H": 4, "m": 5, "s": 6}[unit]
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    return when.replace(**{name: 1 if name in ("month", "day") else 0 for name in names[kept:]})


# Places, longitude first

Place = tuple[float, float]

_EARTH_M: Final = 6_371_008.7714
_UNITS: Final = {"m": 1.0, "meters": 1.0, "km": 1000.0, "kilometers": 1000.0, "mi": 1609.344, "miles": 1609.344}
_UNITS |= {"yd": 0.9144, "ft": 0.3048, "in": 0.0254, "cm": 0.01, "mm": 0.001, "nmi": 1852.0, "NM": 1852.0}


def place(value: Any) -> Place | None:
    """A point: GeoJSON, `[lon, lat]`, `{"lat": ..., "lon": ...}`, `"lat,lon"` or `"POINT (lon lat)"`."""
    if isinstance(value, str):
        numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", value)]
        return (numbers[0], numbers[1]) if value.startswith("POINT") else (numbers[1], numbers[0])
    if isinstance(value, Mapping):
        if "coordinates" in value:
            return float(value["coordinates"][0]), float(value["coordinates"][1])
        return (float(value["lon"]), float(value["lat"])) if "lon" in value else None
    if isinstance(value, list) and len(value) == 2 and all(isinstance(number, int | float) for number in value):
        return float(value[0]), float(value[1])
    return None


def metres(distance: str | float, unit: str) -> float:
    found = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", str(distance))
    assert found is not None
    return float(found[1]) * _UNITS[found[2] or unit]


def distance_m(left: Place, right: Place) -> float:
    """On the sphere, by haversines."""
    (lon1, lat1), (lon2, lat2) = ((math.radians(x), math.radians(y)) for x, y in (left, right))
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * _EARTH_M * math.asin(math.sqrt(h))


class Box(NamedTuple):
    west: float
    south: float
    east: float
    north: float

    @staticmethod
    def of(shape: Mapping[str, Any]) -> Box:
        if "wkt" in shape:
            west, east, north, south = (float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", shape["wkt"]))
            return Box(west, south, east, north)
        found = {name: float(shape[name]) for name in ("top", "left", "bottom", "right") if name in shape}
        for corner, point in shape.items():
            if "_" in corner and (at := place(point)) is not None:
                vertical, horizontal = corner.split("_")
                found |= {horizontal: at[0], vertical: at[1]}
        return Box(found["left"], found["bottom"], found["right"], found["top"])


def within_box(found: Place, box: Box) -> bool:
    """Borders are inside. A box whose west is east of its east goes over the antimeridian."""
    x, y = found
    across = box.west <= x <= box.east if box.west <= box.east else x >= box.west or x <= box.east
    return across and box.south <= y <= box.north


def within(found: Place, corners: Sequence[Place]) -> bool:
    """Whether a ray to the right crosses the ring an odd number of times; the border is not asked for."""
    x, y = found
    inside = False
    for (x1, y1), (x2, y2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


# Regular expressions

_REPEAT: Final = re.compile(r"[?*+]|\{\d+(?:,\d*)?\}")


def lucene_regexp(text: str) -> str:
    """Lucene's expression as one of Python's: a repetition applies to what stands before, be it itself repeated."""
    found, end = _union(text, 0)
    if end != len(text):
        raise NotRead(text)
    return found


def _union(text: str, at: int) -> tuple[str, int]:
    if at == len(text):
        return "", at
    choices = []
    while True:
        pieces = []
        while at < len(text) and text[at] not in "|)":
            piece, at = _repeated(text, at)
            pieces.append(piece)
        choices.append("".join(pieces))
        if not pieces:
            raise NotRead(text)
        if at == len(text) or text[at] != "|":
            return "(?:" + "|".join(choices) + ")", at
        at += 1


def _repeated(text: str, at: int) -> tuple[str, int]:
    piece, at = _simple(text, at)
    while found := _REPEAT.match(text, at):
        piece, at = f"(?:{piece}){found[0]}", found.end()
    return piece, at


def _simple(text: str, at: int) -> tuple[str, int]:
    sign = text[at]
    if sign == "(":
        if text[at + 1 : at + 2] == ")":
            return "", at + 2
        inner, end = _union(text, at + 1)
        if text[end : end + 1] != ")":
            raise NotRead(text)
        return inner, end + 1
    if sign == "[":
        return _class(text, at + 1)
    if sign == "\\":
        return re.escape(_escaped(text, at + 1)), at + 2
    if sign in '~<>&@#"{?*+':
        raise NotRead(text)
    return "." if sign == "." else re.escape(sign), at + 1


def _escaped(text: str, at: int) -> str:
    r"""The sign after a backslash; newer versions have classes, such as `\d`."""
    if at == len(text) or text[at].isalnum():
        raise NotRead(text)
    return text[at]


def _class(text: str, at: int) -> tuple[str, int]:
    start = "[^" if text[at] == "^" else "["
    at += len(start) - 1
    members = []
    while text[at] != "]":
        escaped = text[at] == "\\"
        sign = _escaped(text, at + 1) if escaped else text[at]
        members.append("-" if sign == "-" and not escaped else re.escape(sign))
        at += 1 + escaped
    return start + "".join(members) + "]", at + 1
