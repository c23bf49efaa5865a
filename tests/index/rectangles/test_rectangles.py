"""What every structure of rectangles has in common: it answers like the oracle, and looks at little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import assert_alike, assert_indexes_are_the_oracle, batch, compiled, pairs
from tocsin.index import Matcher, parse_index
from tocsin.index.boolean.scan import Scan

STRUCTURES = (
    "tiles",
    "vcr",
    "vcr(lx=1, ly=1, hashed=0)",
    "vcr(lx=4, ly=2, hashed=1)",
    "vcr(lx=4, ly=4, overlapped=1, places=100003)",
    "vcr(lx=2, ly=8, overlapped=1, hashed=0)",
    "vcr(overlapped=1, hashed=1)",
    "r_tree",
    "r_tree(branching=2)",
)


def build(structure: str, texts: list[str]) -> Matcher:
    registration, options = parse_index(structure)
    return registration.builder(**options).build(compiled(texts))


@given(
    expressions=st.lists(own.rectangle_expressions(), min_size=1, max_size=12),
    events=st.lists(own.map_events(), min_size=1, max_size=12),
    gone=st.sets(st.integers(0, 11)),
)
def test_answers_like_the_oracle(expressions, events, gone):
    """Ranges and boxes of any kind, alone and beside other conditions, events of points, boxes and neither."""
    assert_indexes_are_the_oracle(STRUCTURES, expressions, events, gone)


def random_texts(count: int, random: np.random.Generator) -> list[str]:
    """Small and large rectangles together, and some without an end."""
    texts = []
    for x, y, size in zip(
        random.uniform(0, 1000, count), random.uniform(0, 1000, count), 10 ** random.uniform(-2, 3, count), strict=True
    ):
        texts.append(f"x BETWEEN {x:.3f} AND {x + size:.3f} AND y BETWEEN {y:.3f} AND {y + size / 3:.3f}")
    return [*texts, "x > 999 AND y < 5", "x < 500 AND y < 500", "x BETWEEN 10 AND 20", "y = 7"]


@pytest.mark.parametrize("structure", ["tiles", "r_tree", "vcr"])
def test_little_is_looked_at(structure):
    """Of two ranges on each of two attributes nothing comes up that does not match."""
    random = np.random.default_rng(5)
    matcher = build(structure, random_texts(2000, random))
    events = [{"x": x, "y": y} for x, y in random.uniform(-10, 1010, (500, 2)).tolist()]

    found = matcher.match(batch(matcher, events))

    assert_alike(found, Scan.build(matcher.expressions()).match(batch(matcher, events)))
    assert found.candidates_examined == len(found.subscriptions)
    assert found.verified == 0


@pytest.mark.parametrize("structure", ["tiles", "r_tree", "vcr"])
def test_what_is_asked_for_beside_a_rectangle_is_verified(structure):
    """The third dimension, and any other condition, for those alone whose rectangle was met."""
    texts = [f"x BETWEEN {n} AND {n + 1} AND y BETWEEN 0 AND 1 AND z BETWEEN 0 AND {n}" for n in range(50)]
    texts += [f"x = {n} AND name LIKE 'a%'" for n in range(50)]
    matcher = build(structure, texts)

    found = matcher.match(batch(matcher, [{"x": 7, "y": 0.5, "z": 7, "name": "abc"}, {"x": 7, "y": 0.5, "z": 8}]))

    assert pairs(found) == [(0, 7), (0, 57)]
    assert (found.candidates_examined, found.verified) == (3, 3)
    assert matcher.places() == {"one rectangle": 0, "a rectangle and other conditions": 100, "never satisfied": 0}


def test_the_two_ranges_that_leave_least_are_the_rectangle():
    """Of three dimensions the most selective ones; of a box and ranges the one that is the smaller part of the map."""
    texts = [f"x BETWEEN {n} AND 90 AND y BETWEEN {n} AND {n + 1} AND z = {n}" for n in range(90)]
    texts += [f"S_INTERSECTS(p, BBOX({n}, {n}, {n}, {n})) AND x BETWEEN 0 AND 90" for n in range(90)]

    matcher = build("tiles", texts)

    assert "y and z" in matcher.place(3)
    assert "looked for in a rectangle of p;" in matcher.place(93)
    assert matcher.place(3).startswith("looked for in a rectangle of y and z; the other conditions are verified")


def test_a_contradiction_is_never_satisfied():
    """It is in no group, and takes no rectangle."""
    matcher = build("tiles", ["x BETWEEN 5 AND 3 AND y = 1", "x = 4 AND y = 1"])

    assert pairs(matcher.match(batch(matcher, [{"x": 4, "y": 1}]))) == [(0, 1)]
    assert matcher.place(0) == "never satisfied"
    assert matcher.places()["never satisfied"] == 1


@pytest.mark.parametrize("structure", ["tiles", "r_tree", "vcr"])
def test_an_engine_changes_over_it(structure):
    """Additions, removals, merging, and the best; like one with the default index."""
    texts = random_texts(300, np.random.default_rng(1))
    engines = [tocsin.Engine(structure, delta_limit=100), tocsin.Engine(delta_limit=100)]
    events = [{"x": float(n * 37 % 1000), "y": float(n * 91 % 1000)} for n in range(200)]
    for engine in engines:
        engine.subscribe_many({"id": n, "where": text, "score": n % 11} for n, text in enumerate(texts))
        for number in range(0, 300, 7):
            engine.unsubscribe(number)
        engine.subscribe(1000, "x BETWEEN 1 AND 900 AND y BETWEEN 1 AND 900", score=99)

    for ranking in (None, tocsin.Top(3)):
        one, other = (engine.match_batch(events, ranking=ranking).table for engine in engines)
        assert one.equals(other)
    for engine in engines:
        engine.merge()
    assert engines[0].match_batch(events).table.equals(engines[1].match_batch(events).table)


@pytest.mark.parametrize("structure", ["tiles", "r_tree", "vcr"])
def test_it_is_saved_and_opened(structure, tmp_path):
    """Its expressions are; the structure is built of them anew, with its options."""
    with tocsin.Engine(structure) as engine:
        engine.subscribe_many(
            {"id": n, "where": text} for n, text in enumerate(random_texts(50, np.random.default_rng()))
        )
        engine.save(tmp_path)
        with tocsin.Engine.load(tmp_path) as again:
            events = [{"x": float(n), "y": float(n)} for n in range(0, 1000, 10)]
            assert again.match_batch(events).table.equals(engine.match_batch(events).table)
            assert structure in str(again.stats)


@pytest.mark.parametrize(
    "index",
    [
        "vcr(lx=3)",
        "vcr(ly=-4)",
        "vcr(lx=65536)",
        "vcr(hashed=2)",
        "vcr(overlapped=2)",
        "vcr(places=-1)",
        "vcr(places=9, hashed=0)",
        "r_tree(branching=1)",
    ],
)
def test_odd_options_are_refused(index):
    """What came, and what is allowed."""
    with pytest.raises(tocsin.InvalidInput, match=r"power of two|hashed 0, 1|size of a hash table|2 to 1024"):
        tocsin.Engine(index)


@pytest.mark.parametrize("text", ["S_INTERSECTS(p, BBOX(200, 0, 1, 1))", "S_INTERSECTS(p, BBOX(0, 2, 1, 1))"])
def test_a_reversed_box_is_refused(text):
    """Where it is written, by the language."""
    with pytest.raises(tocsin.ExpressionError, match="minimum above its maximum"):
        tocsin.parse(text)


def test_a_place_that_is_no_number_is_nowhere():
    """It meets nothing, and the rest is served."""
    answer = tocsin.match(
        [{"id": 1, "where": "S_INTERSECTS(p, BBOX(0, 0, 2, 2))"}],
        [{"p": [1, 1]}, {"p": [float("nan"), 1.0]}, {"p": [1.0, 2.0]}],
        index="tiles",
    )

    assert answer.table["event"].to_pylist() == [0, 2]
