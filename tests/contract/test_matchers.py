"""Every registered Matcher answers exactly like the oracle, whatever the subscriptions and the events."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import strategies as own
from tests.naive import match as naive
from tocsin.columns.batch import Wanted
from tocsin.columns.compiled import compile_expressions
from tocsin.columns.objects import encode_objects
from tocsin.index import Registration, registrations

MATCHERS = [r for r in registrations() if r.question == "all matches"]


@pytest.fixture(params=MATCHERS, ids=lambda r: r.name)
def registration(request: pytest.FixtureRequest) -> Registration:
    return request.param


def answers(registration: Registration, expressions: list, events: list) -> list[tuple[int, int]]:
    compiled = compile_expressions(expressions)
    batch = encode_objects(enumerate(events), Wanted(compiled.attributes))
    found = registration.builder().build(compiled).match(batch)
    return list(zip(batch.rows[found.events].tolist(), found.subscriptions.tolist(), strict=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    expressions=st.lists(own.expressions(max_depth=6), min_size=1, max_size=8),
    events=st.lists(own.python_events(), min_size=1, max_size=8),
)
def test_answers_like_the_oracle(registration, expressions, events):
    """Ids, events and their order equal the oracle's."""
    expected = naive.match(list(enumerate(expressions)), events)

    assert answers(registration, expressions, events) == expected


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    max_examples=max(20, settings.default.max_examples // 5),  # each draws as much as ten of the others
)
@given(
    expressions=st.lists(own.expressions(max_depth=2), min_size=1, max_size=20),
    events=st.lists(own.json_events(), min_size=65, max_size=140),
)
def test_answers_like_the_oracle_across_blocks(registration, expressions, events):
    """More events than one block of the verifier holds change nothing."""
    expected = naive.match(list(enumerate(expressions)), events)

    assert answers(registration, expressions, events) == expected


def test_answers_nothing_for_no_subscriptions_and_no_events(registration):
    """Empty in, empty out."""
    assert answers(registration, [], [{"a": 1}]) == []
    assert answers(registration, [], []) == []
