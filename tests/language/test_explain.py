"""Why an event matches, or not."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import given, settings

from tests.language.strategies import events, trees
from tocsin.language import evaluate, explain, parse, to_text
from tocsin.model.elements import values_for
from tocsin.model.values import UNTYPED, Point

EVENT = {
    "model": "iphone5s",
    "color": "red",
    "price": 600.0,
    "size": "600",
    "words": ("ipad2", "x"),
    "place": Point(1.0, 2.0),
    "flag": True,
    "odd": UNTYPED,
}

# predicate, (predicate as told, what came, what was needed)
FINDINGS = {
    "price <= 580": ("price <= 580", "price = 600", "price <= 580"),
    "580 >= price": ("580 >= price", "price = 600", "price <= 580"),
    "size <= 580": ("size <= 580", "size = '600' (string)", "a number <= 580"),
    "missing <= 580": ("missing <= 580", "missing is absent", "missing <= 580"),
    "odd = 1": ("odd = 1", "odd could not be read, so this is UNKNOWN", "a number = 1"),
    "NOT price > 580": ("NOT price > 580", "price = 600", "price <= 580"),
    "color IN ('silver', 'gold')": ("color IN ('silver', 'gold')", "color = 'red'", "color in 'silver', 'gold'"),
    "color NOT IN ('red')": ("color NOT IN ('red')", "color = 'red'", "color present, and none of 'red'"),
    "price BETWEEN 1 AND 5": ("price BETWEEN 1 AND 5", "price = 600", "price from 1 to 5"),
    "price NOT BETWEEN 1 AND 900": ("price NOT BETWEEN 1 AND 900", "price = 600", "price below 1 or above 900"),
    "color NOT IN ('blue', 5, TRUE)": (
        "color NOT IN ('blue', 5, TRUE)",
        "color = 'red' (string)",
        "color present, and none of 'blue', 5, TRUE (UNKNOWN of a string because of 5, TRUE)",
    ),
    "price BETWEEN 1 AND 'z'": (
        "price BETWEEN 1 AND 'z'",
        "price = 600 (number)",
        "price from 1 to 'z' (UNKNOWN of a number because of 'z')",
    ),
    "color LIKE 'b%'": ("color LIKE 'b%'", "color = 'red'", "color like 'b%'"),
    "color LIKE 'R%'": (
        "color LIKE 'R%'",
        "color = 'red'",
        "color like 'R%'; if case is ignored it holds: write CASEI(color) LIKE CASEI('R%')",
    ),
    "color = 'RED'": (
        "color = 'RED'",
        "color = 'red'",
        "color = 'RED'; if case is ignored it holds: write CASEI(color) = CASEI('RED')",
    ),
    "color IN ('blue', 'Red')": (
        "color IN ('blue', 'Red')",
        "color = 'red'",
        "color in 'blue', 'Red'; if case is ignored it holds: write CASEI(color) IN (CASEI('blue'), CASEI('Red'))",
    ),
    "MATCHES(color, '^RE')": (
        "MATCHES(color, '^RE')",
        "color = 'red'",
        "color matching '^RE'; if case is ignored it holds: write MATCHES(color, '(?i)^RE')",
    ),
    "price LIKE 'b%'": ("price LIKE 'b%'", "price = 600 (number)", "a string like 'b%'"),
    "price IS NULL": ("price IS NULL", "price = 600", "price absent"),
    "missing IS NOT NULL": ("missing IS NOT NULL", "missing is absent", "missing present"),
    "NOT flag": ("NOT flag", "flag = TRUE", "flag = FALSE"),
    "price": ("price", "price = 600 (number)", "a boolean = TRUE"),
    "A_CONTAINS(words, ('ipad2', '64gb'))": (
        "A_CONTAINS(words, ('ipad2', '64gb'))",
        "words = ('ipad2', 'x')",
        "words with '64gb' too",
    ),
    "A_CONTAINEDBY(words, ('ipad2'))": (
        "A_CONTAINEDBY(words, ('ipad2'))",
        "words = ('ipad2', 'x')",
        "words without 'x'",
    ),
    "A_OVERLAPS(color, ('red'))": (
        "A_OVERLAPS(color, ('red'))",
        "color = 'red' (string)",
        "a list with at least one of 'red'",
    ),
    "S_INTERSECTS(place, BBOX(2, 2, 3, 3))": (
        "S_INTERSECTS(place, BBOX(2, 2, 3, 3))",
        "place = POINT(1 2)",
        "place inside or touching BBOX(2, 2, 3, 3)",
    ),
    "S_INTERSECTS(color, BBOX(2, 2, 3, 3))": (
        "S_INTERSECTS(color, BBOX(2, 2, 3, 3))",
        "color = 'red' (string)",
        "a point or a box inside or touching BBOX(2, 2, 3, 3)",
    ),
    "MATCHES(model, '^x')": ("MATCHES(model, '^x')", "model = 'iphone5s'", "model matching '^x'"),
    "price < price * 0.5": ("price < price * 0.5", "price = 600", "price < price * 0.5"),
    "price + missing > 1": (
        "price + missing > 1",
        "price = 600 (number), missing is absent",
        "price + missing > 1, for two values of one type",
    ),
    "DISTANCE_M(place, POINT(9 9)) <= 500": (
        "DISTANCE_M(place, POINT(9 9)) <= 500",
        "place = POINT(1 2)",
        "a place at most 500 m from POINT(9 9)",
    ),
    "NOT (9e6 >= DISTANCE_M(place, POINT(9 9)))": (
        "NOT 9000000 >= DISTANCE_M(place, POINT(9 9))",
        "place = POINT(1 2)",
        "a place more than 9000000 m from POINT(9 9)",
    ),
    "FALSE": ("FALSE", "", "another expression: FALSE never holds"),
}


def test_each_kind_of_predicate_tells_what_came_and_what_was_needed() -> None:
    """A failing predicate is told with its text, the values that came, and what would have held."""
    for text, told in FINDINGS.items():
        (finding,) = explain(parse(text), EVENT).failed
        assert (finding.predicate, finding.came, finding.needed) == told


def test_a_match_tells_what_carries_it() -> None:
    """Of alternatives, only those that hold are told."""
    found = explain(parse("flag AND (price = 600 OR color = 'blue') AND NOT (size = 'x' AND missing)"), EVENT)

    assert found.matched and found.truth is True and found.failed == ()
    assert [finding.predicate for finding in found.held] == ["flag", "price = 600", "NOT size = 'x'"]
    assert str(found) == (
        "matches\n"
        "  all of:\n"
        "    holds    flag: flag = TRUE\n"
        "    any of:\n"
        "      holds    price = 600: price = 600\n"
        "    any of:\n"
        "      holds    NOT size = 'x': size = '600'"
    )


def test_a_non_match_tells_everything_in_its_way() -> None:
    """Every failing predicate is told, and what holds already beside it."""
    found = explain(parse("model = 'iphone5s' AND (price <= 580 OR size <= 580)"), EVENT)

    assert not found.matched and found.truth is None
    assert [finding.predicate for finding in found.held] == ["model = 'iphone5s'"]
    assert str(found) == (
        "does not match (UNKNOWN)\n"
        "  all of:\n"
        "    holds    model = 'iphone5s': model = 'iphone5s'\n"
        "    any of:\n"
        "      fails    price <= 580: price = 600; needed: price <= 580\n"
        "      unknown  size <= 580: size = '600' (string); needed: a number <= 580"
    )


@given(trees, events)
@settings(max_examples=200, deadline=None)
def test_findings_are_true_to_the_evaluator(tree, event) -> None:
    """A match has held predicates only; anything else has a failed one; each finding's text has its truth."""
    found = explain(tree, event)

    assert found.truth is evaluate(tree, event)
    assert found.matched == (not found.failed) == (found.truth is True)
    assert found.held or found.failed
    assert all(finding.truth is True for finding in found.held)
    for finding in (*found.held, *found.failed):
        assert evaluate(parse(finding.predicate), event) is finding.truth
        assert finding.needed or finding.truth


def test_the_deepest_tree_is_explained() -> None:
    """A tree at the limit of depth, AND and OR by turns, is told without running out of stack."""
    text = "a"
    for level in range(254):
        text = f"({text}) {'AND' if level % 2 else 'OR'} b"
    tree = parse(text)

    assert explain(tree, {"a": True}).truth is None
    assert to_text(parse(to_text(tree))) == to_text(tree)


@pytest.mark.parametrize(
    ("came", "needed", "told"),
    [
        ("Sa\u0303o", "S\u00e3o", "U+00E3, but the event has U+0061 U+0303 at character 2; the two look the same"),
        ("a\u00a0b", "a b", "U+0020, but the event has U+00A0 at character 2"),
        ("ab ", "ab", "nothing, but the event has U+0020 at character 3"),
        ("a\u200bb", "ab", "nothing, but the event has U+200B at character 2"),
        ("\uff35SB", "USB", "U+0055, but the event has U+FF35 at character 1"),
    ],
)
def test_texts_that_look_the_same_are_told_apart(came: str, needed: str, told: str) -> None:
    """Where a text fails that looks like the constant, the code points that differ are shown."""
    for where in (f"c = '{needed}'", f"c IN ('{needed}', 'x')", f"A_CONTAINS(c, ('{needed}'))"):
        value: object = (came,) if where.startswith("A_") else came
        assert told in str(explain(parse(where), {"c": value}))
    assert "look the same" not in str(explain(parse(f"c = '{needed}'"), {"c": "other"}))
    assert "look the same" not in str(explain(parse(f"c <> '{needed}'"), {"c": needed}))


def test_of_a_large_value_only_the_part_that_is_shown_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event may have many conditions about one text of megabytes, or about a list of a million."""
    written = list[int]()

    def counted(value: object) -> str:
        written.append(len(value) if isinstance(value, str | tuple) else 1)
        return constant_text(value)

    explaining = importlib.import_module("tocsin.language.explain")  # the package has a function of that name
    constant_text = explaining.constant_text
    monkeypatch.setattr(explaining, "constant_text", counted)
    text, texts = "y" * 1_000_000, ("y" * 1000,) * 10_000
    (finding,) = explain(parse("s = 'x'"), {"s": text}).failed
    (other,) = explain(parse("s = 'x'"), {"s": texts}).failed

    assert finding.came == f"s = '{text[:156]}..."
    assert other.came == f"s = ('{text[:155]}... (list)"
    assert max(written) <= 160


def test_of_many_conditions_a_hundred_have_lines() -> None:
    """The findings are of all; in the nearest element, too, lines end with how many are left out."""
    terms = " OR ".join(f"name LIKE '%word{number}%'" for number in range(250))
    whole = explain(parse(terms), {"name": "x"})
    assert (len(whole.failed), len(whole.lines)) == (250, 103)
    assert whole.lines[-1].strip() == "and 150 others, which are not shown"

    event = {"names": [{"name": "x"}, {"name": "word3", "b": 1}, {"name": "word7"}]}
    tree = parse(f"ANY(names, ({terms}) AND b = 2)")
    nearest = explain(tree, values_for([tree], event))
    assert "names[1] is nearest to it:" in str(nearest)
    assert "b = 1; needed: b = 2" in str(nearest)


def test_the_nearest_element_has_the_fewest_conditions_that_fail() -> None:
    tree = parse("ANY(a, element > 5 AND NOT (element = 3 OR element < 4))")
    for elements, nearest in (([1, 3, 5], 2), ([3, 1], 1), ([4.5, 9], 1), ([None, 2], 1)):
        assert f"a[{nearest}] " in str(explain(tree, values_for([tree], {"a": elements})))
