"""LENGTH and AT: values made from lists."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin
from tocsin.language import Templates, evaluate, parse, parse_any, to_json, to_text
from tocsin.model.elements import values_for

EVENT = {
    "tags": ["a", None, "b", "b"],
    "items": [{"price": 3, "name": "X"}, {"price": 7, "offers": [{"price": 1}]}],
    "name": "größe😀",
    "order": {"lines": [1, 2]},
    "grid": [[1, 2], [3]],
    "n": 5,
    "none": [],
}
CASES = [
    ("LENGTH(tags) = 4", True),
    ("LENGTH(items) = 2", True),
    ("LENGTH(none) = 0", True),
    ("LENGTH(order.lines) = 2", True),
    ("LENGTH(grid) = 2", True),
    ("LENGTH(name) = 6", True),
    ("LENGTH(name) + LENGTH(items) BETWEEN 8 AND 8", True),
    ("LENGTH(n) = 1", None),
    ("LENGTH(absent) IS NULL", True),
    ("LENGTH(tags) IN (3, 5)", False),
    ("ANY(items, LENGTH(offers) = 1)", True),
    ("AT(tags, 0) = 'a'", True),
    ("AT(tags, 1) IS NULL", True),
    ("AT(tags, -1) LIKE 'b%'", True),
    ("AT(tags, 4) = 'b'", None),
    ("AT(tags, -5) IS NULL", True),
    ("AT(items, 0, price) = 3", True),
    ("AT(items, -1, price) > AT(items, 0, price)", True),
    ("AT(items, 0, price) * 2 = 6", True),
    ("CASEI(AT(items, 0, name)) = CASEI('x')", True),
    ("MATCHES(AT(items, 0, name), '^X$')", True),
    ("AT(items, 0) = 5", None),
    ("AT(items, 0) IS NULL", True),
    ("AT(grid, 0) IS NULL", False),
    ("AT(grid, 0, AT(element, 1)) = 2", True),
    ("AT(items, 1, LENGTH(offers)) = 1", True),
    ("AT(items, 1, AT(offers, 0, price)) = 1", True),
    ("AT(order.lines, 1) = 2", True),
    ("AT(n, 0) IS NULL", True),
]


@pytest.mark.parametrize(("where", "truth"), CASES)
def test_a_value_of_a_list(where: str, truth: bool | None) -> None:
    """The evaluator and the index agree; texts count code points."""
    tree = parse(where)

    assert evaluate(tree, values_for([tree], EVENT)) is truth
    assert parse(to_text(tree)) == tree == parse_any(to_json(tree))
    for index in ("access", "scan"):
        found = tocsin.match([{"id": 1, "where": where}, {"id": 2, "where": f"({where}) IS NULL"}], EVENT, index=index)
        assert found.table.column("subscription").to_pylist() == ([1] if truth else [2] if truth is None else [])


def test_every_source_has_them(tmp_path: Path) -> None:
    """Lines of JSON and Arrow say the same as dicts."""
    wheres = [where for where, _ in CASES if "grid" not in where]
    subscriptions = [{"id": number, "where": where} for number, where in enumerate(wheres)]
    events = [EVENT, {"tags": ["z"], "items": []}, {"tags": "abc"}, {"n": 1}]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    in_arrow = {name: value for name, value in EVENT.items() if name != "grid"}

    from_dicts = tocsin.match(subscriptions, events)

    assert tocsin.match(subscriptions, tmp_path / "events.jsonl").table.equals(from_dicts.table)
    from_arrow = tocsin.match(subscriptions, pa.Table.from_pylist([in_arrow]))
    assert from_arrow.table.equals(tocsin.match(subscriptions, [in_arrow]).table)


def test_they_are_looked_up(tmp_path: Path) -> None:
    """Thousands of comparisons of one value examine those of the value; so does a saved folder."""
    engine = tocsin.Engine()
    engine.subscribe_many({"id": n, "where": f"AT(items, 0, price) = {n} AND LENGTH(items) < 9"} for n in range(5000))

    answer = engine.match_batch([{"items": [{"price": 17}]}, {"items": [{"price": 18}] * 9}])
    engine.save(tmp_path / "folder")

    assert answer.table.to_pylist() == [{"event": 0, "subscription": 17}]
    assert answer.stats.candidates_examined <= 2
    again = tocsin.Engine.load(tmp_path / "folder").match_batch([{"items": [{"price": 17}]}, {"items": []}])
    assert again.table.equals(answer.table)


def test_positions_are_part_of_a_form() -> None:
    """Texts that differ in names and constants share a template, those with another position do not."""
    templates = Templates()
    first, second, other = (
        templates.instance(f"AT({name}, {at}, price) = {n}")
        for name, at, n in (("a", -1, 1), ("b", -1, 2), ("a", 0, 1))
    )

    assert first is not None and second is not None and other is not None
    assert first.template is second.template is not other.template
    assert second.tree() == parse("AT(b, -1, price) = 2")


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("LENGTH(5) = 1", "LENGTH needs an attribute, not the number 5"),
        ("AT(items) = 1", "takes two or three arguments"),
        ("AT(items, 0.5) = 1", "needs a position, a whole number"),
        ("AT(items, n) = 1", "needs a position, a whole number"),
        ("AT(3, 0) = 1", "needs the attribute of a list"),
        ("AT(items, 0, price > 3) = TRUE", "takes a field of the element"),
        ("AT(items, 0)", "a condition is needed"),
        ("SIZE(items) > 3", "write LENGTH"),
    ],
)
def test_a_mistake_is_named(where: str, problem: str) -> None:
    """The message says what is allowed."""
    with pytest.raises(tocsin.ExpressionError, match=problem):
        parse(where)
