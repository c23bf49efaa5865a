"""Writing expressions as text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.language.strategies import trees
from tocsin.language import parse, to_text

WRITTEN = {
    "not(price<=580.0)or(color in('gold'))": "NOT price <= 580 OR color IN ('gold')",
    "NOT (a IN (1))": "a NOT IN (1)",
    "NOT (a LIKE 'x')": "a NOT LIKE 'x'",
    "NOT (a BETWEEN 1 AND 2)": "a NOT BETWEEN 1 AND 2",
    "NOT (a IS NULL)": "a IS NOT NULL",
    "NOT (NOT (a IS NULL))": "NOT a IS NOT NULL",
    "((a)) AND ((b OR (c)))": "a AND (b OR c)",
    "(a AND b) OR c": "a AND b OR c",
    "NOT (a AND b)": "NOT (a AND b)",
    "(a = 1) = (NOT b)": "(a = 1) = (NOT b)",
    "(a - b) - (c - d) = 1": "a - b - (c - d) = 1",
    "(a ^ b) ^ (c ^ d) = 1": "(a ^ b) ^ c ^ d = 1",
    "(a * b) + (c / d) = (-2) ^ 2": "a * b + c / d = -2 ^ 2",
    "a - (-1) = -b": "a - -1 = -1 * b",
    "a = 1e3 or a = 1e17 or a = .1": "a = 1000 OR a = 1e+17 OR a = 0.1",
    '"in" = 1 and "a b" and "c"': '"in" = 1 AND "a b" AND c',
    "a_contains(w, ('x')) and s_intersects(g, bbox(1,2,3.50,4))": (
        "A_CONTAINS(w, ('x')) AND S_INTERSECTS(g, BBOX(1, 2, 3.5, 4))"
    ),
    "t > timestamp('2024-05-31T10:00:00+02:00') or t < timestamp('2024-05-31T00:00:00Z')": (
        "t > TIMESTAMP('2024-05-31T08:00:00Z') OR t < DATE('2024-05-31')"
    ),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_the_canonical_text(text: str) -> None:
    """Keywords in capitals, the fewest parentheses, names quoted only when they need it."""
    assert to_text(parse(text)) == WRITTEN[text]


@given(trees)
@settings(max_examples=200, deadline=None)
def test_text_of_a_tree_reads_as_that_tree(tree) -> None:
    """tree -> text -> tree is the identity, and so is text -> tree -> text on canonical text."""
    text = to_text(tree)

    assert parse(text) == tree
    assert to_text(parse(text)) == text
