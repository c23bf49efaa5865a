"""Scores change at any moment; what a reader has been given never does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tocsin.columns.arrays import frozen
from tocsin.kernels.answers.scores import BITS, block_maxima
from tocsin.segment.scores import Scores, Version

COUNT = 150
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, COUNT - 1), st.integers(-3, 3).map(float)),
        st.tuples(st.just("read"), st.booleans()),
        st.tuples(st.just("release"), st.integers(0, 5)),
    ),
    max_size=400,
)


@given(steps=steps)
def test_a_version_is_the_scores_of_its_moment_for_as_long_as_it_is_held(steps):
    """Against a plain list, copied for each reader; the maxima are those of the blocks."""
    now = [float(number % 7) for number in range(COUNT)]
    scores = Scores(frozen(np.array(now), np.float64))
    held: list[tuple[Version, list[float]]] = []
    for step in steps:
        if step[0] == "put":
            scores.put(step[1], step[2])
            now[step[1]] = step[2]
        elif step[0] == "read":
            version = scores.version()
            assert version.scores.tolist() == now
            if step[1]:
                version.users += 1
                held.append((version, now.copy()))
        elif step[1] < len(held):
            held.pop(step[1])[0].users -= 1
        for version, then in held:
            assert version.scores.tolist() == then
            assert version.maxima.tolist() == block_maxima(np.array(then), BITS).tolist()
        assert [scores.get(number) for number in (0, 1, COUNT - 1)] == [now[0], now[1], now[-1]]


def test_two_versions_take_turns():
    """However often scores change while each reader holds the latest, no third array is made."""
    scores = Scores(frozen(np.zeros(1000), np.float64))
    seen = set()
    before = scores.version()
    for turn in range(50):
        before.users += 1
        scores.put(turn, 1.0)
        latest = scores.version()
        seen.add(id(latest.scores.base))
        before.users -= 1
        before = latest

    assert len(seen) == 2
    assert before.scores.sum() == 50


def test_changes_that_nobody_reads_do_not_gather():
    """An engine that is scored for hours and never asked keeps no list of what was done."""
    scores = Scores(frozen(np.zeros(10), np.float64))
    for turn in range(1000):
        scores.put(turn % 10, float(turn))

    assert len(scores._changes) <= 11
    assert scores.version().scores.tolist() == [float(turn) for turn in range(990, 1000)]


def test_the_best_of_an_engine_follow_its_scores():
    """Segments, delta and the gone; scores raised and lowered, blocks of 64 apart."""
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": n, "where": "a >= 1", "score": n % 100} for n in range(1000)])
    engine.subscribe(5000, "a >= 1", score=99.5)
    engine.rescore(700, 200)
    engine.rescore(99, -1)
    engine.unsubscribe(199)

    found = [(match.subscription, match.score) for match in engine.match({"a": 1}, ranking=tocsin.Top(4))]

    assert found == [(700, 200.0), (5000, 99.5), (299, 99.0), (399, 99.0)]
