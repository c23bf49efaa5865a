"""Events as JSON and Python give them, good and bad."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.pools import (
    ATTRIBUTES,
    INSTANT_TEXTS,
    INSTANTS,
    KEYWORDS,
    LIST,
    NUMBERS,
    SCALARS,
    Kind,
    boxes,
    chosen,
    coordinates,
    often,
    points,
)
from tocsin.model.values import Instant


def _as_sent(number: float) -> SearchStrategy[float | int]:
    """A number as JSON may carry it: 1 and 1.0 are one number."""
    whole = number in NUMBERS and number.is_integer()
    return st.sampled_from((number, int(number))) if whole else st.just(number)


json_scalars: dict[Kind, SearchStrategy] = {
    "number": SCALARS["number"].flatmap(_as_sent),
    "string": SCALARS["string"],
    "boolean": st.booleans(),
    "instant": st.sampled_from([*(moment.isoformat() for moment in INSTANTS), *INSTANT_TEXTS]),
}
_json_scalar = st.one_of(*json_scalars.values())
_json_point = st.tuples(coordinates, coordinates).map(lambda xy: {"type": "Point", "coordinates": list(xy)})
_json_list = chosen(
    (5, st.lists(KEYWORDS, max_size=4)),
    (3, st.lists(json_scalars["number"], max_size=4)),
    (2, st.lists(st.one_of(_json_scalar, st.none()), max_size=4)),
)
_json_place = chosen(
    (5, _json_point),
    (3, st.lists(coordinates, min_size=2, max_size=2)),
    (3, boxes().map(lambda box: list(box.bounds()))),
    (1, st.lists(coordinates, min_size=1, max_size=5)),
)
_json_kinds: dict[Kind, SearchStrategy] = {**json_scalars, "list": _json_list, "place": _json_place}
_BEYOND: Final = (float("inf"), float("-inf"), 2**60, -(2**53) - 1)
_ODD_LISTS: Final = (
    [1, float("inf")],
    ["a", 2**60],
    [["a"]],
    ["a", {"x": 1}],
    [{"type": "Point", "coordinates": [0, 1]}],
)
_ODD_PLACES: Final = (
    {"type": "Point", "coordinates": [0, 1, 2]},
    {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]},
    {"type": "GeometryCollection", "geometries": []},
)
_json_any = chosen(
    (2, st.none()),
    (4, st.one_of(*_json_kinds.values())),
    (1, st.sampled_from(({}, {"type": "Point"}, [{}], [{"b": 1}, {"b": [2, "a"]}]))),
    (3, st.sampled_from((*_BEYOND, *_ODD_LISTS, *_ODD_PLACES))),
)

_MOMENTS: Final = (
    dt.date(2024, 5, 31),
    dt.datetime(2024, 5, 31, 8, 15),
    dt.datetime(2024, 5, 31, 10, 15, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    dt.date(1970, 1, 1),
    Instant(-1),
)
_python_kinds: dict[Kind, SearchStrategy] = {
    **_json_kinds,
    "number": often(_json_kinds["number"], st.sampled_from([Decimal("0.5"), Decimal("0.1"), Decimal(2)])),
    "instant": often(st.sampled_from(_MOMENTS), json_scalars["instant"], odds=3),
    "list": often(_json_kinds["list"], st.sets(KEYWORDS, max_size=3), odds=3),
    "place": often(_json_kinds["place"], st.one_of(points(), boxes()), odds=4),
}
_NOT_FINITE: Final = (float("nan"), Decimal("NaN"), Decimal("Infinity"))
_ODD_VALUES: Final = (*_NOT_FINITE, "\ud800", b"a", [float("nan"), 1], ("a", None), {True, "a"})
_python_any = chosen((3, _json_any), (1, st.sampled_from(_MOMENTS)), (2, st.sampled_from(_ODD_VALUES)))


def json_events() -> SearchStrategy[dict[str, object]]:
    """Events as a JSON parser gives them; never a bad event. `json_text` writes them again."""
    return _events(_json_kinds, _json_any)


def python_events() -> SearchStrategy[dict[str, object]]:
    """Events as a Python program may give them: also dates, Decimals, NaN, sets and model values."""
    return _events(_python_kinds, _python_any)


def bad_events() -> SearchStrategy[dict[object, object]]:
    """Events that cannot be used as a whole: an attribute in two forms, or a name that is no string."""
    clashes = ({"a.b": 1, "a": {"b": 2}}, {"x": {"a.b": 1, "a": {"b": 1}}}, {"a": [{"b": 1}], "a.b": [2]})
    return st.sampled_from((*clashes, {1: "a"}, {"a": {None: 1}}))


def with_lists(events: SearchStrategy[dict[str, object]]) -> SearchStrategy[dict[str, object]]:
    """The same events, three in four with a list of objects and of what lists seldom have; in these lists again."""
    added = st.tuples(events, chosen((8, _element_lists(1)), (1, _json_any))).map(lambda two: {**two[0], LIST: two[1]})
    return chosen((3, added), (1, events))


@cache
def _element_lists(levels: int) -> SearchStrategy[list[object]]:
    members = {
        name: often(_json_kinds[kind], _json_any, odds=12) for kind, names in ATTRIBUTES.items() for name in names
    }
    if levels:
        members[LIST] = _element_lists(levels - 1)
    objects = st.lists(st.sampled_from(sorted(members)), max_size=6, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: members[name] for name in names})
    )
    return st.lists(chosen((8, objects), (1, st.one_of(_json_scalar, st.none(), _json_place))), max_size=3)


def json_text(event: Mapping[str, object]) -> str:
    """An event of `json_events` as JSON text; infinity is written 1e400, since JSON has no word for it."""
    return json.dumps(event, ensure_ascii=False).replace("Infinity", "1e400")


@st.composite
def _events(draw: DrawFn, kinds: Mapping[Kind, SearchStrategy], other: SearchStrategy) -> dict[str, object]:
    """Each attribute is present four times in five, and then usually of its usual type."""
    event: dict[str, object] = {}
    for kind, names in ATTRIBUTES.items():
        for name in names:
            if draw(st.integers(0, 4)):
                event[name] = draw(chosen((16, kinds[kind]), (2, other), (1, st.none())))
    return _nested(draw, event)


def _nested(draw: DrawFn, event: dict[str, object]) -> dict[str, object]:
    """The event with some of its dotted attributes in the nested form."""
    if "a.b" in event and draw(st.booleans()):
        event["a"] = {"c": None, "b": event.pop("a.b")}
    shape = draw(st.sampled_from(("dotted", "object", "objects")))
    if "items.a" in event and shape == "object":
        event["items"] = {"a": event.pop("items.a")}
    elif "items.a" in event and shape == "objects":
        event["items"] = [{"a": event.pop("items.a")}, {}, {"a": "a", "b": {"c": 3}}]
    return event
