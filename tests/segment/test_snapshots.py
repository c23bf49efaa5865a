"""Several segments answer exactly like one that holds all of their subscriptions."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.segment.samples import SUBSCRIPTIONS, asked, build
from tests.sizes import sized
from tocsin.columns.events.objects import encode_objects
from tocsin.errors import SegmentError
from tocsin.index import Plan
from tocsin.model.subscription import Subscription
from tocsin.segment import Snapshots, build_segment

PLAN = Plan("scan", "tested")
string_ids = st.lists(st.text(st.characters(codec="utf-8"), max_size=3), unique=True, min_size=9, max_size=9)
integer_ids = st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, min_size=9, max_size=9)


def split(subscriptions: list[Subscription], parts: int) -> Snapshots:
    """A segment for each hash of the id; some may be empty."""
    places = [zlib.crc32(repr(s.id).encode()) % parts for s in subscriptions]
    return Snapshots.of(
        [
            build_segment([s for s, at in zip(subscriptions, places, strict=True) if at == place], PLAN)
            for place in range(parts)
        ]
    )


def held(snapshots: Snapshots) -> list[tuple]:
    """Every id with its score, in the order of the ids."""
    scores = [one.version.scores.tolist() for one in snapshots]
    ids = [one.part().ids.to_pylist() for one in snapshots]
    return sorted(pair for own in zip(ids, scores, strict=True) for pair in zip(*own, strict=True))


@settings(max_examples=sized(25, 80))
@given(
    names=st.one_of(string_ids, integer_ids),
    expressions=st.lists(own.expressions(max_depth=4), min_size=1, max_size=9),
    events=st.lists(own.python_events(), max_size=5),
    scores=st.lists(st.sampled_from([1.0, 2.0, -1.0]), min_size=9, max_size=9),
    parts=st.integers(1, 6),
)
def test_several_segments_answer_like_one(names, expressions, events, scores, parts):
    """Ids, their order, scores and rankings do not depend on how subscriptions are split."""
    subscriptions = [
        Subscription(name, tree, tocsin.to_text(tree), score)
        for name, tree, score in zip(names, expressions, scores, strict=False)
    ]
    one, several = Snapshots.of([build_segment(subscriptions, PLAN)]), split(subscriptions, parts)

    assert held(several) == held(one) == sorted((each.id, each.score) for each in subscriptions)
    assert asked(several, events) == asked(one, events)
    for k in (1, 3):
        assert asked(several, events, k) == asked(one, events, k)


def test_no_segments_answer_nothing() -> None:
    """An empty set is a set."""
    assert asked(Snapshots.of([])) == []
    assert asked(Snapshots.of([]), k=3) == []


def test_what_was_examined_adds_up() -> None:
    """Candidates are counted over all segments."""
    several = Snapshots.of([build(SUBSCRIPTIONS[:3]), build(SUBSCRIPTIONS[3:])])
    batch = encode_objects(enumerate([{"n": 1}] * 70), several.wanted)

    found = several.find(batch)

    assert found.candidates_examined == found.verified == 70 * len(SUBSCRIPTIONS)


def test_segments_with_ids_of_two_kinds_are_no_set() -> None:
    """String and integer ids have no common order."""
    with pytest.raises(SegmentError, match="mix string and integer ids"):
        Snapshots.of([build([{"id": 1, "where": "n = 1"}]), build([{"id": "1", "where": "n = 1"}])])
