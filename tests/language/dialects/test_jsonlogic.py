"""JSON Logic: every answer is that of datalogic, or the rule is refused by name."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin import Engine, ExpressionError, UnsupportedError, convert

datalogic = pytest.importorskip("datalogic_py", reason="datalogic-py is the oracle; pip install 'tocsin[dev]'")

ABSENT = object()
VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 0.5, 5, 7, -0.0, True, False, None, ABSENT),
    *("", " ", "0", "5", "5.0", "-1e0", "07", "1 ", "a", "b", "ab", "B", "true", "false", "null", "é", "0x5", "1e999"),
    *([], [0], [5], ["5"], ["a", "b"], [None], [5, "a", True], [[5]], [[]], [1, 5, 7]),
    *({"a": 1}, {"a": 5, "b": "x"}, {"b": {"a": 5}}, [{"a": 5}], [{"a": 1}, {"b": 2}], [{"a": "5"}, 3], [{"a": None}]),
)
EVENTS = [{} if value is ABSENT else {"x": value} for value in VALUES]
PAIRS = [event | other for event in EVENTS[::2] for other in ({}, {"y": 5}, {"y": "2"}, {"y": True}, {"y": ""})]

X, Y = {"var": "x"}, {"var": "y"}
CONSTANTS = (0, 1, 5, -1.5, "", "5", "a", "ab", "true", "1e0", " ", True, False, None)


@cache
def oracle() -> Any:
    return datalogic.Engine(families=[])


def holds(rule: Any, event: dict[str, Any]) -> bool:
    """Whether datalogic finds a rule true; a rule that raises an error is not."""
    try:
        return bool(oracle().eval({"!!": [rule]}, event))
    except datalogic.EvaluateError:
        return False


def check(rule: Any, events: list[dict[str, Any]] = EVENTS) -> None:
    engine = Engine()
    engine.subscribe("s", rule, language="jsonlogic")

    found = set(engine.match_batch(events).table["event"].to_pylist())
    wrong = [(event, holds(rule, event)) for row, event in enumerate(events) if (row in found) != holds(rule, event)]
    assert not wrong, f"{json.dumps(rule)}: {wrong[:5]}"


def leaves(value: Any) -> list[Any]:
    """Rules about one value."""
    compared = [{op: [value, one]} for op in ("==", "!=", "===", "!==", "<", "<=", ">", ">=") for one in CONSTANTS]
    mirrored = [{op: [one, value]} for op in ("==", "===", "<", ">=") for one in (5, "a", None)]
    within = [{"in": [value, one]} for one in (["a", 5, True], [], "abc", "", 7, [""])]
    contains = [{"in": [one, value]} for one in ("a", "", 5, True)]
    between = [{"<": [0, value, 6]}, {"<=": [0, value, 5]}, {">": [6, value, 0]}, {"<": ["a", value, "b"]}]
    return [*compared, *mirrored, *within, *contains, *between]


SUMS = [
    *({op: [X, 2]} for op in ("+", "-", "*", "/", "%")),
    *({"-": [X, Y]}, {"+": [X, Y, 1]}, {"*": [X, X]}, {"%": [{"+": [X, 1]}, -3]}),
]
COMPUTED = [{op: [one, c]} for one in SUMS for op in ("==", "!=", "<", ">=") for c in (0, 7, "3", "", "a", True, None)]
COMPUTED += [{op: [Y, {"+": [X, 2]}]} for op in ("==", "!=", "<", ">")]
ELEMENT, FIELD = {"var": ""}, {"var": "a"}
INNER = [
    *({"===": [ELEMENT, 5]}, {"!==": [ELEMENT, "a"]}, {"in": [ELEMENT, ["a", 5]]}, {"===": [FIELD, 5]}),
    *({"!==": [FIELD, 5]}, {"===": [FIELD, None]}, {"!": FIELD}, {"and": [FIELD, {"!==": [FIELD, 1]}]}, True, False),
]
RAISING = [{">": [FIELD, 3]}, {"==": [FIELD, 5]}, {"<": [FIELD, "b"]}, {"or": [{"==": [FIELD, 5]}, {"!": FIELD}]}]
LISTS = [{name: [X, one]} for name in ("some", "all", "none") for one in INNER]
LISTS += [{name: [X, one]} for name in ("all", "none") for one in RAISING]
DEFAULT = {"var": ["x", 5]}
ABSENCE = [
    *({"missing": ["x"]}, {"missing": "x"}, {"missing": ["x", "y"]}, {"missing": [["x", "x.a"]]}, {"missing": ["x.a"]}),
    *({"missing_some": [n, ["x", "y", "x.a"]]} for n in (0, 1, 2, 3, 4)),
    *(
        DEFAULT,
        {"==": [DEFAULT, "5"]},
        {"<": [{"+": [DEFAULT, {"var": ["y", "1"]}]}, 8]},
        {"in": ["a", {"var": ["x", ""]}]},
    ),
    *({"===": [{"var": ["x.a", None]}, None]}, {"none": [{"var": ["x", []]}, {"===": [{"var": ""}, 5]}]}),
    *({"and": [{">": [{"var": ["x", 9]}, 6]}, {"!": {"missing": ["x"]}}]}, {"all": [X, {"!": {"missing": ["a"]}}]}),
]
FIXED = [*leaves(X), *leaves({"var": "x.a"}), X, {"var": ["x"]}, {"!": X}, {"!!": [X]}, {"!": [{"var": "x.a"}]}]


@pytest.mark.parametrize("rules", [FIXED[at::8] for at in range(8)])
def test_predicates(rules: list[Any]) -> None:
    """Each operator agrees with the oracle for each type of value, and its NOT does."""
    for rule in rules:
        check(rule)
        check({"!": rule})


@pytest.mark.parametrize("rules", [COMPUTED[at::4] for at in range(4)])
def test_arithmetic(rules: list[Any]) -> None:
    """Arithmetic agrees with the oracle, where texts, booleans and null are numbers."""
    for rule in rules:
        check(rule, PAIRS)
        check({"!": rule}, PAIRS)


def test_lists() -> None:
    """Conditions on elements agree with the oracle. It finds the members of an object, and tocsin no list."""
    events = [event for event in EVENTS if not isinstance(event.get("x"), dict)]
    for rule in LISTS:
        check(rule, events)


def test_absence() -> None:
    """`missing`, `missing_some` and defaults tell absence from null."""
    events = [event for event in PAIRS if not isinstance(event.get("x"), dict)] + [{"x": {"a": None}}, {"x": {"b": 1}}]
    for rule in ABSENCE:
        check(rule, events)
        check({"!": rule}, events)


@st.composite
def rules(draw: st.DrawFn, depth: int = 3) -> Any:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([*FIXED, *COMPUTED, *ABSENCE[:12]]))
    name = draw(st.sampled_from(["and", "or", "!", "!!", "if", "and", "or"]))
    count = 1 if name.startswith("!") else draw(st.integers(1, 4))
    return {name: [draw(rules(depth - 1)) for _ in range(count)]}


@settings(max_examples=60)
@given(rules())
def test_rules_agree(rule: Any) -> None:
    """Nested rules agree with the oracle, errors included."""
    check(rule, PAIRS)


REFUSED = [
    ({"in": [X, Y]}, "at in[1]: in of two variables"),
    ({"!": {"var": "x.0"}}, "an index"),
    ({"==": [X, "2024-01-01T00:00:00Z"]}, "at ==[1]: a date or a duration"),
    ({"===": [X, "1d"]}, "a date or a duration"),
    ({"==": [{"<": [X, 5]}, True]}, "at ==[0].<: a condition as an operand"),
    ({"+": [X, 1]}, "at +: arithmetic as a condition"),
    ({">": [{"/": [X, Y]}, 1]}, "division by a variable"),
    ({">": [{"+": [X]}, 1]}, "one number"),
    ({"==": [{"cat": [X, "a"]}, "b"]}, "at ==[0].cat: cat of JSON Logic"),
    ({"substr": [X, 1]}, "substr"),
    *(({name: [X, X]}, name) for name in ("map", "filter", "reduce", "merge", "min", "max", "log", "val", "exists")),
]
INVALID = [
    ({"===": [X]}, "=== takes 2 arguments, not 1"),
    ({"foo": [X]}, "JSON Logic has no operator 'foo'"),
    ({"a": 1, "b": 2}, "one operator, not 2"),
    ({">": [{"/": [X, 0]}, 1]}, "a division by 0"),
    ({"var": ""}, "var needs the name"),
    ({"all": [X, {"!": ELEMENT}]}, "cannot tell an element null from"),
    ({"and": []}, "not an empty one"),
    ({"some": [[1], True]}, "a string, a number or a boolean is needed"),
    ({"missing": [X]}, "var needs a string"),
    ("{", "JSON"),
]


@pytest.mark.parametrize(("rule", "reason"), REFUSED)
def test_refusals(rule: Any, reason: str) -> None:
    """What tocsin cannot say is refused by name, with its place."""
    with pytest.raises(UnsupportedError) as error:
        convert(rule, from_="jsonlogic")
    assert reason in str(error.value)


@pytest.mark.parametrize(("rule", "reason"), INVALID)
def test_invalid(rule: Any, reason: str) -> None:
    """What is not a rule is rejected with a reason."""
    with pytest.raises(ExpressionError, match=reason.replace("(", r"\(")):
        convert(rule, from_="jsonlogic")


def test_every_refusal_is_tested() -> None:
    """Each entry of the table of refusals has a case above."""
    from tocsin.language.dialects.jsonlogic import JsonLogic

    told = " ".join(reason + json.dumps(rule) for rule, reason in REFUSED)
    assert [name for name in JsonLogic.refused if name not in told] == []


def test_explain_shows_the_rule() -> None:
    """`explain` shows conditions as the rule writes them."""
    engine = Engine()
    engine.subscribe("s", {"and": [{"<": [X, 110]}, {"===": [Y, "apple"]}]}, language="jsonlogic")
    told = str(engine.explain("s", {"x": "100", "y": "pear"}))
    assert 'holds    {"<": [{"var": "x"}, 110]}' in told
    assert 'fails    {"===": [{"var": "y"}, "apple"]}' in told
