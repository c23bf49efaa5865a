"""Every rule of another system is a condition or an error, and a rule costs itself alone."""

from __future__ import annotations

from typing import Any

import pytest

import tocsin
from tests.language.dialects.agreeing import answers, refusal
from tocsin.language.dialects import DIALECTS

BAD: list[tuple[str, Any, str]] = [
    ("elasticsearch", {"range": {"price": 5}}, "at range.price: an object with gt, gte, lt, lte is needed, not 5"),
    ("elasticsearch", {"range": {"price": True}}, "an object with gt"),
    ("elasticsearch", {"geo_distance": {"distance": ".", "place": [1, 2]}}, "a distance such as"),
    ("mongodb", {"a": {"$type": [["string"]]}}, "$type needs the name or the number of a type"),
    ("mongodb", {"a": {"$type": {"x": 1}}}, "$type needs the name or the number of a type"),
    ("sigma", {"title": "t", "detection": {"s": {"A|re": None}, "condition": "s"}}, "re needs a text"),
    ("sigma", {"title": "t", "detection": {"s": {"A|re": [["a"]]}, "condition": "s"}}, "re needs a text"),
    ("sql", "price < 1e", "'1e' is not a number"),
    ("sql", "t > now() - INTERVAL " + "9" * 50 + " DAY", "the interval is out of range"),
]


@pytest.mark.parametrize(("language", "rule", "reason"), BAD)
def test_bad_rules_have_a_reason(language: str, rule: Any, reason: str) -> None:
    assert reason in refusal(rule, language)


def test_null_in_parentheses_is_null() -> None:
    assert answers("(NULL) IS NULL", "sql", {}) == {True}


def test_half_of_a_surrogate_pair_costs_its_rule_alone() -> None:
    rules = [
        {"id": "bad", "where": {"\ud800": ["x"]}, "language": "eventbridge"},
        {"id": "good", "where": {"a": [1]}, "language": "eventbridge"},
    ]

    answer = tocsin.match(rules, [{"a": 1}])

    assert [row["subscription"] for row in answer] == ["good"]
    assert "surrogate" in answer.subscription_errors[0].reason


@pytest.mark.parametrize("language", DIALECTS)
def test_a_fault_of_a_reader_costs_its_rule_alone(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that parses for tocsin may raise anything."""

    def read(rule: Any, reader: Any) -> Any:
        raise AttributeError("no such thing")

    monkeypatch.setattr(DIALECTS[language], "read", read)

    answer = tocsin.match(
        [{"id": "bad", "where": "a: 1", "language": language}, {"id": "good", "where": "a = 1"}], [{"a": 1}]
    )

    assert [row["subscription"] for row in answer] == ["good"]
