"""Long lists, events of 100,000 attributes, names of operators, regular expressions that explode elsewhere."""

from __future__ import annotations

import pytest

import tocsin

MANY = 99_000
"""Values; the language takes 100,000 values and operators in an expression."""


@pytest.fixture
def engine() -> tocsin.Engine:
    return tocsin.Engine()


@pytest.mark.slow("a list of tens of thousands of values is parsed and compiled")
def test_a_long_list_of_values(engine: tocsin.Engine) -> None:
    values = ",".join(map(str, range(0, 2 * MANY, 2)))
    engine.subscribe("in", f"n IN ({values})")
    engine.subscribe("not in", f"n NOT IN ({values})")
    for _ in range(2):
        assert [match.subscription for match in engine.match({"n": MANY})] == ["in"]
        assert [match.subscription for match in engine.match({"n": MANY + 1})] == ["not in"]
        assert list(engine.match({"m": 1})) == []
        engine.merge()


def test_a_list_of_a_million_values_is_refused_and_nothing_is_lost(engine: tocsin.Engine) -> None:
    text = f"n IN ({','.join(map(str, range(1_000_000)))})"
    with pytest.raises(tocsin.RecordError, match="at most 100,000 are allowed"):
        engine.subscribe("too long", text)
    report = engine.subscribe_many(
        [{"id": "before", "where": "n = 1"}, {"id": "long", "where": text}, {"id": "after", "where": "n = 1"}]
    )
    assert [error.id for error in report.errors] == ["long"]
    assert [match.subscription for match in engine.match({"n": 1})] == ["after", "before"]


def test_an_event_of_many_attributes(engine: tocsin.Engine) -> None:
    engine.subscribe("two", "x5 = 5 AND x99999 > 3")
    engine.subscribe("one", "x70000 IS NULL")
    event = {f"x{number}": number for number in range(100_000)}
    for _ in range(2):
        assert [match.subscription for match in engine.match(event)] == ["two"]
        answers = engine.match_batch([event] * 70)
        assert answers.table["subscription"].to_pylist() == ["two"] * 70
        engine.merge()


@pytest.mark.parametrize("merged", [False, True])
def test_attributes_named_like_operators(engine: tocsin.Engine, merged: bool) -> None:
    names = [
        "and",
        "or",
        "not",
        "in",
        "between",
        "like",
        "is",
        "null",
        "true",
        "div",
        "AND",
        "=",
        "<=",
        "%",
        "a = 1",
        '"',
        "#",
    ]
    for number, name in enumerate(names):
        quoted = name.replace('"', '""')
        engine.subscribe(number, f'"{quoted}" = {number} AND "{quoted}" IN ({number}, -1)')
    if merged:
        engine.merge()
    for number, name in enumerate(names):
        assert [match.subscription for match in engine.match({name: number})] == [number]


@pytest.mark.parametrize("merged", [False, True])
def test_patterns_that_explode_where_a_matcher_goes_back(engine: tocsin.Engine, merged: bool) -> None:
    """RE2 does not go back, and LIKE goes back to its last run alone."""
    engine.subscribe("nested", "MATCHES(s, '^(a+)+$')")
    engine.subscribe("either", "MATCHES(s, '^(a|a)*b$')")
    engine.subscribe("runs", f"s LIKE '{'%a' * 40}b'")
    if merged:
        engine.merge()
    assert list(engine.match({"s": "a" * 50_000 + "!"})) == []
    assert [match.subscription for match in engine.match({"s": "a" * 50_000 + "b"})] == ["either", "runs"]


def test_a_regular_expression_that_would_take_too_much_is_refused(engine: tocsin.Engine) -> None:
    with pytest.raises(tocsin.RecordError, match="is not a regular expression"):
        engine.subscribe("large", "MATCHES(s, '((a{1000}){1000}){1000}')")
