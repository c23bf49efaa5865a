"""HOLDS and SOME: conditions with two truths."""

from __future__ import annotations

import pytest

from tests.naive.flatten import flatten
from tests.naive.truth import truth
from tocsin import Engine, ExpressionError, explain, parse, parse_json, to_json, to_text

CASES = [
    ("NOT HOLDS(x)", {"x": "a"}, True),
    ("HOLDS(x) = FALSE", {"x": "a"}, True),
    ("NOT SOME(x, element)", {"x": ["a"]}, True),
    ("HOLDS(x = 1)", {"x": 1}, True),
    ("HOLDS(x = 1)", {"x": 2}, False),
    ("HOLDS(x = 1)", {"x": "1"}, False),
    ("NOT HOLDS(x = 1)", {"x": "1"}, True),
    ("NOT HOLDS(x = 1)", {}, True),
    ("NOT HOLDS(x = 1 OR y = 2)", {"x": 3}, True),
    ("NOT HOLDS(x = 1 AND NOT y = 2)", {"x": 1}, True),
    ("NOT HOLDS(x = 1 AND NOT y = 2)", {"x": 1, "y": 3}, False),
    ("NOT HOLDS(HOLDS(x = 1))", {"x": 1}, False),
    ("(HOLDS(x = 1)) = FALSE", {}, True),
    ("(HOLDS(x = 1)) IS NULL", {}, False),
    ("SOME(x, element = 1)", {"x": 1}, True),
    ("SOME(x, element = 1)", {"x": [3, 1]}, True),
    ("SOME(x, element = 1)", {"x": ["1"]}, False),
    ("SOME(x, element = 1)", {}, False),
    ("NOT SOME(x, element = 1)", {}, True),
    ("NOT SOME(x, element = 1)", {"x": []}, True),
    ("NOT SOME(x, element = 1)", {"x": [3, 1]}, False),
    ("SOME(x, element = 1)", {"x": [1, {"b": 2}, [3]]}, True),
    ("SOME(x, b = 1 AND c = 2)", {"x": {"b": 1, "c": 2}}, True),
    ("SOME(x, b = 1 AND c = 2)", {"x": [{"b": 1, "c": 3}, {"b": 3, "c": 2}]}, False),
    ("SOME(x, b = 1 AND c = 2)", {"x": [{"b": 1, "c": 3}, {"b": 1, "c": 2}]}, True),
    ("SOME(x, SOME(b, element = 1))", {"x": [{"b": [2]}, {"b": [1, 2]}]}, True),
    ("SOME(x, SOME(b, element = 1))", {"x": {"b": 1}}, True),
    ("SOME(x, NOT SOME(b, element = 1))", {"x": [{"b": 1}]}, False),
    ("SOME(x, NOT SOME(b, element = 1))", {"x": [{"b": 1}, {"c": 1}]}, True),
    ("SOME(x, NOT HOLDS(element = 'a'))", {}, False),
    ("SOME(x, NOT HOLDS(element = 'a'))", {"x": ["a"]}, False),
    ("SOME(x, NOT HOLDS(element = 'a'))", {"x": ["a", 1]}, True),
    ("SOME(x, GIVEN(element) AND element IS NULL)", {"x": None}, True),
    ("SOME(x, GIVEN(element) AND element IS NULL)", {"x": [1, None]}, True),
    ("SOME(x, GIVEN(element) AND element IS NULL)", {"x": [1]}, False),
    ("SOME(x, GIVEN(element) AND element IS NULL)", {}, False),
    ("SOME(x, SOME(element, element = 1))", {"x": 1}, True),
    ("SOME(x, SOME(element, element = 1))", {"x": [2, 1]}, True),
    ("SOME(x, SOME(element, element = 1))", {"x": [2, [3, 1]]}, True),
    ("SOME(x, SOME(element, element = 1))", {"x": [[[1]]]}, False),
    ("SOME(x, SOME(element, SOME(element, element = 1)))", {"x": [[[1]]]}, True),
    ("SOME(x, SOME(element, element IS NOT NULL))", {"x": [[None]]}, False),
    ("SOME(x, SOME(element, element IS NOT NULL))", {"x": [[], [2]]}, True),
    ("SOME(x, SOME(element, GIVEN(element) AND element IS NULL))", {"x": [[1, None]]}, True),
    ("SOME(x, SOME(element, GIVEN(element) AND element IS NULL))", {"x": [[]]}, False),
    ("SOME(x, SOME(element, b = 1 AND c = 2))", {"x": [[{"b": 1, "c": 2}]]}, True),
    ("SOME(x, SOME(element, b = 1 AND c = 2))", {"x": [[{"b": 1}, {"c": 2}]]}, False),
    ("SOME(x, b)", {"x": {"b": True}}, True),
    ("SOME(x, element = TRUE)", {"x": [True]}, True),
    ("SOME(x, element IS NOT NULL)", {"x": [None]}, False),
    ("SOME(x, element IS NOT NULL)", {"x": 5}, True),
    ("SOME(x, A_CONTAINS(element, (1)))", {"x": [1]}, False),
    ("SOME(x, TEXT(element, 'new york'))", {"x": ["new", "york"]}, False),
    ("SOME(x, TEXT(element, 'new york'))", {"x": "New York"}, True),
    ("SOME(place, S_INTERSECTS(element, BBOX(0, 0, 9, 9)))", {"place": [1, 2]}, False),
]


@pytest.mark.parametrize(("text", "event", "holds"), CASES)
def test_meaning(text: str, event: dict[str, object], holds: bool) -> None:
    """The engine, `explain` and the oracle agree, and the truth is never UNKNOWN; the text and JSON are read back."""
    tree = parse(text)
    engine = Engine()
    engine.subscribe("s", text)
    assert [one.subscription for one in engine.match(event)] == ["s"] * holds
    assert explain(text, event).truth is holds
    assert truth(tree, flatten(event)[0]) is holds
    assert parse(to_text(tree)) == tree == parse_json(to_json(tree))


def test_settings_of_texts_reach_into_some() -> None:
    """A schema's settings for a text hold within SOME, too."""
    from tocsin import Text

    engine = Engine(texts={"title": Text("english", stem=True)})
    engine.subscribe("s", "SOME(title, TEXT(element, 'shoes'))")
    assert engine.match({"title": "one shoe"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("HOLDS(3)", "HOLDS takes a condition"),
        ("SOME('a', element = 1)", "SOME needs an attribute"),
        ("SOME(a, 3)", "SOME takes a condition"),
        ("SOME(a)", "SOME takes two arguments"),
        ("SOME(a, " + "SOME(element, " * 7 + "element = 1" + ")" * 8, "nests more than 6 deep"),
        ("SOME(a, " * 7 + "element = 1" + ")" * 7, "nests more than 6 deep"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    """What is no condition is refused, with its reason."""
    with pytest.raises(ExpressionError, match=reason):
        parse(text)


def test_explain_shows_the_element() -> None:
    """`explain` names the element that fulfils SOME, or the nearest one."""
    told = str(explain("SOME(items, price > 3 AND stock > 0)", {"items": [{"price": 5, "stock": 0}, {"price": 1}]}))
    assert "items[0] is nearest to it" in told


def test_a_field_that_is_a_condition_keeps_its_name() -> None:
    """Texts that differ in names alone share no template, since SOME joins names."""
    engine = Engine()
    for number, (items, field) in enumerate(["ab", "cd", "ef"]):
        engine.subscribe(number, f"SOME({items}, {field})")

    found = [match.subscription for match in engine.match({"c": {"d": True}, "e": [{"f": True}], "a": {"b": False}})]

    assert sorted(found) == [1, 2]
