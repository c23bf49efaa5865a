"""Where a subscription is looked for is told as its condition was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import compiled
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Statistics
from tocsin.index.boolean.access import Access

# What makes `a` the key, whatever else is asked.
RARE_A = Statistics({"a": 0.001, "b": 1.0}, "given")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = 5", "looked for under a = 5; events with this need no verification"),
        ("a > 5", "looked for under a > 5; events with this need no verification"),
        ("a >= 5 AND b = 1", "looked for under a >= 5, then verified"),
        ("a < 5.5 AND b = 1", "looked for under a < 5.5, then verified"),
        ("a BETWEEN 5 AND 7 AND b = 1", "looked for under a >= 5 AND a <= 7, then verified"),
        ("a = 'x' AND b = 1", "looked for under a = 'x', then verified"),
        ("a > 'x' AND b = 1", "looked for under a > 'x', then verified"),
        ("a < 'x' AND b = 1", "looked for under a < 'x', then verified"),
        ("a <= 'x' AND b = 1", "looked for under a <= 'x', then verified"),
        ("CASEI(a) = CASEI('X') AND b = 1", "looked for under CASEI(a) = 'x', then verified"),
        ("a = TRUE AND b = 1", "looked for under a = TRUE, then verified"),
        (
            "a > TIMESTAMP('2024-01-01T08:00:00Z')",
            "looked for under a > TIMESTAMP('2024-01-01T08:00:00Z'); events with this need no verification",
        ),
        ("NOT (a = 5) AND b = 1", "looked for under a a number, then verified"),
        ("a IN (1, 2) AND b IS NULL", "looked for under a = 1 or a = 2, then verified"),
        ("A_CONTAINS(a, ('x')) AND b = 1", "looked for under a with 'x', then verified"),
        ("a LIKE 'x%' AND b = 1", "looked for under a LIKE 'x%', then verified"),
        ("a LIKE '_%' AND b <> 1", "looked for under a a string, then verified"),
        (
            "S_INTERSECTS(a, BBOX(0, 0, 0.9, 0.4)) AND b = 1",
            "looked for under a in [0, 0.5] x [0, 0.5] or a in [0.5, 1] x [0, 0.5], then verified",
        ),
        (
            "DISTANCE_M(a, POINT(13.4 52.5)) <= 500 AND b = 1",
            "looked for under DISTANCE_M(a, POINT(13.4 52.5)) <= 500, then verified",
        ),
        ("ANY(a, price < 5) AND b <> 1", "looked for under ANY(a, price < 5), then verified"),
        ("(a = 1 OR a > 3) AND b = 1", "looked for under a > 3 or a = 1, then verified"),
        ("a = 5 AND (b = 1 OR c = 2) OR a = 5 AND d > 4", "looked for under a = 5, then verified"),
        ("b IS NULL", "looked for under b IS NULL, then verified"),
        ("b + 1 IS NULL", "verified on every event"),
        ("FALSE", "never satisfied"),
    ],
)
def test_a_key_is_told_as_it_was_written(text: str, told: str) -> None:
    """Among others that share the lists."""
    index = Access.build(compiled([text, "a = 1", "a = 'w'", "a > 6 AND b < 3", "a = 'y' OR b = 2"]), RARE_A)

    assert index.place(0) == told


def test_many_keys_are_counted() -> None:
    """Eight are told, and how many more there are."""
    index = Access.build(compiled([f"a IN ({', '.join(map(str, range(50)))}) AND b = 1"]), RARE_A)

    assert index.place(0).endswith("or a = 7 and 42 more, then verified")


@given(st.lists(own.expressions(max_depth=4), min_size=1, max_size=8))
def test_every_subscription_lies_somewhere(expressions) -> None:
    """Whatever it is: something is told, and those that are never satisfied are no more than the index counts."""
    index = Access.build(compile_expressions(expressions))

    told = [index.place(number) for number in range(len(expressions))]

    assert all(told)
    assert told.count("never satisfied") == index.places()["never satisfied"]
    assert told.count("verified on every event") == index.places()["verified on every event"]


def test_an_engine_tells_it_beside_the_explanation() -> None:
    """From the delta, and from a segment with the plan's reason."""
    engine = tocsin.Engine(statistics=RARE_A)
    engine.subscribe("s", "a = 5 AND b = 1")

    before = engine.explain("s", {"a": 5})
    engine.merge()
    after = engine.explain("s", {"a": 5})

    assert str(before) == str(after)
    assert before.index.startswith("in the latest changes")
    assert after.index == f"looked for under a = 5, then verified (access: {engine.stats.plan.reason})"
    assert tocsin.Engine("scan").stats.plan.index == "scan"
