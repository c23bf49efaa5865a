"""Which texts have a template, which share one, and the trees that templates make."""

from __future__ import annotations

from typing import cast

import pytest

import tocsin
from tocsin.columns.expressions.spelling import Spelling
from tocsin.language import Templates, parse
from tocsin.language.templates import MARK, placeholder, slot_of
from tocsin.model.expression import And, Attribute, Comparison, Constant, walk
from tocsin.model.values import Box, Point

SEEN = Templates()
"""Shared by the tests, so that texts also meet the templates of other texts."""


# ---- what has a template

COVERED = {
    "price <= 580": "an",
    "5 = 5": "nn",
    "a = b": "aa",
    "a17 = 5 AND a23 <= 7 AND color IN ('red','blue')": "ananass",
    "a + 1 * b ^ 2 - c / 3 % 4 DIV 5 = -(d)": "ananannna",
    "a - 1 = -1": "ann",
    "a-1=-1": "ann",
    "a = - 1 AND b = +1": "anan",
    "a BETWEEN -1 AND +1 AND NOT (b NOT BETWEEN 1 AND 2)": "annann",
    "a NOT IN (1, 'x', TRUE, b)": "ansa",
    "a IS NULL OR b IS NOT NULL": "aa",
    "a = DATE ('2024-05-31')": "ai",
    "T_DURING(a, INTERVAL('2024-05-31', '..')) AND b = '..'": "aias",
    "DISTANCE_M(a, POINT(-1.5 -2)) <= 500": "annn",
    "S_WITHIN(a, POLYGON((0 0, 1 0, 0 1, 0 0))) OR S_CROSSES(linestring z (0 0 1, 1 1 2), b)": "agga",
    "ANY(a, b = 'x' AND S_WITHIN(c, MULTIPOLYGON(((0 0, 1 0, 0 1, 0 0)))))": "aasag",
    "SOME(tags, element = 'x' AND NOT element > 3)": "asn",
    "SOME(o.tags, SOME(zone, CASEI(element) = CASEI('x')))": "aas",
    "SOME(items, price > 3)": "aan",
    "element = 1 AND SOME(element, element IS NULL)": "n",
    "rain": "a",
    "TRUE": "",
    "not rain AND false": "a",
    "((a OR b) AND c)": "aaa",
    "(a = 1) = (b = 2)": "anan",
    "CASEI(a) = casei('X')": "as",
    "ACCENTI (CASEI(a)) IN (ACCENTI('x'))": "as",
    "a LIKE 'ipad%' AND b NOT LIKE '\\\\'": "asas",
    "a LIKE CASEI(ACCENTI('x%'))": "as",
    "A_CONTAINS(words, ('ipad2', '64gb'))": "ass",
    "a_equals((1, -2), a) AND A_CONTAINEDBY(a, b) AND A_OVERLAPS(a, ())": "nnaaaa",
    "S_INTERSECTS(location, BBOX(-74.3, 40.5, -73.7, 40.9))": "annnn",
    "s_intersects(a,bbox(\n    -74.3,\n    -40.5,\n    -73.7,\n    -40.4\n))": "annnn",
    "S_INTERSECTS(POINT(1 -2.5), a)": "nna",
    "MATCHES(a, 'x+')": "as",
    '"in" = 1 AND "say ""hi""" = \'it\'\'s\'': "anas",
    "größe = 'weiß'": "as",
    "date AND point AND brand": "aaa",
    "a = .5 OR a = 5. OR a = 1E+3": "ananan",
    "a = 9007199254740992 OR a = 1e300": "anan",
    " a\n=\t1 ": "an",
}


@pytest.mark.parametrize("text", COVERED)
def test_what_has_a_template(text: str) -> None:
    """These texts have a template, with a slot for each name, string and number, in order of appearance."""
    answer = SEEN.instance(text)

    assert answer is not None and answer.template.kinds == COVERED[text]
    assert answer.tree() == parse(text)


@pytest.mark.parametrize("odd", ["a\u1680", "'unended", "a\u1680 = 1", "a = 1 \x07", "\u212a = 1"])
@pytest.mark.parametrize("text", ["rain", "b = 1"])
def test_an_odd_text_spoils_no_other(odd: str, text: str) -> None:
    """What cannot be learned from one text is learned from the next that looks alike."""
    templates = Templates()
    templates.instance(odd)

    assert templates.instance(text) is not None


def test_what_stands_in_the_slots() -> None:
    """Values are names, strings without their quotes, and floats; a sign at the head of an operand is the number's."""
    text = """a AND "b" = 1 AND "c ""d\""" IN ('it''s', '', -2, .5) AND e - 3 = 4"""
    answer = SEEN.instance(text)

    assert answer is not None
    assert answer.values == ("a", "b", 1.0, 'c "d"', "it's", "", -2.0, 0.5, "e", 3.0, 4.0)


def test_there_is_no_negative_zero() -> None:
    """Neither a sign in the value nor one in the skeleton makes a zero negative."""
    answer = SEEN.instance("a = -0 AND b BETWEEN -0 AND -0.0")

    assert answer is not None
    assert "-0" not in repr(answer.tree()) and "-0" not in repr(answer.values)


SAME = [
    ("a = 1", "b7 = 2.5e3"),
    ("a = 1", "a = -1"),
    ("a AND b", "c and d"),
    ("a IN ('x', 'y')", "a iN ('it''s', '')"),
    ("S_INTERSECTS(a, BBOX(1, 2, 3, 4))", "S_INTERSECTS(b, BBOX(-4, -3,\n -2,   -1))"),
    ("größe = 'x'", "color = 'weiß'"),
]
OTHER = [
    ("T_AFTER(a, INTERVAL('2024-05-31', '..'))", "T_AFTER(a, INTERVAL('2024-05-31', '2024-06-01'))"),
    ("a = 1", "a = 'x'"),
    ("a = 1", "a = b"),
    ("a = 1", "a = TRUE"),
    ("a = 1", "a < 1"),
    ("a - 1 = 1", "a = 1"),
    ("a IN (1)", "a IN (1, 2)"),
    ("a = true", "a = false"),
    ("CASEI(a) = 'x'", "ACCENTI(a) = 'x'"),
]


def test_which_texts_share_a_template() -> None:
    """Texts that differ in names, values, and the letter case of keywords share one; others do not."""
    same = [[SEEN.instance(text) for text in pair] for pair in SAME]
    other = [[SEEN.instance(text) for text in pair] for pair in OTHER]

    assert all(one and two and one.template is two.template for one, two in same)
    assert all(one and two and one.template is not two.template for one, two in other)


# ---- what has none

REFUSED = {
    "a = 1": ["a = 9007199254740993", "a = 1e999", "a = -9007199254740993", "a =\n  -9007199254740993"],
    "a BETWEEN -1 AND 2": ["a BETWEEN -9007199254740993 AND 2"],
    "a": ["AND", "(", ""],
    "a = b": ["a = in", "1a = b", "a\xa0= b", "a = \u1680b", "a = b!"],
    '"a" = 1': ['"" = 1'],
    "a = 'x'": ["a = 'x", "a = '\ud800'", "a = 'x\x00'"],
    "a LIKE 'x'": ["a LIKE 'x\\'"],
    "T_DURING(a, INTERVAL('2024-05-01', '2024-05-31'))": [
        "T_DURING(a, INTERVAL('2024-05-31', '2024-05-01'))",
        "T_DURING(a, INTERVAL('2024-05-01', 'x'))",
    ],
    "DISTANCE_M(a, POINT(1 2)) < 3": [
        "DISTANCE_M(a, POINT(181 2)) < 3",
        "DISTANCE_M(a, POINT(1 92)) < 3",
        "DISTANCE_M(a, POINT(1 2)) < -3",
    ],
    "S_WITHIN(a, POLYGON((0 0, 1 0, 0 1, 0 0)))": [
        "S_WITHIN(a, POLYGON((0 0, 1 1)))",
        "S_WITHIN(a, POLYGON((0 0, 2 2, 2 0, 0 2, 0 0)))",
        "S_WITHIN(a, LINESTRING(0 0))",
        "S_WITHIN(a, POLYGON((0 0, 1e999 0, 0 1, 0 0)))",
        "S_WITHIN(a, POLYGON((0 0, 1 0, 0 1, 0 0))",
    ],
    "a LIKE CASEI('x')": ["a LIKE CASEI('x\\\\\\')"],
    "MATCHES(a, 'x')": ["MATCHES(a, '(')"],
    "a = DATE('2024-05-31')": ["a = DATE('2024-02-31')", "a = DATE('2024-05-31T08:00:00Z')", "a = DATE('2024-05-''1')"],
    "a < TIMESTAMP('2024-05-31T08:15:00Z')": ["a < TIMESTAMP('2024-05-31T08:15:60Z')", "a < TIMESTAMP('now')"],
    "S_INTERSECTS(a, BBOX(1, 2, 3, 4))": [
        "S_INTERSECTS(a, BBOX(3, 2, 1, 4))",
        "S_INTERSECTS(a, BBOX(1, -2, 3, -4))",
        "S_INTERSECTS(a, BBOX(1, 2, 3, 1e999))",
    ],
}


@pytest.mark.parametrize("good", REFUSED)
def test_values_that_parse_refuses_have_no_instance(good: str) -> None:
    """A known skeleton does not let a bad value in, and a bad value does not spoil the skeleton."""
    fresh = Templates()
    before = [fresh.instance(bad) for bad in REFUSED[good]]
    known = fresh.instance(good)
    after = [fresh.instance(bad) for bad in REFUSED[good]]

    assert known is not None and known.tree() == parse(good)
    assert not any(before) and not any(after)


WITHOUT = [
    "a = DATE('9999-05-31')",
    "a = DATE(5)",
    "T_DURING(a, INTERVAL('2024-05-31', '..', '..'))",
    "T_DURING(a, INTERVAL('2024-05-31', CASEI('..')))",
    "DISTANCE_M(a, POINT(1 2 3)) < 5",
    "A_CONTAINS(a, (CASEI('x')))",
    "A_CONTAINS(a, (1 + 2))",
    "A_CONTAINS(a, (1 - 2 + 3, 4))",
    "POINT(1 2) IS NULL",
    "S_INTERSECTS(a, BBOX(1, 2, 0, 3, 4, 0))",
    "S_INTERSECTS(a, BBOX(1, 2, 3))",
    "S_INTERSECTS(a, POINT(1.5.5.5))",
    "S_INTERSECTS(a, POINT(1 - -2))",
    "unknown(a)",
    "a\n(",
    "a AND",
    "a = 5..",
    "a = 5 b",
    "a +",
    "'x'",
    "(" * 257 + "a" + ")" * 257,
    "NOT " * 256 + "a",
]


@pytest.mark.parametrize("text", WITHOUT)
def test_what_has_no_template(text: str) -> None:
    """Instants, what is computed, and what is no expression: these are for `parse` to read or to refuse."""
    assert Templates().instance(text) is None


def test_what_is_no_text_has_no_instance() -> None:
    """Even what is no string is left to `parse` to refuse."""
    assert Templates().instance(5) is None  # type: ignore[arg-type]


# ---- the trees of templates


def test_slots_are_recognised_in_the_tree() -> None:
    """Each slot's placeholder stands once in the template's tree, negated where the skeleton has a sign."""
    answer = SEEN.instance("a BETWEEN -1 AND 2 AND S_INTERSECTS(b, POINT(3 -4)) AND c = 'x'")

    assert answer is not None
    values = [node.value for node in walk(answer.template.tree) if isinstance(node, Constant)]
    low, high, x, y = (cast(float, placeholder("n", slot)) for slot in (1, 2, 4, 5))
    assert values == [-low, high, Point(x, -y), MARK + "7"]
    assert [slot_of(node.name) for node in walk(answer.template.tree) if isinstance(node, Attribute)] == [0, 3, 6]


def test_placeholders_and_slots_are_inverse() -> None:
    """Every slot is found again from its placeholder, up to as many values as an expression may have."""
    assert all(slot_of(placeholder(kind, slot)) == slot for kind in "asnig" for slot in (0, 1, 99_999))


def test_a_filled_tree_has_no_places() -> None:
    """The places of the skeleton are not those of the text, so that no node has any."""
    answer = SEEN.instance("a = 1 AND (TRUE OR -b < 2)")

    assert answer is not None
    assert all(node.span is None for tree in (answer.template.tree, answer.tree()) for node in walk(tree))


def test_any_values_may_fill_a_template() -> None:
    """A template is filled with any values of the right kinds, in the slots that they belong to."""
    answer = SEEN.instance("a = 1 AND S_INTERSECTS(b, BBOX(1, 2, 3, 4))")

    assert answer is not None
    filled = answer.template.fill(("x", 7.0, "y", -4.0, -3.0, -2.0, -1.0))
    assert isinstance(filled, And)
    assert filled.operands[0] == Comparison("=", Attribute("x"), Constant(7.0))
    assert Constant(Box(-4.0, -3.0, -2.0, -1.0)) in walk(filled)


def test_the_deepest_texts_are_learned() -> None:
    """Trees are compared without recursion: ANDs and ORs in turns, as deep as they may be."""
    text = "a = 1"
    for level in range(254):
        text = f"(b = {level} {'AND' if level % 2 else 'OR'} {text})"
    instance = Templates().instance(text)
    assert instance is not None
    assert Spelling().spelled(instance) is instance
    engine = tocsin.Engine()
    engine.subscribe("s", text)
    assert not engine.match({"c": 1})
