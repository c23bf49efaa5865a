"""An event flattens to the values that the specification says."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies as own
from tests.naive import flatten as naive
from tocsin.errors import RecordError
from tocsin.model.event import flatten
from tocsin.model.values import UNTYPED, Instant, Point, Shape, Value


@given(own.python_events())
def test_flattens_like_the_oracle(event):
    """Values, and the fields that have problems, are the oracle's."""
    values, problems = naive.flatten(event)

    found = flatten(event)

    assert found.values == values
    assert {name: type(value) for name, value in found.values.items()} == {n: type(v) for n, v in values.items()}
    assert {problem.field for problem in found.problems} == {field for field, _ in problems}


@given(own.bad_events())
def test_refuses_what_the_oracle_refuses(event):
    """An attribute that comes twice, a name that is no string."""
    with pytest.raises(RecordError):
        naive.flatten(event)
    with pytest.raises(RecordError):
        flatten(event)


@given(st.sampled_from([np.float64(1.5), np.float32(0.5), np.int64(7), np.bool_(True), np.str_("x")]))
def test_numpy_scalars_are_what_they_hold(scalar):
    """A NumPy scalar is its Python value."""
    assert flatten({"a": scalar}).values == {"a": scalar.item()}


def test_dates_are_midnights_in_utc():
    """A date, and a moment without a zone, are read as UTC."""
    values = flatten({"day": dt.date(1970, 1, 2), "moment": dt.datetime(1970, 1, 1, 0, 0, 1)}).values

    assert values == {"day": Instant(86_400_000_000), "moment": Instant(1_000_000)}


def test_nesting_has_a_limit():
    """256 levels are taken, far more are refused in words and not by the interpreter."""
    event: dict[str, object] = {"x": 1}
    for _ in range(5000):
        event = {"a": event}

    with pytest.raises(RecordError, match="nests more than 256 deep"):
        flatten(event)


def test_a_list_of_strange_things_has_no_type():
    """One element that cannot be represented leaves the list without a type, and says so once."""
    found = flatten({"a": [1, 2**60], "b": [[1], 2**60], "c": [object()]})

    assert found.values == {"a": UNTYPED, "b": UNTYPED, "c": UNTYPED}
    assert [problem.field for problem in found.problems] == ["a", "b", "c"]


def test_a_place_within_a_list_of_objects_is_reported() -> None:
    """A list has no places for elements: the attribute is there, of no type, and that is said once."""
    place = {"type": "Point", "coordinates": [1.0, 1.0]}

    found = flatten({"items": [{"a": place}, {}, {"a": "a", "b": {"c": 3}}, {"a": place}]})

    assert found.values == {
        **dict.fromkeys(("items", "items.a", "items.b"), UNTYPED),
        "items.a.type": ("Point", "Point"),
        "items.a.coordinates": (1.0, 1.0, 1.0, 1.0),
        "items.b.c": (3.0,),
    }
    assert [problem.field for problem in found.problems] == ["items.a"]


def test_a_geometry_is_a_place_and_an_object() -> None:
    """Its members are attributes; those that GeoJSON does not know, too. The geometries of a collection are a list."""
    point = {"type": "Point", "coordinates": [1, 2], "crs": {"type": "name"}, "note": "x"}
    collection = {"type": "GeometryCollection", "geometries": [point]}

    found = flatten({"g": point, "a": {"h": collection}})

    assert found.problems == []
    assert found.values["g"] == Point(1.0, 2.0)
    assert {name: value for name, value in found.values.items() if name.startswith("g.")} == {
        "g.type": "Point",
        "g.coordinates": (1.0, 2.0),
        "g.crs": UNTYPED,
        "g.crs.type": "name",
        "g.note": "x",
    }
    assert isinstance(found.values["a.h"], Shape | Point)
    assert (found.values["a.h.type"], found.values["a.h.geometries"]) == ("GeometryCollection", UNTYPED)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"lat": 40, "lon": -70.5}, Point(-70.5, 40.0)),
        ({"lng": 2, "lat": 1}, Point(2.0, 1.0)),
        ({"latitude": -90, "longitude": 180}, Point(180.0, -90.0)),
        ({"lat": 91, "lon": 1}, UNTYPED),
        ({"lat": "1", "lon": 1}, UNTYPED),
        ({"lat": True, "lon": 1}, UNTYPED),
        ({"lat": None, "lon": 1}, UNTYPED),
        ({"lat": 1, "lon": float("nan")}, UNTYPED),
        ({"lat": 1, "lon": 10**400}, UNTYPED),
        ({"lat": 1, "lon": 1, "alt": 1}, UNTYPED),
        ({"lat": 1, "longitude": 1}, UNTYPED),
    ],
)
def test_a_latitude_and_a_longitude_are_a_point(raw: dict[str, Any], value: Value) -> None:
    found = flatten({"pin": raw})
    assert found.values["pin"] == value
    assert flatten({"pins": [raw]}).values["pins"] is UNTYPED


def test_one_bad_list_within_a_list_of_objects_spoils_its_attribute() -> None:
    """The attribute joins lists of all objects. If one of them has no type, the whole has none."""
    values, problems = flatten({"items": [{"a": ["x", {"b": 1}]}, {"a": "y", "c": 2}]})
    assert values["items.a"] is UNTYPED
    assert values["items.c"] == (2.0,)
    assert [problem.field for problem in problems] == ["items.a"]
