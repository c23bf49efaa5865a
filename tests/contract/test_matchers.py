"""Every registered Matcher answers exactly like the oracle, whatever the subscriptions and the events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.naive import match as naive
from tocsin.columns.arrays import frozen
from tocsin.columns.events.batch import Wanted
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Best, Registration, registrations
from tocsin.index.alive import everyone
from tocsin.kernels.answers.scores import block_maxima

MATCHERS = [r for r in registrations() if r.question == "all matches"]


@pytest.fixture(params=MATCHERS, ids=lambda r: r.name)
def registration(request: pytest.FixtureRequest) -> Registration:
    return request.param


def accepted(registration: Registration, expressions: list) -> list:
    """The expressions that an index takes: all of them, unless it is a paper's structure with limits of its own."""
    while expressions:
        try:
            registration.builder().build(compile_expressions(expressions))
            break
        except tocsin.UnsuitableIndex as error:
            assert registration.name not in ("access", "scan")
            expressions = expressions[: error.number] + expressions[error.number + 1 :]
    return expressions


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
    expressions = accepted(registration, expressions)
    expected = naive.match(list(enumerate(expressions)), events)

    assert answers(registration, expressions, events) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    expressions=st.lists(
        st.one_of(own.conjunctions_of_clauses(), own.comparisons_with_constants()), min_size=1, max_size=8
    ),
    events=st.lists(own.python_events(), min_size=1, max_size=8),
)
def test_answers_like_the_oracle_about_clauses(registration, expressions, events):
    """What indexes hold in a normal form means what it is written as."""
    expressions = accepted(registration, expressions)
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
    expressions = accepted(registration, expressions)
    expected = naive.match(list(enumerate(expressions)), events)

    assert answers(registration, expressions, events) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), count=st.integers(1, 600), k=st.integers(1, 40))
def test_leaves_out_none_of_the_best(registration, data, count, k):
    """Asked for the best k, a matcher may leave out the others: ties go to the lower number, the gone never count."""
    wanted = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    scores = np.array(data.draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=count, max_size=count)))
    gone = data.draw(st.sets(st.integers(0, count - 1), max_size=count))
    alive = everyone(count)
    for number in gone:
        alive[number >> 6] &= ~(np.uint64(1) << np.uint64(number & 63))
    texts = [f"a >= {one} OR b IS NULL AND c = {one}" for one in wanted]
    if not accepted(registration, [tocsin.parse(texts[0])]):
        texts = [f"a BETWEEN {one} AND 5 OR b = 1 AND c = {one}" for one in wanted]
    compiled = compile_expressions(map(tocsin.parse, texts))
    matcher = registration.builder().build(compiled)
    batch = encode_objects(enumerate([{"a": 3}, {"c": 1}, {"a": 5, "b": 1}, {}]), Wanted(compiled.attributes))
    maxima = block_maxima(scores)

    all_matches = matcher.match(batch, alive)
    found = matcher.match(batch, alive, Best.of(k, frozen(scores, np.float64), frozen(maxima, np.float64)))

    for event in range(len(batch)):
        every = all_matches.subscriptions[slice(*all_matches.starts[event : event + 2])].tolist()
        some = found.subscriptions[slice(*found.starts[event : event + 2])].tolist()
        assert some == sorted(set(some) & set(every))
        assert set(sorted(every, key=lambda number: (-scores[number], number))[:k]) <= set(some)
        assert registration.name != "access" or len(some) == min(k, len(every))


def test_answers_nothing_for_no_subscriptions_and_no_events(registration):
    """Empty in, empty out."""
    assert answers(registration, [], [{"a": 1}]) == []
    assert answers(registration, [], []) == []
