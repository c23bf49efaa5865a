"""Conjunctions that hold in part, weights for their attributes, and events that tie many of them."""

from __future__ import annotations

from typing import Final, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.strategies.conditions import expressions
from tests.strategies.pools import chosen
from tocsin.language import parse
from tocsin.model.expression import Attribute, Between, Comparison, Constant, Expression, In, attributes, conjunction

Weighted: TypeAlias = tuple[Expression, dict[str, float]]

WEIGHTS: Final = (0, 0.0, 0.1, 0.2, 0.3, 1, 1.0, 2.5, 1e16)
GRID: Final = ("a", "b", "c", "d")
"""Attributes that have few values, so that scores tie."""

WORD_CONJUNCTS: Final = (
    "s = 'red'",
    "s = 'green'",
    "s <> 'red'",
    "s IN ('red', 'blue')",
    "s IN ('x', 'y', 'green')",
    "NOT s IN ('red', 'green')",
    "s LIKE 're%'",
    "CASEI(s) = CASEI('RED')",
    "MATCHES(t, '^[a-c]')",
    "t = 'abc'",
    "t IS NULL",
    "t IS NOT NULL",
    "A_CONTAINS(words, ('red', 'blue'))",
    "A_OVERLAPS(words, ('green', 'blue'))",
    "A_CONTAINEDBY(words, ('red', 'blue'))",
    "A_EQUALS(words, ('red'))",
    "NOT A_OVERLAPS(words, ('red', 'x'))",
    "S_INTERSECTS(place, BBOX(0, 0, 1, 1))",
    "(s = 'red' OR t = 'abc')",
    "NOT (s = 'red' AND n > 1)",
    "(s = 'red' OR s = 'blue')",
    "NOT (n = 1 OR n = 2)",
    "n > 1",
    "n < 2",
    "n BETWEEN 1 AND 2",
    "n IN (0, 3)",
    "n > m",
    "n + m = 3",
    "flag",
    "NOT flag",
    "flag = TRUE",
    "TRUE",
    "FALSE",
    "1 < 2",
)


def weighted(trees: SearchStrategy[Expression]) -> SearchStrategy[Weighted]:
    """Trees, each with weights for some of its attributes."""
    return trees.flatmap(_with_weights)


def _with_weights(tree: Expression) -> SearchStrategy[Weighted]:
    weight = st.sampled_from(WEIGHTS)
    return st.fixed_dictionaries({}, optional=dict.fromkeys(attributes(tree), weight)).map(lambda drawn: (tree, drawn))


def conjunctions() -> SearchStrategy[Expression]:
    """ANDs of one to four expressions of any kind, some of them ANDs."""
    return st.lists(expressions(max_depth=4), min_size=1, max_size=4).map(conjunction)


def conjunctions_of_ranges() -> SearchStrategy[Expression]:
    """ANDs of ranges and points over the grid, an attribute perhaps twice."""
    return st.lists(_grid_conjuncts(), min_size=1, max_size=5).map(conjunction)


@st.composite
def _grid_conjuncts(draw: DrawFn) -> Expression:
    name = Attribute(draw(st.sampled_from(GRID)))
    low, high = sorted(draw(st.tuples(st.integers(0, 5), st.integers(0, 5))))
    ends = Constant(float(low)), Constant(float(high))
    made = (
        Between(name, *ends),
        Between(name, *ends),
        Between(name, *reversed(ends)),
        Comparison("=", name, ends[0]),
        Comparison("<=", name, ends[1]),
        Comparison(">", name, ends[0]),
        Comparison("<>", name, ends[0]),
        In(name, ends),
    )
    return draw(st.sampled_from(made))


def conjunctions_of_words() -> SearchStrategy[Expression]:
    """ANDs of conditions on strings, lists of strings, a place, a boolean and two numbers."""
    return st.lists(st.sampled_from(WORD_CONJUNCTS), min_size=1, max_size=5).map(" AND ".join).map(parse)


def grid_events() -> SearchStrategy[dict[str, object]]:
    """Events on the grid, between its lines, and off it."""
    value = chosen((8, st.integers(0, 6)), (2, st.sampled_from((0.5, 2.5, -1))), (1, st.sampled_from((None, "a", [1]))))
    return st.fixed_dictionaries({}, optional=dict.fromkeys(GRID, value))


def word_events() -> SearchStrategy[dict[str, object]]:
    """Events for the conjunctions of words."""
    words = st.sampled_from(("red", "green", "blue", "RED"))
    values: dict[str, SearchStrategy] = {
        "s": chosen((6, words), (1, st.just(5))),
        "t": st.sampled_from(("abc", "cab", "xyz", None)),
        "words": st.lists(words, max_size=3),
        "place": st.sampled_from(([0.5, 0.5], [2, 2], {"type": "Point", "coordinates": [1, 1]})),
        "n": chosen((6, st.integers(0, 3)), (1, st.just("red"))),
        "m": st.integers(0, 3),
        "flag": st.booleans(),
    }
    return st.fixed_dictionaries({}, optional=values)
