"""json-rules-engine itself decides which random rules match which random events."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.language.dialects.agreeing import disagreements
from tests.sizes import sized

FOLDER: Final = Path(__file__).parents[3] / "build" / "oracles" / "json-rules-engine"
SCRIPT: Final = Path(__file__).with_name("json_rules_engine.js")

SCALARS: Final = [
    None,
    True,
    False,
    0,
    1,
    5,
    -2.5,
    18,
    "",
    "5",
    "05",
    "a",
    "5a",
    "18.0",
    "-3",
    "b",
    ".5",
    "true",
    "1e1",
]
NAMES: Final = ["a", "b", "c"]
PATHS: Final = [None, None, "$.x", "$.x.y", "$['x']", "x", "$"]
OPERATORS: Final = [
    "equal", "notEqual", "lessThan", "lessThanInclusive", "greaterThan", "greaterThanInclusive",
    "in", "notIn", "contains", "doesNotContain",
]  # fmt: skip


def value_of(dice: random.Random, depth: int = 0) -> Any:
    kind = dice.randrange(6 if depth < 2 else 4)
    if kind == 4:
        count = dice.choice((0, 2, 3))  # JavaScript compares a list with one number as that number
        return [value_of(dice, depth + 2) for _ in range(count)]
    if kind == 5:
        return {name: value_of(dice, depth + 1) for name in dice.sample(("x", "y", "z"), dice.randrange(1, 3))}
    return dice.choice(SCALARS)


def event_of(dice: random.Random) -> dict[str, Any]:
    event = {name: value_of(dice) for name in NAMES if dice.random() < 0.8}
    if dice.random() < 0.2:
        event["a"] = [{"x": dice.choice(SCALARS)} for _ in range(2)]
    return event


def comparison_of(dice: random.Random) -> dict[str, Any]:
    operator = dice.choice(OPERATORS)
    rule: dict[str, Any] = {"fact": dice.choice(NAMES), "operator": operator, "value": dice.choice(SCALARS)}
    if (path := dice.choice(PATHS)) is not None:
        rule["path"] = path
    if operator in ("in", "notIn"):
        rule["value"] = dice.sample(SCALARS, dice.randrange(4))
    elif operator not in ("contains", "doesNotContain") and dice.random() < 0.25:
        rule["value"] = {"fact": dice.choice(NAMES)}
        rule.pop("path", None)
    elif dice.random() < 0.15:
        if dice.random() < 0.5:
            rule["operator"] = f"{dice.choice(('someFact', 'everyFact'))}:{operator}"
        else:
            rule["operator"] = f"{dice.choice(('someValue', 'everyValue'))}:{operator}"
            rule["value"] = dice.sample(SCALARS, dice.randrange(3))
    if dice.random() < 0.1:
        rule["operator"] = f"not:{rule['operator']}"
    if dice.random() < 0.1:
        rule["priority"] = dice.randrange(1, 9)
    return rule


def conditions_of(dice: random.Random, depth: int = 0) -> dict[str, Any]:
    name = dice.choice(("all", "any", "not"))
    if name == "not":
        return {name: part_of(dice, depth)}
    return {name: [part_of(dice, depth) for _ in range(dice.choice((0, 1, 1, 2, 3)))]}


def part_of(dice: random.Random, depth: int) -> dict[str, Any]:
    if dice.random() < 0.05:
        return {"condition": "shared"}
    return conditions_of(dice, depth + 1) if depth < 2 and dice.random() < 0.3 else comparison_of(dice)


def is_order_of_lists(rule: Any, event: Mapping[str, Any]) -> bool:
    """Whether a rule asks about the order of a list or an object, of which JavaScript makes a text."""
    if isinstance(rule, list):
        return any(is_order_of_lists(part, event) for part in rule)
    if not isinstance(rule, dict):
        return False
    if rule.get("operator", "").split(":")[-1] in OPERATORS[2:6]:
        facts = [rule, rule["value"]] if isinstance(rule["value"], dict) else [rule]
        return any(isinstance(fact_of(fact, event), list | dict) for fact in facts)
    return any(is_order_of_lists(part, event) for part in rule.values())


def fact_of(rule: Mapping[str, Any], event: Mapping[str, Any]) -> Any:
    """The value of a fact: the member at its path, if it is an object."""
    value: Any = event.get(rule["fact"])
    for name in re.findall(r"\w+", rule.get("path") or "") if isinstance(value, dict) else ():
        value = value.get(name) if isinstance(value, dict) else None
    return value


def answered(rules: list[Any], events: list[Any]) -> list[Any]:
    is_here = (FOLDER / "node_modules").exists() and shutil.which("node") is not None
    if not is_here and not os.environ.get("CI"):
        pytest.skip("json-rules-engine is not here; with npm: sh scripts/oracles.sh")
    given = json.dumps({"rules": rules, "events": events})
    done = subprocess.run(
        ["node", SCRIPT, FOLDER], input=given, capture_output=True, text=True, timeout=120, check=True
    )
    answer: list[Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("seed", range(sized(1, 10)))
def test_rules_match_what_they_match_in_the_package(seed: int) -> None:
    dice = random.Random(seed)
    rules = [
        {"conditions": {name: parts}, "named": {"shared": {"all": [comparison_of(dice)]}}}
        for name, parts in (next(iter(conditions_of(dice).items())) for _ in range(500))
    ]
    events = [event_of(dice) for _ in range(60)]
    expected = {json.dumps(rule): found for rule, found in zip(rules, answered(rules, events), strict=True)}

    differences, refused = disagreements(
        rules, "json-rules-engine", events, lambda rule: set(expected[json.dumps(rule)])
    )

    assert [one for one in differences if not is_order_of_lists(one[0], one[1])] == []
    assert all("is not supported" in reason for reason in refused.values()), refused
    assert len(refused) < 150
    assert sum(map(bool, expected.values())) > 300
