"""Every registered Matcher answers exactly like the oracle, whatever the subscriptions and the events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests import strategies as own
from tests.index.asking import assert_alike, batch, compiled, pairs
from tests.naive import match as naive
from tocsin.columns.arrays import frozen
from tocsin.columns.crossing import with_crossing_shapes
from tocsin.columns.events.objects import encode_objects
from tocsin.columns.events.wanted import Wanted
from tocsin.columns.expressions.writer import compile_expressions
from tocsin.index import Best, parse_index, registrations
from tocsin.index.alive import everyone
from tocsin.index.boolean.chains.extents import ExtentMatching
from tocsin.index.protocols import RECTANGLES, REGIONS_WITH_KEYWORDS, Builder
from tocsin.kernels.answers.scores import BITS, block_maxima

MATCHERS = [r for r in registrations() if r.question == "all matches"]
WITH_OPTIONS = (
    "opindex(segments=1, signature_bits=0)",
    "opindex(segments=2, signature_bits=3)",
    "k_index(lowest=-2, highest=3)",
    "k_index(lowest=0, highest=0)",
    "be_tree(max_cap=1)",
    "be_tree(max_cap=3)",
    "vcr(lx=1, ly=1, hashed=0)",
    "vcr(lx=4, ly=2, hashed=1)",
    "vcr(lx=2, ly=2, places=40961)",
    "vcr(overlapped=1, hashed=1)",
    "vcr(lx=2, overlapped=1, hashed=0)",
    "r_tree(branching=2)",
    "rt_tree(least=2, most=4)",
    "rt_plus_tree(least=1, most=2, selection=1)",
    "rt_plus_plus_tree(least=2, most=4, selection=0)",
    "rt_plus_plus_tree(least=2, most=4, finish=0)",
    "inverted_r_tree(least=2, most=3)",
    "spatial_first(least=1, most=2)",
)
ANY = (*(r.name for r in MATCHERS), *WITH_OPTIONS)


class Asked(NamedTuple):
    """An index as a user asks for it."""

    text: str

    @property
    def name(self) -> str:
        return parse_index(self.text)[0].name

    def builder(self) -> Builder:
        registration, options = parse_index(self.text)
        return registration.builder(**options)


@pytest.fixture(params=[r.name for r in MATCHERS])
def index(request: pytest.FixtureRequest) -> Asked:
    """Every matcher."""
    return Asked(request.param)


@pytest.fixture(params=ANY)
def any_index(request: pytest.FixtureRequest) -> Asked:
    """Every matcher, with and without options."""
    return Asked(request.param)


def accepted(index: Asked, expressions: list) -> list:
    """The expressions that an index takes: all of them, unless it is a paper's structure with limits of its own."""
    while expressions:
        try:
            index.builder().build(compile_expressions(expressions))
            break
        except tocsin.UnsuitableIndex as error:
            assert index.name not in ("access", "scan")
            expressions = expressions[: error.number] + expressions[error.number + 1 :]
    return expressions


def suited(index: Asked, texts: list[str]) -> list[str]:
    """The texts, beside a region with keywords for an index that takes nothing else; `_MESSAGE` has both."""
    if parse_index(index.text)[0].shapes != REGIONS_WITH_KEYWORDS:
        return texts
    return [f"S_INTERSECTS(p, BBOX(0, 0, 9, 9)) AND A_CONTAINS(l, ('k')) AND {text}" for text in texts]


_MESSAGE = {"p": [3, 3], "l": ["k"]}


def assert_each_answers_like_the_oracle(indexes: Sequence[str], expressions: list, events: list) -> None:
    """What is drawn is drawn once for all indexes: to draw takes ten times as long as an index to answer."""
    for text in indexes:
        index = Asked(text)
        own = accepted(index, expressions)
        assert answers(index, own, events) == naive.match(list(enumerate(own)), events), text


def answers(index: Asked, expressions: list, events: list) -> list[tuple[int, int]]:
    compiled = compile_expressions(expressions)
    given_events, matcher = batch(compiled, events), index.builder().build(compiled)
    if given_events.has_crossing_boxes:  # a drawn list of four numbers may be a box across the antimeridian
        given_events = with_crossing_shapes(given_events)
    if given_events.may_have_extents:
        found = ExtentMatching().match(matcher, given_events)
    else:
        found = matcher.match(given_events)
    assert found.candidates_examined >= found.verified
    return list(zip(given_events.rows[found.events].tolist(), found.subscriptions.tolist(), strict=True))


@given(
    expressions=st.lists(own.expressions(max_depth=6), min_size=1, max_size=8),
    events=st.lists(own.python_events(), min_size=1, max_size=8),
)
def test_all_answer_like_the_oracle(expressions, events):
    """Ids, events and their order equal the oracle's."""
    assert_each_answers_like_the_oracle(ANY, expressions, events)


@given(
    expressions=st.lists(
        st.one_of(own.conjunctions_of_clauses(), own.comparisons_with_constants()), min_size=1, max_size=8
    ),
    events=st.lists(own.python_events(), min_size=1, max_size=8),
)
def test_all_answer_like_the_oracle_about_clauses(expressions, events):
    """What indexes hold in a normal form means what it is written as."""
    assert_each_answers_like_the_oracle(ANY, expressions, events)


@settings(max_examples=max(4, settings.default.max_examples // 4))
@given(
    expressions=st.lists(own.expressions(max_depth=2), min_size=1, max_size=20),
    events=st.lists(own.json_events(), min_size=65, max_size=140),
)
def test_all_answer_like_the_oracle_across_blocks(expressions, events):
    """More events than one block of the verifier holds change nothing."""
    assert_each_answers_like_the_oracle([r.name for r in MATCHERS], expressions, events)


@given(data=st.data(), count=st.integers(1, 600), k=st.integers(1, 40))
def test_all_leave_out_none_of_the_best(data, count, k):
    """Asked for the best k, a matcher may leave out the others: ties go to the lower number, the gone never count."""
    wanted = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    scores = np.array(data.draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=count, max_size=count)))
    alive = everyone(count)
    for number in data.draw(st.sets(st.integers(0, count - 1), max_size=count)):
        alive[number >> 6] &= ~(np.uint64(1) << np.uint64(number & 63))

    for registration in MATCHERS:
        check_best(Asked(registration.name), wanted, scores, alive, k)


def check_best(index: Asked, wanted: list[int], scores: np.ndarray, alive: np.ndarray, k: int) -> None:
    """Those that an index gives are matches, and the best k are among them."""
    for text in (
        "a >= {one} OR b IS NULL AND c = {one}",
        "a BETWEEN {one} AND 5 OR b = 1 AND c = {one}",
        "a BETWEEN {one} AND 5 AND NOT b = {one}",
    ):
        trees = list(map(tocsin.parse, suited(index, [text.format(one=one) for one in range(6)])))
        if accepted(index, trees[:1]):
            break
    compiled = compile_expressions([trees[one] for one in wanted])
    matcher = index.builder().build(compiled)
    given_events = batch(compiled, [{"a": 3, **_MESSAGE}, {"c": 1}, {"a": 5, "b": 1}, {}])
    maxima = block_maxima(scores, BITS)

    all_matches = matcher.match(given_events, alive)
    found = matcher.match(given_events, alive, Best.of(k, frozen(scores, np.float64), frozen(maxima, np.float64)))

    for event in range(len(given_events)):
        every = all_matches.subscriptions[slice(*all_matches.starts[event : event + 2])].tolist()
        some = found.subscriptions[slice(*found.starts[event : event + 2])].tolist()
        assert some == sorted(set(some) & set(every)), index.text
        assert set(sorted(every, key=lambda number: (-scores[number], number))[:k]) <= set(some), index.text
        assert index.name != "access" or len(some) == min(k, len(every))


def test_answers_nothing_for_no_subscriptions_and_no_events(index):
    """Empty in, empty out."""
    assert answers(index, [], [{"a": 1}]) == []
    assert answers(index, [], []) == []


TEXTS = (
    "a = 2 AND b IN (3, 6, 9)",
    "a BETWEEN 1 AND 8 AND c BETWEEN 2 AND 9",
    "a <> 3 AND b NOT IN (2, 7.5)",
    "s IN ('a', 'b') OR a = 2.5",
    "a = 1 AND (b BETWEEN 0 AND 3 OR c = 1)",
    "(a <> 3 OR b NOT IN (2, 7.5)) AND (a = 3 OR b = 2 OR c BETWEEN 4 AND 9)",
    "(s IN ('a', 'b') OR a = 2.5) AND (s = 'a' OR b = 1) AND (s <> 'c' OR c = 5)",
    "(a = 1 OR b = 1) AND a = 1 AND a = 2",
    "s LIKE 'ab%' AND a NOT IN (1, 3)",
    "TRUE",
    "FALSE",
)
EVENTS = (
    {"a": 1, "b": 2, "c": 5},
    {"a": 2, "b": 3, "c": 6},
    {"a": 2.5, "b": 7.5, "s": "a"},
    {"a": 99, "c": 2.5, "s": "b"},
    {"a": 3, "b": 2, "c": 1, "s": "abc"},
    {},
)


@pytest.mark.parametrize("texts", [TEXTS, ()], ids=["some", "none"])
def test_what_was_saved_answers_like_what_was_built(any_index, texts):
    """Loaded from its arrays, it finds the same with the same effort, is as large, and says the same of itself."""
    built = any_index.builder().build(compile_expressions(accepted(any_index, [tocsin.parse(text) for text in texts])))
    loaded = any_index.builder().load(built.arrays())

    for given_events in (batch(built, EVENTS), batch(built, [])):
        found, again = built.match(given_events), loaded.match(given_events)
        assert_alike(again, found)
        assert (again.candidates_examined, again.verified) == (found.candidates_examined, found.verified)
    assert len(loaded) == len(built)
    assert loaded.sizes() == built.sizes()
    assert loaded.places() == built.places()
    assert [loaded.place(n) for n in range(len(loaded))] == [built.place(n) for n in range(len(built))]


@pytest.mark.parametrize("name", ["opindex", "k_index", "be_tree", "tiles", "vcr", "r_tree"])
def test_what_was_saved_beside_expressions_is_not_looked_at(name):
    """Baselines save their expressions alone; what versions before wrote beside them does no harm."""
    index = Asked(name)
    built = index.builder().build(compile_expressions([tocsin.parse("a = 1 AND s = 'x'")]))
    more = {"options": np.array([0, -1]), "fields.starts": np.array([7]), "lists.entries": np.array([9], np.int32)}

    loaded = index.builder().load({**built.arrays(), **more})

    assert loaded.arrays().keys() == built.arrays().keys()
    assert_alike(loaded.match(batch(loaded, [{"a": 1}, {}])), built.match(batch(built, [{"a": 1}, {}])))


def test_only_the_living_are_found(any_index):
    """What is gone is left out, conjunctions and clauses alike; an index rules out no fewer for it."""
    texts = [f"n BETWEEN {k} AND 199" for k in range(100)] + [f"n = 80 AND (m = {k} OR o = 1)" for k in range(100)]
    matcher = any_index.builder().build(compiled(suited(any_index, texts)))
    given_events = batch(matcher, [{"n": 80, "o": 1, **_MESSAGE}])
    alive = everyone(200)
    alive[1] = np.uint64(0)

    found, every = matcher.match(given_events, alive), matcher.match(given_events)

    assert [s for _, s in pairs(every)] == [*range(81), *range(100, 200)]
    assert [s for _, s in pairs(found)] == [*range(64), *range(128, 200)]
    assert found.candidates_examined == every.candidates_examined


def test_output_larger_than_the_first_room(index):
    """When everything matches, every pair comes out once."""
    matcher = index.builder().build(compiled(suited(index, ["n = 1"] * 3000)))

    found = matcher.match(batch(matcher, [{"n": 1, **_MESSAGE}] * 40))

    assert np.array_equal(found.events, np.repeat(np.arange(40), 3000))
    assert np.array_equal(found.subscriptions, np.tile(np.arange(3000), 40))


def test_a_matcher_refuses_what_it_cannot_look_up(index: Asked) -> None:
    """Ranges and shapes go by `ExtentMatching`; a kernel would read past its tables. `scan` takes them."""
    region = "S_INTERSECTS(p, BBOX(170, 0, -170, 4))"
    text = {REGIONS_WITH_KEYWORDS: f"{region} AND A_CONTAINS(l, ('a'))", RECTANGLES: region}
    held = compile_expressions([tocsin.parse(text.get(parse_index(index.text)[0].shapes, "p = 1 AND n = 1"))])
    matcher = index.builder().build(held)
    for event in ({"p": [170, 0, -170, 4], "l": ["a"], "n": 1}, {"n": tocsin.Range(1, 2), "p": 1}):
        batch = with_crossing_shapes(encode_objects([(0, event)], Wanted(["p", "l", "n"])))
        if index.name == "scan":
            matcher.match(batch)
        else:
            with pytest.raises(ValueError, match="does not take events with ranges or shapes"):
                matcher.match(batch)
