"""The oracle of functions over time agrees with DuckDB's window functions and with values worked by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.flatten import flatten
from tests.naive.over_time import Condition, Event, History, Term
from tests.naive.over_time_sql import Row, in_sql
from tests.sizes import sized
from tests.strategies.over_time import FUNCTIONS, LONGEST, attributes, condition, terms

ROWS = st.lists(
    st.builds(Row, st.sampled_from("uuv"), st.integers(0, LONGEST), st.none() | attributes), min_size=3, max_size=25
)


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def in_python(term: Term, stream: list[Row]) -> list[object]:
    """The oracle's value of a term at each row; at rows that are not events, the value between events."""
    answers = []
    for number, row in enumerate(stream):
        earlier = [r for r in stream[: number + 1] if r.of == row.of and r.is_event]
        history = History([Event(r.us, flatten(r)[0]) for r in earlier])
        answers.append(history.value(term, len(earlier) - 1, None if row.is_event else row.us))
    return answers


def in_order(stream: list[Row]) -> list[Row]:
    return sorted(stream, key=lambda row: row.us)


def without_peers(stream: list[Row]) -> list[Row]:
    """The first row of each object and instant."""
    return list({(row.of, row.us): row for row in reversed(stream)}.values())[::-1]


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=sized(25, 200))
@given(data=st.data(), stream=ROWS.map(in_order), literally=st.booleans())
def test_values_are_those_of_window_functions(database, function, data, stream, literally):
    """A term has SQL's value at each event and at each instant between events, also inside other terms."""
    term = data.draw(terms(function=function))
    stream = in_order(without_peers(stream)) if literally else stream

    answers = zip(stream, in_python(term, stream), in_sql(database, term, stream, literally), strict=True)

    compared = [(ours, sql) for row, ours, sql in answers if row.is_event or term.function != "PREVIOUS"]
    assert [ours for ours, _ in compared] == [sql for _, sql in compared]


@pytest.mark.parametrize("literally", [False, True])
@pytest.mark.parametrize(
    ("span", "counts"), [(0, [1, 1, 1, 1]), (9, [1, 1, 1, 1]), (10, [1, 2, 2, 1]), (20, [1, 2, 3, 2])]
)
def test_windows_are_closed(database, literally, span, counts):
    """An event exactly one span ago is in the window, in SQL too."""
    stream = [Row("u", us, {}) for us in (0, 10, 20, 31)]

    assert in_python(Term("COUNT", span=span), stream) == counts
    assert in_sql(database, Term("COUNT", span=span), stream, literally) == counts


def test_peers_that_come_later_are_not_counted(database):
    """Of equal instants the order of arrival decides; SQL's RANGE counts all of them at each."""
    stream = [Row("u", 5, {"type": kind}) for kind in "aba"]
    count, since = Term("COUNT", span=9), Term("SINCE", condition=condition("type = 'a'"))
    previous = Term("PREVIOUS", "type")

    assert in_python(count, stream) == in_sql(database, count, stream) == [1, 2, 3]
    assert in_sql(database, count, stream, literally=True) == [3, 3, 3]
    assert in_python(since, stream) == in_sql(database, since, stream) == [None, 0.0, 0.0]
    assert in_python(previous, stream) == in_sql(database, previous, stream) == [None, "a", "b"]


def history_of(*records: dict[str, object], apart: int = 10) -> History:
    return History([Event(apart * number, flatten(record)[0]) for number, record in enumerate(records)])


MIXED = history_of(
    {"x": 4},
    {"x": "4"},
    {"x": True},
    {"x": [4, 9]},
    {"x": None},
    {},
    {"x": 1},
    {"x": 4.0},
    {"x": {"type": "Point", "coordinates": [1, 2]}},
)


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (Term("COUNT", span=80), 9.0),
        (Term("COUNT_DISTINCT", "x", span=80), 4.0),
        (Term("SUM", "x", span=80), 9.0),
        (Term("AVG", "x", span=80), 3.0),
        (Term("MIN", "x", span=80), 1.0),
        (Term("MAX", "x", span=80), 4.0),
        (Term("SUM", "x", span=0), None),
        (Term("COUNT_DISTINCT", "y", span=80), 0.0),
        (Term("PREVIOUS", "x"), 4.0),
        (Term("PREVIOUS", "x", condition("x IS NULL")), None),
        (Term("PREVIOUS", "x", condition("x < 2")), 1.0),
        (Term("SINCE"), 10e-6),
    ],
)
def test_values_of_other_types(term, value):
    """Sums are of numbers, differences are of scalars, and nulls are not values."""
    answer = MIXED.value(term, 8)

    assert answer == value
    assert type(answer) is type(value)


def test_unknown_is_not_true():
    """An event for which a condition is UNKNOWN neither counts nor ends anything; nor does one with FALSE."""
    history = history_of({"x": 5}, {}, {"x": 1}, {})
    high = condition("x > 3")

    assert [history.value(Term("COUNT", condition=high, span=99), n) for n in range(4)] == [1, 1, 1, 1]
    assert [history.value(Term("SINCE", condition=high), n) for n in range(4)] == [None, 10e-6, 20e-6, 30e-6]
    assert history.value(Term("PREVIOUS", "x", high), 3) == 5.0


def test_absence_makes_a_comparison_unknown():
    """An absent value is null: a comparison is UNKNOWN, `IS NULL` TRUE and `HOLDS` FALSE."""
    history = history_of({"x": 1}, {"x": 2})
    since = Term("SINCE", condition=condition("x > 0"))
    truths = [
        [history.truth(condition(text, since=since), n) for n in (0, 1)]
        for text in ("since >= 0", "NOT since >= 0", "since IS NULL", "HOLDS(since >= 0)", "since BETWEEN 0 AND 1")
    ]

    assert truths == [[None, True], [None, False], [True, False], [False, True], [None, True]]


def test_values_stand_wherever_values_do():
    """Terms are in arithmetic, with each other and with attributes."""
    history = history_of({"x": 1}, {"x": 4}, {"x": 6})
    named = {"before": Term("PREVIOUS", "x"), "mean": Term("AVG", "x", span=99)}

    truths = [history.truth(condition("x - before > 2 OR x > 2 * mean", **named), n) for n in range(3)]

    assert truths == [None, True, False]


@pytest.mark.parametrize("large", [1e308, -1e308])
def test_infinite_sums_are_absent(large):
    """As arithmetic is null where it overflows; what leaves the window leaves no trace."""
    history = history_of({"x": large}, {"x": large}, {"x": 0.1}, {"x": 0.2})

    assert [history.value(Term("SUM", "x", span=20), n) for n in range(4)] == [large, None, None, large + 0.3]
    assert history.value(Term("SUM", "x", span=10), 3) == 0.1 + 0.2
    assert history.value(Term("AVG", "x", span=20), 2) is None
    assert history_of({"x": large}, {"x": large}, {"x": -large}).value(Term("SUM", "x", span=20), 2) == large


def test_depth_is_limited():
    """Functions within functions, at most 8 deep."""
    deep: Condition = condition("x > 0")
    for _ in range(8):
        deep = condition("n >= 1", n=Term("COUNT", condition=deep, span=50))

    assert deep.depth() == 8
    assert [history_of(*[{"x": 1}] * 2).truth(deep, n) for n in (0, 1)] == [True, True]
    with pytest.raises(ValueError, match="9 deep"):
        condition("n >= 1", n=Term("COUNT", condition=deep, span=50))


def test_between_events_windows_lose_and_since_grows():
    """Attributes and PREVIOUS stand; the latest event counts for SINCE."""
    history = history_of({"x": 1}, {"x": 2})
    count, since, previous = Term("COUNT", span=10), Term("SINCE"), Term("PREVIOUS", "x")

    assert [history.value(count, 1, us) for us in (10, 11, 20, 21)] == [2, 1, 1, 0]
    assert [history.value(since, 1, us) for us in (11, 20)] == [1e-6, 10e-6]
    assert [history.value(previous, 1, us) for us in (11, 20)] == [1.0, 1.0]
    assert history.truth_after(condition("x - p = 1", p=previous), 1, 20) is True
