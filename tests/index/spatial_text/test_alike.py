"""What an event resembles enough: every structure answers like the oracle, and looks at little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import batch
from tests.index.spatial_text.test_regions import random_messages, random_texts
from tests.naive.similar import similar
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import parse_index, registrations
from tocsin.index.alive import everyone
from tocsin.index.protocols import SIMILAR_ENOUGH
from tocsin.index.spatial_text.alike import AlikeIndex

STRUCTURES = (
    *(one.name for one in registrations() if SIMILAR_ENOUGH in one.also),
    "rt_tree(least=1, most=2)",
    "rt_plus_tree(least=1, most=2, selection=0)",
    "rt_plus_plus_tree(least=1, most=2, selection=1)",
    "rt_plus_plus_tree(least=2, most=4)",
    "inverted_r_tree(least=1, most=2)",
    "spatial_first(least=2, most=3)",
)
SHARES = (0.0, 0.25, 0.3, 0.5, 2 / 3, 0.75, 1.0)
WEIGHTS = (None, {"a": 3.0, "b": 0.5, "é": 0.1}, {"c": 1e308, "d": 1e308})


def build(structure: str, expressions: list) -> AlikeIndex:
    registration, options = parse_index(structure)
    return AlikeIndex(compile_expressions(expressions), registration.also[SIMILAR_ENOUGH](**options))


def answers(index: AlikeIndex, expressions: list, events: list, ranking: tocsin.Similar, alive=None) -> list[list]:
    found = index.match(batch(compile_expressions(expressions), events), ranking, alive)
    pairs = list(zip(found.subscriptions.tolist(), found.scores.tolist(), strict=True))
    return [pairs[first:stop] for first, stop in zip(found.starts[:-1], found.starts[1:], strict=True)]


@pytest.mark.parametrize("structure", STRUCTURES)
@settings(suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture])
@given(
    expressions=st.lists(
        st.one_of(own.region_and_keywords(), own.region_and_keywords(), own.region_expressions(), own.expressions(2)),
        min_size=1,
        max_size=12,
    ),
    events=st.lists(own.messages(), min_size=1, max_size=8),
    alpha=st.sampled_from(SHARES),
    threshold=st.sampled_from(SHARES[1:]),
    weights=st.sampled_from(WEIGHTS),
    gone=st.sets(st.integers(0, 11)),
)
def test_answers_like_the_oracle(structure, expressions, events, alpha, threshold, weights, gone):
    """Scores to the last bit, their order, and how many subscriptions have no answer."""
    subscriptions = list(enumerate(expressions))
    expected = [similar(subscriptions, event, alpha, threshold, weights) for event in events]
    alive = everyone(len(expressions))
    for number in gone:
        alive[0] &= ~(np.uint64(1) << np.uint64(number))
    index = build(structure, expressions)
    ranking = tocsin.Similar(alpha, threshold, weights)

    every = answers(index, expressions, events, ranking)
    living = answers(index, expressions, events, ranking, alive)

    assert every == [found for found, _ in expected]
    assert living == [[one for one in found if one[0] not in gone] for found, _ in expected]


@pytest.mark.parametrize("structure", [one for one in STRUCTURES if one != "scan"])
@pytest.mark.parametrize(
    ("alpha", "threshold"), [(0.2, 0.9), (0.5, 0.6), (0.5, 0.4), (0.9, 0.3), (1.0, 0.5), (0.0, 1.0)]
)
def test_answers_like_scan_at_size(structure, alpha, threshold):
    """Lists and trees of more than one block or node, where words decide, where places do, and where both do."""
    random = np.random.default_rng(2015)
    expressions = [tocsin.parse(text) for text in random_texts(3000, random)]
    events = random_messages(100, random)
    weights = {f"w{number}": float(weight) for number, weight in enumerate(random.uniform(0.1, 5, 200))}
    ranking = tocsin.Similar(alpha, threshold, weights)

    assert answers(build(structure, expressions), expressions, events, ranking) == answers(
        build("scan", expressions), expressions, events, ranking
    )


def test_prefixes_let_little_through():
    """Where much must be in common, few are compared; how many are grows as less must be."""
    random = np.random.default_rng(7)
    expressions = [tocsin.parse(text) for text in random_texts(3000, random)]
    events = batch(compile_expressions(expressions), random_messages(100, random, longest=12))
    index = build("token_grid", expressions)

    compared = [
        index.match(events, tocsin.Similar(0.3, threshold)).candidates_examined for threshold in (1.0, 0.9, 0.7, 0.5)
    ]

    assert compared == sorted(compared)
    assert compared[0] < 0.01 * 3000 * 100


def test_weights_are_those_of_the_ranking():
    """A structure that is asked with other weights, and then the first again, answers by what it is asked with."""
    expressions = [tocsin.parse("S_INTERSECTS(location, BBOX(0, 0, 1, 1)) AND A_CONTAINS(words, ('a', 'b'))")]
    index, events = build("token_grid", expressions), [{"location": [5, 5], "words": ["a"]}]
    heavy = {"a": 9.0}

    scores = [answers(index, expressions, events, tocsin.Similar(0.0, 0.1, w)) for w in (None, heavy, None, heavy)]

    assert scores == [[[(0, 0.5)]], [[(0, 0.9)]], [[(0, 0.5)]], [[(0, 0.9)]]]


def test_says_how_many_have_no_answer():
    """Subscriptions of another shape are counted as long as they are there."""
    texts = [
        "a = 1",
        "A_CONTAINS(words, ('a'))",
        "S_INTERSECTS(location, BBOX(0, 0, 1, 1)) AND A_CONTAINS(words, ('a'))",
    ]
    expressions = [tocsin.parse(text) for text in texts]
    index, events = build("token_grid", expressions), batch(compile_expressions(expressions), [{"words": ["a"]}])
    alive = everyone(3)
    alive[0] &= ~np.uint64(1)

    assert index.match(events, tocsin.Similar(0.5, 0.5)).unanswered == 2
    assert index.match(events, tocsin.Similar(0.5, 0.5), alive).unanswered == 1


@pytest.mark.parametrize("structure", STRUCTURES)
def test_numbers_among_keywords_weigh_nothing(structure):
    """What else is asked of a list than words is verified, and has no weight."""
    placed = "S_INTERSECTS(location, BBOX(0, 0, 1, 1)) AND A_CONTAINS(words, ('a')) AND A_CONTAINS(numbers, (1.5))"
    expressions = [tocsin.parse(placed)]
    events = [{"location": [0, 0], "words": ["a"], "numbers": numbers} for numbers in ([1.5], [2])]

    assert answers(build(structure, expressions), expressions, events, tocsin.Similar(0.5, 0.5, {"a": 2.0})) == [
        [(0, 1.0)],
        [],
    ]
