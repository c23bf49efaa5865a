"""`Top(k)` by the cursors of an index that is asked for by name (Machanavajjhala et al. 2008, section 1)."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.engine.checking import is_good
from tests.engine.samples import pairs
from tests.index.asking import batch, compiled
from tests.naive.engine import Reference
from tocsin.columns.arrays import frozen
from tocsin.engine.store import Store
from tocsin.index import Best, Part, matcher_builder, ranker_builder
from tocsin.index.relaxed import intersection as module
from tocsin.index.relaxed.intersection import Intersection
from tocsin.kernels.answers.scores import BITS, block_maxima

RANKERS = ("ir_tree", "sopt_r_tree", "interval_tree", "segment_tree", "scored_r_tree", "ir_tree(branching=2)")


@given(
    subscriptions=st.lists(
        st.tuples(
            st.one_of(
                own.conjunctions_of_ranges(),
                own.conjunctions(),
                own.comparisons_with_constants(),
                own.expressions(max_depth=3),
            ),
            st.sampled_from([-1.0, 0.0, 1.0, 1.0, 2.5]),
        ),
        min_size=1,
        max_size=10,
    ),
    events=st.lists(st.one_of(own.grid_events(), own.python_events()), min_size=1, max_size=6),
    changes=st.lists(st.tuples(st.integers(0, 9), st.sampled_from([None, -2.0, 1.0, 9.0])), max_size=4),
    k=st.integers(1, 12),
)
def test_the_best_are_the_oracles(subscriptions, events, changes, k):
    """With new scores and without those that are gone, of a batch and of each event, by every ranker."""
    reference = Reference()
    for name, (tree, score) in enumerate(subscriptions):
        reference.subscribe(name, tree, score=score)
    engines = [tocsin.Engine(ranker) for ranker in RANKERS]
    for engine in engines:
        for name, (tree, score) in enumerate(subscriptions):
            engine.subscribe(name, tocsin.to_text(tree), score=score)
        engine.merge()
        engine.match_batch(events, ranking=tocsin.Top(k))
    for name, score in changes:
        if name not in reference.held:
            continue
        for held in (reference, *engines):
            if score is None:
                held.unsubscribe(name)
            else:
                held.rescore(name, score)
    good = [event for event in events if is_good(event)]
    expected = [reference.match(event, tocsin.Top(k)) for event in good]

    for ranker, engine in zip(RANKERS, engines, strict=True):
        assert [pairs(engine.match(event, ranking=tocsin.Top(k))) for event in good] == expected, ranker
        table = engine.match_batch(good, ranking=tocsin.Top(k)).table.to_pylist()
        assert [(row["event"], row["subscription"], row["score"]) for row in table] == [
            (event, *match) for event, found in enumerate(expected) for match in found
        ], ranker
        engine.close()


def boxes(count: int, dice: random.Random) -> list[str]:
    """Conjunctions of two to four wide ranges, and a few that are not ranges."""
    texts = []
    for number in range(count):
        names = dice.sample("abcde", dice.randint(2, 4))
        ranges = [f"{name} BETWEEN {low} AND {low + 60}" for name in names for low in [dice.randint(0, 60)]]
        texts.append(" AND ".join(ranges) + (" AND (a = 30 OR b = 40 OR NOT c = 3)" if number % 50 == 0 else ""))
    return texts


def event_of(dice: random.Random) -> dict[str, Any]:
    return {name: dice.randint(0, 100) for name in "abcde" if dice.random() < 0.9}


def ranked(texts: list[str], ranker: str, **options: int) -> tuple[Intersection, Part]:
    expressions = compiled(texts)
    scores = frozen(np.random.default_rng(3).integers(0, 50, len(texts)), np.float64)
    part = Part(pa.array(range(len(texts)), pa.int64()), expressions, pa.array(texts, pa.large_string()), scores)
    return Intersection(part, ranker_builder(ranker, {}), **options), part


@pytest.mark.parametrize("most", [None, 5, 200])
def test_few_intervals_are_read_for_a_few_of_the_best(most):
    """The search stops at the k-th match; events for which cursors return too much are left to the other index."""
    dice = random.Random(5)
    texts = boxes(3000, dice)
    index, part = ranked(texts, "ir_tree", **({} if most is None else {"most": most}))
    whole = matcher_builder("access", {}).build(part.compiled)
    events = batch(part.compiled, [event_of(dice) for _ in range(60)])
    maxima = frozen(block_maxima(part.scores, BITS), np.float64)

    def found(k: int) -> Any:
        return index.match(events, None, Best.of(k, part.scores, maxima, part.scores), whole)

    every = whole.match(events)
    few = found(3)
    for event in range(60):
        matches = every.subscriptions[slice(*every.starts[event : event + 2])].tolist()
        given_ones = few.subscriptions[slice(*few.starts[event : event + 2])].tolist()
        best = sorted(matches, key=lambda number: (-part.scores[number], number))[:3]
        assert given_ones == sorted(set(given_ones) & set(matches))
        assert set(best) <= set(given_ones)
    if most is None:
        assert few.candidates_examined * 5 < found(3000).candidates_examined


@pytest.mark.parametrize("most", [2, 100], ids=lambda most: f"{most} changed scores are tested")
@pytest.mark.parametrize("most_changed", [1000, 5], ids=lambda most: f"{most} scores may change")
def test_scores_that_change_all_the_time(most, most_changed, monkeypatch, tmp_path: Path):
    """Rescored, replaced, removed and merged, asked from several threads, then saved and loaded."""
    monkeypatch.setattr(module, "MOST_CHANGED", most)
    dice, reference = random.Random(8), Reference()
    engine = tocsin.Engine("ir_tree", delta_limit=64)
    engine._begin(Store(most_changed=most_changed))
    texts = boxes(300, dice)
    for name, where in enumerate(texts):
        score = float(dice.randint(0, 9))
        engine.subscribe(name, where, score=score)
        reference.subscribe(name, where, score=score)
    engine.merge()
    with ThreadPoolExecutor(3) as pool:
        for step in range(60):
            name, score = dice.randrange(300), float(dice.randint(0, 12))
            if step % 9 == 0 and name in reference.held:
                for held in (engine, reference):
                    held.unsubscribe(name)
            for held in (engine, reference):
                if name in reference.held:
                    held.rescore(name, score)
                else:
                    held.subscribe(name, texts[name], score=score)
            if step % 4 == 0:
                events, ranking = [event_of(dice) for _ in range(3)], tocsin.Top(dice.randint(1, 20))
                answers = pool.map(lambda event, by=ranking: pairs(engine.match(event, ranking=by)), events)
                assert list(answers) == [reference.match(event, ranking) for event in events]
    engine.save(tmp_path / "saved")
    loaded, event = tocsin.Engine.load(tmp_path / "saved", index="ir_tree"), event_of(dice)
    assert pairs(loaded.match(event, ranking=tocsin.Top(9))) == reference.match(event, tocsin.Top(9))
    assert pairs(loaded.match(event)) == reference.match(event)


def test_says_how_the_best_are_found():
    """By the index that was named, and by the default otherwise."""
    engine = tocsin.Engine("ir_tree(branching=8)")
    engine.subscribe("s", "a = 1 AND b < 3")
    engine.merge()
    assert engine.stats.segments[0].best_first.startswith("cursors of ir_tree(branching=8) for each attribute")
