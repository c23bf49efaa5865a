"""The temporal functions: the standard's table, on instants and intervals, constants and attributes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.naive import match as naive
from tocsin.language.operators.temporal import TEMPORAL_FUNCTIONS, expanded
from tocsin.model.expression import Call

# Two intervals, and the functions that hold of them in that order: of proper intervals all that Allen has.
RELATIONS = [
    (("01", "02"), ("04", "05"), {"T_BEFORE", "T_DISJOINT"}),
    (("04", "05"), ("01", "02"), {"T_AFTER", "T_DISJOINT"}),
    (("01", "03"), ("03", "05"), {"T_MEETS", "T_INTERSECTS"}),
    (("03", "05"), ("01", "03"), {"T_METBY", "T_INTERSECTS"}),
    (("01", "04"), ("02", "05"), {"T_OVERLAPS", "T_INTERSECTS"}),
    (("02", "05"), ("01", "04"), {"T_OVERLAPPEDBY", "T_INTERSECTS"}),
    (("01", "03"), ("01", "05"), {"T_STARTS", "T_INTERSECTS"}),
    (("01", "05"), ("01", "03"), {"T_STARTEDBY", "T_INTERSECTS"}),
    (("03", "05"), ("01", "05"), {"T_FINISHES", "T_INTERSECTS"}),
    (("01", "05"), ("03", "05"), {"T_FINISHEDBY", "T_INTERSECTS"}),
    (("02", "03"), ("01", "05"), {"T_DURING", "T_INTERSECTS"}),
    (("01", "05"), ("02", "03"), {"T_CONTAINS", "T_INTERSECTS"}),
    (("01", "05"), ("01", "05"), {"T_EQUALS", "T_INTERSECTS"}),
]


def day(number: str) -> str:
    return f"2024-05-{number}"


@pytest.mark.parametrize(("one", "other", "holding"), RELATIONS)
def test_the_table_of_the_standard(one: tuple[str, str], other: tuple[str, str], holding: set[str]) -> None:
    """Of attributes, of an attribute and a constant, and of two constants."""
    event = {"a": day(one[0]), "b": day(one[1]), "c": day(other[0]), "d": day(other[1])}
    second = f"INTERVAL('{day(other[0])}', '{day(other[1])}')"
    arguments = [
        "INTERVAL(a, b), INTERVAL(c, d)",
        f"INTERVAL(a, b), {second}",
        f"INTERVAL('{day(one[0])}', b), {second}",
        f"INTERVAL('{day(one[0])}', '{day(one[1])}'), {second}",
    ]
    held = [
        {"id": f"{name} {n}", "where": f"{name}({text})"}
        for name in TEMPORAL_FUNCTIONS
        for n, text in enumerate(arguments)
    ]

    found = {row["subscription"].split()[0] for row in tocsin.match(held, [event]).table.to_pylist()}

    assert found == holding
    assert len(tocsin.match(held, [event])) == len(arguments) * len(holding)


moments = st.one_of(
    st.dates(dt.date(2024, 5, 1), dt.date(2024, 5, 4)).map(str),
    st.sampled_from(["2024-05-02T00:00:00Z", "2024-05-02T02:00:00+02:00", "2024-05-03T12:00:00Z", "x", 5, None]),
)
ENDS = st.sampled_from(["'2024-05-01'", "'2024-05-02'", "'2024-05-03T12:00:00Z'", "'..'", "a", "b", "c"])


@st.composite
def arguments(draw: Any) -> str:
    if draw(st.booleans()):
        return str(draw(st.sampled_from(["a", "b", "DATE('2024-05-02')", "TIMESTAMP('2024-05-02T12:00:00Z')"])))
    return f"INTERVAL({draw(ENDS)}, {draw(ENDS)})"


def readable(text: str) -> bool:
    try:
        tocsin.parse(text)
    except tocsin.ExpressionError:
        return False
    return True


texts = st.builds(
    "{}{}({}, {}){}".format,
    st.sampled_from(["", "NOT "]),
    st.sampled_from(TEMPORAL_FUNCTIONS),
    arguments(),
    arguments(),
    st.sampled_from(["", "", " IS NULL", " = FALSE"]),
).filter(readable)


@given(
    texts=st.lists(texts, min_size=1, max_size=8),
    events=st.lists(st.fixed_dictionaries({"a": moments, "b": moments, "c": moments}), min_size=1, max_size=6),
)
def test_matches_are_the_oracles(texts: list[str], events: list[dict[str, Any]]) -> None:
    """Strings are read as instants, times in zones compared by moment; anything else is UNKNOWN."""
    held = [{"id": number, "where": text} for number, text in enumerate(texts)]

    answer = tocsin.match(held, events)

    pairs = [(row["event"], row["subscription"]) for row in answer.table.to_pylist()]
    assert pairs == naive.match([(number, tocsin.parse(text)) for number, text in enumerate(texts)], events)


@given(texts)
def test_both_forms_lead_back(text: str) -> None:
    tree = tocsin.parse(text)

    assert tocsin.parse(tocsin.to_text(tree)) == tree
    assert tocsin.parse_json(tocsin.to_json(tree)) == tree


def test_comparisons_with_constants_are_indexed() -> None:
    """What is asked of one attribute is comparisons that every index knows."""
    node = tocsin.parse("T_DURING(ts, INTERVAL('2024-05-01', '2024-06-01'))")

    assert isinstance(node, Call)
    assert tocsin.to_text(expanded(node)) == "ts > DATE('2024-05-01') AND ts < DATE('2024-06-01')"
    hours = [f"2024-{n // 672 + 1:02}-{n // 24 % 28 + 1:02}T{n % 24:02}:00:00Z" for n in range(3000)]
    held = [{"id": n, "where": f"T_DURING(ts, INTERVAL('{hours[n]}', '{hours[n + 1]}'))"} for n in range(2999)]
    answer = tocsin.match(held, [{"ts": hours[n].replace(":00:", ":30:")} for n in range(0, 2999, 100)])
    assert answer.table["subscription"].to_pylist() == list(range(0, 2999, 100))
    assert answer.stats.candidates_examined <= 60


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("T_AFTER(ts, '2024-05-01')", "T_AFTER needs an attribute, DATE"),
        ("T_AFTER(ts)", "T_AFTER takes two arguments"),
        ("T_AFTER(ts, INTERVAL('2024-05-02', '2024-05-01'))", "ends before it begins"),
        ("T_AFTER(ts, INTERVAL('2024-05-02'))", "INTERVAL takes two arguments"),
        ("T_AFTER(ts, INTERVAL('yesterday', '..'))", "an open end is '..'"),
        ("T_AFTER(ts, INTERVAL(3, '..'))", "not at the number 3"),
        ("T_AFTER(ts, INTERVAL('2016-12-31T23:59:60Z', '..'))", "is a leap second"),
        ("ts = INTERVAL('..', '..')", "an interval is not allowed here"),
        ("INTERVAL('..', '..')", "a condition is needed"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    """With its reason: a leap second, too, since instants have none."""
    with pytest.raises(tocsin.ExpressionError, match=reason):
        tocsin.parse(text)


def test_instants_that_no_calendar_has_are_told() -> None:
    """NumPy and Arrow have years before 1 and after 9999; they are compared, and explained."""
    event = {"ts": np.datetime64(-(2**62), "us"), "far": np.datetime64(2**62, "us")}

    told = tocsin.explain("ts > DATE('2024-01-01') OR T_BEFORE(far, ts)", event)

    assert not told.matched and "ts = TIMESTAMP('1970-01-01T00:00:00Z - 4611686018427387904 microseconds')" in str(told)
    assert (
        len(tocsin.match([{"id": 1, "where": "T_BEFORE(ts, far) AND T_DURING(ts, INTERVAL('..', '..'))"}], [event]))
        == 1
    )


def test_texts_of_one_form() -> None:
    """Every subscription of a form with an instant matches, not the first alone."""
    days = [f"2024-05-{day}" for day in range(10, 31)]
    engine = tocsin.Engine()
    for day in days:
        engine.subscribe(day, f"sent >= DATE('{day}')")

    assert [match.subscription for match in engine.match({"sent": "2024-05-20T06:00:00Z"})] == days[:11]
    assert len(engine.match_batch([{"sent": "2024-05-20"}] * 3)) == 33
