"""What is said about a text that cannot be read."""

from __future__ import annotations

import re

import pytest

import tocsin
from tocsin.errors import ExpressionError, UnsupportedError
from tocsin.language import parse

# text, column, message
REFUSED = [
    ("", 1, "the expression is empty; write a condition such as price <= 580"),
    ("  ", 1, "the expression is empty; write a condition such as price <= 580"),
    ("a =", 4, "expected a value after '=', found the end of the expression"),
    ("a = 1 AND ", 10, "expected a value after AND, found the end of the expression"),
    ("a AND OR b", 7, "expected a value after AND, found OR"),
    ("= 1", 1, "expected a condition such as price <= 580, found '='"),
    ("a b", 3, "expected an operator such as = or <, AND, OR or the end, found 'b'"),
    ("a = 1 price", 7, "expected AND, OR or the end, found 'price'"),
    ("(a = 1 price)", 8, "expected AND, OR or ')', found 'price'"),
    ("a BETWEEN 1 AND 2 'x'", 19, "expected AND, OR or the end, found 'x'"),
    ("a = 5x", 6, "expected AND, OR or the end, found 'x'"),
    ("a == 1", 3, "'==' is not understood; write ="),
    ("a => 1", 3, "'=>' is not understood; write >="),
    ("a != 1", 3, "'!=' is not understood; write <> for 'not equal'"),
    ("a && b", 3, "'&&' is not understood; write AND"),
    ("a || b", 3, "'||' is not understood; write OR"),
    ("a IN ['x']", 6, "arrays are written with parentheses, as in ('a', 'b')"),
    ("a = \u2018x\u2019", 5, "strings are written in straight single quotes"),
    ("a = #", 5, "the character '#' is not understood"),
    ("a = (1", 5, "unclosed '(': the closing ) is missing"),
    ("(a OR (b", 7, "unclosed '(': the closing ) is missing"),
    ("((", 2, "unclosed '(': the closing ) is missing"),
    ("a = 1)", 6, "this ')' has no '(' before it"),
    ("a = 'x", 5, "unclosed string: the closing ' is missing"),
    ('"a = 1', 1, 'unclosed name: the closing " is missing'),
    ('a = ""', 5, "an empty string is written ''"),
    ('"a b".c = 1', 6, "a name with several parts is quoted as a whole"),
    ("a IN 5", 6, "expected '(' and a list of values after IN, found '5'"),
    ("a IN ()", 7, "expected a value after '(', found ')'"),
    ("a IN (1 2)", 9, "expected ',' or ')', found '2'"),
    ("a BETWEEN 1", 12, "expected AND between the bounds of BETWEEN, found the end"),
    ("a IS 5", 6, "expected NULL or NOT NULL after IS, found '5'"),
    ("a IS NOT 5", 10, "expected NULL after IS NOT, found '5'"),
    ("a NOT 5", 7, "expected IN, LIKE or BETWEEN after NOT, found '5'"),
    ("a = NULL", 5, "to ask whether a value is missing, write IS NULL"),
    ("a = 1 = 2", 7, "comparisons do not chain: '=' cannot follow a comparison; use parentheses"),
    ("a = 1 IS NULL", 7, "comparisons do not chain: IS cannot follow"),
    ("a = ('x', 'y')", 5, "a list is not allowed here; it follows IN"),
    ("a <= 1.000,50", 6, "a number has a decimal point and no other separators; write 1000.50"),
    ("a <= 1,000.50", 6, "no other separators; write 1000.50"),
    ("a <= -1,5 AND b = 1", 6, "no other separators; write 1.5"),
    ("a BETWEEN 1,5 AND 2,5", 11, "no other separators; write 1.5"),
    ("DISTANCE_M(a, POINT(1 2)) <= 1,000", 30, "no other separators; write 1000 or 1.000"),
    ("a = 1.000.000", 5, "no other separators; write 1000000"),
    ("a = 12 345 678", 5, "no other separators; write 12345678"),
    ("a = 1'000", 5, "no other separators; write 1000"),
    ("a = 1_000", 5, "no other separators; write 1000"),
    ("a = 1 00", 7, "expected AND, OR or the end, found '00'"),
    ("a = 1, b = 2", 6, "',' is not allowed here; join conditions with AND or OR"),
    ("S_INTERSECTS(a, POINT(1,5 2))", 24, "POINT is written POINT(x y), without a comma"),
    ("a, b", 2, "',' is not allowed here; join conditions with AND or OR"),
    ("foo(1)", 1, "there is no function 'foo'; docs/language.md lists all functions"),
    ("LOWER(a) = 'x'", 1, "there is no function 'LOWER'; to ignore case write CASEI(name) = CASEI('Paris')"),
    ("a ILIKE 'x%'", 3, "ILIKE is not understood; write CASEI(name) LIKE CASEI('a%')"),
    ("a NOT ILIKE 'x%'", 7, "ILIKE is not understood; write CASEI(name) LIKE CASEI('a%')"),
    ("a ~ 'x'", 3, "'~' is not understood; write MATCHES(name, '^a.*z$')"),
    ("a !~ 'x'", 3, "'!~' is not understood; write NOT MATCHES(name, '^a.*z$')"),
    ("EXISTS(a)", 1, "to ask whether a value is there, write name IS NOT NULL"),
    ("EXISTS a", 1, "to ask whether a value is there, write name IS NOT NULL"),
    ("CAST(a AS int) > 3", 1, "there is no function 'CAST'; a schema gives attributes their types"),
    ("CONTAINS(a, 'x')", 1, "for a text write name LIKE '%part%' or TEXT(name, 'word'); for a list write A_CONTAINS"),
    ("a > DATE '2024-05-01'", 5, "DATE is written with parentheses: DATE('2024-05-01')"),
    ("a > current_timestamp()", 5, "the present is NOW(), as in t > NOW() - DURATION('P1D')"),
    ("a != 1", 3, "'!=' is not understood; write <> for 'not equal'"),
    ("COUNT(a) > 1", 1, "COUNT is about several events, as in COUNT(type = 'login' AND ok = FALSE, 'PT10M')"),
    ("a BETWEN 1 AND 2", 3, "BETWEN is not understood; did you mean BETWEEN?"),
    (
        r"a LIKE '%\cmd.exe'",
        8,
        r"in LIKE, \ escapes only %, _ and \; a backslash itself is written \\, as in %\\cmd.exe",
    ),
    (r"a LIKE CASEI('\d%')", 8, r"as in \\d%"),
    ("a = 9007199254740993.0", 5, "9007199254740993.0 cannot be represented exactly; write it as a string"),
    ("a = 9.007199254740993e15", 5, "9.007199254740993e15 cannot be represented exactly; write it as a string"),
    ("A_CONTAIN(a, ('x'))", 1, "did you mean A_CONTAINS?"),
    ("a = 9007199254740993", 5, "9007199254740993 cannot be represented exactly; write it as a string"),
    ("a = -9007199254740993", 5, "-9007199254740993 cannot be represented exactly"),
    ("S_INTERSECTS(a, POLYGON EMPTY)", 17, "a geometry cannot be empty; give POLYGON its coordinates"),
    ("S_INTERSECTS(a, point empty)", 17, "a geometry cannot be empty; give POINT its coordinates"),
    ("a > TIMESTAMP('2016-12-31T23:59:60Z')", 5, "'2016-12-31T23:59:60Z' is a leap second, which instants cannot hold"),
    ("a > TIMESTAMP('2016-12-31T23:59:61Z')", 5, "is not a date or time; write 2024-05-31"),
    ("A_CONTAINS(a, ('x', 1 / 0))", 21, "an arithmetic expression inside an array has no value; write a value"),
    (
        "a = POINT(1 2)",
        5,
        "a geometry is not allowed here; it is an argument of spatial functions such as S_INTERSECTS",
    ),
    ("INTERVAL(a, '..') IS NULL", 1, "an interval is not allowed here"),
    ("a = 1e400", 5, "1e400 is beyond the largest number"),
    ("a = '\ud800'", 6, "half of a surrogate pair"),
    (r"a LIKE 'x\'", 8, r"the pattern ends in a \ that escapes nothing"),
    ("a LIKE b", 8, "LIKE needs a pattern in single quotes"),
    ("MATCHES(a, '(')", 12, "'(' is not a regular expression (RE2 syntax): missing )"),
    ("MATCHES(a, b)", 12, "MATCHES needs a regular expression in single quotes, not the attribute b"),
    ("MATCHES('x', 'x')", 9, "MATCHES looks at an attribute"),
    ("CASEI(5) = 'x'", 7, "CASEI needs a string or an attribute, not the number 5"),
    ("CASEI(('x', 'y')) = 'x'", 7, "CASEI takes no array"),
    ("a = DATE('x')", 5, "DATE is written DATE('2024-05-31'), not 'x'"),
    ("a = DATE('2024-02-31')", 5, "'2024-02-31' is not a date or time"),
    ("a = TIMESTAMP('noon')", 5, "'noon' is not a date or time"),
    ("a = DATE(5)", 10, "write DATE('2024-05-31')"),
    ("5 AND a = 1", 1, "AND joins conditions; the number 5 is not a condition"),
    ("a OR 'x'", 6, "OR joins conditions; the string 'x' is not a condition"),
    ("NOT 5", 5, "NOT reverses a condition; the number 5 is not a condition"),
    ("'x'", 1, "a condition is needed, such as price <= 580; the string 'x' is not a condition"),
    ("a + 1", 1, "a condition is needed, such as price <= 580; an arithmetic expression is not a condition"),
    ("CASEI(a)", 1, "a condition is needed, such as price <= 580; the result of CASEI is not a condition"),
    ("a = POINT(1 2)", 5, "a geometry is not allowed here"),
    ("A_CONTAINS(a, 'x')", 15, "A_CONTAINS needs an attribute or an array such as ('a', 'b'), not the string 'x'"),
    ("A_CONTAINS(a)", 1, "A_CONTAINS takes two arguments"),
    ("S_INTERSECTS(a, 5)", 17, "S_INTERSECTS needs an attribute, or a geometry such as POINT(x y), BBOX"),
    ("S_INTERSECTS(a, BBOX(190, 2, 0, 4))", 17, "has a minimum above its maximum"),
    ("S_INTERSECTS(a, BBOX(1, 2, 0))", 17, "BBOX takes four numbers (xmin, ymin, xmax, ymax) or six, not 3"),
    ("S_INTERSECTS(a, BBOX(0, 0, 9, 1, 1, 5))", 17, "the box has a lowest z of 9 and a highest of 5; write xmin, ymin"),
    ("S_INTERSECTS(a, BBOX(1, 2, 0, b))", 31, "BBOX takes four numbers, not the attribute b"),
    ("S_INTERSECTS(a, POINT(1, 2))", 24, "POINT is written POINT(x y), without a comma"),
    ("S_INTERSECTS(a, POINT(1))", 17, "POINT takes two numbers, POINT(x y), not 1"),
    ("S_INTERSECTS(a, POINT(1 x))", 25, "expected a number or ')', found 'x'"),
]

NOT_YET = [
    ("S_INTERSECTS(a, POLYGON M ((0 0 1, 1 1 1, 1 0 1, 0 0 1)))", 17, "POLYGON M is not supported yet"),
    ("S_INTERSECTS(a, POINT ZM (1 2 3 4))", 17, "POINT ZM is not supported yet"),
    ("S_INTERSECTS(a, POINT(1 2 3 4))", 17, "POINT with four coordinates is not supported yet"),
    ("A_CONTAINS(a, ('x', b + 1))", 21, "an arithmetic expression inside an array is not supported yet"),
    ("A_CONTAINS(a, ('x', CASEI(b)))", 21, "the result of CASEI inside an array is not supported yet"),
    ("A_CONTAINS(a, (('x'), 'y'))", 16, "an array inside an array is not supported, because lists of events"),
    ("A_CONTAINS(a, ((b)))", 16, "an array inside an array is not supported"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED)
def test_a_refusal_says_what_and_where(text: str, column: int, message: str) -> None:
    """Each mistake has its sentence and its place."""
    with pytest.raises(ExpressionError) as caught:
        parse(text)

    assert message in caught.value.reason
    assert (caught.value.line, caught.value.column) == (1, column)
    assert not isinstance(caught.value, UnsupportedError)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("count(*) > 5", 7, "to count all events write COUNT(TRUE, 'PT10M')"),
        ("COUNT(DISTINCT card, 'P1D') > 3", 7, "write COUNT_DISTINCT(card, TRUE, 'P1D')"),
        ("COUNT(a = 1, '5 minutes') > 5", 14, "'5 minutes' is not a length of time; write 'PT5M'"),
        ("COUNT(a = 1, '5 apples') > 5", 14, "as in 'P1DT2H'"),
        ("COUNT(a = 1, 5 minutes) > 5", 14, "a length of time is written 'PT5M'"),
        ("COUNT(a = 1, interval '2 hours') > 5", 14, "a length of time is written 'PT2H', without INTERVAL"),
        ("COUNT(a = 1, INTERVAL 90 sec) > 5", 14, "a length of time is written 'PT90S', without INTERVAL"),
        ("COUNT(a = 1, 'P1D') > 5 WITHIN 5 MINUTES", 25, "the span is the last argument"),
        ("COUNT(a = 1, 'P1D') OVER (PARTITION BY x) > 5", 21, "the key of the monitor, or BY"),
        ("a = 1 for 5 minutes", 7, "enter_after='5 min'"),
        ("a = 1 FOLLOWED BY b = 1", 7, "write b = 1 AND SINCE(a = 1) <= 600"),
    ],
)
def test_what_is_meant_over_time_is_said(text: str, column: int, message: str) -> None:
    """As SQL, or people, would write it."""
    test_a_refusal_says_what_and_where(text, column, message)


@pytest.mark.parametrize(("text", "column", "message"), NOT_YET)
def test_what_comes_later_is_named(text: str, column: int, message: str) -> None:
    """Valid CQL2 that is not evaluated yet raises UnsupportedError, which names it."""
    with pytest.raises(UnsupportedError) as caught:
        parse(text)

    assert message in caught.value.reason
    assert caught.value.column == column


@pytest.mark.parametrize("text", [case[0] for case in REFUSED])
def test_no_message_names_the_grammar(text: str) -> None:
    """Names of terminals and rules of the grammar never reach a user."""
    with pytest.raises(ExpressionError) as caught:
        parse(text)

    assert not re.search(r"\$END|LPAR|RPAR|COMPARISON|MULTIPLY|QUOTED|Token|expression:", caught.value.reason)


def test_the_caret_stands_under_the_place() -> None:
    """The message shows the line of the mistake and a caret under it."""
    with pytest.raises(ExpressionError) as caught:
        parse("a = 1 AND\nprice == 580")

    assert str(caught.value) == ("line 2, column 7: '==' is not understood; write =\n  price == 580\n        ^")


@pytest.mark.parametrize("text", ["S_INTERSECTS(a, POINT(1 - -2))", "S_INTERSECTS(a, POINT(--5 1))"])
def test_a_number_with_two_signs_is_refused_where_it_stands(text: str) -> None:
    """It is an error of the expression like any other, so that it costs its subscription alone."""
    with pytest.raises(tocsin.ExpressionError, match="one sign"):
        tocsin.parse(text)

    answer = tocsin.match([{"id": "bad", "where": text}, {"id": "good", "where": "a = 1"}], [{"a": 1}])
    assert answer.table["subscription"].to_pylist() == ["good"]
    assert [reject.id for reject in answer.errors] == ["bad"]
