"""Reading CQL2 text: the trees, the places, and hostile texts."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import cql2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import fork_server
from tests.language.strategies import trees
from tocsin.errors import ExpressionError, InvalidInput
from tocsin.language import Templates, parse, parse_json, to_text
from tocsin.language.tokens import MANY
from tocsin.model.expression import (
    And,
    Arithmetic,
    Array,
    Attribute,
    Between,
    Call,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Or,
    walk,
)
from tocsin.model.values import Box, Instant, Point

A, B, C = Attribute("a"), Attribute("b"), Attribute("c")


def num(value: float) -> Constant:
    return Constant(float(value))


ONE, TWO = num(1), num(2)

TREES = {
    "a = 1": Comparison("=", A, ONE),
    "1 <> a": Comparison("<>", ONE, A),
    "a>=b": Comparison(">=", A, B),
    "a": A,
    "NOT a": Not(A),
    "not not a": Not(Not(A)),
    "true": Constant(True),
    "a = TRUE": Comparison("=", A, Constant(True)),
    "a AND b AND c": And((A, B, C)),
    "a and (b AND c)": And((A, B, C)),
    "a AND b OR c": Or((And((A, B)), C)),
    "a AND (b OR c)": And((A, Or((B, C)))),
    "NOT a = 1 AND b": And((Not(Comparison("=", A, ONE)), B)),
    "a IN (1, 'x')": In(A, (ONE, Constant("x"))),
    "a NOT IN (b)": Not(In(A, (B,))),
    "a BETWEEN 1 AND 2 AND b": And((Between(A, ONE, TWO), B)),
    "a NOT BETWEEN 1 AND 2": Not(Between(A, ONE, TWO)),
    "a LIKE 'x%'": Like(A, Constant("x%")),
    "a NOT LIKE CASEI('x')": Not(Like(A, Call("CASEI", (Constant("x"),)))),
    "a IS NULL": IsNull(A),
    "a + 1 IS NOT NULL": Not(IsNull(Arithmetic("+", A, ONE))),
    "a - 1 - 2 = b": Comparison("=", Arithmetic("-", Arithmetic("-", A, ONE), TWO), B),
    "a-1 = b": Comparison("=", Arithmetic("-", A, ONE), B),
    "a + b * c = 1": Comparison("=", Arithmetic("+", A, Arithmetic("*", B, C)), ONE),
    "(a + b) div c = 1": Comparison("=", Arithmetic("DIV", Arithmetic("+", A, B), C), ONE),
    "a ^ b ^ c = 1": Comparison("=", Arithmetic("^", A, Arithmetic("^", B, C)), ONE),
    "-2 ^ 2 = a": Comparison("=", Arithmetic("^", num(-2), TWO), A),
    "-a ^ 2 = 1": Comparison("=", Arithmetic("^", Arithmetic("*", num(-1), A), TWO), ONE),
    "a - -1 = +2": Comparison("=", Arithmetic("-", A, num(-1)), TWO),
    "-(a) = - -1": Comparison("=", Arithmetic("*", num(-1), A), Arithmetic("*", num(-1), num(-1))),
    "a = .5 OR a = 5. OR a = 1e3": Or(
        (Comparison("=", A, num(0.5)), Comparison("=", A, num(5)), Comparison("=", A, num(1000)))
    ),
    "(a = 1) = (b = 2)": Comparison("=", Comparison("=", A, ONE), Comparison("=", B, TWO)),
    "\"a b\" = 'it''s\n'": Comparison("=", Attribute("a b"), Constant("it's\n")),
    '"say ""hi"""': Attribute('say "hi"'),
    "a.b:c_1 OR größe": Or((Attribute("a.b:c_1"), Attribute("größe"))),
    "date AND point AND android": And((Attribute("date"), Attribute("point"), Attribute("android"))),
    "casei(a) = Casei('X')": Comparison("=", Call("CASEI", (A,)), Call("CASEI", (Constant("X"),))),
    "CASEI((ACCENTI(a))) = 'x'": Comparison("=", Call("CASEI", (Call("ACCENTI", (A,)),)), Constant("x")),
    "A_CONTAINS(a, ('x', -3, TRUE, DATE('1970-01-02')))": Call(
        "A_CONTAINS", (A, Array((Constant("x"), num(-3), Constant(True), Constant(Instant(86_400_000_000)))))
    ),
    "a_equals((1), a)": Call("A_EQUALS", (Array((ONE,)), A)),
    "a_equals((CASEI('X'), Accenti('é'), 1 + 2, (3 - 1), -(4)), a)": Call(
        "A_EQUALS", (Array((Constant("x"), Constant("e"), num(3), TWO, num(-4))), A)
    ),
    "POINT(0 0) IS NULL": Constant(False),
    "BBOX(0, 0, 1, 1) IS NOT NULL": Not(Constant(False)),
    "INTERVAL('2020-01-01', '..') IS NULL OR a": Or((Constant(False), A)),
    "A_OVERLAPS(a, ())": Call("A_OVERLAPS", (A, Array(()))),
    "A_CONTAINEDBY(a, b)": Call("A_CONTAINEDBY", (A, B)),
    "S_INTERSECTS(a, POINT(1 -2.5))": Call("S_INTERSECTS", (A, Constant(Point(1.0, -2.5)))),
    "S_INTERSECTS(BBOX(-1, 0, 1, 2), a)": Call("S_INTERSECTS", (Constant(Box(-1.0, 0.0, 1.0, 2.0)), A)),
    "MATCHES(a, 'x+')": Call("MATCHES", (A, Constant("x+"))),
    "a < TIMESTAMP('1970-01-01T00:00:01Z')": Comparison("<", A, Constant(Instant(1_000_000))),
}


@pytest.mark.parametrize("text", TREES)
def test_a_text_means_its_tree(text: str) -> None:
    """Every construct of the language becomes the node that stands for it."""
    assert parse(text) == TREES[text]


def test_places_are_code_points() -> None:
    """A node's span covers its source, counted in code points, parentheses included."""
    text = "größe = '\U0001f514' AND NOT (a + 1 IN (2))"
    root = parse(text)

    sources = [text[node.span.start : node.span.end] for node in walk(root) if node.span]
    assert sources == [
        text,
        "größe = '\U0001f514'",
        "größe",
        "'\U0001f514'",
        "NOT (a + 1 IN (2))",
        "(a + 1 IN (2))",
        "a + 1",
        "a",
        "1",
        "2",
    ]


@given(trees)
@settings(max_examples=60, deadline=None)
def test_every_node_has_a_place_inside_its_parent(tree) -> None:
    """Spans nest as the tree does."""
    for node in walk(parse(to_text(tree))):
        for child in node.children():
            assert node.span.start <= child.span.start < child.span.end <= node.span.end


# ---- the standard's other reader

shared_scalars = st.sampled_from(
    ["a", '"b c"', "1", "-2.5", "'x'", "d.e", "CASEI(a)", "a + 1", "2 * (a - b)", "a DIV 2"]
)
shared_predicates = st.one_of(
    st.builds("{} {} {}".format, shared_scalars, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), shared_scalars),
    st.builds("{} {}IN ({}, 'y')".format, shared_scalars, st.sampled_from(["", "NOT "]), shared_scalars),
    st.builds("a {}BETWEEN {} AND 3".format, st.sampled_from(["", "NOT "]), shared_scalars),
    st.builds("{} {}LIKE 'x%'".format, st.sampled_from(["a", "CASEI(a)"]), st.sampled_from(["", "NOT "])),
    st.builds("{} IS {}NULL".format, st.sampled_from(["a", "b"]), st.sampled_from(["", "NOT "])),
    st.builds("{}(a, ('x', 'y'))".format, st.sampled_from(["A_CONTAINS", "A_OVERLAPS", "A_EQUALS", "A_CONTAINEDBY"])),
    st.sampled_from(["a", "TRUE", "S_INTERSECTS(a, BBOX(1, 2, 3, 4))", "S_INTERSECTS(a, POINT(1 2))"]),
    st.sampled_from(["a > DATE('2024-05-31')", "a < TIMESTAMP('2024-05-31T08:15:00Z')", "(a = 1) = (b = 2)"]),
)
shared_texts = st.recursive(
    shared_predicates,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=4,
)


@given(shared_texts)
@settings(max_examples=150, deadline=None)
def test_another_reader_of_the_standard_agrees(text: str) -> None:
    """What the cql2 package reads in a text is what we read, at small depth and on what both know."""
    assert parse(text) == parse_json(json.loads(json.dumps(cql2.Expr(text).to_json())))


# ---- limits and hostile texts

HOSTILE = {
    "'(' * 100_000 + 'a' + ')' * 100_000": "parentheses nest more than 256 deep",
    "'(' * 10_000": "parentheses nest more than 256 deep",
    "'(' * 200": "unclosed '('",
    "' OR '.join(['a = 1'] * 100_001)": "more than 100,000",
    "' OR '.join(['a'] * 100_001)": "more than 100,000",
    "' OR '.join(['a=1'] * 33_000)": "",
    "'NOT ' * 20_000 + 'a'": "nests 20001 deep; at most 256 is allowed",
    "'-' * 300 + 'a = 1'": "nests 302 deep; at most 256 is allowed",
    "'a = ' + '+'.join('1' * 300)": "nests 301 deep; at most 256 is allowed",
    "'a = ' + '^'.join('b' * 20_000)": "nests 20001 deep",
    "'a' + '=a' * 20_000": "comparisons do not chain",
    "chr(39) * 100_001": "unclosed string",
    "'[' * 100_000": "arrays are written with parentheses",
    "'a' + ' ' * 1_000_000 + '!'": "write NOT",
    "'CASEI(' * 10_000": "parentheses nest more than 256 deep",
    "'a,' * 50_000": "join conditions with AND or OR",
    "'a IN (' + ','.join('1' * 50_000) + ')'": "",
    "'a = ' + '1' * 1_000_000": "cannot be represented exactly",
    '\'{"op":"not","args":[\' * 100_000': "nested too deep",
}

_PROGRAM = """
import sys
from tocsin.errors import InvalidInput
from tocsin.language import parse_any
for line in sys.stdin.read().splitlines():
    try:
        parse_any(eval(line))
        print()
    except InvalidInput as error:
        print(error.reason)
"""


def test_hostile_texts_are_refused_and_the_process_lives() -> None:
    """Deep, long and malformed texts end in a clear refusal, or are served; never in a crash or a long wait."""
    result = subprocess.run(
        [*fork_server.python(), "-c", _PROGRAM],
        input="\n".join(HOSTILE),
        capture_output=True,
        text=True,
        timeout=5 * len(HOSTILE),
        check=True,
    )

    answers = result.stdout.split("\n")[: len(HOSTILE)]
    for (text, expected), answer in zip(HOSTILE.items(), answers, strict=True):
        assert expected in answer and bool(expected) == bool(answer), text


def test_256_levels_are_served() -> None:
    """The limit itself is allowed, for parentheses and for the tree."""
    assert parse("(" * 256 + "a" + ")" * 256) == A
    assert to_text(parse("NOT " * 255 + "a")) == "NOT " * 255 + "a"


def test_the_place_of_the_parenthesis_that_is_too_deep() -> None:
    """A refusal for depth points at the parenthesis that went too far."""
    with pytest.raises(ExpressionError) as caught:
        parse("\n" + "(" * 300 + "a")

    assert (caught.value.line, caught.value.column) == (2, 257)


@given(st.text(alphabet="ab10 ()'\",.=<>+-*/^%&|![]\n\\ANDORINLIKEBETWEEN_", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text raises anything but InvalidInput, and what is read is written and read again as the same tree."""
    try:
        tree = parse(text)
    except InvalidInput:
        return

    assert parse(to_text(tree)) == tree


def test_many_threads_may_parse() -> None:
    """The parser keeps nothing of one text while it reads another."""
    texts = [f"a = {i} AND NOT (b < {i} OR c IN ({i}))" for i in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(parse, texts))

    assert [to_text(tree) for tree in found] == [f"a = {i} AND NOT (b < {i} OR c IN ({i}))" for i in range(200)]


LISTED = st.sampled_from(["'a'", "'it''s'", "''", "'),('", "7", "-7", "+0.5", "1e3", ".5", "- 2", "b", "TRUE", "'€'"])


@settings(max_examples=max(2, settings.default.max_examples // 5))
@given(st.lists(LISTED, min_size=1, max_size=4), LISTED, st.sampled_from([",", " , ", ",\n"]), st.booleans())
def test_a_long_list_is_read_as_a_short_one(few, last, comma, is_negated):
    """The same items, each at its place; what is no constant in it, or missing behind it, is no matter."""
    short = comma.join([*few, last])
    many = comma.join([*(few * (MANY // len(few) + 1)), last])
    within = "NOT IN" if is_negated else "IN"

    tree, expected = parse(f"a {within} ({many}) AND c = 1"), parse(f"a {within} ({short}) AND c = 1")

    items, few_items = (next(node for node in walk(one) if isinstance(node, In)).items for one in (tree, expected))
    assert list(items) == [*few_items[:-1] * (MANY // len(few) + 1), few_items[-1]]
    text = f"a {within} ({many}) AND c = 1"
    written = [(item, text[item.span.start : item.span.end]) for item in items[:: MANY // 7]]
    assert all(parse(f"a = {part}").right == item for item, part in written)
    assert Templates().instance(f"a IN ({many})") is None


@pytest.mark.parametrize(
    ("last", "place", "reason"),
    [
        ("1e999", 0, "largest number"),
        ("9007199254740993", 0, "cannot be represented exactly"),
        ("1 2", 2, "expected"),
        ("'open", 0, "unclosed string"),
        ("", 0, "expected"),
    ],
)
def test_an_error_in_a_long_list_has_its_place(last, place, reason):
    begin = "a IN (" + "'x'," * (MANY + 5)

    with pytest.raises(ExpressionError, match=reason) as raised:
        parse(f"{begin}{last})")

    assert raised.value.offset == len(begin) + place


def test_a_list_has_as_many_values_as_an_expression_may_have():
    with pytest.raises(ExpressionError, match="more than 100,000 values"):
        parse("a IN (" + ",".join(["1"] * 100_001) + ")")
