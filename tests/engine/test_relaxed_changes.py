"""An engine that changes answers relaxed rankings like a dictionary of weighted subscriptions."""

from __future__ import annotations

import random
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
from tests.engine.relaxed_samples import INDEXES, INTEGER_IDS, STRING_IDS, Asked, questions
from tests.engine.samples import pairs
from tests.engine.test_engine_changes import check_batch, expected, listed, outcome
from tests.naive.engine import Reference
from tests.strategies.weighted import GRID, Weighted
from tocsin.model.ranking import Top

EVERYTHING: Final = Asked(1000)
places = st.integers(0, len(STRING_IDS) - 1)
weighted = own.weighted(st.one_of(own.conjunctions_of_ranges(), own.conjunctions_of_words(), own.conjunctions()))
events = st.one_of(own.grid_events(), own.word_events(), own.python_events(), own.bad_events())
NAMES: Final = (*GRID, "s", "n", "flag", "words")
BAD_WEIGHTS: Final = ({"n": -1}, {"n": float("nan")}, {"n": True}, {"no such name": 1})


class Both:
    """The engine where a relaxed ranking is tocsin's, with the methods that `check_batch` and `listed` use."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def match(self, event: Any, ranking: Any = None) -> Any:
        return self.engine.match(event, ranking=made(ranking))

    def match_batch(self, events: Any, ranking: Any = None, lists: bool = False) -> Any:
        return self.engine.match_batch(events, ranking=made(ranking), lists=lists)


def made(ranking: Any) -> Any:
    """What tocsin takes for what the reference was asked."""
    return ranking.ranking() if isinstance(ranking, Asked) else ranking


class RelaxedChanges(RuleBasedStateMachine):
    """The engine, the reference, and the last events that were seen, which are matched again after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.reference = Reference()
        self.seen: list[Any] = [{}, {"a": 1, "b": 2, "c": 3, "d": 4, "s": "red", "n": 1, "flag": True}]
        self.folder = Path(tempfile.mkdtemp(prefix="tocsin-relaxed-"))
        self.engine: Any = None

    def teardown(self) -> None:
        if self.engine is not None:
            self.engine.close()
        shutil.rmtree(self.folder)

    @initialize(
        ids=st.sampled_from([STRING_IDS, INTEGER_IDS]),
        index=st.sampled_from(INDEXES),
        delta_limit=st.sampled_from([1, 4, 16, 8192]),
        first=st.lists(weighted, max_size=6),
    )
    def start(self, ids: tuple[Any, ...], index: str, delta_limit: int, first: list[Weighted]) -> None:
        self.ids, self.index, self.delta_limit = ids, index, delta_limit
        self.engine = tocsin.Engine(index, delta_limit=delta_limit)
        for place, one in enumerate(first):
            self.subscribe(place, one, False, 1.0, False)

    def chosen(self, place: int) -> Any:
        """An id that is there, three times in four; or perhaps not."""
        held = sorted(self.reference.held)
        return held[place % len(held)] if held and place > 2 else self.ids[place]

    @rule(
        place=places,
        one=weighted,
        as_json=st.booleans(),
        score=st.sampled_from([1.0, 5.0, -1.0]),
        replace=st.booleans(),
    )
    def subscribe(self, place: int, one: Weighted, as_json: bool, score: float, replace: bool) -> None:
        (tree, weights), name = one, self.ids[place]
        where = tocsin.to_json(tree) if as_json else tocsin.to_text(tree)
        fields = {"score": score, "weights": weights, "replace": replace}

        ours = outcome(lambda: self.engine.subscribe(name, where, **fields))

        assert ours == outcome(lambda: self.reference.subscribe(name, tree, **fields))

    @rule(place=places, weights=st.sampled_from(BAD_WEIGHTS))
    def subscribe_with_bad_weights(self, place: int, weights: dict[str, Any]) -> None:
        with pytest.raises(tocsin.RecordError):
            self.engine.subscribe(self.ids[place], "n = 1", weights=weights, replace=True)

    @rule(drawn=st.lists(st.tuples(places, weighted, st.booleans()), max_size=6), replace=st.booleans())
    def subscribe_many(self, drawn: list[tuple[int, Weighted, bool]], replace: bool) -> None:
        ours, same = [], []
        for place, (tree, weights), bad in {place: (place, one, bad) for place, one, bad in drawn}.values():
            record = {"id": self.ids[place], "weights": {**weights, "no such name": 1} if bad else weights}
            ours.append({**record, "where": tocsin.to_text(tree)})
            same.append({**record, "where": tree})

        report = self.engine.subscribe_many(ours, replace=replace)

        accepted, refused = self.reference.subscribe_many(same, replace=replace)
        assert (report.accepted, [(r.row, r.id) for r in report.errors]) == (len(accepted), refused)

    @rule(place=places)
    def unsubscribe(self, place: int) -> None:
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.unsubscribe(name))

        assert ours == outcome(lambda: self.reference.unsubscribe(name))

    @rule(place=places, score=st.sampled_from([9.0, -9.0]))
    def rescore(self, place: int, score: float) -> None:
        """Which changes no relaxed score."""
        name = self.chosen(place)

        ours = outcome(lambda: self.engine.rescore(name, score))

        assert ours == outcome(lambda: self.reference.rescore(name, score))

    @rule(event=events, asked=questions(NAMES))
    def match(self, event: Any, asked: Asked) -> None:
        ours = outcome(lambda: pairs(Both(self.engine).match(event, asked)))

        assert ours == outcome(lambda: self.reference.match(event, asked))
        self.seen = [*self.seen[-3:], event]

    @rule(some=st.lists(events, max_size=3), asked=questions(NAMES))
    def match_batch(self, some: list[Any], asked: Asked) -> None:
        check_batch(Both(self.engine), self.reference, [*self.seen, *some], asked)

    @rule(event=events, ranking=st.sampled_from([None, Top(1), Top(3)]))
    def match_as_a_whole(self, event: Any, ranking: Top | None) -> None:
        """Other rankings of the same engine; which of them a ranker index answers is told elsewhere."""
        if self.index not in ("auto", "scan"):
            return
        ours = outcome(lambda: pairs(self.engine.match(event, ranking=ranking)))

        assert ours == outcome(lambda: self.reference.match(event, ranking))

    @rule()
    def merge(self) -> None:
        self.engine.merge()

        assert len(self.engine.stats.segments) <= 1

    @rule(place=st.integers(0, 1), go_on=st.booleans())
    def save_and_load(self, place: int, go_on: bool) -> None:
        """Weights are kept in the folder."""
        self.engine.save(self.folder / str(place))
        loaded = tocsin.Engine.load(self.folder / str(place), index=self.index, delta_limit=self.delta_limit)

        assert listed(Both(loaded), self.seen, EVERYTHING) == expected(self.reference, self.seen, EVERYTHING)  # type: ignore[arg-type]
        if go_on:
            self.engine, loaded = loaded, self.engine
        loaded.close()

    @invariant()
    def they_answer_the_same(self) -> None:
        """The events seen last, with all scores."""
        if self.engine is not None:
            assert listed(Both(self.engine), self.seen, EVERYTHING) == expected(self.reference, self.seen, EVERYTHING)  # type: ignore[arg-type]


RelaxedChanges.TestCase.settings = settings(
    max_examples=max(20, settings.default.max_examples * 2 // 5),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestRelaxedChanges = RelaxedChanges.TestCase


class Soak:
    """Cheap random changes to an engine and its reference; `dice` decides everything."""

    def __init__(self, dice: random.Random, index: str, delta_limit: int) -> None:
        self.dice = dice
        self.engine: Any = tocsin.Engine(index, delta_limit=delta_limit)
        self.reference = Reference()

    def step(self) -> None:
        name = self.dice.randrange(200)
        kind = self.dice.choices(("take", "many", "drop", "rescore", "merge"), (60, 4, 25, 10, 0.5))[0]
        if kind == "take":
            fields = self.fields(name)
            del fields["id"]
            self.both("subscribe", name, fields.pop("where"), **fields, replace=self.dice.random() < 0.5)
        elif kind == "many":
            records = [self.fields(n) for n in self.dice.sample(range(200), self.dice.randint(1, 20))]
            report = self.engine.subscribe_many(records, replace=True)
            assert report.accepted == len(self.reference.subscribe_many(records, replace=True)[0])
        elif kind == "merge":
            self.engine.merge()
        else:
            self.both(*(("unsubscribe", name) if kind == "drop" else ("rescore", name, self.dice.random())))

    def both(self, method: str, *arguments: Any, **fields: Any) -> None:
        """Tell both the same; both refuse it, or neither."""
        ours = outcome(lambda: getattr(self.engine, method)(*arguments, **fields))

        assert ours == outcome(lambda: getattr(self.reference, method)(*arguments, **fields))

    def fields(self, name: int) -> dict[str, Any]:
        names = self.dice.sample("abcds", self.dice.randint(1, 4))
        parts = [self.part(attribute) for attribute in names]
        weights = {attribute: self.dice.choice(own.WEIGHTS) for attribute in names if self.dice.random() < 0.6}
        return {"id": name, "where": " AND ".join(parts), "weights": weights or None}

    def part(self, name: str) -> str:
        low = self.dice.randint(0, 9)
        if name == "s":
            return self.dice.choice((f"s = 'w{low % 4}'", f"s IN ('w{low % 4}', 'w0')", "(s = 'w1' OR a = 3)"))
        return self.dice.choice((f"{name} = {low}", f"{name} BETWEEN {low} AND {low + 3}", f"{name} > {low}"))

    def event(self) -> dict[str, Any]:
        event = {name: self.dice.randint(0, 10) for name in "abcd"} | {"s": f"w{self.dice.randint(0, 4)}"}
        return {name: value for name, value in event.items() if self.dice.random() < 0.8}


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("delta_limit", [4, 64])
def test_a_long_life_of_small_changes_is_answered_like_the_reference(index: str, delta_limit: int) -> None:
    """Hundreds of changes of every kind, many merges, and after every twenty the answers are the reference's."""
    dice = random.Random(f"{index} {delta_limit}")
    soak = Soak(dice, index, delta_limit)

    for count in range(1, 601):
        soak.step()
        if count % 20:
            continue
        asked = Asked(
            dice.randint(1, 20), dice.choice(("sum", "max", "min")), dice.choice(((), (), ("a",), ("s", "b")))
        )
        some = [soak.event() for _ in range(4)]
        check_batch(Both(soak.engine), soak.reference, some, asked)  # type: ignore[arg-type]
        assert pairs(Both(soak.engine).match(some[0], asked)) == soak.reference.match(some[0], asked)

    assert len(soak.engine) == len(soak.reference) > 50
    soak.engine.close()


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
