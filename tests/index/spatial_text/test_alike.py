"""What an event resembles enough: every structure answers like the oracle, and looks at little."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import batch, compiled, everyone_but
from tests.index.spatial_text.test_regions import random_messages, random_texts
from tests.naive.similar import similar
from tocsin.columns.crossing import with_crossing_shapes
from tocsin.columns.events.batch import EventBatch
from tocsin.columns.expressions.compiled import CompiledExpressions
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import parse_index, registrations
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


RANKINGS = ((0.2, 0.9), (0.5, 0.6), (0.5, 0.4), (0.9, 0.3), (1.0, 0.5), (0.0, 1.0))
"""Alpha and threshold, where words decide, where places do, and where both do."""

Answers = list[list[tuple[int, float]]]


def build(structure: str, expressions: CompiledExpressions) -> AlikeIndex:
    registration, options = parse_index(structure)
    return AlikeIndex(expressions, registration.also[SIMILAR_ENOUGH](**options))


def answers(index: AlikeIndex, events: EventBatch, ranking: tocsin.Similar, alive: Any = None) -> Answers:
    found = index.match(events, ranking, alive)
    pairs = list(zip(found.subscriptions.tolist(), found.scores.tolist(), strict=True))
    return [pairs[first:stop] for first, stop in zip(found.starts[:-1], found.starts[1:], strict=True)]


@lru_cache(1)
def at_size() -> tuple[CompiledExpressions, EventBatch, list[tocsin.Similar], list[Answers]]:
    """Many subscriptions, messages, rankings, and what `scan` answers to each of these."""
    random = np.random.default_rng(2015)
    expressions = compiled(random_texts(3000, random))
    events = batch(expressions, random_messages(100, random))
    weights = {f"w{number}": float(weight) for number, weight in enumerate(random.uniform(0.1, 5, 200))}
    rankings = [tocsin.Similar(alpha, threshold, weights) for alpha, threshold in RANKINGS]
    scan = build("scan", expressions)
    return expressions, events, rankings, [answers(scan, events, ranking) for ranking in rankings]


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
def test_answers_like_the_oracle(expressions, events, alpha, threshold, weights, gone):
    """Scores to the last bit, their order, and how many subscriptions have no answer."""
    subscriptions = list(enumerate(expressions))
    expected = [similar(subscriptions, event, alpha, threshold, weights) for event in events]
    left = [[one for one in found if one[0] not in gone] for found, _ in expected]
    held, alive = compile_expressions(expressions), everyone_but(gone, len(expressions))
    given_events, ranking = with_crossing_shapes(batch(held, events)), tocsin.Similar(alpha, threshold, weights)
    for structure in STRUCTURES:
        index = build(structure, held)
        every, living = answers(index, given_events, ranking), answers(index, given_events, ranking, alive)

        assert every == [found for found, _ in expected], structure
        assert living == left, structure


@pytest.mark.parametrize("structure", [one for one in STRUCTURES if one != "scan"])
def test_answers_like_scan_at_size(structure):
    """Lists and trees of more than one block or node, where words decide, where places do, and where both do."""
    expressions, events, rankings, expected = at_size()
    index = build(structure, expressions)

    for ranking, answer in zip(rankings, expected, strict=True):
        assert answers(index, events, ranking) == answer, (ranking.alpha, ranking.threshold)


def test_prefixes_let_little_through():
    """Where much must be in common, few are compared; how many are grows as less must be."""
    random = np.random.default_rng(7)
    expressions = compiled(random_texts(3000, random))
    events = batch(expressions, random_messages(100, random, longest=12))
    index = build("token_grid", expressions)

    compared = [
        index.match(events, tocsin.Similar(0.3, threshold)).candidates_examined for threshold in (1.0, 0.9, 0.7, 0.5)
    ]

    assert compared == sorted(compared)
    assert compared[0] < 0.01 * 3000 * 100


def test_weights_are_those_of_the_ranking():
    """A structure that is asked with other weights, and then the first again, answers by what it is asked with."""
    expressions = compiled(["S_INTERSECTS(location, BBOX(0, 0, 1, 1)) AND A_CONTAINS(words, ('a', 'b'))"])
    index, events = build("token_grid", expressions), batch(expressions, [{"location": [5, 5], "words": ["a"]}])
    heavy = {"a": 9.0}

    scores = [answers(index, events, tocsin.Similar(0.0, 0.1, w)) for w in (None, heavy, None, heavy)]

    assert scores == [[[(0, 0.5)]], [[(0, 0.9)]], [[(0, 0.5)]], [[(0, 0.9)]]]


def test_says_how_many_have_no_answer():
    """Subscriptions of another shape are counted as long as they are there."""
    texts = [
        "a = 1",
        "A_CONTAINS(words, ('a'))",
        "S_INTERSECTS(location, BBOX(0, 0, 1, 1)) AND A_CONTAINS(words, ('a'))",
    ]
    expressions = compiled(texts)
    index, events = build("token_grid", expressions), batch(expressions, [{"words": ["a"]}])

    assert index.match(events, tocsin.Similar(0.5, 0.5)).unanswered == 2
    assert index.match(events, tocsin.Similar(0.5, 0.5), everyone_but({0}, 3)).unanswered == 1


@pytest.mark.parametrize("structure", STRUCTURES)
def test_numbers_among_keywords_weigh_nothing(structure):
    """What else is asked of a list than words is verified, and has no weight."""
    placed = "S_INTERSECTS(location, BBOX(0, 0, 1, 1)) AND A_CONTAINS(words, ('a')) AND A_CONTAINS(numbers, (1.5))"
    expressions = compiled([placed])
    events = [{"location": [0, 0], "words": ["a"], "numbers": numbers} for numbers in ([1.5], [2])]

    found = answers(build(structure, expressions), batch(expressions, events), tocsin.Similar(0.5, 0.5, {"a": 2.0}))
    assert found == [[(0, 1.0)], []]


def crowds(count: int = 50, size: int = 20) -> CompiledExpressions:
    """Places far from one another, each with subscriptions of its own words, and of one that all have."""
    return compiled(
        f"S_INTERSECTS(location, BBOX({100 * one}, {n}, {100 * one + 10}, {n + 5})) "
        f"AND A_CONTAINS(words, ('everywhere', 'c{one}', 'c{one}n{n % 4}'))"
        for one in range(count)
        for n in range(size)
    )


APART = {
    "both": (0.5, 0.9, [705, 5], ["everywhere", "c7", "c7n1", "c9", "c11"]),
    "words alone": (0.1, 0.8, [-500, 0], ["everywhere", "c7", "c7n1", "c7n2"]),
    "contact alone": (0.9, 0.5, [705, 5], ["everywhere", "c9"]),
}
"""What is enough: alpha, the threshold, and the place and words of a message of one crowd."""
KNOW_NOTHING = {
    "both": {"scan"},
    "words alone": {"scan", *(one for one in STRUCTURES if "spatial_first" in one or "selection" in one)},
    "contact alone": {"scan", "keyword_first"},
}
"""Who has only boxes, or only words, or the commonest word in the first place."""


@pytest.mark.parametrize("enough", APART)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_who_cannot_be_alike_is_not_compared(structure, enough):
    """Of a thousand in fifty crowds of twenty the message's own, and who shares their nodes of up to fifty."""
    alpha, threshold, place, words = APART[enough]
    expressions = crowds()
    events = batch(expressions, [{"location": place, "words": words}])

    found = build(structure, expressions).match(events, tocsin.Similar(alpha, threshold))

    assert 0 < len(found.subscriptions) <= 20
    assert found.candidates_examined <= (1000 if structure in KNOW_NOTHING[enough] else 160)
    assert "token_grid" not in structure or found.candidates_examined <= 20
