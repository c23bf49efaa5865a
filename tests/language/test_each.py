"""EACH: a condition on all elements of a list."""

from __future__ import annotations

from pathlib import Path

import pytest

import tocsin
from tocsin.language import evaluate, explain, parse, parse_any, to_json, to_text
from tocsin.model.elements import values_for

CASES = [
    ("EACH(items, price > 3)", {"items": [{"price": 4}, {"price": 5}]}, True),
    ("EACH(items, price > 3)", {"items": [{"price": 4}, {"price": 3}, {}]}, False),
    ("EACH(items, price > 3)", {"items": [{"price": 4}, {}]}, None),
    ("EACH(items, price > 3)", {"items": []}, True),
    ("EACH(items, price > 3)", {"items": 5}, None),
    ("EACH(items, price > 3)", {}, None),
    ("EACH(tags, element LIKE 'a%')", {"tags": ["a", "ab"]}, True),
    ("EACH(items, EACH(offers, price > 3))", {"items": [{"offers": [{"price": 4}]}, {"offers": []}]}, True),
    ("EACH(items, ANY(offers, price > 3))", {"items": [{"offers": [{"price": 4}]}, {"offers": []}]}, False),
    ("NOT EACH(items, price > 3)", {"items": [{"price": 3}]}, True),
]


@pytest.mark.parametrize(("where", "event", "truth"), CASES)
def test_all_elements_count(where: str, event: dict[str, object], truth: bool | None) -> None:
    """An empty list fulfils it, and what is not a list leaves it UNKNOWN; the index says the same."""
    tree = parse(where)

    assert evaluate(tree, values_for([tree], event)) is truth
    assert (tocsin.match({"id": 1, "where": where}, event).table.num_rows == 1) == (truth is True)
    assert (tocsin.match({"id": 1, "where": f"({where}) IS NULL"}, event).table.num_rows == 1) == (truth is None)


def test_text_json_and_folders_have_it(tmp_path: Path) -> None:
    """Texts of one form share a template."""
    tree = parse("each(items, price > 3) OR NOT EACH(tags, element = 'a')")
    engine = tocsin.Engine()
    engine.subscribe_many({"id": n, "where": f"EACH(items, price > {n}) AND x = 1"} for n in range(100))
    engine.save(tmp_path / "folder")

    found = tocsin.Engine.load(tmp_path / "folder").match({"x": 1, "items": [{"price": 3}, {"price": 9}]})

    assert [match.subscription for match in found] == [0, 1, 2]
    assert to_text(tree) == "EACH(items, price > 3) OR NOT EACH(tags, element = 'a')"
    assert parse_any(to_json(tree)) == tree


def test_explain_names_the_element_that_fails() -> None:
    """The first one that does not satisfy the condition."""
    tree = parse("EACH(items, price > 3)")

    told = str(explain(tree, values_for([tree], {"items": [{"price": 4}, {"price": 2}]})))

    assert "items has 2 elements; needed: a list items with price > 3 for every element" in told
    assert "items[1] does not fulfil it:" in told


def test_a_mistake_is_named() -> None:
    """As for ANY."""
    with pytest.raises(tocsin.ExpressionError, match="EACH needs the attribute of a list, not the number 3"):
        parse("EACH(3, x = 1)")
    with pytest.raises(tocsin.ExpressionError, match="EACH takes a condition for elements"):
        parse("EACH(items, 3)")
    with pytest.raises(tocsin.ExpressionError, match="write EACH"):
        parse("EVERY(items, x = 1)")
