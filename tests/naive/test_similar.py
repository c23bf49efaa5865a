"""The oracle of similarity gives the answers that were worked out by hand, and keeps the laws of a similarity."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.naive import match as naive
from tests.naive.similar import asked_for, similar, spatial_share, textual_share
from tests.naive.similar_examples import LEAST, WORKED, Worked
from tocsin.model.expression import And, Expression
from tocsin.model.values import Point

ALPHAS = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.floats(0, 1))
WEIGHTS = st.dictionaries(st.sampled_from(own.KEYWORDS), st.floats(LEAST, 1e6), max_size=4)


@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.told)
def test_worked_examples(worked: Worked) -> None:
    """Ids, scores, order and the number of those that cannot answer are those worked out by hand."""
    subscriptions = [(name, tocsin.parse(text)) for name, text in worked.subscriptions.items()]

    answer = similar(subscriptions, worked.event, worked.alpha, worked.threshold, worked.weights)

    assert answer == (worked.answer, worked.unanswered)


@given(tree=own.region_and_keywords(others=False), event=own.messages(), alpha=ALPHAS, weights=WEIGHTS)
def test_a_score_is_a_share(tree: Expression, event, alpha: float, weights) -> None:
    """Above 0 and at most 1, without rounding: a part's sum and product never round above the whole's."""
    answer, unanswered = similar([(1, tree)], event, alpha, LEAST, weights)

    assert unanswered == 0
    assert all(0 < score <= 1 for _, score in answer)


@given(tree=own.region_and_keywords(others=False), event=own.messages(), weights=WEIGHTS)
def test_without_alpha_a_place_does_not_count(tree: Expression, event, weights) -> None:
    """With alpha = 0 the score is the keywords' share, with alpha = 1 the region's, whatever else the event says."""
    textual = similar([(1, tree)], {"words": event.get("words")}, 0.0, LEAST, weights)
    spatial = similar([(1, tree)], {"location": event.get("location")}, 1.0, LEAST)

    assert similar([(1, tree)], event, 0.0, LEAST, weights) == textual
    assert similar([(1, tree)], event, 1.0, LEAST, weights) == spatial


@given(tree=own.region_and_keywords(), event=own.messages(), alpha=ALPHAS)
def test_what_matches_on_a_point_has_the_score_1(tree: Expression, event, alpha: float) -> None:
    """A point event matches exactly where it scores 1 on both sides, and then alpha rounds nothing away."""
    assume(asked_for(tree) is not None)  # of what it asks for besides, nothing is a second region
    place = event.get("location")
    if not isinstance(place, Point) and not (isinstance(place, list) and len(place) == 2):
        event = event | {"location": [4.0, 4.0]}

    matches = naive.match([(1, tree)], [event]) == [(0, 1)]

    assert matches == all(similar([(1, tree)], event, one, 1.0) == ([(1, 1.0)], 0) for one in (0.0, 1.0))
    assert not matches or similar([(1, tree)], event, alpha, 1.0) == ([(1, 1.0)], 0)


@given(tree=own.region_and_keywords(), event=own.messages(), alpha=ALPHAS, thresholds=st.tuples(ALPHAS, ALPHAS))
def test_a_threshold_only_cuts(tree: Expression, event, alpha: float, thresholds) -> None:
    """A higher threshold gives those of a lower one that reach it."""
    low, high = sorted(max(one, LEAST) for one in thresholds)

    kept = [(name, score) for name, score in similar([(1, tree)], event, alpha, low)[0] if score >= high]

    assert kept == similar([(1, tree)], event, alpha, high)[0]


@given(trees=st.lists(st.one_of(own.region_and_keywords(), own.expressions(max_depth=3))), event=own.messages())
def test_each_subscription_answers_or_is_counted(trees, event) -> None:
    """An event changes nothing of who can answer, and all who can are compared with the threshold one by one."""
    subscriptions = list(enumerate(trees))

    answer, unanswered = similar(subscriptions, event, 0.5, 0.25)

    assert unanswered == sum(asked_for(tree) is None for tree in trees)
    assert sorted(answer) == [pair for one in subscriptions for pair in similar([one], event, 0.5, 0.25)[0]]
    assert answer == sorted(answer, key=lambda pair: (-pair[1], pair[0]))


@given(tree=own.region_and_keywords(), more=own.expressions(max_depth=2))
def test_an_and_within_an_and_is_part_of_it(tree: Expression, more) -> None:
    """However conjuncts are put in parentheses, the same is asked for."""
    assert isinstance(tree, And)
    nested = And((And((*tree.operands[:1], And(tree.operands[1:]))), more))

    assert asked_for(nested) == asked_for(And((*tree.operands, more)))


@given(one=own.regions(), other=own.regions())
def test_shares_of_two_regions_are_of_one_area(one, other) -> None:
    """What lies in both is the same area, whichever it is measured by; contact is mutual."""
    shares = spatial_share(one.bounds(), other.bounds()), spatial_share(other.bounds(), one.bounds())
    areas = [(box.xmax - box.xmin) * (box.ymax - box.ymin) for box in (one, other)]

    assert all(0 <= share <= 1 for share in shares)
    if max(areas) < 1e9:
        assert (shares[0] > 0) == (shares[1] > 0)
        if min(areas) > 0:
            assert shares[0] * areas[0] == pytest.approx(shares[1] * areas[1])


@given(keywords=own.keyword_lists(), words=st.lists(st.sampled_from(own.KEYWORDS)), weights=WEIGHTS)
def test_words_that_are_added_never_lower_a_share(keywords, words, weights) -> None:
    """The share grows with the words, from nothing to 1 where all are there."""
    ordered = sorted(set(keywords))
    shares = [textual_share(ordered, words[:count], weights) for count in range(len(words) + 1)]

    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert textual_share(ordered, keywords, weights) == 1.0


def test_a_bad_event_still_counts_who_cannot_answer() -> None:
    """It resembles nobody; the others are counted as for any event."""
    subscriptions = [
        (1, tocsin.parse("x = 1")),
        (2, tocsin.parse("A_CONTAINS(w, ('a')) AND S_INTERSECTS(p, BBOX(0, 0, 1, 1))")),
    ]

    assert similar(subscriptions, {"x.y": 1, "x": {"y": 1}, "w": ["a"], "p": [0, 0]}, 0.5, LEAST) == ([], 1)
