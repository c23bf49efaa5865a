"""`query_string` and `simple_query_string`, as Elasticsearch's manual says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.dialects.agreeing import answers, refusal

BOOK = {"title": "The quick brown fox", "status": "active", "age": 12, "day": "2012-06-01T10:00:00Z", "on": True}
HOST = {"ip": "10.1.2.3", "path": "C:\\Windows\\cmd.exe", "name": "Ann Lee", "tags": ["beta", "5"]}

STRINGS: list[tuple[str, dict[str, Any], bool]] = [
    ("status:active", BOOK, True),
    ("status:(active OR closed)", BOOK, True),
    ("title:(quick OR slow) AND NOT status:closed", BOOK, True),
    ("title:(quick fast)", BOOK, True),
    ('title:"quick brown"', BOOK, True),
    ('title:"brown quick"', BOOK, False),
    ("+quick +brown -news", BOOK, True),
    ("quick AND news", BOOK, False),
    ("_exists_:title", BOOK, True),
    ("NOT _exists_:author", BOOK, True),
    ("author:*", BOOK, False),
    ("*:*", {}, True),
    ("age:12", BOOK, True),
    ("12", BOOK, True),
    ("on:true", BOOK, True),
    ("on:false", BOOK, False),
    ("age:[10 TO 12]", BOOK, True),
    ("age:[10 TO 12}", BOOK, False),
    ("age:{12 TO *}", BOOK, False),
    ("age:>=12 AND age:<13", BOOK, True),
    ("age:(>=10 AND <12)", BOOK, False),
    ("age:(+>=10 +<20)", BOOK, True),
    ("age:[* TO *]", BOOK, True),
    ("day:[2012-01-01 TO 2012-12-31]", BOOK, True),
    ("day:{* TO 2012-06-01}", BOOK, False),
    ("day:<=2012-06-01", BOOK, True),
    ("day:2012-06-01", BOOK, True),
    ("day:2012-06-02", BOOK, False),
    ("day:[* TO now]", BOOK, True),
    ("2012-06-01", BOOK, True),
    ("2012-06-02", BOOK, False),
    ("title:2012-06-01", {"title": "on 2012-06-01"}, True),
    ("tags:{alpha TO omega}", HOST, True),
    ("tags:5", HOST, True),
    ("tags:[1 TO 5]", HOST, True),
    ('ip:"10.0.0.0/8"', HOST, True),
    ("ip:[10.1.2.0 TO 10.1.2.255]", HOST, True),
    ("path:*\\\\cmd.exe", HOST, True),
    ("path:C\\:\\\\W*", HOST, True),
    ("path:*.EXE", HOST, False),
    ("path:/C:.*exe/", HOST, True),
    ("name.keyword:Ann\\ Lee", HOST, True),
    ('name.keyword:"Ann Lee"', HOST, True),
    ("name.keyword:Ann", HOST, False),
    ("ann^3 bob", HOST, True),
    ("o.kind:x", {"o": [{"kind": "x"}]}, True),
    ("", BOOK, False),
    ("title:(\\!\\? OR \\-)", BOOK, False),
]


@pytest.mark.parametrize(("text", "event", "expected"), STRINGS)
def test_query_strings(text: str, event: dict[str, Any], expected: bool) -> None:
    assert answers({"query_string": {"query": text}}, "elasticsearch", event) == {expected}


PARAMETERS: list[tuple[dict[str, Any], bool]] = [
    ({"query": "quick closed", "default_operator": "AND"}, False),
    ({"query": "quick brown", "default_operator": "and"}, True),
    ({"query": "active", "default_field": "title"}, False),
    ({"query": ">=12", "default_field": "age"}, True),
    ({"query": ">=11", "fields": ["age"]}, False),
    ({"query": "active", "fields": ["title", "status^5"]}, True),
    ({"query": "quick active", "fields": ["title", "status"], "default_operator": "AND"}, False),
    ({"query": "quick AND active", "fields": ["title", "status"]}, True),
    ({"query": "quick slow brown", "default_field": "title", "minimum_should_match": 2}, True),
    ({"query": "quick slow red", "default_field": "title", "minimum_should_match": 2}, False),
    ({"query": "quick slow red", "fields": ["title", "status"], "minimum_should_match": 2}, True),
    ({"query": "quick OR slow OR active", "fields": ["title", "status"], "minimum_should_match": 2}, True),
    ({"query": "(quick", "escape": True}, True),
    ({"query": "day:<2012-06-01T11\\:00\\:00", "time_zone": "+02:00"}, False),
    ({"query": "*", "analyze_wildcard": True, "lenient": True, "fuzziness": "AUTO", "phrase_slop": 0}, True),
]


@pytest.mark.parametrize(("parameters", "expected"), PARAMETERS)
def test_parameters(parameters: dict[str, Any], expected: bool) -> None:
    assert answers({"query_string": parameters}, "elasticsearch", BOOK) == {expected}


SIMPLE: list[tuple[dict[str, Any], bool]] = [
    ({"query": '"quick brown" + (fox | dog) + -cat', "fields": ["title^5", "body"]}, True),
    ({"query": "slow + brown", "fields": ["title"]}, False),
    ({"query": "slow | brown", "fields": ["title"]}, True),
    ({"query": "act*", "fields": ["status"]}, True),
    ({"query": "quick slow", "fields": ["title"], "default_operator": "and"}, False),
    ({"query": "quick AND (", "fields": ["title"]}, True),
    ({"query": "slow | quick", "fields": ["title"], "flags": "NONE"}, True),
    ({"query": "quick -fox", "fields": ["title"], "flags": "OR|AND|WHITESPACE", "default_operator": "AND"}, True),
    ({"query": "quick slow red", "fields": ["title"], "minimum_should_match": "34%"}, True),
    ({"query": "12"}, True),
    ({"query": "*"}, True),
    ({"query": ""}, False),
]


@pytest.mark.parametrize(("parameters", "expected"), SIMPLE)
def test_simple_query_strings(parameters: dict[str, Any], expected: bool) -> None:
    assert answers({"simple_query_string": parameters}, "elasticsearch", BOOK) == {expected}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"query_string": {"query": "(a AND b"}}, "at query_string.query: the query string ends too early"),
        ({"query_string": {"query": "a AND ] b"}}, "has no ']' here, at column 7"),
        ({"query_string": {"query": "roam~"}}, "at query_string.query: fuzziness of Elasticsearch is not supported"),
        ({"query_string": {"query": '"a b"~2'}}, "slop of Elasticsearch is not supported"),
        ({"query_string": {"query": "a", "phrase_slop": 1}}, "at query_string.phrase_slop: phrase_slop of"),
        ({"query_string": {"query": "a", "type": "cross_fields"}}, "the type cross_fields of query_string"),
        ({"query_string": {"query": "a", "fields": ["a"], "default_field": "b"}}, "exclude each other"),
        ({"query_string": {"query": "*a", "allow_leading_wildcard": False}}, "which allow_leading_wildcard rules out"),
        ({"query_string": {"query": "a", "default_operator": "xor"}}, "it is OR or AND"),
        ({"query_string": {"query": "a", "frob": 1}}, "Elasticsearch has no parameter 'frob'"),
        ({"query_string": {"fields": ["a"]}}, "query is missing"),
        ({"query_string": {"query": "bo\\*k.\\*:a"}}, "the pattern 'bo*k.*'"),
        ({"nested": {"path": "o", "query": {"query_string": {"query": "a"}}}}, "without fields in a nested query"),
        ({"simple_query_string": {"query": "roam~1"}}, "fuzziness of Elasticsearch is not supported"),
        ({"simple_query_string": {"query": '"a b"~3 c'}}, "slop of Elasticsearch is not supported"),
        ({"simple_query_string": {"query": "a", "flags": "FROB"}}, "there is no flag 'FROB'"),
    ],
)
def test_refusals_name_the_place(query: Any, reason: str) -> None:
    assert reason in refusal(query, "elasticsearch")


@pytest.mark.parametrize("kind", ["query_string", "simple_query_string"])
@pytest.mark.parametrize("text", ["(" * 9_000, "(" * 600 + "a" + ")" * 600, '"' * 3_000, "[a TO " * 500, "-" * 9_000])
def test_long_strings_are_read_or_refused(kind: str, text: str) -> None:
    """Signs that are never closed, or nest deep, cost time that is linear in the text, and end no process."""
    reason = refusal({kind: {"query": text}}, "elasticsearch")
    assert "report it" not in reason
