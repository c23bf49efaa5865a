"""`Similar` asks only the parts that an event has a key of, where its threshold leaves no other; and finds the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.placement.test_placements import MAP, WORDS, batch_of, part_of
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Part, choose, question_of
from tocsin.placement import PLACEMENTS, Router, dealt, most_alike, planned
from tocsin.segment import Snapshots, assemble
from tocsin.segment.placed import first_copies


def pieces(part: Part, name: str, partitions: int) -> tuple[Snapshots, Snapshots]:
    """The parts of a placement, asked by keys, and asked about everything."""
    placement, _ = planned(part, name, partitions)
    several = dealt(part, placement)
    parts = [part.only(one.numbers) for one in several]
    segments = [assemble(one, choose()) for one in parts]
    copies = first_copies(segments)
    router = Router.of(placement, [one.keys for one in several])
    alike = [most_alike(name, one.compiled) for one in parts]
    return Snapshots.of(segments).routed(router, copies, alike), Snapshots.of(copies.segments)


def answers(snapshots: Snapshots, batch: EventBatch, ranking: tocsin.Similar) -> tuple[list[Any], int, int]:
    found = snapshots.find(batch, ranking)
    ids = snapshots.ids_of(found.subscriptions).to_pylist()
    rows = list(zip(found.events.tolist(), ids, found.scores.tolist(), strict=True))
    return rows, found.unanswered, found.candidates_examined


@pytest.mark.parametrize("name", PLACEMENTS)
@given(
    trees=st.lists(st.one_of(own.region_expressions(), own.expressions(max_depth=2)), min_size=1, max_size=12),
    events=st.lists(own.region_events(), min_size=1, max_size=12),
    partitions=st.sampled_from([1, 2, 7]),
    alpha=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
    threshold=st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.9, 1.0]),
    weights=st.sampled_from([None, {"a": 0.01, "b": 7.0}]),
)
def test_parts_that_are_asked_by_keys_find_the_same(name, trees, events, partitions, alpha, threshold, weights):
    """Subscriptions, their order, their scores, and how many have no answer: whatever the threshold."""
    part = part_of([tocsin.to_text(tree) for tree in trees])
    batch, ranking = batch_of(part, events), tocsin.Similar(alpha, threshold, weights)

    routed, whole = pieces(part, name, partitions)

    assert answers(routed, batch, ranking)[:2] == answers(whole, batch, ranking)[:2]


@pytest.mark.parametrize(
    ("name", "threshold", "weights", "is_routed"),
    [
        ("keyword", 0.51, None, True),
        ("keyword", 0.51, {"w1": 3.0}, True),
        ("keyword", 0.5, None, False),
        ("prefix", 0.7, None, False),  # one of two keywords reaches 0.75
        ("prefix", 0.76, None, True),
        ("prefix", 0.76, {"w1": 3.0}, False),
        ("access", 0.9, None, False),
        ("location", 0.9, None, False),
    ],
)
def test_a_threshold_that_asks_for_keywords_routes(
    name: str, threshold: float, weights: dict[str, float] | None, is_routed: bool
) -> None:
    """At an alpha of a half, where the threshold is above what an event without a key can reach."""
    part = part_of([*MAP, "a = 1"])
    events = [{"place": [3.2, 4.2], "words": ["nobody's"]}, {"place": [3.2, 4.2], "words": WORDS[3:4] + WORDS[24:25]}]
    batch, ranking = batch_of(part, events), tocsin.Similar(0.5, threshold, weights)

    routed, whole = pieces(part, name, 8)
    rows, unanswered, candidates = answers(routed, batch, ranking)

    assert (rows, unanswered) == answers(whole, batch, ranking)[:2]
    assert len(rows) >= 1
    assert unanswered == 1
    asked = [question_of(ranking).needs_a_key(ranking, most_alike(name, part.compiled))]
    assert asked == [is_routed]
    nobody = batch.only(np.array([0]))
    assert answers(routed, nobody, ranking)[:2] == answers(whole, nobody, ranking)[:2]
    assert candidates <= answers(whole, batch, ranking)[2] * 2
