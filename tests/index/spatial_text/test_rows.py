"""Subscriptions with alternatives become rows, and each is an answer once (Yu et al. 2015, section 2.1)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import assert_alike, assert_indexes_are_the_oracle, batch, compiled, pairs
from tests.index.spatial_text.test_regions import STRUCTURES, build, random_messages
from tests.naive import match as naive
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import parse_index
from tocsin.index.boolean.scan import Scan
from tocsin.index.spatial_text.regions import Held
from tocsin.index.spatial_text.rows import MOST_KEYWORDS, MOST_ROWS

BOX = "S_INTERSECTS(p, BBOX(0, 0, 1, 1))"
PHONES = "A_CONTAINS(l, ('iphone4s', 'AT&T')) OR A_CONTAINS(l, ('ipad2', 'AT&T'))"
HERE = [0.5, 0.5]


@given(
    trees=st.lists(st.one_of(own.region_alternatives(), own.region_expressions()), min_size=1, max_size=8),
    events=st.lists(own.region_events(), min_size=1, max_size=10),
    gone=st.sets(st.integers(0, 7)),
)
def test_answers_like_the_oracle(trees, events, gone):
    """Whatever the structures take, they answer as the oracle does, without those that are gone."""
    while trees:
        try:
            Held.of(compile_expressions(trees))
            break
        except tocsin.UnsuitableIndex as error:
            del trees[error.number]
    assert_indexes_are_the_oracle(STRUCTURES, trees, events, gone)


@given(tree=own.region_alternatives(), events=st.lists(own.region_events(), min_size=1, max_size=6))
def test_what_is_loaded_answers_like_what_was_built(tree, events):
    """Saved arrays hold the rows, or the expressions that they follow from."""
    expressions = compile_expressions([tree])
    for name in ("token_grid", "rt_plus_plus_tree", "keyword_first"):
        builder = parse_index(name)[0].builder()
        try:
            built = builder.build(expressions)
        except tocsin.UnsuitableIndex:
            continue
        loaded, given_events = builder.load(built.arrays()), batch(expressions, events)

        assert pairs(loaded.match(given_events)) == naive.match([(0, tree)], events), name
        assert (loaded.sizes(), loaded.places(), loaded.place(0)) == (built.sizes(), built.places(), built.place(0))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_example_of_the_paper(structure):
    """ "(iphone4s or ipad2) and AT&T" is two rows; who has all three words gets one answer, from two candidates."""
    texts = [f"{BOX} AND ({PHONES})", f"{BOX} AND A_CONTAINS(l, ('ipad2'))"]
    matcher = build(structure, texts)
    messages = [["iphone4s", "ipad2", "AT&T"], ["iphone4s", "AT&T"], ["ipad2"], ["AT&T"], ["iphone4s"]]

    found = matcher.match(batch(matcher, [{"p": HERE, "l": words} for words in messages]))

    assert pairs(found) == [(0, 0), (0, 1), (1, 0), (2, 1)]
    assert found.verified == 0
    assert matcher.place(0) == "looked for in 2 regions with keywords, one for each alternative"
    assert matcher.place(1) == "looked for in a region of p with 1 keyword"
    held = Held.of(compiled(texts))
    assert held.rows.tolist() == [0, 0, 1]
    assert np.diff(held.regions.token_starts).tolist() == [2, 2, 1]


def test_other_conditions_are_not_multiplied_out():
    """Ten ORs of other conditions beside an OR of keywords leave two rows, which are verified as a whole."""
    others = " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(10))
    matcher = build("rt_tree", [f"{BOX} AND ({PHONES} AND c = 1) AND {others}"])
    everything = {f"{name}{n}": value for n in range(10) for name, value in (("a", 1), ("b", 2))}
    event = {"p": HERE, "l": ["ipad2", "AT&T"], "c": 1, **everything}

    found = matcher.match(batch(matcher, [event, {**event, "a3": 0, "b3": 0}, {**event, "c": 2}]))

    assert len(matcher.held.rows) == 2
    assert pairs(found) == [(0, 0)]
    assert found.verified == 3


def any_of(words: list[str]) -> str:
    return f"A_OVERLAPS(l, ({', '.join(repr(word) for word in words)}))"


def test_bounds_of_decomposition():
    """The most rows and keywords are taken; one more of either is refused by its number."""
    words = [f"w{number}" for number in range(MOST_ROWS + 1)]
    long = [f"A_CONTAINS(l, ({', '.join(repr(word + part) for word in words[:200])}))" for part in "ab"]
    either = f"({long[0]} OR {long[1]})"
    fit, too_many = MOST_KEYWORDS // 201 // 2, MOST_KEYWORDS // 200 // 2 + 1
    for taken, refused in (
        (any_of(words[:-1]), any_of(words)),
        (f"{either} AND {any_of(words[:fit])}", f"{either} AND {any_of(words[:too_many])}"),
    ):
        matcher = build("token_grid", [f"{BOX} AND {taken}"])
        assert pairs(matcher.match(batch(matcher, [{"p": HERE, "l": [*words, *(w + "b" for w in words)]}]))) == [(0, 0)]
        with pytest.raises(tocsin.UnsuitableIndex, match=f"each of at most {MOST_ROWS} alternatives") as error:
            build("token_grid", [f"{BOX} AND {taken}", f"{BOX} AND {refused}"])
        assert error.value.number == 1


def random_alternatives(count: int, random: np.random.Generator) -> list[str]:
    """Regions with two to four alternatives each, some with a region of their own, of words that repeat."""
    texts = []
    for number, (x, y) in enumerate(random.uniform(0, 1000, (count, 2)).round(1).tolist()):
        boxes = [f"S_INTERSECTS(p, BBOX({x + n * 9}, {y}, {x + n * 9 + 50}, {y + 40}))" for n in range(2)]
        words = [
            f"A_CONTAINS(l, ('w{one}', 'w{other}'))"
            for one, other in (random.zipf(1.5, (random.integers(2, 5), 2)) % 60).tolist()
        ]
        apart = " OR ".join(f"{boxes[n % 2]} AND {one}" for n, one in enumerate(words))
        texts.append(apart if number % 3 == 0 else f"{boxes[0]} AND ({' OR '.join(words)})")
    return texts


@pytest.mark.parametrize("structure", STRUCTURES)
def test_answers_like_scan_at_size(structure):
    """Thousands of rows over many nodes and blocks; from several threads at once, too."""
    random = np.random.default_rng(21)
    expressions = compiled(random_alternatives(1500, random))
    events = batch(expressions, random_messages(130, random))
    registration, options = parse_index(structure)
    matcher = registration.builder(**options).build(expressions)
    expected = Scan.build(expressions).match(events)
    assert len(expected.subscriptions) > 300

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: matcher.match(events), range(4)):
            assert_alike(found, expected)


@pytest.mark.parametrize("index", ["rt_tree", "rt_plus_plus_tree", "keyword_first", "token_grid"])
def test_an_engine_holds_and_changes_them(index, tmp_path: Path):
    """One at a time or in bulk, replaced, deleted, merged, saved and loaded, and asked for the best."""
    engine = tocsin.Engine(index, delta_limit=8)
    for number in range(20):
        engine.subscribe(number, f"{BOX} AND ({PHONES})", score=number)
    words = ["iphone4s", "ipad2", "AT&T"]
    for number in range(0, 20, 2):
        engine.unsubscribe(number)
    engine.subscribe(1, f"{BOX} AND {any_of(['x', 'ipad2', 'AT&T'])}", replace=True, score=50)
    engine.subscribe_many([{"id": 100, "where": f"{BOX} AND {any_of(words)}"}])
    with pytest.raises(tocsin.UnsuitableIndex, match="alternatives"):
        engine.subscribe(101, f"{BOX} AND ({PHONES} OR a = 1)")
    left = [*range(1, 20, 2), 100]

    def check(engine: tocsin.Engine) -> None:
        event = {"p": HERE, "l": words}
        assert [one.subscription for one in engine.match(event)] == left
        assert [one.subscription for one in engine.match(event, ranking=tocsin.Top(3))] == [1, 19, 17]
        assert [one.subscription for one in engine.match({"p": HERE, "l": ["x"]})] == [1]
        table = engine.match_batch([event, {"p": [9, 9], "l": words}, event]).table
        assert table["event"].to_pylist() == [0] * len(left) + [2] * len(left)
        assert pa.compute.equal(table["subscription"].slice(0, len(left)), pa.array(left)).to_pylist() == [True] * 11

    check(engine)
    engine.merge()
    check(engine)
    engine.save(tmp_path / "saved")
    check(tocsin.Engine.load(tmp_path / "saved", index=index))
