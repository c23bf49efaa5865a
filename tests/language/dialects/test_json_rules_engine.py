"""Rules of json-rules-engine: what they match, what is refused, and how they are converted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

import tocsin
from tests.language.dialects.agreeing import answers, refusal
from tocsin.cli.main import main

LANGUAGE: Final = "json-rules-engine"


def condition(operator: str, value: Any, fact: str = "a", **more: Any) -> dict[str, Any]:
    return {"all": [{"fact": fact, "operator": operator, "value": value, **more}]}


CASES: Final[list[tuple[Any, dict[str, Any], bool]]] = [
    ({"all": []}, {}, True),
    ({"any": []}, {}, True),
    ({"not": {"all": []}}, {}, False),
    (condition("equal", None), {"a": None}, True),
    (condition("equal", None), {}, False),
    (condition("equal", [1]), {"a": [1]}, False),
    (condition("notEqual", {"x": 1}), {"a": {"x": 1}}, True),
    (condition("equal", 5, path="$.x"), {"a": 5}, True),
    (condition("notEqual", 5, path="$.x"), {"a": {"y": 5}}, True),
    (condition("contains", 1, path="$.x"), {"a": [{"x": 1}, {"x": 2}]}, False),
    (condition("equal", "Oslo", path="$['home town'].name"), {"a": {"home town": {"name": "Oslo"}}}, True),
    (condition("lessThan", True), {"a": "0.5"}, True),
    (condition("lessThan", 5), {"a": False}, False),
    (condition("lessThan", "5"), {"a": "10"}, True),
    (condition("lessThan", "5"), {"a": 10}, False),
    (condition("greaterThan", "a"), {"a": "b"}, False),
    (condition("lessThan", 1), {"a": ""}, False),
    (condition("equal", {"fact": "b"}), {}, True),
    (condition("equal", {"fact": "b", "path": "$.c"}), {"a": 1, "b": {"c": 1}}, True),
    (condition("greaterThan", {"fact": "b"}), {"a": "7", "b": 6}, True),
    (condition("not:in", [1, "x"]), {"a": "x"}, False),
    (condition("someFact:lessThan", 3), {"a": [5, "2"]}, True),
    (condition("everyFact:equal", 3), {"a": []}, True),
    (condition("everyFact:equal", 3), {"a": 3}, False),
    (condition("someValue:equal", [3, "x"]), {"a": "x"}, True),
    (condition("equal", 1, params={"unit": "m"}, priority=10), {"a": 1}, True),
]


@pytest.mark.parametrize(("rule", "event", "truth"), CASES)
def test_rules(rule: Any, event: dict[str, Any], truth: bool) -> None:
    assert answers(rule, LANGUAGE, event) == {truth}
    assert answers({"conditions": rule, "event": {"type": "e"}}, LANGUAGE, event) == {truth}


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"fact": "a", "operator": "equal", "value": 1}, "the root of conditions is all, any, not or condition"),
        ([], "a rule needs an object that is not empty"),
        ({"all": {}}, "at all: all needs a list"),
        ({"not": []}, "at not: a condition needs an object"),
        ({"all": [{"fact": "a", "value": 1}]}, "at all[0]: a condition needs fact, operator and value; operator"),
        ({"all": [], "any": []}, "would read any and ignore all"),
        (condition("startsWith", "x"), "json-rules-engine has no operator 'startsWith'; tocsin reads contains"),
        (condition("near:equal", "x"), "json-rules-engine has no decorator 'near'"),
        (condition("swap:equal", "x"), "swap of json-rules-engine is not supported"),
        (condition("in", "x"), "in of a string of json-rules-engine is not supported"),
        (condition("in", 5), "at all[0].value: in needs a list, not 5"),
        (condition("in", {"fact": "b"}), "a list of facts of json-rules-engine is not supported"),
        (condition("lessThan", [1]), "an order of lists of json-rules-engine is not supported"),
        (condition("contains", None), "null in a list of json-rules-engine is not supported"),
        (condition("someFact:contains", 1), "a list in a list of json-rules-engine is not supported"),
        (condition("equal", 1, path="$..x"), "at all[0].path: a path of json-rules-engine is not supported"),
        (condition("equal", 1, path="$.x[0]"), "a path of json-rules-engine is not supported"),
        (condition("equal", 1, path="$.length"), "the path length of json-rules-engine is not supported"),
        (condition("equal", 1, path=5), "path needs a string, not 5"),
        (condition("equal", 1, fact=""), "fact needs the name of a value"),
        ({"condition": "adult"}, "a named condition of json-rules-engine is not supported: write named"),
        (
            {"conditions": {"condition": "a"}, "named": {"a": {"condition": "a"}}},
            "at conditions.named.a: the condition 'a' refers to itself",
        ),
    ],
)
def test_refusals(rule: Any, reason: str) -> None:
    assert reason in refusal(rule, LANGUAGE)


def test_named_conditions_that_multiply_are_bounded() -> None:
    named = {f"n{level}": {"all": [{"condition": f"n{level + 1}"}] * 10} for level in range(9)}
    rule = {"conditions": {"condition": "n0"}, "named": {**named, "n9": condition("equal", 1)}}
    assert "more than 10,000 conditions" in refusal(rule, LANGUAGE)


def test_an_order_with_a_number_is_one_comparison() -> None:
    """So that it is indexed: booleans, which NUMBER reads, need no word where neither 0 nor 1 is in the range."""
    assert tocsin.convert(condition("greaterThan", 17), from_=LANGUAGE) == "NUMBER(a) > 17"


def test_the_command_makes_payloads_of_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rules = [
        {"conditions": condition("equal", 1), "event": {"type": "one", "params": {"x": 2}}, "name": "first"},
        {"conditions": condition("equal", 2), "event": {"type": "two"}},
    ]
    Path("rules.json").write_text(json.dumps(rules))
    assert main(["convert", "rules.json", "--from", LANGUAGE, "--out", "s.jsonl"]) == 0
    assert [json.loads(line) for line in Path("s.jsonl").read_text().splitlines()] == [
        {"id": "first", "where": "a = 1", "payload": {"type": "one", "params": {"x": 2}}},
        {"id": "2", "where": "a = 2", "payload": {"type": "two"}},
    ]
