"""Queries of MongoDB: as its manual says, and as the library mongomock answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mongomock import OperationFailure
from mongomock.filtering import filter_applies

from tests.language.dialects.agreeing import answers, refusal

CASES: list[tuple[Any, Any, bool]] = [
    ({}, {"a": 1}, True),
    ({"a": 1}, {"a": 1}, True),
    ({"a": 1}, {"a": [2, 1]}, True),
    ({"a": 1}, {"a": "1"}, False),
    ({"a": 1}, {"a": True}, False),
    ({"a": None}, {}, True),
    ({"a": None}, {"a": None}, True),
    ({"a": None}, {"a": [1, None]}, True),
    ({"a": None}, {"a": 1}, False),
    ({"a": {"$ne": 1}}, {}, True),
    ({"a": {"$ne": 1}}, {"a": [1, 2]}, False),
    ({"a": {"$ne": None}}, {}, False),
    ({"a": {"$gt": 1}}, {"a": [0, 2]}, True),
    ({"a": {"$gt": 1, "$lt": 1}}, {"a": [0, 2]}, True),
    ({"a": {"$elemMatch": {"$gt": 0, "$lt": 2}}}, {"a": [0, 2]}, False),
    ({"a": {"$elemMatch": {"$gt": 0, "$lt": 2}}}, {"a": 1}, False),
    ({"a": {"$elemMatch": {"b": 1, "c": 2}}}, {"a": [{"b": 1, "c": 3}, {"b": 1, "c": 2}]}, True),
    ({"a": {"$elemMatch": {"$or": [{"b": 1}, {"c": 1}]}}}, {"a": [{"c": 1}]}, True),
    ({"a.b": 1, "a.c": 2}, {"a": [{"b": 1, "c": 3}, {"b": 3, "c": 2}]}, True),
    ({"a.b": {"$gt": 5}}, {"a": {"b": 6}}, True),
    ({"a": {"$in": [1, "x", None]}}, {}, True),
    ({"a": {"$in": []}}, {"a": 1}, False),
    ({"a": {"$nin": [1, 2]}}, {"a": 3}, True),
    ({"a": {"$not": {"$gt": 1}}}, {"a": "x"}, True),
    ({"a": {"$exists": True}}, {"a": None}, True),
    ({"a.b": {"$exists": False}}, {"a": {"c": 1}}, True),
    ({"a": {"$type": "string"}}, {"a": "x"}, True),
    ({"a": {"$type": ["number", "bool"]}}, {"a": "x"}, False),
    ({"a": {"$type": "array"}}, {"a": []}, True),
    ({"a": {"$regex": "^X", "$options": "i"}}, {"a": "xy"}, True),
    ({"a": {"$regex": "x$"}}, {"a": "x\n"}, True),
    ({"a": {"$mod": [4, 3]}}, {"a": 7.9}, True),
    ({"a": {"$mod": [4, -3]}}, {"a": -7}, True),
    ({"a": {"$size": 2}}, {"a": ["xy", 1]}, True),
    ({"a": {"$size": 2}}, {"a": "xy"}, False),
    ({"a": {"$all": [1, 2]}}, {"a": [2, 1, 3]}, True),
    ({"a": {"$all": []}}, {"a": [1]}, False),
    ({"a": {"$all": [{"$elemMatch": {"b": 1}}, {"$elemMatch": {"b": 2}}]}}, {"a": [{"b": 1}, {"b": 2}]}, True),
    ({"$nor": [{"a": 1}, {"b": 2}]}, {"b": 3}, True),
    ({"t": {"$gte": {"$date": "2024-05-31T00:00:00Z"}}}, {"t": "2024-06-01T00:00:00Z"}, True),
    ({"p": {"$geoWithin": {"$box": [[0, 0], [2, 2]]}}}, {"p": [1, 1]}, True),
    ({"p": {"$geoWithin": {"$polygon": [[0, 0], [4, 0], [0, 4]]}}}, {"p": [3, 3]}, False),
    ({"p": {"$geoWithin": {"$centerSphere": [[13.4, 52.5], 0.0001]}}}, {"p": [13.405, 52.5]}, True),
    ({"a": 1, "$comment": "why"}, {"a": 1}, True),
]


@pytest.mark.parametrize(("query", "event", "expected"), CASES)
def test_queries(query: Any, event: Any, expected: bool) -> None:
    assert answers(query, "mongodb", event) == {expected}


# 0 and 1 are FALSE and TRUE to mongomock, as they are to Python.
_scalars = st.sampled_from([2, 3, 3.5, "x", "y", "xy", True, False])
_one = st.one_of(
    _scalars,
    st.builds(lambda value: {"$ne": value}, _scalars),
    st.builds(lambda value: {"$gt": value}, st.sampled_from([2, 3, "x"])),
    st.builds(lambda value: {"$lte": value}, st.sampled_from([2, 3, "x"])),
    st.builds(lambda values: {"$in": values}, st.lists(_scalars, max_size=2)),
    st.builds(lambda values: {"$nin": values}, st.lists(_scalars, max_size=2)),
    st.builds(lambda wanted: {"$exists": wanted}, st.booleans()),
    st.builds(lambda values: {"$all": values}, st.lists(_scalars, min_size=1, max_size=2)),
    st.builds(lambda value: {"$elemMatch": {"$gte": value}}, st.sampled_from([2, 3])),
    st.builds(lambda value: {"$elemMatch": {"b": value}}, _scalars),
    st.just({"$regex": "^x"}),
    st.builds(lambda size: {"$size": size}, st.integers(0, 2)),
)
_fields = st.dictionaries(st.sampled_from(["a", "b", "a.b"]), _one, min_size=1, max_size=2)
_queries = st.one_of(
    _fields,
    st.builds(
        lambda name, parts: {name: parts},
        st.sampled_from(["$and", "$or", "$nor"]),
        st.lists(_fields, min_size=1, max_size=2),
    ),
)
_values = _scalars | st.none()
_lists = st.lists(st.one_of(_values, st.dictionaries(st.sampled_from("bc"), _values, max_size=2)), max_size=3)
_events = st.dictionaries(
    st.sampled_from("ab"),
    st.one_of(_values, _lists, st.dictionaries(st.sampled_from("bc"), _values | _lists, max_size=2)),
)


@given(_queries, _events)
def test_generated_queries_agree_with_mongomock(query: Any, event: Any) -> None:
    """mongomock refuses to compare values of different types, where MongoDB says no."""
    try:
        expected = filter_applies(query, event)
    except (OperationFailure, NotImplementedError, TypeError):
        assume(False)
    assert answers(query, "mongodb", event) == {expected}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"$where": "x"}, "at $where: $where of MongoDB is not supported: it is JavaScript"),
        ({"a": {"$frob": 1}}, "at a.$frob: MongoDB has no operator '$frob'"),
        ({"a": {"$gt": 1, "b": 2}}, "operators and fields are mixed"),
        ({"a": {"b": 1}}, "an object as a value of MongoDB is not supported"),
        ({"a": [1, 2]}, "a list as a value of MongoDB is not supported"),
        ({"a.0": 1}, "a number in a path"),
        ({"a.b": None}, "null in a nested path"),
        ({"a": {"$regex": "(?=x)"}}, "look-around"),
        ({"a": {"$regex": "x", "$options": "x"}}, "the option 'x'"),
        ({"a": {"$type": "objectId"}}, "$type 'objectId'"),
        ({"a": {"$mod": [0, 1]}}, "the divisor of $mod cannot be 0"),
        ({"a": {"$geoWithin": {"$geometry": {}}}}, "at a.$geoWithin.$geometry"),
        ({"a": {"$in": 5}}, "need a list"),
        ({"$and": {}}, "a list of queries needs a list"),
        ([], "a query is an object"),
    ],
)
def test_refusals_name_the_place(query: Any, reason: str) -> None:
    assert reason in refusal(query, "mongodb")
