"""What every structure of regions and keywords has in common: it answers like the oracle, and looks at little."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import assert_alike, assert_indexes_are_the_oracle, batch, compiled, pairs
from tocsin.columns.events.batch import EventBatch
from tocsin.index import Found, Matcher, parse_index
from tocsin.index.boolean.scan import Scan
from tocsin.index.spatial_text.regions import Held

STRUCTURES = (
    "token_grid",
    "rt_tree",
    "rt_tree(least=2, most=4)",
    "rt_plus_tree",
    *(f"rt_plus_tree(least=2, most=4, selection={selection})" for selection in range(4)),
    "rt_plus_plus_tree",
    *(f"rt_plus_plus_tree(least=2, most=4, selection={n}, finish={finish})" for n in range(4) for finish in (0, 1)),
    "rt_plus_plus_tree(least=1, most=2)",
    "inverted_r_tree",
    "inverted_r_tree(least=2, most=4)",
    "spatial_first",
    "spatial_first(least=1, most=2)",
    "keyword_first",
)


def build(structure: str, texts: list[str]) -> Matcher:
    registration, options = parse_index(structure)
    return registration.builder(**options).build(compiled(texts))


@given(
    expressions=st.lists(own.region_expressions(), min_size=1, max_size=12),
    events=st.lists(own.region_events(), min_size=1, max_size=12),
    gone=st.sets(st.integers(0, 11)),
)
def test_answers_like_the_oracle(expressions, events, gone):
    """Regions with keywords of any kind, alone and beside other conditions; messages of points, boxes and neither."""
    assert_indexes_are_the_oracle(STRUCTURES, expressions, events, gone)


def random_texts(count: int, random: np.random.Generator) -> list[str]:
    """Regions of all sizes around a few places, with words of which some are everywhere."""
    centers = random.uniform(0, 1000, (20, 2))
    middles = centers[random.integers(0, 20, count)] + random.normal(0, 30, (count, 2))
    sizes = 10 ** random.uniform(-2, 3, (count, 2))
    texts = []
    for (x, y), (width, height) in zip(middles.tolist(), sizes.tolist(), strict=True):
        words = ", ".join(f"'w{word}'" for word in random.zipf(1.5, random.integers(1, 6)) % 200)
        box = f"BBOX({x - width:.6f}, {y - height:.6f}, {x + width:.6f}, {y + height:.6f})"
        texts.append(f"S_INTERSECTS(p, {box}) AND A_CONTAINS(l, ({words}))")
    return texts


def random_messages(count: int, random: np.random.Generator, longest: int = 60) -> list[dict]:
    events = []
    for x, y in random.uniform(-10, 1010, (count, 2)).tolist():
        place = [x, y] if random.random() < 0.5 else [x, y, x + 20, y + 5]
        words = random.zipf(1.5, random.integers(1, longest)) % 220
        events.append({"p": place, "l": [f"w{word}" for word in words]})
    return events


@lru_cache(1)
def at_size() -> tuple[list[str], EventBatch, Found]:
    """Many subscriptions, messages, and what `scan` finds."""
    random = np.random.default_rng(2015)
    texts = random_texts(4000, random)
    events = batch(compiled(texts), random_messages(300, random))
    return texts, events, Scan.build(compiled(texts)).match(events)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_answers_like_scan_at_size(structure):
    """Lists and trees of more than one block or node, boxes that fill some and points that lie between."""
    texts, events, expected = at_size()

    found = build(structure, texts).match(events)

    assert_alike(found, expected)
    assert len(found.subscriptions) > 1000


def test_lists_let_little_through():
    """Of what boxes and signatures of a token's list let through, most matches."""
    random = np.random.default_rng(5)
    matcher = build("token_grid", random_texts(4000, random))
    events = batch(matcher, random_messages(300, random, longest=12))

    found = matcher.match(events)

    assert found.candidates_examined < 2 * len(found.subscriptions)
    assert found.candidates_examined < 0.01 * 4000 * 300


@pytest.mark.parametrize(
    "text",
    [
        "TRUE",
        "a = 1",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1))",
        "A_CONTAINS(l, ('a'))",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND A_CONTAINS(l, ())",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND NOT A_OVERLAPS(l, ('a', 'b'))",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND (A_CONTAINS(l, ('a')) OR a = 1)",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND A_CONTAINS(l, ('a')) OR A_CONTAINS(l, ('b'))",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) OR A_CONTAINS(l, ('a'))",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND NOT A_CONTAINS(l, ('a'))",
    ],
)
def test_what_has_no_region_with_keywords_is_refused(text):
    """By its number, and in words that say who takes it."""
    fine = "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND A_CONTAINS(l, ('a'))"
    for structure in STRUCTURES:
        with pytest.raises(tocsin.UnsuitableIndex, match="index 'auto' takes it") as refused:
            build(structure, [fine, text])
        assert refused.value.number == 1, structure


@pytest.mark.parametrize("structure", STRUCTURES)
def test_ten_thousand_keywords(structure):
    """Subscriptions and messages of many words are as good as short ones."""
    words = [f"w{number}" for number in range(10_000)]
    asked = ", ".join(f"'{word}'" for word in words)
    matcher = build(structure, [f"S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND A_CONTAINS(l, ({asked}))"])

    events = batch(matcher, [{"p": [0.5, 1], "l": words}, {"p": [0.5, 1], "l": words[:-1]}, {"p": [2, 1], "l": words}])

    assert pairs(matcher.match(events)) == [(0, 0)]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_regions_beyond_what_blocks_hold(structure):
    """A line, a point, and boxes as far as numbers go."""
    regions = ["BBOX(1, 1, 1, 1)", "BBOX(0, 1, 9, 1)", "BBOX(-1e308, -1e308, 1e308, 1e308)", "BBOX(1e300, 0, 1e301, 1)"]
    matcher = build(structure, [f"S_INTERSECTS(p, {region}) AND A_CONTAINS(l, ('a'))" for region in regions])

    given_events = [{"p": p, "l": ["a"]} for p in ([1, 1], [9, 1], [9, 1.0000001], [5e300, 0.5], [-1e308, 1e308])]

    found = pairs(matcher.match(batch(matcher, given_events)))
    assert found == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (3, 2), (3, 3), (4, 2)]


def triangles(count: int, random: np.random.Generator) -> list[str]:
    """Regions that are no boxes, here and there beside one, with words of which some are everywhere."""
    texts = []
    for number, (x, y, a, b) in enumerate(random.uniform(0, 100, (count, 4)).round(2).tolist()):
        corners = f"({x} {y}, {x + a / 9} {y + 1}, {x + 1} {y + b / 9}, {x} {y})"
        asked = (
            f"{('S_INTERSECTS', 'S_WITHIN')[number % 2]}(p, POLYGON({corners})) AND A_CONTAINS(l, ('w{number % 9}'))"
        )
        texts.append(f"{asked} AND S_INTERSECTS(p, BBOX({x}, {y}, {x + 20}, {y + 9}))" if number % 5 == 0 else asked)
    return texts


def test_shapes_are_found_by_the_boxes_around_them():
    """And verified: of points, boxes and shapes; little else comes up; `Similar` has no answer of them."""
    random = np.random.default_rng(3)
    subscriptions = [{"id": n, "where": text} for n, text in enumerate(triangles(400, random))]
    shape = {"type": "Polygon", "coordinates": [[[5, 5], [9, 30], [40, 9], [5, 5]]]}
    places = [*random.uniform(0, 100, (150, 2)).tolist(), [20, 20, 30, 30], shape]
    events = [{"p": place, "l": ["w1", "w2", "w3", "w5"]} for place in places]
    expected = tocsin.match(subscriptions, events, index="scan")
    assert {150, 151} < {row["event"] for row in expected}

    for structure in STRUCTURES:
        found = tocsin.match(subscriptions, events, index=structure)

        assert list(found) == list(expected), structure
    points = tocsin.match(subscriptions, events[:150], index="token_grid")
    # A triangle whose box has the point counts twice: it is found, and tested.
    assert points.stats.candidates_examined < 10 * len(points) < 0.05 * 400 * 150
    alike = tocsin.match(subscriptions, events, index="token_grid", ranking=tocsin.Similar(0.5, 0.5))
    assert alike.stats.unanswered == 320


def test_says_where_a_subscription_lies():
    """In words, with what is verified beside."""
    texts = [
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND A_CONTAINS(l, ('a', 'b'))",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND A_CONTAINS(l, ('a')) AND x > 3",
        "S_INTERSECTS(p, BBOX(0, 0, 1, 1)) AND A_CONTAINS(l, ('a')) AND FALSE",
    ]
    matcher = build("token_grid", texts)

    assert [matcher.place(number) for number in range(3)] == [
        "looked for in a region of p with 2 keywords",
        "looked for in a region of p with 1 keyword; the other conditions are verified",
        "never satisfied",
    ]
    assert list(matcher.places().values()) == [1, 1, 1]


def test_boxes_that_expressions_have_are_not_copied():
    """Where each has one box of its own, in order; else there is a row for each."""
    own = [f"S_INTERSECTS(p, BBOX({n}, 0, {n + 1}, 1)) AND A_CONTAINS(words, ('a', 'w{n}'))" for n in range(50)]
    one, other = Held.of(compiled(own)), Held.of(compiled([*own[1:], own[0], own[7]]))

    assert one.regions.boxes is one.expressions.arrays.boxes
    assert len(other.regions.boxes) == 51
    assert other.regions.boxes[50].tolist() == [7, 0, 8, 1]
    assert one.nbytes() + 32 * 50 < other.nbytes()


@pytest.mark.parametrize("structure", ["token_grid", "rt_tree", "rt_plus_plus_tree", "inverted_r_tree"])
@pytest.mark.parametrize("terms", ["", " AND a - b > {0}", " AND a - b > {0} AND a + {0} * b > 2 AND a / {1} < 30"])
def test_a_number_of_a_term_is_not_that_of_an_attribute(structure, terms):
    """Shapes get boxes around them by the number of their attribute; a comparison of terms has a term's there."""
    area = "S_INTERSECTS(at, POLYGON(({0} 0, {1} 0, {0} 2, {0} 0))) AND A_CONTAINS(tags, ('x'))"
    texts = [(area + (terms if i % 4 else "")).format(i, i + 2) for i in range(24)]
    records = [{"id": i, "where": text} for i, text in enumerate(texts)]
    events = [{"at": [i % 25 + 0.3, 0.5], "tags": ["x", "y"], "a": i, "b": i % 7} for i in range(100)]
    expected = tocsin.match(records, events, index="scan").table
    assert len(expected)
    assert tocsin.match(records, events, index=structure).table.equals(expected)
