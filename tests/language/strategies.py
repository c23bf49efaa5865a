"""Trees that a parser can make, and events about their attributes."""

from __future__ import annotations

import datetime as dt

from hypothesis import strategies as st

from tocsin.language.operators.array import ARRAY_FUNCTIONS
from tocsin.language.strings import ends_in_escape
from tocsin.model.expression import (
    ARITHMETIC,
    COMPARISONS,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    conjunction,
    disjunction,
)
from tocsin.model.values import UNTYPED, Box, Instant, Point

NAMES = ["a", "b", "price", "x.y", "in", "unit price", 'say "hi"', "größe", "DATE", "a:b", "_1"]

names = st.sampled_from(NAMES) | st.text(
    st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), min_size=1, max_size=4
)
numbers = st.integers(-(2**53), 2**53).map(float) | st.floats(allow_nan=False, allow_infinity=False)
small_numbers = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0])
strings = st.sampled_from(["", "a", "it's", "50%_", "Größe", "groesse", "\n", '"', "A"]) | st.text(max_size=5)
instants = st.datetimes(timezones=st.just(dt.UTC)).map(Instant.of) | st.dates().map(Instant.of)
patterns = strings.filter(lambda pattern: not ends_in_escape(pattern))
points = st.builds(Point, numbers, numbers)


@st.composite
def boxes(draw, numbers=numbers):
    x = sorted([draw(numbers), draw(numbers)])
    y = sorted([draw(numbers), draw(numbers)])
    return Box(x[0], y[0], x[1], y[1])


scalar_constants = st.builds(Constant, numbers | small_numbers | strings | st.booleans() | instants)
attribute_nodes = st.builds(Attribute, names)
geometry_arguments = attribute_nodes | st.builds(Constant, points | boxes())
array_arguments = attribute_nodes | st.builds(Array, st.lists(scalar_constants, max_size=3).map(tuple))
string_constants = st.builds(Constant, strings)


def string_function(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.builds(lambda name, part: Call(name, (part,)), st.sampled_from(["CASEI", "ACCENTI"]), inner)


string_arguments = st.recursive(attribute_nodes | string_constants, string_function, max_leaves=2)
subjects = st.recursive(attribute_nodes, string_function, max_leaves=2)
pattern_nodes = st.recursive(st.builds(Constant, patterns), string_function, max_leaves=2)
queries = st.builds(Constant, st.sampled_from(["a", "it's 5", 'x "y z"', "日本"]))
text_settings = st.builds(Constant, st.sampled_from(["plain", "keep_accents", "english stem"]))
regexes = st.sampled_from(["a", "^a.*b$", "[0-9]+", "it's", "(?i)x|y", ""])

leaf_conditions = (
    attribute_nodes
    | st.builds(Constant, st.booleans())
    | st.builds(
        lambda name, *arguments: Call(name, arguments),
        st.sampled_from(ARRAY_FUNCTIONS),
        array_arguments,
        array_arguments,
    )
    | st.builds(lambda *arguments: Call("S_INTERSECTS", arguments), geometry_arguments, geometry_arguments)
    | st.builds(lambda *arguments: Call("TEXT", arguments), attribute_nodes, queries)
    | st.builds(lambda *arguments: Call("TEXT", arguments), attribute_nodes, queries, text_settings)
    | st.builds(lambda subject, regex: Call("MATCHES", (subject, Constant(regex))), subjects, regexes)
)


def scalars(depth: int) -> st.SearchStrategy[Expression]:
    flat = scalar_constants | attribute_nodes | string_function(string_arguments)
    if depth <= 0:
        return flat
    inner = scalars(depth - 1)
    return flat | st.builds(Arithmetic, st.sampled_from(ARITHMETIC), inner, inner) | conditions(depth - 1)


def conditions(depth: int) -> st.SearchStrategy[Expression]:
    """Conditions of at most about `depth` levels."""
    if depth <= 0:
        return leaf_conditions
    part, scalar = st.deferred(lambda: conditions(depth - 1)), st.deferred(lambda: scalars(depth - 1))
    several = st.lists(part, min_size=2, max_size=3)
    return (
        leaf_conditions
        | st.builds(Comparison, st.sampled_from(COMPARISONS), scalar, scalar)
        | st.builds(In, scalar, st.lists(scalar, min_size=1, max_size=3).map(tuple))
        | st.builds(Between, scalar, scalar, scalar)
        | st.builds(Like, scalar, pattern_nodes)
        | st.builds(IsNull, scalar)
        | st.builds(Not, part)
        | several.map(conjunction)
        | several.map(disjunction)
    )


trees = conditions(5)

values = (
    small_numbers
    | strings
    | st.booleans()
    | instants
    | st.just(UNTYPED)
    | st.lists(small_numbers | strings | st.booleans(), max_size=3).map(tuple)
    | st.builds(Point, small_numbers, small_numbers)
    | boxes(small_numbers)
)
events = st.dictionaries(st.sampled_from(NAMES), values, max_size=6)
