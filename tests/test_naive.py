"""The oracle agrees with SQLite wherever SQL has a word for it, and with worked examples everywhere."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import Phase, assume, given, settings

from tests.naive.examples import BEYOND_SQL, EVENT, IN_SQL, JUNE, MAY, NO, YES, compare, null, of
from tests.naive.flatten import flatten
from tests.naive.match import match, top
from tests.naive.sql import NotInSql, sql_of, sql_truth
from tests.naive.truth import truth
from tests.sizes import sized
from tests.strategies import bad_events, expressions, json_events, json_text, python_events
from tocsin.errors import RecordError
from tocsin.language.operators.operator import is_condition
from tocsin.model.expression import And, Expression, Interval, Not, Or, SomeValue, walk
from tocsin.model.values import UNTYPED, Box, Point


@pytest.mark.parametrize(("expression", "expected"), IN_SQL)
def test_examples_hold_in_python_and_in_sql(expression, expected):
    """A worked example has one truth, and both oracles give it."""
    answers = truth(expression, EVENT), sql_truth(expression, EVENT)

    assert answers == (expected, expected)


@pytest.mark.parametrize(("expression", "expected"), BEYOND_SQL)
def test_examples_beyond_sql(expression, expected):
    """What SQL has no word for, `truth` judges, and the SQL oracle refuses."""
    assert truth(expression, EVENT) is expected
    with pytest.raises(NotInSql):
        sql_truth(expression, EVENT)


@settings(max_examples=sized(150, 400), deadline=None)
@given(expressions(sql_only=True), python_events())
def test_truth_is_sql(expression, event):
    """An expression has the truth that SQL after typing gives it."""
    values, _ = flatten(event)
    try:
        expected = sql_truth(expression, values)
    except NotInSql:
        assume(False)

    assert truth(expression, values) is expected


def test_a_tree_too_deep_for_sqlite_is_refused():
    """Depth costs `truth` nothing; SQLite's parser has a limit, which shows as `NotInSql`."""
    deep: Expression = YES
    for _ in range(5000):
        deep = Not(deep)

    assert truth(deep, EVENT) is True
    with pytest.raises(NotInSql):
        sql_truth(deep, EVENT)


def test_a_wide_tree_is_within_sqlite():
    """An AND of thousands is balanced, so it is not deep."""
    wide = And(tuple(compare("@one", "<", float(n)) for n in range(2, 3000)))

    assert sql_truth(wide, EVENT) is True
    assert sql_truth(And((*wide.operands, NO)), EVENT) is False


def test_sql_is_guarded_by_type():
    """The statement compares only values of one type, with every value as a parameter."""
    statement, parameters = sql_of(compare("@n", "<", 5.0), {"n": "x'"})

    assert "CASE WHEN t0 = 'number' AND" in statement
    assert "THEN v0 < ?3 END" in statement
    assert parameters == ["string", "x'", 5.0]


@settings(max_examples=sized(60, 150), deadline=None)
@given(expressions(max_depth=4))
def test_expressions_are_valid(expression):
    """A drawn expression keeps the grammar's rules and the depth asked for; an interval is a leaf."""
    level, depth = [expression], 0
    while level:
        parents = [node for node in level if not isinstance(node, Interval)]
        parts = [child for node in parents for child in (() if isinstance(node, SomeValue) else node.children())]
        level, depth = parts, depth + 1

    assert depth <= 4
    assert is_condition(expression)
    for node in walk(expression):
        if isinstance(node, And | Or):
            assert len(node.operands) >= 2
            assert not any(type(operand) is type(node) for operand in node.operands)
        if isinstance(node, And | Or | Not):
            assert all(map(is_condition, node.children()))


def test_every_truth_is_drawn_often():
    """Random expressions and events give TRUE, FALSE and UNKNOWN at least once in ten each."""
    counts = Counter[bool | None]()

    @settings(max_examples=sized(120, 300), deadline=None, database=None, derandomize=True, phases=[Phase.generate])
    @given(expressions(), json_events())
    def count(expression, event):
        counts[truth(expression, flatten(event)[0])] += 1

    count()

    assert min(counts[True], counts[False], counts[None]) >= counts.total() / 10


FLAT = [
    ({"a": {"b": 1, "c": {"d": "x"}}}, {"a.b": 1.0, "a.c.d": "x"}),
    ({"a.b": {"c": True}}, {"a.b.c": True}),
    ({"a": None, "b": float("nan"), "c": Decimal("NaN"), "d": {}, "e": [{}], "f": [{"x": None}]}, {}),
    ({"a.b": None, "a": {"b": 1}}, {"a.b": 1.0}),
    ({"items": [{"a": 1}, {"a": 2, "b": 3}]}, {"items.a": (1.0, 2.0), "items.b": (3.0,)}),
    (
        {"items": [{"a": [1, None]}, None, {"a": {"b": 2}}, {"a": 3}]},
        {"items.a": (1.0, 3.0), "items.a.b": (2.0,)},
    ),
    ({"items": [{"a": [{"b": 1}]}, {"a": []}]}, {"items.a.b": (1.0,), "items.a": ()}),
    (
        {"a": [], "b": [None, float("nan")], "c": [1, None, "x", True]},
        {"a": (), "b": (), "c": (1.0, "x", True)},
    ),
    ({"a": (1,), "b": {"x"}, "c": frozenset({True})}, {"a": (1.0,), "b": ("x",), "c": (True,)}),
    ({"a": 2**53, "b": -(2**53), "c": 1e300}, {"a": 2.0**53, "b": -(2.0**53), "c": 1e300}),
    ({"a": Decimal("0.5"), "b": Decimal(2**60)}, {"a": 0.5, "b": 2.0**60}),
    ({"a": dt.date(2024, 5, 31), "b": [dt.datetime(2024, 6, 1)]}, {"a": MAY, "b": (JUNE,)}),
    (
        {"a": {"type": "Point", "coordinates": [1, 2.5]}},
        {"a": Point(1.0, 2.5), "a.type": "Point", "a.coordinates": (1.0, 2.5)},
    ),
    (
        {"a": {"type": "Point", "coordinates": [1, 2.5, 9], "id": 7}},
        {"a": Point(1.0, 2.5), "a.type": "Point", "a.coordinates": (1.0, 2.5, 9.0), "a.id": 7.0},
    ),
    ({"a": {"lat": 1, "lon": 2.5}}, {"a": Point(2.5, 1.0), "a.lat": 1.0, "a.lon": 2.5}),
    ({"a": {"lat": 91, "lon": 2.5}}, {"a.lat": 91.0, "a.lon": 2.5}),
    (
        {"a": {"type": "Point"}, "b": {"type": "x", "coordinates": "y"}},
        {"a.type": "Point", "b.type": "x", "b.coordinates": "y"},
    ),
    ({"type": "Point", "coordinates": [1, 2]}, {"type": "Point", "coordinates": (1.0, 2.0)}),
    (
        {"a": Point(1.0, 2.0), "b": Box(0.0, 0.0, 1.0, 1.0), "c": MAY},
        {"a": Point(1.0, 2.0), "b": Box(0.0, 0.0, 1.0, 1.0), "c": MAY},
    ),
]

ODD = [
    *(2**53 + 1, -(2**60), float("inf"), float("-inf"), Decimal("Infinity"), Decimal("1e400")),
    *("\ud800", b"a", object(), 1j, dt.timedelta(1), Decimal(10) ** 400),
    *([1, 2**60], ["a", float("inf")], [[1], 2**60], [1, {"x": 1}], ["a", b"b"], [1, Point(0.0, 0.0)]),
    *([{"type": "Point", "coordinates": [0, 1]}], [{"x": 1}, {"type": "Point", "coordinates": [0, 1]}]),
    *({"type": "Point", "coordinates": place} for place in ([], [1], [1, 2, 3, 4], [1, "2"], [1, True], None)),
    *({"type": "Point", "coordinates": [1, place]} for place in (float("inf"), float("nan"), 2**60, [2])),
    {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]},
    {"type": "GeometryCollection", "geometries": []},
]


@pytest.mark.parametrize(("event", "expected"), FLAT)
def test_flatten_names_and_types(event, expected):
    """Every attribute has its dotted name and its one value; nothing is wrong with it."""
    values, problems = flatten(event)

    values = {name: value for name, value in values.items() if value is not UNTYPED}  # the objects themselves

    assert values == expected
    assert {name: type(value) for name, value in values.items()} == {n: type(v) for n, v in expected.items()}
    assert problems == []


@pytest.mark.parametrize("odd", ODD)
def test_what_has_no_type_is_present_and_reported(odd):
    """A value that cannot be represented is of no type, alone, in an object and in a list of objects."""
    values, problems = flatten({"a": odd, "b": {"c": odd}, "d": [{"e": odd}, {"e": 1}], "n": 1})

    if isinstance(odd, dict):  # an object, too, with members
        values = {name: value for name, value in values.items() if not name.startswith(("a.", "b.c.", "d.e."))}
    assert values == {**dict.fromkeys(("a", "b", "b.c", "d", "d.e"), UNTYPED), "n": 1.0}
    assert [name for name, reason in problems if reason] == ["a", "b.c", "d.e"]


@pytest.mark.parametrize(
    ("event", "present"),
    [
        ({"a": {}}, ["a"]),
        ({"a": {"b": {"c": None}}}, ["a", "a.b"]),
        ({"a": [{}], "b": [None, {"c": {}}]}, ["a", "b", "b.c"]),
        ({"a": [None], "b": [], "c": {"type": "Point", "coordinates": [0, 0]}}, []),
        ({"a.b": 1, "a": {"b": {"c": 2}}}, ["a"]),
        ({"a": [{"b": 1}, {"b": {"c": 2}}]}, ["a"]),
    ],
)
def test_objects_are_present_themselves(event, present):
    """An object, or a list of objects, is of no type under its own name, where no other value has that name."""
    values, problems = flatten(event)

    assert sorted(name for name, value in values.items() if value is UNTYPED) == present
    assert problems == []


@pytest.mark.parametrize("lists", ([[1]], [[]], [[{"x": 1}], [2]]))
def test_lists_of_lists_are_present_and_no_problem(lists):
    """A list of lists has no type, and nothing is reported: ANY may look into it."""
    assert flatten({"a": lists}) == ({"a": UNTYPED}, [])


def test_one_value_of_no_type_spoils_a_list_of_objects():
    """The list that the objects' attribute becomes has no type, and its neighbour is served."""
    values, problems = flatten({"items": [{"a": 1, "b": 1}, {"a": 2**60, "b": 2}]})

    assert values == {"items": UNTYPED, "items.a": UNTYPED, "items.b": (1.0, 2.0)}
    assert [name for name, _ in problems] == ["items.a"]


def test_an_inexact_decimal_is_served_and_reported():
    """A Decimal of more digits than float64 has becomes the nearest number, with a problem; 0.1 is written 0.1."""
    long = Decimal("0.10000000000000000000001")
    values, problems = flatten({"a": long, "b": [long, Decimal(1)], "c": Decimal("0.1")})

    assert values == {"a": 0.1, "b": (0.1, 1.0), "c": 0.1}
    assert [name for name, _ in problems] == ["a", "b"]


@given(bad_events())
def test_bad_events_raise(event):
    """An attribute in two forms, or a name that is no string, makes the whole event bad."""
    with pytest.raises(RecordError):
        flatten(event)


def test_an_event_is_an_object():
    """Anything but an object is no event."""
    with pytest.raises(RecordError):
        flatten([("a", 1)])  # type: ignore[arg-type]


@given(json_events())
def test_json_events_survive_json(event):
    """A drawn JSON event is the same after JSON, and never bad."""
    assert flatten(json.loads(json_text(event))) == flatten(event)


def test_match_orders_by_event_then_id():
    """Only TRUE matches, in order of event, then id; a bad event concerns nobody."""
    never, always = Not(of("@gone")), null("@gone")
    subscriptions = [
        ("b", compare("@n", ">", 0.0)),
        ("a", compare("@n", ">=", 1.0)),
        ("c", never),
        ("d", always),
    ]
    events = [{"n": 1}, {"n": 1, "x.y": 1, "x": {"y": 1}}, {"n": -1}, {"n": 0.5}, {"n": "1"}]

    pairs = match(subscriptions, events)

    assert pairs == [(0, "a"), (0, "b"), (0, "d"), (2, "d"), (3, "b"), (3, "d"), (4, "d")]


def test_top_orders_by_score_then_id():
    """The k best of each event: score descending, then id ascending."""
    positive = compare("@n", ">", 0.0)
    subscriptions = [(3, positive, 1.0), (1, positive, 1.0), (2, positive, 5.0), (4, Not(positive), 9.0)]

    best = top(subscriptions, [{"n": 1}, {"n": -1}, {}, {"n": 2}], k=2)

    assert best == [(0, 2, 5.0), (0, 1, 1.0), (1, 4, 9.0), (3, 2, 5.0), (3, 1, 1.0)]
    assert top(subscriptions, [{"n": 1}], k=0) == []
