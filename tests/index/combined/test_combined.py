"""Access keys and rectangles side by side: the same answers however they are dealt, and dealt by what costs less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tocsin
from tests import strategies as own
from tests.index.asking import assert_alike, batch, compiled, pairs
from tests.index.spatial_text.test_regions import random_messages, random_texts
from tests.naive import match as naive
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import matcher_builder
from tocsin.index.alive import everyone
from tocsin.index.boolean.access import Access
from tocsin.index.boolean.scan import Scan
from tocsin.index.combined import Combined, CombinedBuilder
from tocsin.index.combined.choosing import BY_ACCESS, BY_RECTANGLE, BY_REGION, FEWEST, SAMPLED
from tocsin.index.combined.index import dealt
from tocsin.index.protocols import Best
from tocsin.index.statistics import Statistics, sampled


@st.composite
def loads(draw):
    """Expressions, and how each is found, of the ways that it can be."""
    rectangles = own.rectangle_expressions().map(lambda one: (one, BY_RECTANGLE))
    regions = own.region_expressions().map(lambda one: (one, BY_REGION))
    others = own.expressions(max_depth=3).map(lambda one: (one, BY_ACCESS))
    load = draw(st.lists(st.one_of(rectangles, regions, others), min_size=1, max_size=14))
    ways = [way if draw(st.booleans()) else BY_ACCESS for _, way in load]
    return [one for one, _ in load], np.array(ways, np.uint8)


@given(
    loads(),
    st.lists(st.one_of(own.map_events(), own.region_events()), min_size=1, max_size=10),
    st.sets(st.integers(0, 13)),
)
def test_answers_like_the_oracle(load, events, gone):
    """Whoever goes where, alive or gone, saved and read, and built again of what it holds."""
    expressions, ways = load
    expected = naive.match(list(enumerate(expressions)), events)
    alive = everyone(len(expressions))
    for number in gone:
        alive[0] &= ~(np.uint64(1) << np.uint64(number))

    matcher = dealt(compile_expressions(expressions), ways)
    for one in (matcher, CombinedBuilder().load(matcher.arrays()), CombinedBuilder().build(matcher.expressions())):
        events_in_columns = batch(one, events)
        assert pairs(one.match(events_in_columns)) == expected
        assert pairs(one.match(events_in_columns, alive)) == [pair for pair in expected if pair[1] not in gone]
    assert sum(matcher.places().values()) == len(expressions)
    assert all(matcher.place(number) for number in range(len(expressions)))


def _by_rectangle(matcher: Combined) -> NDArray[np.bool_]:
    assert [type(part).__name__ for part in matcher.parts] == ["Access", "OverTiles"]
    return matcher.owners == 1


def many_rectangles(count: int) -> list[str]:
    random = np.random.default_rng(3)
    corners = random.integers(0, 300, (count, 2)).tolist()
    return [f"x BETWEEN {x} AND {x + 20} AND y BETWEEN {y} AND {y + 10}" for x, y in corners]


def points(count: int) -> list[dict[str, float]]:
    return [{"x": float(x), "y": float(y)} for x, y in np.random.default_rng(4).integers(0, 320, (count, 2)).tolist()]


@pytest.mark.parametrize("count", [6000, SAMPLED + 3000])
def test_two_ranges_of_many_go_by_rectangle(count):
    """And a rare equality beside them does not; few subscriptions stay as they are, and so do single ranges."""
    texts = [*many_rectangles(count), *(f"x > {n} AND y > {n} AND code = {n}" for n in range(200)), "z > 3"]
    matcher = matcher_builder("access", {}).build(compiled(texts))
    events = [*points(200), {"x": 250.0, "y": 250.0, "code": 9}, {"z": 4}]
    given_events = batch(matcher, events)
    found = matcher.match(given_events)

    assert isinstance(matcher, Combined)
    assert _by_rectangle(matcher)[:count].all()
    assert not _by_rectangle(matcher)[count:].any()
    assert_alike(found, Scan.build(compiled(texts)).match(given_events))
    assert found.candidates_examined < 1.1 * len(found.subscriptions)
    assert matcher.place(0) == "looked for in a rectangle of x and y; in 1 grid of tiles"
    assert "code" in matcher.place(count)
    assert isinstance(matcher_builder("access", {}).build(compiled(texts[: FEWEST - 1])), Access)
    assert isinstance(matcher_builder("access", {}).build(compiled(f"x > {n % 777}" for n in range(2000))), Access)


def test_what_is_least_looked_at_is_chosen():
    """A rare carrier beside a large rectangle is looked for by the carrier; a common one by the rectangle."""
    small = [f"{rectangle} AND carrier = 'AA' AND delay > 60" for rectangle in many_rectangles(4000)]
    rare = [f"carrier = 'c{n}' AND delay > 60 AND x > {n % 20} AND y > {n % 30}" for n in range(4000)]
    boxes = [f"S_INTERSECTS(place, BBOX({n % 50}, {n % 30}, {n % 50 + 80}, {n % 30 + 50}))" for n in range(4000)]
    seen = [point | {"carrier": "AA", "delay": n, "place": [0, 0]} for n, point in enumerate(points(1000))]
    whole = compiled([*small, *rare, *boxes])

    matcher = CombinedBuilder().build(whole, sampled([batch(whole, seen)]))

    assert _by_rectangle(matcher)[:4000].mean() > 0.9  # but for those at the edge, where nothing was seen
    assert not _by_rectangle(matcher)[4000:8000].any()
    assert _by_rectangle(matcher)[8000:].all()


def test_attributes_that_few_events_have_need_no_rectangle():
    """What is rarely looked at costs little as it is."""
    texts = many_rectangles(6000)
    rare = Statistics({"x": 1e-4, "y": 1.0}, "said by a test")

    assert isinstance(CombinedBuilder().build(compiled(texts), rare), Access)
    assert isinstance(CombinedBuilder().build(compiled(texts)), Combined)


def test_the_best_are_among_what_is_found():
    """Whichever structure they lie in."""
    texts = [*many_rectangles(2000), *(f"x > {n}" for n in range(500))]
    matcher = CombinedBuilder(cursors_from=1).build(compiled(texts))
    scores = np.random.default_rng(6).random(len(texts))
    maxima = np.array([scores[first : first + 64].max(initial=-np.inf) for first in range(0, len(texts) + 1, 64)])
    given_events = batch(matcher, points(50))

    every = matcher.match(given_events)
    best = matcher.match(given_events, None, Best.of(5, scores, maxima, scores))

    for event in range(50):
        all_of, some = (found.subscriptions[found.starts[event] : found.starts[event + 1]] for found in (every, best))
        wanted = all_of[np.argsort(-scores[all_of], kind="stable")[:5]]
        assert set(wanted.tolist()) <= set(some.tolist()) <= set(all_of.tolist())


def test_damage_is_refused():
    """A subscription in both, and structures of different numbers."""
    whole = compiled(many_rectangles(40))
    some = np.arange(40) < 20
    arrays = dealt(whole, some.astype(np.uint8)).arrays()
    others = dealt(whole, (~some).astype(np.uint8)).arrays()
    shorter = dealt(compiled(many_rectangles(39)), some[:39].astype(np.uint8)).arrays()
    of_tiles = {name: array for name, array in others.items() if name.startswith("rectangles.")}
    of_shorter = {name: array for name, array in shorter.items() if name.startswith("rectangles.")}

    with pytest.raises(ValueError, match="lies in two parts of it"):
        CombinedBuilder().load({**arrays, **of_tiles})
    with pytest.raises(ValueError, match="40 subscriptions, but 39 in another part"):
        CombinedBuilder().load({**arrays, **of_shorter})


def test_in_an_engine_changes_saved_and_read(tmp_path):
    """Rectangles that come later, and go, are answered like those that were there."""
    texts = many_rectangles(9000)
    engine = tocsin.Engine()
    engine.subscribe_many([{"id": n, "where": text} for n, text in enumerate(texts[:7000])])
    engine.save(tmp_path / "rings")
    engine = tocsin.Engine.load(tmp_path / "rings")
    engine.subscribe_many([{"id": n, "where": text} for n, text in enumerate(texts[7000:], 7000)])
    for n in range(0, 9000, 7):
        engine.unsubscribe(n)

    answer = engine.match_batch(points(100))

    scan = tocsin.Engine("scan")
    scan.subscribe_many([{"id": n, "where": text} for n, text in enumerate(texts) if n % 7])
    assert answer.table.equals(scan.match_batch(points(100)).table)
    assert "looked for in a rectangle of x and y" in (engine.explain(1, points(1)[0]).index or "")


def test_regions_with_keywords_of_many_go_by_them():
    """Among boxes of one place and words that many have; a few of them are found by access keys, with all others."""
    random = np.random.default_rng(8)
    many = random_texts(3000, random)
    others = [f"a = {number}" for number in range(500)]
    matcher = matcher_builder("access", {}).build(compiled([*many, *others]))
    few = matcher_builder("access", {}).build(compiled([*many[:100], *others]))
    events = batch(matcher, random_messages(100, random))

    assert isinstance(matcher, Combined)
    assert [type(part).__name__ for part in matcher.parts] == ["Access", "TokenGrid"]
    assert (matcher.owners[:3000] == 1).mean() > 0.9
    assert not matcher.owners[3000:].any()
    assert not isinstance(few, Combined)
    found = matcher.match(events)
    assert_alike(found, Scan.build(matcher.expressions()).match(events))
    assert found.candidates_examined < 0.2 * Access.build(matcher.expressions()).match(events).candidates_examined
