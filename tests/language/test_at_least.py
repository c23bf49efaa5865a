"""AT_LEAST: a number of conditions that are TRUE."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import tocsin
from tests.naive.truth import truth
from tocsin.language import Templates, evaluate, explain, parse, parse_any, to_json, to_text

VALUES = ({}, {"v": 1}, {"v": 0})
"""What makes `v = 1` UNKNOWN, TRUE and FALSE."""


@pytest.mark.parametrize("needed", [1, 2, 3, 4])
def test_three_values(needed: int) -> None:
    """All truths of four conditions: the evaluator, the index and the oracle agree, of NOT and as a value, too."""
    where = f"AT_LEAST({needed}, a = 1, b = 1, c = 1, d = 1)"
    tree = parse(where)
    texts = {"yes": where, "no": f"NOT {where}", "unknown": f"({where}) IS NULL", "same": f"({where}) = TRUE"}
    events = [
        {name: value for name, one in zip("abcd", row, strict=True) for value in one.values()}
        for row in product(VALUES, repeat=4)
    ]
    found = tocsin.match([{"id": name, "where": text} for name, text in texts.items()], events, lists=True)

    for event, told in zip(events, found.table.column("subscription").to_pylist(), strict=True):
        values = {name: float(value) for name, value in event.items()}
        held, failed = list(event.values()).count(1), list(event.values()).count(0)
        expected = True if held >= needed else False if 4 - failed < needed else None
        assert evaluate(tree, values) is truth(tree, values) is expected
        assert told == {True: ["same", "yes"], False: ["no"], None: ["unknown"]}[expected]


def test_many_conditions_are_looked_up(tmp_path: Path) -> None:
    """No event examines subscriptions that share too few values with it; the length stays linear."""
    engine = tocsin.Engine()
    conditions = [", ".join(f"k{n}_{i} = 1" for i in range(10)) for n in range(2000)]
    engine.subscribe_many({"id": n, "where": f"AT_LEAST(7, {one})"} for n, one in enumerate(conditions))
    event = {f"k5_{i}": 1 for i in range(8)} | {f"k6_{i}": 1 for i in range(6)} | {"k7_0": 1}

    answer = engine.match_batch([event, {}])
    engine.save(tmp_path / "folder")

    assert answer.table.column("subscription").to_pylist() == [5]
    assert answer.stats.candidates_examined <= 12
    assert tocsin.Engine.load(tmp_path / "folder").match_batch([event, {}]).table.equals(answer.table)


def test_a_hundred_of_a_thousand() -> None:
    """It is counted, not multiplied out."""
    where = f"AT_LEAST(500, {', '.join(f'a{i} = 1' for i in range(1000))})"
    events = [{f"a{i}": 1 for i in range(count)} for count in (499, 500, 1000)]

    assert tocsin.match({"id": 1, "where": where}, events).table.column("event").to_pylist() == [1, 2]


def test_counts_may_nest() -> None:
    """Eight levels at most."""
    where = "x = 1"
    for _ in range(8):
        where = f"AT_LEAST(2, {where}, y = 1, z = 1)"

    assert tocsin.match({"id": 1, "where": where}, [{"x": 1, "y": 1}, {"x": 1}]).table.column("event").to_pylist() == [
        0
    ]
    assert tocsin.match({"id": 1, "where": f"({where}) = (w = 1)"}, {"x": 1, "y": 1, "w": 1}).table.num_rows == 1
    with pytest.raises(tocsin.ExpressionError, match="nests more than 8 deep"):
        parse(f"AT_LEAST(1, {where})")


def test_text_json_and_templates_have_it() -> None:
    """The number is part of the form of a text: it decides what is compiled."""
    tree = parse("NOT at_least(2, a = 1, b = 1, NOT c = 1)")
    templates = Templates()
    two, again, three = (
        templates.instance(f"AT_LEAST({n}, a = {x}, b = 2, c = 3)") for n, x in ((2, 1), (2, 5), (3, 1))
    )

    assert to_text(tree) == "NOT AT_LEAST(2, a = 1, b = 1, NOT c = 1)"
    assert parse_any(to_json(tree)) == tree
    assert two is not None and again is not None and three is not None
    assert two.template is again.template is not three.template
    assert again.tree() == parse("AT_LEAST(2, a = 5, b = 2, c = 3)")


def test_explain_counts() -> None:
    """And tells of each condition."""
    told = str(explain(parse("AT_LEAST(2, a = 1, b = 1, c = 1)"), {"a": 1.0, "b": 2.0}))

    assert "1 of 3 hold; needed: at least 2 of 3" in told
    assert "fails    b = 1: b = 2; needed: b = 1" in told


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("AT_LEAST(2)", "takes a number and one or more conditions"),
        ("AT_LEAST(3, a = 1, b = 1)", "3 of 2 conditions; a whole number from 1 to 2 is allowed"),
        ("AT_LEAST(0, a = 1, b = 1)", "0 of 2 conditions"),
        ("AT_LEAST(1.5, a = 1, b = 1)", "1.5 of 2 conditions"),
        ("AT_LEAST(x, a = 1, b = 1)", "begins with a number"),
        ("AT_LEAST(1, a = 1, 5)", "takes conditions"),
    ],
)
def test_a_mistake_is_named(where: str, problem: str) -> None:
    """The message says what is allowed."""
    with pytest.raises(tocsin.ExpressionError, match=problem):
        parse(where)
