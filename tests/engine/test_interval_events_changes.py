"""An engine that changes answers events with ranges like a dictionary of subscriptions, each judged by itself."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tocsin
from tests import strategies as own
from tests.engine.interval_samples import MATCHERS, UNLIMITED, is_good
from tests.engine.relaxed_samples import INTEGER_IDS, RANKERS, STRING_IDS, Asked, questions
from tests.engine.samples import pairs
from tests.engine.test_engine_changes import check_batch, expected, listed, outcome
from tests.engine.test_relaxed_changes import Both
from tests.naive.engine import Reference
from tests.strategies.weighted import GRID, Weighted
from tocsin import Range

WHOLE: Final = tocsin.Top(1000)
IN_PART: Final = Asked(1000)
INDEXES: Final = (*MATCHERS, *UNLIMITED, *RANKERS)

places = st.integers(0, len(STRING_IDS) - 1)
trees = st.one_of(own.conjunctions_of_ranges(), own.comparisons_with_constants(), own.expressions(max_depth=4))
weighted = own.weighted(trees)
points = st.one_of(own.grid_events(), own.python_events(), own.bad_events())
events = st.one_of(own.interval_grid_events(), own.interval_grid_events(), own.interval_events(), points)
top_rankings = st.sampled_from([None, None, tocsin.Top(1), tocsin.Top(3), WHOLE])
scores = st.sampled_from([1.0, 2.0, 0.5, -1.0, 0.0])


class IntervalChanges(RuleBasedStateMachine):
    """The engine, the reference, and the last events that were seen, which are matched again after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.reference = Reference()
        self.seen: list[Any] = [{"a": Range(1, 3), "b": Range(None, 2, contained=True), "c": 3}, {"a": 1, "n": 1}]
        self.folder = Path(tempfile.mkdtemp(prefix="tocsin-intervals-"))
        self.engine: Any = None

    def teardown(self) -> None:
        if self.engine is not None:
            self.engine.close()
        shutil.rmtree(self.folder)

    @initialize(
        ids=st.sampled_from([STRING_IDS, INTEGER_IDS]),
        index=st.sampled_from(INDEXES),
        delta_limit=st.sampled_from([4, 16, 1, 8192]),
        first=st.lists(weighted, max_size=6),
    )
    def start(self, ids: tuple[Any, ...], index: str, delta_limit: int, first: list[Weighted]) -> None:
        self.ids, self.index, self.delta_limit = ids, index, delta_limit
        self.engine = tocsin.Engine(index, delta_limit=delta_limit)
        for place, one in enumerate(first):
            self.subscribe(place, one, 1.0, False)

    def question(self, ranking: tocsin.Top | None, asked: Asked) -> Any:
        """What an index of the engine's kind answers: a ranker of dimensions, or a matcher of what matches whole."""
        if self.index in RANKERS:
            return asked
        return asked if self.index in ("auto", "scan") and asked.k % 2 else ranking

    @property
    def everything(self) -> tuple[Any, ...]:
        """The questions whose answers show all that the engine holds."""
        if self.index in RANKERS:
            return (IN_PART,)
        return (WHOLE, IN_PART) if self.index in ("auto", "scan") else (WHOLE,)

    def chosen(self, place: int) -> Any:
        """An id that is there, three times in four; or perhaps not."""
        held = sorted(self.reference.held)
        return held[place % len(held)] if held and place > 2 else self.ids[place]

    @rule(place=places, one=weighted, score=scores, replace=st.booleans())
    def subscribe(self, place: int, one: Weighted, score: float, replace: bool) -> None:
        """What the index cannot hold is refused and changes nothing."""
        (tree, weights), name = one, self.ids[place]
        fields = {"score": score, "weights": weights, "replace": replace}
        try:
            ours = outcome(lambda: self.engine.subscribe(name, tocsin.to_text(tree), **fields) or "taken in")
        except tocsin.UnsuitableIndex:
            ours = "bad"
        if ours == "bad":
            assert self.index not in (*UNLIMITED, *RANKERS)
            return

        assert ours == outcome(lambda: self.reference.subscribe(name, tree, **fields) or "taken in")

    @rule(place=places)
    def unsubscribe(self, place: int) -> None:
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.unsubscribe(name))

        assert ours == outcome(lambda: self.reference.unsubscribe(name))

    @rule(place=places, score=scores)
    def rescore(self, place: int, score: float) -> None:
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.rescore(name, score))

        assert ours == outcome(lambda: self.reference.rescore(name, score))

    @rule(event=events, ranking=top_rankings, asked=questions((*GRID, "n", "s")))
    def match(self, event: Any, ranking: tocsin.Top | None, asked: Asked) -> None:
        question = self.question(ranking, asked)

        ours = outcome(lambda: pairs(Both(self.engine).match(event, question)))

        assert ours == outcome(lambda: self.reference.match(event, question))
        self.seen = [*self.seen[-3:], event]

    @rule(some=st.lists(events, max_size=3), ranking=top_rankings, asked=questions((*GRID, "n", "s")))
    def match_batch(self, some: list[Any], ranking: tocsin.Top | None, asked: Asked) -> None:
        question = self.question(ranking, asked)

        check_batch(Both(self.engine), self.reference, [*self.seen, *some], question)

    @rule(place=places, event=events.filter(is_good))
    def explain(self, place: int, event: Any) -> None:
        """It matched exactly where the reference finds it."""
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.explain(name, event).matched)

        held = dict(self.reference.match(event))
        assert ours == (name in held if name in self.reference else "unknown")

    @rule()
    def merge(self) -> None:
        self.engine.merge()

        assert len(self.engine.stats.segments) <= 1

    @rule(go_on=st.booleans())
    def save_and_load(self, go_on: bool) -> None:
        self.engine.save(self.folder / "saved")
        loaded = tocsin.Engine.load(self.folder / "saved", index=self.index, delta_limit=self.delta_limit)

        self.check(loaded)
        if go_on:
            self.engine, loaded = loaded, self.engine
        loaded.close()

    @invariant()
    def they_answer_the_same(self) -> None:
        """The events seen last, with all scores."""
        if self.engine is not None:
            self.check(self.engine)

    def check(self, engine: Any) -> None:
        for question in self.everything:
            assert listed(Both(engine), self.seen, question) == expected(self.reference, self.seen, question)  # type: ignore[arg-type]


IntervalChanges.TestCase.settings = settings(
    max_examples=max(20, settings.default.max_examples * 2 // 5),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestIntervalChanges = IntervalChanges.TestCase


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
