"""Queries of Elasticsearch as its clients write them, with parameters at their defaults and fields of a mapping."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.dialects.agreeing import answers, refusal

FUZZY = {"prefix_length": 0, "max_expansions": 50, "fuzzy_transpositions": True, "fuzziness": 0}
OF_WORDS = {"operator": "OR", "lenient": False, "zero_terms_query": "NONE", "boost": 1.0, "analyzer": "standard"}
BOUNDS = {"from": 10, "to": 20, "include_lower": True, "include_upper": False, "boost": 1.0}
NEGATIVE = {"must_not": [{"term": {"a": 1}}]}


@pytest.mark.parametrize(
    ("query", "event", "expected"),
    [
        ({"match": {"t": {"query": "quick fox", **OF_WORDS, **FUZZY}}}, {"t": "a fox"}, True),
        ({"match": {"t": {"query": "quick fox", **OF_WORDS, **FUZZY}}}, {"t": "a foxy"}, False),
        ({"multi_match": {"query": "fox", "fields": ["t^1.0"], "slop": 0, **OF_WORDS, **FUZZY}}, {"t": "fox"}, True),
        ({"match_phrase": {"t": {"query": "a fox", "slop": 0, "analyzer": "standard"}}}, {"t": "A fox"}, True),
        ({"range": {"a": BOUNDS}}, {"a": 10}, True),
        ({"range": {"a": BOUNDS}}, {"a": 20}, False),
        ({"regexp": {"a": {"value": "x+", "flags_value": 255, "max_determinized_states": 10000}}}, {"a": "xx"}, True),
        ({"bool": {**NEGATIVE, "adjust_pure_negative": True}}, {"a": 2}, True),
        ({"bool": {**NEGATIVE, "adjust_pure_negative": False}}, {"a": 2}, False),
        ({"bool": {**NEGATIVE, "filter": {"match_all": {}}, "adjust_pure_negative": False}}, {"a": 2}, True),
        ({"nested": {"path": "o", "query": {"term": {"o.a": 1}}, "inner_hits": {"size": 3}}}, {"o": [{"a": 1}]}, True),
    ],
)
def test_parameters_at_their_defaults_change_nothing(query: Any, event: Any, expected: bool) -> None:
    assert answers(query, "elasticsearch", event) == {expected}


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"match": {"t": {"query": "fox", "fuzziness": 1}}}, "match.t.fuzziness"),
        ({"multi_match": {"query": "fox", "fields": ["t"], "fuzziness": "AUTO"}}, "multi_match.fuzziness"),
        ({"match": {"t": {"query": "fox", "analyzer": "english"}}}, "match.t.analyzer"),
        ({"multi_match": {"query": "a fox", "fields": ["t"], "type": "phrase", "slop": 1}}, "multi_match.slop"),
    ],
)
def test_parameters_at_other_values_are_refused(query: Any, place: str) -> None:
    assert f"at {place}: {place.split('.')[-1]} of Elasticsearch is not supported" in refusal(query, "elasticsearch")


@pytest.mark.parametrize("kind", ["span_term", "span_multi", "field_masking_span", "geo_grid", "wrapper", "pinned"])
def test_a_query_that_elasticsearch_has_is_not_said_to_be_unknown(kind: str) -> None:
    assert f"{kind} of Elasticsearch is not supported" in refusal({kind: {}}, "elasticsearch")


@pytest.mark.parametrize(
    ("query", "event", "expected"),
    [
        ({"term": {"name.keyword": "Ann Lee"}}, {"name": "Ann Lee"}, True),
        ({"term": {"name.keyword": "Ann Lee"}}, {"name": ["Bo", "Ann Lee"]}, True),
        ({"term": {"name.keyword": "Ann"}}, {"name": "Ann Lee"}, False),
        ({"term": {"name.keyword": "Ann"}}, {"name": {"keyword": "Ann"}}, True),
        ({"terms": {"o.name.keyword": ["Ann"]}}, {"o": [{"name": "Ann"}]}, True),
        ({"term": {"keyword": "Ann"}}, {"keyword": "Ann"}, True),
        ({"prefix": {"name.keyword": "An"}}, {"name": "Ann"}, True),
        ({"wildcard": {"name.keyword": "*n"}}, {"name": "Ann"}, True),
        ({"regexp": {"name.keyword": "A.."}}, {"name": "Ann"}, True),
        ({"range": {"name.keyword": {"gte": "A", "lt": "B"}}}, {"name": "Ann"}, True),
        ({"exists": {"field": "name.keyword"}}, {"name": "Ann"}, True),
        ({"exists": {"field": "name.keyword"}}, {"name": {"first": "Ann"}}, False),
        ({"bool": {"must_not": {"exists": {"field": "name.keyword"}}}}, {"name": "Ann"}, False),
        ({"match": {"name.keyword": "Ann Lee"}}, {"name": "Ann Lee"}, True),
        ({"match": {"name.keyword": "Ann"}}, {"name": "Ann Lee"}, False),
        ({"match_phrase": {"name.keyword": "ann lee"}}, {"name": "Ann Lee"}, False),
        ({"match": {"name.keyword": 5}}, {"name": 5}, True),
        ({"nested": {"path": "o", "query": {"term": {"o.name.keyword": "Ann"}}}}, {"o": [{"name": "Ann"}]}, True),
    ],
)
def test_a_sub_field_has_the_values_of_its_field(query: Any, event: Any, expected: bool) -> None:
    assert answers(query, "elasticsearch", event) == {expected}


@pytest.mark.parametrize(
    ("query", "event", "expected"),
    [
        ({"term": {"ip": "10.0.0.0/8"}}, {"ip": "10.1.2.3"}, True),
        ({"term": {"ip": "10.0.0.1/8"}}, {"ip": ["11.1.2.3", "10.1.2.3"]}, True),
        ({"term": {"ip": "10.0.0.0/8"}}, {"ip": "11.1.2.3"}, False),
        ({"term": {"ip": "10.0.0.0/8"}}, {"ip": "10.0.0.0/8"}, True),
        ({"terms": {"ip": ["2001:db8::1", "10.0.0.0/8", "x/y"]}}, {"ip": "2001:db8:0::1"}, True),
        ({"terms": {"ip": ["2001:db8::1", "10.0.0.0/8", "x/y"]}}, {"ip": "x/y"}, True),
        ({"range": {"ip": {"gte": "10.0.0.9", "lte": "10.0.0.20"}}}, {"ip": "10.0.0.10"}, True),
        ({"range": {"ip": {"gt": "10.0.0.9"}}}, {"ip": "10.0.0.9"}, False),
        ({"range": {"ip": {"gte": "10.0.0.9", "lt": "x"}}}, {"ip": "10.0.0.9"}, True),
    ],
)
def test_addresses_are_compared_by_their_numbers(query: Any, event: Any, expected: bool) -> None:
    """A mapping is not needed: a bound, or a network, tells that a field has addresses."""
    assert answers(query, "elasticsearch", event) == {expected}
