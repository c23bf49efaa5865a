"""Reading and writing CQL2 JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from tests.language.strategies import trees
from tocsin.errors import ExpressionError, UnsupportedError
from tocsin.language import parse, parse_any, parse_json, to_json

P = {"property": "a"}

FORMS = {
    "a": P,
    "TRUE": True,
    "a = 580 AND NOT a = 0.5": {
        "op": "and",
        "args": [{"op": "=", "args": [P, 580]}, {"op": "not", "args": [{"op": "=", "args": [P, 0.5]}]}],
    },
    "a IN (1, 'x')": {"op": "in", "args": [P, [1, "x"]]},
    "a BETWEEN 1 AND 2": {"op": "between", "args": [P, 1, 2]},
    "CASEI(a) LIKE CASEI('x%')": {
        "op": "like",
        "args": [{"op": "casei", "args": [P]}, {"op": "casei", "args": ["x%"]}],
    },
    "a IS NULL": {"op": "isNull", "args": [P]},
    "a DIV 2 = 1": {"op": "=", "args": [{"op": "div", "args": [P, 2]}, 1]},
    "A_CONTAINEDBY(a, ('x', TRUE))": {"op": "a_containedBy", "args": [P, ["x", True]]},
    "S_INTERSECTS(a, BBOX(1, 2, 3.5, 4))": {"op": "s_intersects", "args": [P, {"bbox": [1, 2, 3.5, 4]}]},
    "S_INTERSECTS(a, POINT(1 2))": {
        "op": "s_intersects",
        "args": [P, {"type": "Point", "coordinates": [1, 2]}],
    },
    "a > DATE('2024-05-31') OR a < TIMESTAMP('2024-05-31T08:15:00Z')": {
        "op": "or",
        "args": [
            {"op": ">", "args": [P, {"date": "2024-05-31"}]},
            {"op": "<", "args": [P, {"timestamp": "2024-05-31T08:15:00Z"}]},
        ],
    },
    "MATCHES(a, 'x')": {"op": "matches", "args": [P, "x"]},
}

REFUSED = [
    (None, "null is not a value"),
    ([1], "an array is not allowed here"),
    ({}, "expected an object with op and args"),
    ({"op": "and", "args": []}, "and needs arguments"),
    ({"op": "=", "args": [P]}, "= takes 2 arguments, not 1"),
    ({"op": "=", "args": P}, "= needs args, an array"),
    ({"op": "=", "args": [P, None]}, "at args[1]: null is not a value"),
    ({"op": "=", "args": [P, float("nan")]}, "at args[1]: NaN cannot be compared"),
    ({"op": "=", "args": [P, 2**53 + 1]}, "at args[1]: 9007199254740993 cannot be represented exactly"),
    ({"op": "=", "args": [P, "\ud800"]}, "at args[1]: a string with half of a surrogate pair"),
    ({"op": "=", "args": [P, b"x"]}, "at args[1]: bytes is not a type of JSON"),
    ({"op": "=", "args": [P, ["x"]]}, "at args[1]: an array is not allowed here"),
    ({"op": "foo", "args": [P]}, "there is no operator or function 'foo'"),
    ({"op": "and", "args": [P, {"op": "not", "args": [5]}]}, "at args[1].args[0]: NOT reverses a condition"),
    ({"op": "and", "args": [P, {"op": "in", "args": [P, []]}]}, "at args[1]: IN needs at least one value"),
    ({"op": "in", "args": [P, 5]}, "the second argument of in is an array"),
    ({"op": "in", "args": [P, [1, {"bbox": [0, 0, 1, 1]}]]}, "at args[1][1]: a geometry is not allowed"),
    ({"op": "a_contains", "args": [P, "x"]}, "at args[1]: A_CONTAINS needs an attribute or an array"),
    ({"op": "a_contains", "args": [P, ["x", {"bbox": [0, 0, 1, 1]}]]}, "at args[1][1]: an array holds numbers"),
    ({"op": "s_intersects", "args": [P, {"bbox": [0, 2, 1, 1]}]}, "at args[1]: box"),
    ({"op": "s_intersects", "args": [P, {"bbox": ["x", 0, 1, 1]}]}, "at args[1]: bbox needs an array of numbers"),
    ({"op": "s_intersects", "args": [P, {"type": "Dot"}]}, "at args[1]: 'Dot' is not a type of GeoJSON geometry"),
    ({"op": "like", "args": [P, P]}, "at args[1]: LIKE needs a pattern"),
    ({"op": "=", "args": [P, {"date": "x"}]}, "at args[1]: DATE is written"),
    ({"property": ""}, "a property is a name"),
    (5, "a condition is needed"),
]

NOT_YET = [
    ({"op": "a_contains", "args": [P, [["x"]]]}, "at args[1][0]: an array inside an array is not supported"),
]


@pytest.mark.parametrize("text", FORMS)
def test_the_json_of_a_text(text: str) -> None:
    """Text and JSON of one expression are the same tree, and integral numbers print as integers."""
    assert to_json(parse(text)) == FORMS[text]
    assert json.dumps(to_json(parse(text))) == json.dumps(FORMS[text])
    assert parse_json(FORMS[text]) == parse(text)


@given(trees)
@settings(max_examples=200, deadline=None)
def test_json_of_a_tree_reads_as_that_tree(tree) -> None:
    """tree -> JSON -> tree is the identity, through a decoder as well."""
    assert parse_json(to_json(tree)) == tree
    assert parse_json(json.loads(json.dumps(to_json(tree)))) == tree


@pytest.mark.parametrize(("document", "message"), REFUSED)
def test_a_refusal_says_what_and_where(document: object, message: str) -> None:
    """Each mistake has its sentence and its path."""
    with pytest.raises(ExpressionError) as caught:
        parse_json(document)

    assert caught.value.reason.startswith(message)
    assert not isinstance(caught.value, UnsupportedError)


@pytest.mark.parametrize(("document", "message"), NOT_YET)
def test_what_comes_later_is_named(document: object, message: str) -> None:
    """Valid CQL2 JSON that is not evaluated yet raises UnsupportedError, which names it."""
    with pytest.raises(UnsupportedError) as caught:
        parse_json(document)

    assert caught.value.reason.startswith(message)


def test_operators_ignore_case() -> None:
    """`op` is read in any case."""
    assert parse_json({"op": "ISNULL", "args": [P]}) == parse("a IS NULL")
    assert parse_json({"op": "A_containedby", "args": [P, []]}) == parse("A_CONTAINEDBY(a, ())")


def test_depth_and_size_are_limited() -> None:
    """Documents nested too deep, or with too many nodes, are refused without recursion."""
    deep: object = True
    for _ in range(5_000):
        deep = {"op": "not", "args": [deep]}
    circle: dict[str, object] = {"op": "not"}
    circle["args"] = [circle]

    for document in (deep, circle):
        with pytest.raises(ExpressionError, match="at most 256 is allowed"):
            parse_json(document)
    with pytest.raises(ExpressionError, match="more than 100,000"):
        parse_json({"op": "in", "args": [P, [1] * 100_000]})


def test_parse_any_tells_the_forms_apart() -> None:
    """A mapping is CQL2 JSON; a string is CQL2 JSON when it begins with a brace, else text."""
    assert parse_any(' {"property": "a"}') == parse_any("a") == parse_any(P)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"property": ', "this is not JSON"),
        ('{"op": "=", "args": [{"property": "a"}, NaN]}', "NaN is not a number"),
        ('{"op": "=", "args": [1, ' + "9" * 5000 + "]}", "cannot be represented exactly"),
        ('{"args":[' * 100_000, "nested too deep"),
    ],
)
def test_broken_json_text_is_refused(text: str, message: str) -> None:
    """Text that is no JSON, or no JSON that can be used, is an ExpressionError too."""
    with pytest.raises(ExpressionError, match=message):
        parse_any(text)
