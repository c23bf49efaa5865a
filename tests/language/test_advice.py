"""What an expression probably does not mean is said where it is subscribed, on every way in; the rest is not."""

from __future__ import annotations

import warnings

import pytest

import tocsin
from tocsin.language import parse
from tocsin.language.advice import advice_on
from tocsin.language.operators.operator import may_need_advice

ADVISED = {
    'color = "gold"': "color in double quotes",
    "detail-type = 'order'": '"detail-type"',
    "name LIKE 'ip*'": "write %",
    "MATCHES(CASEI(name), 'ERROR')": "'ERO'",
    "TEXT(t, 'c++ and java')": "'+' is not part of a word",
    "TEXT(t, '한국에')": "Korean",
    "S_INTERSECTS(pos, BBOX(151.4, -34, 150.9, -33))": "exchanged",
    "S_INTERSECTS(pos, POLYGON((170 0, -170 0, -170 10, 170 10, 170 0)))": "antimeridian",
    "ANY(items, name LIKE 'a*')": "write %",
}
EXPECTED = {'color = "gold"': "gold in double quotes is an attribute; a text is 'gold'"}
QUIET = [
    "color = 'gold'",
    "\"color\" = 'gold'",
    "price < limit",
    "a - b > 3",
    "name LIKE 'ip%'",
    "MATCHES(CASEI(name), '\\S+ error')",
    "MATCHES(CASEI(name), '(?i)ERROR')",
    "MATCHES(name, 'ERROR')",
    "TEXT(t, 'java')",
    "S_INTERSECTS(pos, BBOX(170, -34, -170, -33))",
    "S_INTERSECTS(pos, BBOX(0, 0, 1, 1))",
]


@pytest.mark.parametrize("text", ADVISED)
def test_what_is_probably_meant_otherwise_is_said_on_every_way_in(text: str) -> None:
    wanted = EXPECTED.get(text, ADVISED[text])
    (found,) = advice_on(parse(text), text)
    assert wanted in found.reason
    assert may_need_advice(text)
    engine = tocsin.Engine()
    with pytest.warns(UserWarning) as caught:
        engine.subscribe("a", text)
    assert [str(one.message) for one in caught] == [f"{found.condition}: {found.reason}"]
    report = tocsin.Engine().subscribe_many([{"id": "a", "where": text}])
    assert [one.reason for one in report.warnings] == [found.reason]
    matches = tocsin.match([{"id": "a", "where": text}], [{"x": 1}])
    assert found.condition in [one.condition for one in matches.warnings]


@pytest.mark.parametrize("text", QUIET)
def test_nothing_is_said_of_what_means_what_it_says(text: str) -> None:
    assert advice_on(parse(text), text) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tocsin.Engine().subscribe("a", text)


def test_each_text_of_a_form_is_looked_at_itself() -> None:
    names = ["ip*", "ab%", "cd*"]
    report = tocsin.Engine().subscribe_many([{"id": name, "where": f"name LIKE '{name}'"} for name in names])
    assert [one.condition for one in report.warnings] == ["name LIKE 'ip*'", "name LIKE 'cd*'"]


def test_advice_names_the_first_subscription() -> None:
    """In a source; of those with one condition the first."""
    records = [
        {"id": "a", "where": "name LIKE 'ip%'"},
        {"id": "b", "where": "name LIKE 'ip*'"},
        {"id": "c", "where": "name LIKE 'ip*'"},
        {"id": "e", "where": {"op": "like", "args": [{"property": "name"}, "z*"]}},
    ]
    report = tocsin.Engine().subscribe_many(records)
    assert [(one.condition, one.example) for one in report.warnings] == [
        ("name LIKE 'ip*'", "b"),
        ("name LIKE 'z*'", "e"),
    ]
    assert str(report.warnings[0]) == "name LIKE 'ip*' (subscription b): * is not a wildcard in LIKE; write %"


def test_a_form_of_a_million_texts_costs_a_few_looks() -> None:
    records = [{"id": i, "where": f"name LIKE 'a{i}*'"} for i in range(1000)]
    assert len(tocsin.Engine().subscribe_many(records).warnings) == 20


OVER_TIME = {
    "COUNT(a = 1, 'PT0S') >= 2": "its span is 0",
    "SUM(a, TRUE, 'P0D') > 2": "its span is 0",
    "COUNT(a = 1, 'PT1M') < 0": "never TRUE, because COUNT is a whole number from 0 on",
    "0 > COUNT(a = 1, 'PT1M')": "never TRUE",
    "COUNT(a = 1, 'PT1M') = 2.5": "never TRUE",
    "COUNT(a = 1, 'PT1M') <= -1": "never TRUE",
    "COUNT(a = 1, 'PT1M') >= 0": "TRUE of every object",
    "COUNT(a = 1, 'PT1M') <> 0.5": "TRUE of every object",
    "COUNT_DISTINCT(ok, ok = TRUE AND b > 1, 'PT1M') > 1": "here at most 1",
    "COUNT_DISTINCT(ok, NOT ok, 'PT1M') >= 2": "here at most 1",
    "COUNT_DISTINCT(x, x IN ('a', 'b'), 'PT1M') = 3": "here at most 2",
    "SINCE(a = 1) < 0": "never TRUE, because SINCE is a number of seconds from 0 on",
    "COUNT(SINCE(b = 1) < 0, 'PT1M') > 1": "never TRUE",
}


@pytest.mark.parametrize("text", OVER_TIME)
def test_what_never_becomes_true_over_time_is_said(text: str) -> None:
    (found,) = advice_on(parse(text), text)
    assert OVER_TIME[text] in found.reason
    assert may_need_advice(text)
    with pytest.warns(UserWarning, match="over|span|never|every"):
        tocsin.Engine().subscribe("a", text)


@pytest.mark.parametrize(
    "text",
    [
        "COUNT(a = 1, 'PT1M') <= 0",
        "COUNT(a = 1, 'PT1M') <> 0",
        "COUNT_DISTINCT(x, x IN ('a', 'b'), 'PT1M') >= 2",
        "COUNT_DISTINCT(x, y = 'a' OR x = 'b', 'PT1M') > 5",
        "SINCE(a = 1) >= 0",
        "SINCE(a = 1) = 0.5",
        "MIN(a, TRUE, 'PT0.5S') < 0",
    ],
)
def test_nothing_is_said_of_what_may_become_true_over_time(text: str) -> None:
    assert advice_on(parse(text), text) == []
