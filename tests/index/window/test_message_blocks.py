"""A search in blocks of messages finds what a search in lists finds, for whoever searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests.index.window.test_structures import SIZE, stream
from tests.naive.window import NaiveWindow
from tests.window.test_against_oracle import BOUNDS, WEIGHTS, WORDS, places, words
from tocsin.index.window.message_blocks import BatchSearch
from tocsin.window.frequencies import TERM_FREQUENCIES

alphas = st.sampled_from([0.0, 0.3, 0.5, 0.999]) | st.floats(0, 1, exclude_max=True)
wanteds = st.lists(st.tuples(words, places, st.integers(1, 4), alphas), min_size=1, max_size=12)
messages = st.lists(st.tuples(st.lists(st.sampled_from(WORDS), max_size=8), places), min_size=1, max_size=60)
windows = st.sampled_from([{"size": 1}, {"size": 7}, {"size": 50}, {"time": 9.0}])


@pytest.mark.parametrize("far", [0.0, 5e6], ids=["near", "far"])
def test_a_window_that_was_filled_is_the_oracle(far: float) -> None:
    """Ties, words that nobody has, windows of time, a second filling, and what is pushed afterwards."""

    @given(
        wanteds=wanteds,
        first=messages,
        then=messages,
        kind=windows,
        weights=st.sampled_from([None, WEIGHTS]),
        frequency=st.sampled_from(TERM_FREQUENCIES),
    )
    def compare(wanteds: Any, first: Any, then: Any, kind: Any, weights: Any, frequency: Any) -> None:
        bounds = tuple(side + far for side in BOUNDS)
        naive = NaiveWindow(bounds, kind.get("size"), kind.get("time"), weights, frequency)
        window = tocsin.Window(bounds=bounds, weights=weights, term_frequency=frequency, **kind)
        window._sliding.batch_search = BatchSearch(many=1)  # however few search, they search in blocks
        for name, (own, place, k, alpha) in enumerate(wanteds):
            where = (place[0] + far, place[1] + far)
            window.subscribe(name, words=own, location=where, k=k, alpha=alpha)
            naive.subscribe(name, own, where, k, alpha)
        now = 0
        for part in (first, then):
            records = []
            for own, place in part:
                now += 1
                records.append({"words": own, "location": (place[0] + far, place[1] + far), "time": now})
                naive.push(own, records[-1]["location"], time=float(now))
            assert len(window.push_batch(records, changes=False)) == 0
            assert [window.results(name) for name in window] == [naive.results(name) for name in window]
        told = naive.push(WORDS, (4 + far, 2 + far), time=now + 2.0)
        changes = window.push(words=WORDS, location=(4 + far, 2 + far), time=now + 2.0)
        assert [tuple(one) for one in changes] == [tuple(one) for one in told or []]

    compare()


@pytest.mark.parametrize("index", ["blocks(slack=1)", "blocks", "k_max", "k_skyband"])
def test_filled_at_once_or_message_by_message(index: str) -> None:
    """Over hundreds of subscriptions with many words: the same best, and the same changes from then on."""
    subscriptions, messages = stream()
    windows = [tocsin.Window(2 * SIZE, bounds=(0, 0, 1, 1), index=index) for _ in range(3)]
    for window in windows[:2]:
        window.subscribe_many(subscriptions)
    windows[0].push_batch(messages[:1000])
    windows[1].push_batch(messages[:1000], changes=False)
    windows[2].push_batch(messages[:1000], changes=False)
    windows[2].subscribe_many(subscriptions)

    best = [window.results_table() for window in windows]
    assert best[0].equals(best[1])
    assert best[0].equals(best[2])
    tables = [window.push_batch(messages[1000:]).table for window in windows]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert windows[1].stats.reevaluations >= len(subscriptions)


def test_few_messages_into_a_full_window_are_pushed_one_by_one() -> None:
    """A search of everything does not pay for them; and after one that stops at a bad message all are searched for."""
    subscriptions, messages = stream()
    window = tocsin.Window(SIZE, bounds=(0, 0, 1, 1))
    window.subscribe_many(subscriptions)
    window.push_batch(messages[:SIZE], changes=False)
    before = window.stats.reevaluations
    answer = window.push_batch(messages[SIZE : SIZE + 5], changes=False)
    assert (len(answer), answer.stats.messages) == (0, 5)
    assert window.stats.reevaluations - before < len(subscriptions)

    parts = iter([*messages[:200], {"words": ["w1"], "location": None}])
    with pytest.raises(tocsin.RecordError):
        window.push_batch(parts, strict=True, changes=False)
    other = tocsin.Window(SIZE, bounds=(0, 0, 1, 1), index="inverted_file")
    other.subscribe_many(subscriptions)
    taken = window.stats.messages - SIZE - 5
    other.push_batch([*messages[: SIZE + 5], *messages[:taken]])
    scores = [[score for _, score in window.results(name)] for name in window]
    assert scores == [[score for _, score in other.results(name)] for name in other]
    assert np.isfinite([score for own in scores for score in own]).all()
