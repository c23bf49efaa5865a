"""Comparisons of one attribute that are joined by AND become one range, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.encoding import encoded
from tests.naive import match as naive
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.narrowing import narrowed
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.boolean.chains.extents import ExtentMatching
from tocsin.index.boolean.scan import Scan
from tocsin.kernels import codes
from tocsin.model.expression import And, Comparison, Expression, Not


def literals(compiled: CompiledExpressions) -> list[int]:
    """How many places each program has."""
    return np.diff(compiled.arrays.program_starts).tolist()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("n > 1 AND n < 3", 1),
        ("n > 1 AND s = 'a' AND n < 3 AND n <= 2", 2),
        ("n = 1 AND n < 3", 1),
        ("n >= DATE('2024-01-01') AND n < DATE('2025-01-01')", 1),
        ("T_DURING(n, INTERVAL('2024-01-01', '2025-01-01'))", 1),
        ("n > 3 AND n < 1", 2),
        ("n > 1 AND m < 3", 2),
        ("n > 1 AND n <> 3", 2),
        ("n > 1 AND n < DATE('2025-01-01')", 2),
        ("s > 'a' AND s < 'b'", 2),
        ("n > 1 OR n < 0", 4),
        ("n > 1 AND n < 5 AND (m > 1 OR m > 1 AND m < 3)", 8),
    ],
)
def test_which_are_one(text: str, places: int) -> None:
    """Numbers and instants, on the outermost level, unless no value would be left."""
    assert literals(narrowed(compile_expressions([tocsin.parse(text)]))) == [places]


bounded = st.builds(
    Comparison,
    st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]),
    st.sampled_from(own.NAMES[:2]).map(lambda name: tocsin.parse(f'"{name}" = 1').left),  # type: ignore[union-attr]
    st.sampled_from(own.NUMBERS).map(lambda number: tocsin.parse(f"a = {number}").right),  # type: ignore[union-attr]
)
conjunctions = st.lists(
    st.one_of(
        bounded, bounded, bounded.map(Not), own.expressions(max_depth=3).filter(lambda one: not isinstance(one, And))
    ),
    min_size=2,
    max_size=6,
).map(lambda parts: And(tuple(parts)))
trees = st.lists(
    st.one_of(conjunctions, own.expressions(max_depth=5), own.comparisons_with_constants()), min_size=1, max_size=8
)
events = st.lists(st.one_of(own.python_events(), own.interval_events()), min_size=1, max_size=8)


@given(expressions=trees, events=events)
def test_they_answer_like_the_oracle(expressions: list[Expression], events: list) -> None:
    """Of values, of absence, of other types, and of ranges, contained ones too."""
    matcher = Scan.build(narrowed(compile_expressions(expressions)))
    batch = encoded(events, Wanted(matcher.attributes))

    found = ExtentMatching().match(matcher, batch)

    pairs = list(zip(batch.rows[found.events].tolist(), found.subscriptions.tolist(), strict=True))
    assert pairs == naive.match(list(enumerate(expressions)), events)


def test_an_index_looks_where_both_ends_are() -> None:
    """Few candidates for narrow ranges that are written as two comparisons."""
    held = [{"id": n, "where": f"price > {n} AND price < {n + 2} AND size >= {n % 7}"} for n in range(5000)]

    answer = tocsin.match(held, [{"price": n + 0.5, "size": 6} for n in range(100)])

    assert len(answer) == 199
    assert answer.stats.candidates_examined <= 400


def test_what_is_nothing_stays() -> None:
    """No expression, and one without a comparison."""
    for texts in ([], ["TRUE", "a LIKE 'x%'"]):
        compiled = compile_expressions(map(tocsin.parse, texts))
        assert narrowed(compiled) is compiled
    assert codes.RANGE not in compiled.arrays.leaf_kinds
