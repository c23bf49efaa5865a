"""Queries of Elasticsearch, as its manual says."""

from __future__ import annotations

from typing import Any

import pytest

import tocsin
from tests.language.dialects.agreeing import answers, refusal


def boolean(**parts: Any) -> dict[str, Any]:
    return {"bool": parts}


A, B, C = {"term": {"a": 1}}, {"term": {"b": 1}}, {"term": {"c": 1}}
TITLE = {"t": "The quick brown Fox-trot"}
CASES: list[tuple[Any, Any, bool]] = [
    ({"match_all": {}}, {}, True),
    ({"match_none": {}}, {}, False),
    (A, {"a": 1}, True),
    (A, {"a": [2, 1]}, True),
    (A, {"a": "1"}, False),
    ({"term": {"a": {"value": "X", "case_insensitive": True}}}, {"a": "x"}, True),
    ({"term": {"o.a": 1}}, {"o": [{"a": 2}, {"a": 1}]}, True),
    ({"term": {"a": "x"}}, {"a": ["y", ["x"]]}, True),
    ({"term": {"a.keyword": "x"}}, {"a": [["x"]]}, True),
    ({"prefix": {"o.a": "x"}}, {"o": [{"a": [["xy"]]}]}, True),
    ({"exists": {"field": "a"}}, {"a": [[None], []]}, False),
    ({"exists": {"field": "a"}}, {"a": [[None, 1]]}, True),
    ({"term": {"a": {"value": "É", "case_insensitive": True}}}, {"a": "é"}, False),
    ({"term": {"a": {"value": "Éx", "case_insensitive": True}}}, {"a": "ÉX"}, True),
    ({"term": {"a": {"value": "k", "case_insensitive": True}}}, {"a": "\u212a"}, False),
    ({"term": {"a": {"value": "k.", "case_insensitive": True}}}, {"a": "K."}, True),
    ({"terms": {"a": ["x", 2]}}, {"a": 2}, True),
    ({"terms": {"a": []}}, {"a": 2}, False),
    ({"range": {"a": {"gte": 1, "lt": 3}}}, {"a": [0, 3]}, False),
    ({"range": {"a": {"gt": "b"}}}, {"a": "c"}, True),
    ({"range": {"t": {"lte": "2024-05-01"}}}, {"t": "2024-05-01T23:00:00Z"}, True),
    ({"range": {"t": {"gt": "2024-05-01"}}}, {"t": "2024-05-01T23:00:00Z"}, False),
    ({"range": {"t": {"lt": "2024-05-01"}}}, {"t": "2024-05-01T00:00:00Z"}, False),
    ({"range": {"t": {"gte": "2024-05-01||-1d+12h"}}}, {"t": "2024-04-30T12:00:00Z"}, True),
    ({"range": {"t": {"gt": "2024-05-01||+1d"}}}, {"t": "2024-05-02T00:00:00.001Z"}, True),
    ({"range": {"t": {"lte": "2024-05-01||+1d"}}}, {"t": "2024-05-02T00:00:00.001Z"}, False),
    ({"range": {"t": {"lte": "2024-05"}}}, {"t": "2024-05-01T23:59:59.999Z"}, True),
    ({"range": {"t": {"lte": "2024-05"}}}, {"t": "2024-05-02"}, False),
    ({"range": {"t": {"gte": "2024-05"}}}, {"t": "x"}, False),
    ({"prefix": {"a": "x"}}, {"a": "xy"}, True),
    ({"prefix": {"a": {"value": "X", "case_insensitive": True}}}, {"a": "xy"}, True),
    ({"wildcard": {"a": "x?y*"}}, {"a": "xzyyy"}, True),
    ({"wildcard": {"a": {"wildcard": "x\\*"}}}, {"a": "x*"}, True),
    ({"wildcard": {"a": {"value": "X?y", "case_insensitive": True}}}, {"a": "xßY"}, True),
    ({"wildcard": {"a": {"value": "X*.", "case_insensitive": True}}}, {"a": "xyy"}, False),
    ({"prefix": {"a": {"value": "f", "case_insensitive": True}}}, {"a": "\ufb01"}, False),
    ({"regexp": {"a": "x.*y"}}, {"a": "x\ny"}, True),
    ({"regexp": {"a": "x"}}, {"a": "xy"}, False),
    ({"regexp": {"a": "^x$"}}, {"a": "^x$"}, True),
    ({"regexp": {"a": "[^a-z]+"}}, {"a": "5^"}, True),
    ({"regexp": {"a": "[^a-z]+"}}, {"a": "a^"}, False),
    ({"regexp": {"a": "[~&\\]\\-]+"}}, {"a": "~-]"}, True),
    ({"regexp": {"a": "xy+?"}}, {"a": "x"}, True),
    ({"regexp": {"a": "(x|y){2}*z"}}, {"a": "xyyxz"}, True),
    ({"regexp": {"a": "()"}}, {"a": ""}, True),
    ({"regexp": {"a": {"value": "k[-s]\\#", "case_insensitive": True}}}, {"a": "KS#"}, True),
    ({"regexp": {"a": {"value": "k", "case_insensitive": True}}}, {"a": "\u212a"}, False),
    ({"exists": {"field": "a"}}, {"a": [None]}, False),
    ({"exists": {"field": "a"}}, {"a": [None, 1]}, True),
    ({"exists": {"field": "o.a"}}, {"o": [{"b": 1}, {"a": ""}]}, True),
    ({"exists": {"field": "o"}}, {"o": [{"b": None}, {"a": [None, 1]}]}, True),
    ({"exists": {"field": "o"}}, {"o": [{"b": None}, {}]}, False),
    ({"ids": {"values": ["x", "y"]}}, {"_id": "y"}, True),
    ({"match": {"t": "FOX wolf"}}, TITLE, True),
    ({"match": {"t": {"query": "fox wolf", "operator": "and"}}}, TITLE, False),
    ({"match": {"t": {"query": "the quick red fox", "minimum_should_match": "75%"}}}, TITLE, True),
    ({"match": {"t": {"query": "the slow red fox", "minimum_should_match": 3}}}, TITLE, False),
    ({"match": {"t": {"query": "the the red", "minimum_should_match": 2}}}, TITLE, True),
    ({"match": {"t": {"query": "fox", "minimum_should_match": 2}}}, TITLE, True),
    ({"match": {"t": {"query": "the slow red fox", "minimum_should_match": "2<-1"}}}, TITLE, False),
    ({"match": {"t": "!"}}, TITLE, False),
    ({"match": {"t": {"query": "!", "zero_terms_query": "all"}}}, TITLE, True),
    ({"match": {"t": "föx"}}, TITLE, False),
    ({"match": {"a": 5}}, {"a": 5}, True),
    ({"match_phrase": {"t": "brown fox"}}, TITLE, True),
    ({"match_phrase": {"t": {"query": "quick fox"}}}, TITLE, False),
    ({"multi_match": {"query": "fox", "fields": ["s", "t^3"]}}, TITLE, True),
    ({"multi_match": {"query": "quick brown", "fields": ["s", "t"], "type": "phrase"}}, TITLE, True),
    (boolean(must=[A], should=[B]), {"a": 1}, True),
    (boolean(should=[A, B]), {}, False),
    (boolean(should=[A, B], minimum_should_match=0), {}, False),
    (boolean(should=[A, B], minimum_should_match="25%"), {}, False),
    (boolean(should=[A, B], must_not=[C], minimum_should_match=-2), {}, False),
    (boolean(should=[A, B], filter=[C], minimum_should_match=-2), {"c": 1}, True),
    (boolean(should=[], minimum_should_match=1), {}, True),
    (boolean(must_not=[A], minimum_should_match=1), {}, False),
    (boolean(should=[A, B], minimum_should_match=3), {"a": 1, "b": 1}, False),
    (boolean(should=[A, B, C], minimum_should_match="1<-1 3<50%"), {"a": 1, "c": 1}, True),
    (boolean(should=[A, B, C], minimum_should_match="1 < -1  3 < 50%"), {"a": 1}, False),
    (boolean(should=[A, B, C], minimum_should_match=2), {"a": 1, "c": 1}, True),
    (boolean(should=[A, B, C], minimum_should_match=-1), {"a": 1}, False),
    (boolean(should=[A, B, C], minimum_should_match="-40%"), {"a": 1, "b": 1}, True),
    (boolean(must_not=A), {}, True),
    (boolean(must_not=[A]), {"a": [1, 2]}, False),
    (boolean(filter=A, must_not=boolean(must_not=B)), {"a": 1, "b": 1}, True),
    (boolean(), {}, True),
    ({"constant_score": {"filter": A, "boost": 2}}, {"a": 1}, True),
    ({"dis_max": {"queries": [A, B], "tie_breaker": 0.7}}, {"b": 1}, True),
    ({"boosting": {"positive": A, "negative": B, "negative_boost": 0.5}}, {"a": 1, "b": 1}, True),
    (
        {"nested": {"path": "o", "query": boolean(must=[{"term": {"o.a": 1}}, {"term": {"o.b": 2}}])}},
        {"o": [{"a": 1, "b": 3}, {"a": 2, "b": 2}]},
        False,
    ),
    ({"nested": {"path": "o", "query": boolean(must_not={"term": {"o.a": 1}})}}, {"o": [{"a": 1}, {"a": 2}]}, True),
    ({"geo_distance": {"distance": "1.5km", "p": {"lat": 52.5, "lon": 13.4}}}, {"p": [13.41, 52.51]}, True),
    ({"geo_distance": {"distance": "1mi", "p": [13.4, 52.5]}}, {"p": [13.5, 52.5]}, False),
    ({"geo_bounding_box": {"p": {"top_left": "1,179", "bottom_right": "-1,-179"}}}, {"p": [-179.5, 0]}, True),
    ({"geo_bounding_box": {"p": {"top": 2, "left": 0, "bottom": 0, "right": 2}}}, {"p": [3, 1]}, False),
    ({"geo_polygon": {"p": {"points": [[0, 0], [4, 0], [0, 4]]}}}, {"p": [1, 1]}, True),
]


@pytest.mark.parametrize(("query", "event", "expected"), CASES)
def test_queries(query: Any, event: Any, expected: bool) -> None:
    assert answers(query, "elasticsearch", event) == {expected}
    assert answers({"query": query}, "elasticsearch", event) == {expected}


def test_the_boost_of_the_outermost_query_is_the_score() -> None:
    engine = tocsin.Engine()
    engine.subscribe("s", {"bool": {"must": [A], "boost": 2.5}}, language="elasticsearch")
    engine.subscribe("t", {"term": {"a": {"value": 1, "boost": 3}}}, language="elasticsearch")
    engine.subscribe("u", {"term": {"a": {"value": 1, "boost": 3}}}, language="elasticsearch", score=7)
    assert {match.subscription: match.score for match in engine.match({"a": 1})} == {"s": 2.5, "t": 3.0, "u": 7.0}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"fuzzy": {"a": "x"}}, "at fuzzy: fuzzy of Elasticsearch is not supported"),
        ({"frob": {}}, "Elasticsearch has no query 'frob'"),
        (boolean(must=[{"script": {}}]), "at bool.must[0].script"),
        (boolean(musst=[]), "at bool.musst: Elasticsearch has no parameter 'musst'"),
        ({"term": {"a": 1, "b": 2}}, "one field is needed, not 2"),
        ({"term": {"a": [1]}}, "a string, a number or a boolean is needed"),
        ({"range": {"t": {"gt": "now/d"}}}, "rounding of now in date maths"),
        ({"range": {"t": {"gt": "now-1M"}}}, "the unit M in date maths of now"),
        ({"range": {"t": {"gt": "now-1x"}}}, "is not a unit of date maths"),
        ({"range": {"t": {"gt": "1/5/2024", "format": "d/M/yyyy"}}}, "the format 'd/M/yyyy'"),
        ({"regexp": {"a": "<1-9>"}}, "< in regexp"),
        ({"regexp": {"a": "\\d"}}, "\\d in regexp"),
        ({"regexp": {"a": "[\\w]"}}, "\\w in regexp"),
        ({"regexp": {"a": {"value": "[a-z]", "case_insensitive": True}}}, "a range of letters with case_insensitive"),
        ({"regexp": {"a": "(a"}}, "there is no ) after ("),
        ({"regexp": {"a": "a)"}}, "there is no ( before )"),
        ({"regexp": {"a": "a|"}}, "an alternative is empty"),
        ({"regexp": {"a": "(|a)"}}, "an alternative is empty"),
        ({"regexp": {"a": "+"}}, "there is nothing before +"),
        ({"regexp": {"a": "[a-]"}}, "- at its end needs a backslash"),
        ({"regexp": {"a": "a{"}}, "{ needs a backslash"),
        (boolean(should=[A], minimum_should_match="half"), "a number, a percentage or conditions"),
        (
            {"match": {"a": {"query": "x y", "operator": "and", "minimum_should_match": 1}}},
            "minimum_should_match with the operator and of Elasticsearch is not supported",
        ),
        ({"match": {"a": "so 😀"}}, "emoji in texts of Elasticsearch is not supported"),
        ({"match_phrase": {"a": "😀"}}, "emoji in texts"),
        ({"match": {"a": {"query": "x", "fuzziness": "AUTO"}}}, "fuzziness of Elasticsearch is not supported"),
        ({"match_phrase": {"a": {"query": "x y", "slop": 2}}}, "slop of Elasticsearch is not supported"),
        ({"nested": {"path": "o", "query": A}}, "the field a does not lie in the nested objects of o"),
        ({"geo_distance": {"distance": "1 parsec", "p": [1, 2]}}, "at geo_distance.distance"),
        ({"geo_bounding_box": {"p": {"wkt": "BBOX (1, 2, 3, 4)"}}}, "a box in this form"),
        ({"term": {"a*": 1}}, "the pattern 'a*'"),
        ([], "a query is an object"),
    ],
)
def test_refusals_name_the_place(query: Any, reason: str) -> None:
    assert reason in refusal(query, "elasticsearch")
