"""The law of templates: every instance is the tree that `parse` makes, whatever the text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.language.strategies import trees
from tests.strategies import expressions
from tocsin.errors import InvalidInput
from tocsin.language import Templates, parse, to_text
from tocsin.language.templates import MARK
from tocsin.model.expression import Expression

SEEN = Templates()
"""Shared by the tests of the law, so that texts also meet the templates of other texts."""


def parsed(text: str) -> Expression | None:
    try:
        return parse(text)
    except InvalidInput:
        return None


def keeps_the_law(text: str) -> bool:
    """Whether the instance of a text, if it has one, is what `parse` makes; known templates or none at all."""
    answers = [SEEN.instance(text), Templates().instance(text)]
    return all(answer is None or answer.tree() == parsed(text) for answer in answers)


@given(st.one_of(expressions(), trees).map(to_text))
def test_an_instance_is_what_parse_makes_of_canonical_text(text: str) -> None:
    """The instance of a valid text is its tree; only texts with the mark, or late years, may have none."""
    answer = SEEN.instance(text)

    if answer is None:
        late = re.search(r"'9\d\d\d-", text)  # years that placeholders have
        assert MARK in text or late or not text.isascii()
    else:
        assert answer.tree() == parse(text)


# Pieces that are cut, joined or read in more than one way, each good in one place and bad in another.
PIECES = (
    *("a", "price", "x.y:z_1", '"in"', '"a ""b"""', '""', "größe", "nan", "inf", "tRue", "e5", "brand", "x\u1680y"),
    *("AND", "or", "Not", "iN", "BETWEEN", "like", "IS", "null", "TRUE", "DIV", "casei", "CASEI(", "point", "POINT("),
    *(
        "A_CONTAINS(",
        "BBOX(",
        "S_INTERSECTS(",
        "MATCHES(",
        "DATE(",
        "unknown(",
        "T_AFTER(",
        "SOME(",
        "some (",
        "GIVEN(",
        "element",
        '"element"',
        "(",
        "(",
        ")",
        ")",
        ",",
    ),
    *(
        "POLYGON",
        "polygon((0 0, 1 0, 0 1, 0 0))",
        "LINESTRING(0 0, 1 1)",
        "Z(",
        "z",
        "INTERVAL(",
        "'..'",
        "DISTANCE_M(",
    ),
    *("=", "<", "<>", ">=", "+", "-", "*", "^", "1", "2.5", "5.", ".5", "1e3", "1E-3", "e+3", "0", "9007199254740993"),
    *(
        "9007199254740992",
        "1e999",
        "'x'",
        "''",
        "'it''s'",
        "'a\\'",
        "'\\\\'",
        "'('",
        "'é'",
        "'",
        '"',
        ".",
        "!",
        "\ud800",
    ),
)
SPACES = (" ", " ", " ", "", "", "\n", "  ", "\t", "\xa0", "\u1680", "\x1f", "\x00")


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(SPACES)), max_size=14))
def test_any_words_in_any_order(words: list[tuple[str, str]]) -> None:
    """What is no expression has no instance, wherever it breaks off, and nothing raises."""
    assert keeps_the_law("".join(word + space for word, space in words))


FRAMES = (
    "{0} = {1}",
    "{0}<>{1} and {2}",
    "{0} - {1} > -{2}",
    "{0} in({1},{2} ,\n  {3})",
    "NOT ({0} Between {1} AND {2})",
    "{0} LIKE {1}",
    "{0} like CASEI ({1})",
    "A_CONTAINS({0}, ({1}, {2}))",
    "a_overlaps(( ), {0})",
    "S_INTERSECTS({0}, BBOX({1}, {2},{3},  {4}))",
    "S_INTERSECTS(POINT({1} {2}), {0})",
    "MATCHES({0}, {1})",
    "{0} IS NOT NULL OR {1} ^ {2} = {3} DIV {4}",
    "T_DURING({0}, INTERVAL({1}, {2})) AND {3} = {4}",
    "interval ({1}, {2}) = {0}",
    "T_AFTER(INTERVAL({1},{2}), {0})",
    "DISTANCE_M({0}, POINT({1} {2})) <= {3}",
    "{3} > distance_m(POINT({1} -{2}), {0})",
    "S_WITHIN({0}, {1}) OR S_DISJOINT({2}, {0})",
    "ANY({0}, {1} > {2} AND {0} = {3})",
    "{0}",
)
VALUES = (
    *("a", "b1", '"AND"', "größe", "1", "-2", "+3.5", "- 4", "--5", "1e3", "9007199254740993", "1e999", "-0"),
    *("'x'", "'it''s'", "'a\\'", "'('", "'é'", "'\ud800'", "TRUE", "and"),
    *("'2024-05-31'", "'2024-06-01T08:00:00Z'", "'..'", "DATE('2024-05-31')", "'9000-01-01'", "'2024-02-31'"),
    *("POLYGON((0 0, 1 0, 0 1, 0 0))", "polygon Z ((0 0 1, 2 0 1, 0 2 1, 0 0 1))", "LINESTRING (1 2,3 4)"),
    *("POLYGON((0 0, 2 2, 2 0, 0 2, 0 0))", "POLYGON((0 0, 1 0))", "MULTIPOINT((1 1), (2 2))", "LINESTRING EMPTY"),
    "GEOMETRYCOLLECTION(POINT(1 2), MULTIPOLYGON(((0 0, 1 0, 0 1, 0 0))))",
)


@given(st.sampled_from(FRAMES), st.lists(st.sampled_from(VALUES), min_size=5, max_size=5))
def test_other_values_in_the_same_frame(frame: str, values: list[str]) -> None:
    """A value that `parse` refuses is refused, though the skeleton is known from a good text."""
    assert keeps_the_law(frame.format(*values))
