"""Events that have ranges find the same by chains as by a scan, whatever lies beside them in a batch."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import batch, pairs
from tests.naive import match as naive
from tocsin.columns.expressions.leaf_order import eager_first
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index.alive import bitmap
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.chains.extents import ExtentMatching
from tocsin.index.boolean.chains.static import Chained
from tocsin.index.boolean.scan import Scan

ALWAYS: Final = {"chains": np.inf, "scan": -1.0}
"""Which way all events with ranges go, by the share of expressions up to which they go along chains."""


always = pytest.mark.parametrize("way", ALWAYS)


SHAPES = [
    {"type": "LineString", "coordinates": [[-1, 0], [2, 1]]},
    {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
    {"type": "MultiPoint", "coordinates": [[0, 0], [1, 1]]},
]
shaped = st.tuples(own.python_events(), st.sampled_from(["place", "other place"]), st.sampled_from(SHAPES)).map(
    lambda parts: {**parts[0], parts[1]: parts[2]}
)
events_of_all_kinds = st.lists(st.one_of(own.interval_events(), own.python_events(), shaped), min_size=1, max_size=8)


@always
@given(expressions=st.lists(own.expressions(max_depth=5), min_size=1, max_size=8), events=events_of_all_kinds)
def test_answers_like_the_oracle(way: str, expressions: list, events: list) -> None:
    """Expressions of every kind, with covers and without; events with ranges or shapes, and without."""
    matcher = Access.build(compile_expressions(expressions))
    encoded = batch(matcher, events)

    found = [(int(encoded.rows[e]), s) for e, s in pairs(ExtentMatching(ALWAYS[way]).match(matcher, encoded))]

    assert found == naive.match(list(enumerate(expressions)), events)


@always
@settings(max_examples=max(4, settings.default.max_examples // 4))
@given(
    expressions=st.lists(own.comparisons_with_constants(), min_size=1, max_size=30),
    events=st.lists(own.interval_grid_events(), min_size=60, max_size=150),
    gone=st.sets(st.integers(0, 29)),
)
def test_blocks_of_events_and_those_that_are_gone(way: str, expressions: list, events: list, gone: set[int]) -> None:
    """More events than a block has, and subscriptions that are no more."""
    matcher = Access.build(compile_expressions(expressions))
    encoded, alive = batch(matcher, events), bitmap(~np.isin(np.arange(len(expressions)), list(gone)))

    found = ExtentMatching(ALWAYS[way]).match(matcher, encoded, alive)

    assert pairs(found) == pairs(Scan.build(matcher.expressions()).match(encoded, alive))
    assert len(found.starts) == len(events) + 1


@always
def test_few_are_walked_where_attributes_are_rare(way: str) -> None:
    """Of a thousand attributes an event has two."""
    matcher = Access.build(compile_expressions([tocsin.parse(f"a{n % 1000} > {n % 7}") for n in range(5000)]))
    events = batch(matcher, [{"a5": tocsin.Range(3, 4), "a6": 1}])

    found = ExtentMatching(ALWAYS[way]).match(matcher, events)

    assert Chained(eager_first(matcher.expressions())).share(events) == 10 / 5000
    assert pairs(found) == [
        (0, n) for n in range(5000) if (n % 1000 == 5 and n % 7 < 4) or (n % 1000 == 6 and n % 7 < 1)
    ]
    assert (found.candidates_examined < 10) == (way == "chains")
