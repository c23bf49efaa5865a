"""JSON Logic: two variables, errors of `and` without a list, long rules, and elements that raise errors."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.language.dialects.agreeing import answers
from tests.language.dialects.test_jsonlogic import EVENTS, PAIRS, X, Y, check, datalogic, holds, oracle
from tocsin import convert, match

SCALARS: tuple[Any, ...] = (
    *(0, 1, 5, -0.5, True, False, None, "", " ", "a", "B", "é", "0", "5", "5.0", "true", "false", "null"),
    *("2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00", "2024-01-01T00:00:00.001Z", "1h"),
)
BOTH = [{"x": one, "y": other} for one, other in itertools.product(SCALARS, repeat=2)]
BOTH += [{"y": one} for one in SCALARS] + [{"x": {"a": 1}, "y": 1}, {"x": [5], "y": 5}, {"x": [], "y": None}]
COMPARED = ("==", "!=", "===", "!==", "<", "<=", ">", ">=")


@pytest.mark.parametrize("op", COMPARED)
def test_two_variables(op: str) -> None:
    """A comparison of two variables agrees with the oracle for each pair of types, dates included, and its NOT does."""
    check({op: [X, Y]}, BOTH)
    check({"!": {op: [X, Y]}}, BOTH)


def test_two_variables_within_other_rules() -> None:
    """Two variables may be compared in a chain, in `and` and `or`, and beside arithmetic."""
    z = {"var": ["z", 3]}
    for rule in (
        {"<": [X, Y, z]},
        {"<=": [0, X, Y]},
        {"or": [{"==": [X, Y]}, {"<": [{"+": [X, 1]}, Y]}]},
        {"and": [{"!==": [X, Y]}, {">=": [Y, X]}]},
        {"if": [{"<": [X, Y]}, {"===": [X, 1]}, {"==": [Y, 5]}]},
    ):
        check(rule, BOTH)
        check({"!": rule}, BOTH)


def test_durations_are_not_compared() -> None:
    """Two durations with different texts are neither equal nor different, neither less nor more."""
    for op in COMPARED:
        for rule in ({op: [X, Y]}, {"!": {op: [X, Y]}}):
            assert True not in answers(rule, "jsonlogic", {"x": "1h", "y": "60m"})


def test_logic_without_a_list_is_an_error() -> None:
    """`and`, `or` and `if` of one argument without a list raise an error in datalogic, which is never negated."""
    for name, argument in itertools.product(("and", "or", "if", "?:"), (X, True, 1, {"==": [X, 1]})):
        rule = {name: argument}
        for whole in (rule, {"!": rule}, {"or": [X, rule]}, {"and": [X, rule]}, {"if": [X, rule, True]}):
            check(whole)


@pytest.mark.parametrize("op", ["==", "<", ">=", "!="])
def test_elements_that_raise_errors_are_passed_over(op: str) -> None:
    """Where no element raises an error `some` agrees with the oracle; elsewhere other elements decide."""
    for rule in ({"some": [X, {op: [{"var": "a"}, 3]}]}, {"!": {"all": [X, {op: [{"var": "a"}, 3]}]}}):
        answered = [event for event in EVENTS if not isinstance(event.get("x"), dict) and evaluates(rule, event)]
        assert len(answered) > 15
        check(rule, answered)
    assert answers(
        {"some": [X, {op: [{"var": "a"}, 3]}]}, "jsonlogic", {"x": [{"a": "z"}, {"a": op == "!=" or 3}]}
    ) == {op != "<"}


def evaluates(rule: Any, event: dict[str, Any]) -> bool:
    try:
        oracle().eval(rule, event)
    except datalogic.EvaluateError:
        return False
    return True


@pytest.mark.parametrize("text", ["", "a", "ab", "%", "é"])
def test_ends_of_texts(text: str) -> None:
    """`starts_with` and `ends_with` are those of datalogic's further operators."""
    engine = datalogic.Engine(families=["ExtString"])
    for name in ("starts_with", "ends_with"):
        for event in EVENTS:
            rule = {name: [X, text]}
            expected = bool(engine.eval(rule, event))
            found = answers(rule, "jsonlogic", event)
            assert found == {True} if expected else True not in found
            assert answers({"!": rule}, "jsonlogic", event) == {not expected}


def test_long_rules() -> None:
    """An `or`, an `and` or an `if` with hundreds of comparisons is read, and agrees with the oracle."""
    events = [*PAIRS[::7], *({"x": f"v{number}"} for number in (0, 7, 299, 300)), {"x": 3}]
    parts = [{"==": [X, f"v{number}"]} for number in range(300)]
    branches = [one for number in range(150) for one in ({"===": [X, number]}, number % 2 == 0)]
    mixed = [one for number in range(60) for one in ({"<": [X, number]}, {"==": [Y, number]})]
    for rule in ({"or": parts}, {"!": {"or": parts}}, {"and": [{"!": one} for one in parts]}, {"if": branches}):
        check(rule, events)
    check({"if": mixed}, events)


def test_the_condition_of_a_long_rule_grows_little_more_than_the_rule() -> None:
    """Parts that may raise errors are repeated as often as the logarithm of their number, not as their number."""
    short, long = (len(convert({"or": [{"==": [X, "v"]}] * count}, from_="jsonlogic")) for count in (20, 160))
    assert long < 16 * short


def test_rules_with_two_variables_are_matched_together() -> None:
    """Many rules over the same pairs answer in one batch as each alone does."""
    rules = [{op: [X, Y]} for op in COMPARED]
    records = [{"id": number, "where": rule, "language": "jsonlogic"} for number, rule in enumerate(rules)]
    found = {(row["subscription"], row["event"]) for row in match(records, BOTH)}
    assert found == {(n, e) for n, rule in enumerate(rules) for e, event in enumerate(BOTH) if holds(rule, event)}
