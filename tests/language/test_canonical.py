"""Writing expressions as text."""

from __future__ import annotations

import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.strategies import trees
from tocsin.errors import InvalidInput
from tocsin.language import evaluate, parse, quote, to_text
from tocsin.model.event import flatten

SCALARS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00")),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.datetimes(),
    st.dates(),
)

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


@given(st.one_of(SCALARS, st.lists(SCALARS, min_size=1, max_size=4)))
def test_a_quoted_value_is_read_again(value: object) -> None:
    """What `quote` writes is the constant that an event's value of it equals."""
    values = value if isinstance(value, list) else [value]
    text = f"a IN {quote(values)}"

    for one in values:
        assert evaluate(parse(text), flatten({"a": one}).values) is True
        assert evaluate(parse(f"a = {quote(one)}"), flatten({"a": one}).values) is True


@pytest.mark.parametrize("value", (None, float("nan"), float("inf"), 2**53 + 1, object(), "\ud800", [None]))
def test_what_is_not_a_constant_is_not_quoted(value: object) -> None:
    """Absence, infinity, long integers and what has no type are refused."""
    with pytest.raises(InvalidInput, match="constant"):
        quote(value)


def test_geometries_are_quoted() -> None:
    """GeoJSON becomes well-known text."""
    assert quote({"type": "Point", "coordinates": [1, 2.5]}) == "POINT(1 2.5)"
    assert quote(shapely.box(0, 0, 1, 1)).startswith("POLYGON ((")
