"""Elements, places and extended JSON of MongoDB, as its manual and its sources say. The library mongomock differs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.dialects.agreeing import answers, refusal

LINE = {"type": "LineString", "coordinates": [[1, 1], [20, 20]]}
BOX = {"$geoWithin": {"$box": [[0, 0], [10, 10]]}}
CIRCLE = {"$geoWithin": {"$centerSphere": [[0, 0], 0.01]}}


def element(condition: Any) -> Any:
    return {"a": {"$elemMatch": condition}}


CASES: list[tuple[Any, Any, bool]] = [
    (element({"$gt": 4, "$lt": 6}), {"a": [[3, 7]]}, False),
    (element({"$gt": 4, "$lt": 6}), {"a": [[5], 5]}, True),
    (element({"$eq": 18}), {"a": [1, [18]]}, False),
    (element({"$ne": 18}), {"a": [[18]]}, True),
    (element({"$in": [1, None]}), {"a": [2, None]}, True),
    (element({"$in": [1, None]}), {"a": [2, {}]}, False),
    (element({"$exists": True}), {"a": [2]}, True),
    (element({"$exists": False}), {"a": [2]}, False),
    (element({"$type": "number"}), {"a": [[5]]}, False),
    (element({"$type": "array"}), {"a": [[5]]}, True),
    (element({"$size": 2}), {"a": [[5, 6]]}, True),
    (element({"$not": {"$gt": 1}}), {"a": ["x"]}, True),
    (element({"$elemMatch": {"$gt": 4}}), {"a": [[1, 5]]}, True),
    (element({"$elemMatch": {"$gt": 4}}), {"a": [5]}, False),
    (element({"b": {"$ne": 2}}), {"a": ["x", 1, None, True]}, False),
    (element({"b": {"$ne": 2}}), {"a": [{"b": 1}]}, True),
    (element({"b": {"$ne": 2}}), {"a": [{"b": 2}]}, False),
    (element({"b": {"$ne": 2}}), {"a": [{}]}, True),
    (element({"b": {"$ne": 2}}), {"a": [[1]]}, True),
    (element({"b": {"$nin": [1, 2]}}), {"a": [1]}, False),
    (element({"b": {"$exists": False}}), {"a": ["x"]}, False),
    (element({"b": None}), {"a": [1]}, False),
    (element({"b": None}), {"a": [{"c": 1}]}, True),
    (element({"$nor": [{"b": 1}]}), {"a": [1]}, False),
    (element({"x": 1, "$or": [{"b": 1}, {"c": 1}]}), {"a": [{"x": 1, "b": 1}]}, True),
    (element({"x": 1, "$or": [{"b": 1}, {"c": 1}]}), {"a": [{"x": 1}, {"b": 1}]}, False),
    ({"g": BOX}, {"g": LINE}, False),
    ({"g": BOX}, {"g": [10, 10]}, True),
    ({"g": BOX}, {"g": [10.1, 10]}, False),
    ({"g": BOX}, {"g": {"lng": 1, "lat": 1}}, True),
    ({"g": BOX}, {"g": {"lng": 1, "lat": 11}}, False),
    ({"g": {"$geoWithin": {"$polygon": [[0, 0], [10, 0], [10, 10]]}}}, {"g": LINE}, False),
    ({"g": {"$geoWithin": {"$polygon": [[0, 0], [10, 0], [10, 10]]}}}, {"g": [10, 5]}, True),
    ({"g": CIRCLE}, {"g": {"type": "LineString", "coordinates": [[0, 0], [50, 0]]}}, False),
    ({"g": CIRCLE}, {"g": {"type": "LineString", "coordinates": [[0, 0], [0.5, 0]]}}, True),
    ({"g": CIRCLE}, {"g": {"type": "MultiPoint", "coordinates": [[0, 0], [50, 0]]}}, False),
    ({"g": CIRCLE}, {"g": {"type": "MultiPoint", "coordinates": [[0, 0], [0, 0.5]]}}, True),
    ({"a": {"$mod": [{"$numberInt": "5"}, {"$numberInt": "0"}]}}, {"a": 10}, True),
    ({"a": {"$in": [{"$numberLong": "5"}, {"$numberDouble": "1.5"}]}}, {"a": 1.5}, True),
    ({"a": {"$size": {"$numberInt": "1"}}}, {"a": ["x"]}, True),
    ({"a": {"$gt": {"$date": {"$numberLong": "0"}}}}, {"a": "2024-01-01T00:00:00Z"}, True),
    ({"a": {"$regularExpression": {"pattern": "^X", "options": "i"}}}, {"a": "xy"}, True),
]


@pytest.mark.parametrize(("query", "event", "expected"), CASES)
def test_queries(query: Any, event: Any, expected: bool) -> None:
    assert answers(query, "mongodb", event) == {expected}


def test_dates_have_a_range() -> None:
    assert "out of the range" in refusal({"a": {"$gt": {"$date": {"$numberLong": "999999999999999"}}}}, "mongodb")
