"""After any sequence of changes an engine answers like a dictionary of subscriptions, each evaluated by itself.

One life, in four worlds: what matches whole, what holds in part, events with ranges, regions with keywords.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.engine.changes import Changes, World
from tests.engine.interval_samples import MATCHERS, UNLIMITED
from tests.engine.relaxed_samples import INDEXES, RANKERS, Asked
from tests.engine.samples import pairs
from tests.strategies.weighted import GRID
from tocsin import Range

pytestmark = pytest.mark.filterwarnings("ignore:BBOX")  # which are as wide as chance has it
SETTINGS: Final = settings(
    max_examples=max(5, settings.default.max_examples * 2 // 5),
    stateful_step_count=50,
    deadline=None,
)

points = st.one_of(own.python_events(), own.python_events(), own.python_events(), own.bad_events())


class WholeChanges(Changes):
    """All matches, and the best of them."""

    world = World(
        UNLIMITED,
        st.one_of(own.expressions(max_depth=4), own.expressions_about_elements(3)).map(lambda tree: (tree, {})),
        own.with_lists(points),
        ("n", "s", "flag"),
        ({}, {"n": 1, "s": "a", "flag": True}),
    )


class RelaxedChanges(Changes):
    """The subscriptions of which most holds."""

    world = World(
        INDEXES,
        own.weighted(st.one_of(own.conjunctions_of_ranges(), own.conjunctions_of_words(), own.conjunctions())),
        st.one_of(own.grid_events(), own.word_events(), own.python_events(), own.bad_events()),
        (*GRID, "s", "n", "flag", "words"),
        ({}, {"a": 1, "b": 2, "c": 3, "d": 4, "s": "red", "n": 1, "flag": True}),
        in_part=(1, 2, 3, 4, 5),
    )


class RangeChanges(Changes):
    """Events some of whose values are ranges, under every index."""

    world = World(
        (*MATCHERS, *UNLIMITED, *RANKERS),
        own.weighted(
            st.one_of(own.conjunctions_of_ranges(), own.comparisons_with_constants(), own.expressions(max_depth=4))
        ),
        st.one_of(
            own.interval_grid_events(),
            own.interval_grid_events(),
            own.interval_events(),
            st.one_of(own.grid_events(), own.python_events(), own.bad_events()),
        ),
        (*GRID, "n", "s"),
        ({"a": Range(1, 3), "b": Range(None, 2, contained=True), "c": 3}, {"a": 1, "n": 1}),
        in_part=(1, 3, 5),
        has_ranges=True,
    )


class RegionChanges(Changes):
    """Regions with keywords, polygons and alternatives among them, under every structure of theirs."""

    world = World(
        (
            "auto",
            *("token_grid", "rt_tree(least=2, most=4)", "rt_plus_tree(least=2, most=4)"),
            *("rt_plus_plus_tree(least=2, most=4)", "inverted_r_tree(least=2, most=4)", "spatial_first"),
            "keyword_first",
        ),
        st.one_of(own.region_expressions(), own.region_alternatives()).map(lambda tree: (tree, {})),
        st.one_of(own.region_events(), own.region_events(), own.region_events(), own.bad_events()),
        ("n", "s"),
        ({}, {"p": [1, 1], "l": ["a", "b"], "n": 1}),
    )


for life in (WholeChanges, RelaxedChanges, RangeChanges, RegionChanges):
    life.TestCase.settings = SETTINGS
TestWholeChanges = WholeChanges.TestCase
TestRelaxedChanges = RelaxedChanges.TestCase
TestRangeChanges = RangeChanges.TestCase
TestRegionChanges = RegionChanges.TestCase


@pytest.mark.parametrize("index", MATCHERS)
@pytest.mark.parametrize("ids", [("é", "a", "B"), (2**62, -5, 0)], ids=["strings", "integers"])
def test_a_life_in_small_steps(index: str, ids: tuple[Any, ...], tmp_path: Path) -> None:
    """New, merged, changed, rescored, replaced, saved and loaded, with ids of either kind."""
    first, second, third = ids
    event = {"a": Range(4, 6), "b": Range(1, 2, contained=True)}
    engine = tocsin.Engine(index)

    def found() -> list[tuple[Any, float]]:
        exact = pairs(engine.match(event))
        assert sorted(pairs(engine.match(event, ranking=tocsin.Top(9)))) == exact
        return exact

    engine.subscribe(first, "a = 4", score=1)
    engine.subscribe(second, "a = 7", score=2)
    assert found() == [(first, 1.0)]
    engine.merge()
    assert found() == [(first, 1.0)]
    engine.subscribe(second, "a = 6 AND b IN (1, 2)", score=3, replace=True)
    engine.subscribe(third, "a = 5 AND b BETWEEN 1 AND 2", score=3)
    engine.rescore(first, 4)
    assert found() == sorted([(first, 4.0), (third, 3.0)])
    engine.merge()
    engine.unsubscribe(first)
    assert found() == [(third, 3.0)]
    engine.save(tmp_path / "saved")
    engine.close()
    engine = tocsin.Engine.load(tmp_path / "saved", index=index)
    assert found() == [(third, 3.0)]
    engine.subscribe(second, "a = 6 AND NOT a = 6", score=5, replace=True)
    assert pairs(engine.match(event, ranking=tocsin.Top(1))) == [(second, 5.0)]
    assert pairs(engine.match({"a": 6, "b": 1})) == []
    engine.close()


@pytest.mark.parametrize("index", INDEXES)
def test_a_replaced_subscription_has_its_new_weights(index: str) -> None:
    """In the delta, and over a segment that holds the old ones."""
    engine = tocsin.Engine(index)
    event = {"a": 1, "b": 1}
    seen = []
    engine.subscribe(1, "a = 1 AND b = 2", weights={"a": 5})
    engine.subscribe(2, "a = 1 AND b = 1")
    for weights in ({"a": 3}, {"b": 4}, None):
        engine.subscribe(1, "a = 1 AND b = 2", weights=weights, replace=True)
        seen.append(pairs(engine.match(event, ranking=Asked(2).ranking())))
        engine.merge()
        seen.append(pairs(engine.match(event, ranking=Asked(2).ranking())))

    light = [(2, 2.0), (1, 1.0)]
    assert seen == [[(1, 3.0), (2, 2.0)]] * 2 + [light] * 4


@pytest.mark.parametrize("ranking", [None, tocsin.Similar(0.5, 0.3)])
def test_what_came_lately_is_merged_once_it_took_longer_to_look_at(ranking):
    """An event looks at most of the boxes of a delta. Few events never pay for a segment; answers stay the same."""
    with tocsin.Engine() as engine:
        for number in range(600):
            corner = number % 30, number // 30
            box = f"BBOX({corner[0]}, {corner[1]}, {corner[0] + 2}, {corner[1] + 2})"
            engine.subscribe(number, f"S_INTERSECTS(place, {box}) AND A_CONTAINS(words, ('w{number % 3}'))")
        events = [{"place": [n * 7 % 31, n * 3 % 21], "words": ["w0", f"w{n % 4}"]} for n in range(2_000)]
        first = engine.match_batch(events[:100], ranking=ranking)
        assert engine.stats.delta == 600
        expected = engine.match_batch(events, ranking=ranking).table
        assert expected.slice(0, len(first)).equals(first.table)

        for _ in range(50):
            assert engine.match_batch(events, ranking=ranking).table.equals(expected)
            while engine.stats.is_merging:
                time.sleep(0.001)
            if not engine.stats.delta:
                break

        assert engine.stats.delta == 0
        assert len(engine.stats.segments) == 1
        assert engine.match_batch(events, ranking=ranking).table.equals(expected)
