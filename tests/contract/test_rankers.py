"""Every registered Ranker gives what a code stabs in the oracle's order, whatever the intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import tocsin
from tests.index.scored.building import scored
from tests.naive import intervals as naive
from tests.naive.intervals import Interval
from tocsin.index import BestPlaces, Ranker, Registration, ranker_builder, registrations
from tocsin.index.scored.r_trees.kernels import SHORTEST

RANKERS: Final = [r for r in registrations() if r.question == "the best first"]
SCORES: Final = (0.0, 1.0, 1.0, 2.0, -3.5, 1e-308, 5e-324, 1e308, -1e308)
EVERYTHING: Final = 2**31 - 1


def each_option(registration: Registration) -> list[Mapping[str, int]]:
    """The default and, where there is a branching factor, small ones."""
    if "branching" not in registration.options:
        return [{}]
    return [{}, *({"branching": branching} for branching in (2, 3, 4, 5, 6))]


KINDS: Final = [(r.name, options) for r in RANKERS for options in each_option(r)]


@pytest.fixture(params=KINDS, ids=lambda given: f"{given[0]} {given[1].get('branching', '')}".strip())
def kind(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, int]]:
    return request.param


def built(kind: tuple[str, Mapping[str, int]], intervals: Sequence[Interval], last: Sequence[int]) -> Ranker:
    return ranker_builder(*kind).build(scored(intervals, last))


def answers(ranker: Ranker, found: BestPlaces) -> list[list[tuple[float, int]]]:
    """Of each query the scores and owners."""
    places = [found.places[a:b] for a, b in zip(found.starts, found.starts[1:], strict=False)]
    return [list(zip(ranker.scores[own].tolist(), ranker.owners[own].tolist(), strict=True)) for own in places]


def expected(intervals: Sequence[Interval], queries: Sequence[tuple[int, int]], k: int) -> list[list[tuple]]:
    found = [naive.stabbed(intervals, group, code) for group, code in queries]
    return [[(one.score, one.owner) for one in own[:k]] for own in found]


def ask(ranker: Ranker, queries: Sequence[tuple[int, int]], k: int) -> BestPlaces:
    groups, codes = np.array(queries, np.int32).reshape(-1, 2).T.copy()
    return ranker.best(groups, codes, k)


def every_query(last: Sequence[int]) -> list[tuple[int, int]]:
    """Each code of each group, and two that are no code."""
    return [(group, code) for group, most in enumerate(last) for code in range(-2, most + 1)]


def check(ranker: Ranker, intervals: Sequence[Interval], queries: Sequence[tuple[int, int]], k: int) -> None:
    """`best` is the oracle's, and says that it looked at no fewer intervals than it found."""
    found = ask(ranker, queries, k)

    assert answers(ranker, found) == expected(intervals, queries, k)
    assert found.examined >= len(found.places)


def check_all(intervals: Sequence[Interval], last: Sequence[int], queries: Sequence[tuple[int, int]], k: int) -> None:
    """What is drawn is drawn once for all kinds."""
    for kind in KINDS:
        check(built(kind, intervals, last), intervals, queries, k)


@st.composite
def loads(draw: DrawFn) -> tuple[list[Interval], list[int]]:
    """Up to four groups of few codes; ends beyond them, points, empty intervals, equal scores, owners anyhow."""
    last = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))
    group = st.integers(0, len(last) - 1)
    end = st.integers(-3, max(last) + 3)
    ends: SearchStrategy[tuple[int, int]] = st.one_of(
        st.tuples(end, end), st.tuples(end, end).map(lambda two: (min(two), max(two))), end.map(lambda one: (one, one))
    )
    rows = draw(st.lists(st.tuples(group, ends, st.sampled_from(SCORES)), max_size=40))
    owners = draw(st.permutations(range(len(rows))))
    return [Interval(g, *own, score, owner) for (g, own, score), owner in zip(rows, owners, strict=True)], last


@given(load=loads(), k=st.integers(1, 45))
def test_all_give_the_best_of_few(load, k):
    """At every code of every group, negative ones too."""
    intervals, last = load

    check_all(intervals, last, every_query(last), k)


def random_load(random: np.random.Generator, count: int, codes: int, mean_length: float) -> list[Interval]:
    """Two groups with an empty one between; a few scores, so that many tie."""
    lows = random.integers(-2, codes + 2, count)
    lengths = random.exponential(mean_length, count).astype(np.int64) - 1  # -1 makes an interval that contains nothing
    rows = zip(
        (2 * random.integers(0, 2, count)).tolist(),
        lows.tolist(),
        (lows + lengths).tolist(),
        random.integers(0, random.choice([1, 5, 10 * count]), count).astype(float).tolist(),
        random.permutation(count).tolist(),
        strict=True,
    )
    return [Interval(*row) for row in rows]


@settings(max_examples=max(10, settings.default.max_examples // 6))  # each of hundreds of intervals
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.sampled_from([SHORTEST - 1, SHORTEST + 1, 150, 700]),
    codes=st.sampled_from([1, 3, 64, 1000]),
    length=st.sampled_from([0.02, 0.2, 2.0]),
    k=st.sampled_from([1, 2, 7, 64, 701, EVERYTHING]),
)
def test_all_give_the_best_of_many(seed, count, codes, length, k):
    """Of lists that have R-trees of several levels."""
    random = np.random.default_rng(seed)
    intervals = random_load(random, count, codes, 1 + length * codes)
    last = [codes - 1, 5, codes - 1]
    queries = [(int(g), int(c)) for g, c in zip(random.integers(0, 3, 40), random.integers(-1, codes, 40), strict=True)]
    queries = [(group, min(code, last[group])) for group, code in queries]

    check_all(intervals, last, queries, k)


@pytest.mark.parametrize("branching", [63, 64, 65, 4096])
@pytest.mark.parametrize("count", [62, 63, 64, 65, 66, 130, 5000])
def test_gives_the_best_of_lists_around_the_size_of_a_node(branching, count):
    """Lists that all intervals share, each as long as a node or one interval more or less."""
    random = np.random.default_rng(count)
    intervals = [
        Interval(0, *ends, float(random.integers(0, count)), owner)
        for owner, ends in enumerate(
            zip(random.integers(0, 50, count).tolist(), random.integers(50, 99, count).tolist(), strict=True)
        )
    ]
    queries = [(0, code) for code in (0, 1, 20, 50, 51, 70, 98)]

    for registration in RANKERS:
        if "branching" in registration.options:
            ranker = built((registration.name, {"branching": branching}), intervals, [98])
            for k in (1, 10, count):
                check(ranker, intervals, queries, k)


@settings(max_examples=40)
@given(load=loads())
def test_all_cursors_give_the_same_one_by_one(load):
    """All of it, in the same order; cursors that take turns do not disturb each other; no code is no interval."""
    for kind in KINDS:
        check_cursors(built(kind, *load), load[1])


def check_cursors(ranker: Ranker, last: Sequence[int]) -> None:
    """Of one ranker."""
    queries = every_query(last)
    of_best = [own.tolist() for own in np.split(*_places(ask(ranker, queries, max(len(ranker.owners), 1))))]
    cursors = [ranker.cursor(group, code) for group, code in queries]
    given: list[list[int]] = [[] for _ in queries]
    while any(came := [list(islice(cursor, 1)) for cursor in cursors]):
        for own, new in zip(given, came, strict=True):
            own += new

    assert given == of_best
    assert all(list(cursor) == [] for cursor in cursors)
    assert [list(ranker.cursor(group, most + 1)) for group, most in enumerate(last)] == [[] for _ in last]


def _places(found: BestPlaces) -> tuple[np.ndarray, np.ndarray]:
    return found.places, found.starts[1:-1]


def test_a_negative_code_stabs_nothing(kind):
    """Nothing is looked at for it, between others that stab something."""
    intervals = [Interval(0, -5, 5, float(owner), owner) for owner in range(100)]
    ranker = built(kind, intervals, [5])

    found = ask(ranker, [(0, -1), (0, 3), (0, -7), (0, 0), (0, -(2**31))], 3)

    assert np.diff(found.starts).tolist() == [0, 3, 0, 3, 0]
    assert ranker.owners[found.places].tolist() == [99, 98, 97, 99, 98, 97]
    assert ask(ranker, [(0, -1), (0, -2)], 3).examined == 0


def test_places_lead_group_by_group_to_scores_and_owners(kind):
    """By score within each group, and `starts` tell where one begins; what contains nothing has no place."""
    intervals = [
        Interval(2, 0, 3, 1.0, 7),
        Interval(0, 0, 3, 1.0, 6),
        Interval(2, 1, 0, 9.0, 5),
        Interval(2, 2, 2, 1.0, 4),
        Interval(0, 9, 12, 8.0, 3),
        Interval(0, 3, 3, 2.0, 2),
    ]
    ranker = built(kind, intervals, [4, 0, 4])

    assert ranker.starts.tolist() == [0, 2, 2, 4]
    assert ranker.owners.tolist() == [2, 6, 4, 7]
    assert ranker.scores.tolist() == [2.0, 1.0, 1.0, 1.0]
    assert list(ranker.cursor(2, 2)) == [2, 3]


@pytest.mark.parametrize("last", [[], [0], [3, 0, 1000]])
def test_nothing_is_stabbed_where_there_are_no_intervals(kind, last):
    """No groups, empty ones, and no queries."""
    ranker = built(kind, [], last)

    for k in (1, 5, EVERYTHING):
        found = ask(ranker, every_query(last), k)
        assert found.starts.tolist() == [0] * (len(every_query(last)) + 1)
        assert (len(found.places), found.examined) == (0, 0)
    assert [list(ranker.cursor(group, 0)) for group in range(len(last))] == [[] for _ in last]
    assert set(ranker.sizes()) == {"structure", "scores"}


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_is_refused(kind, score):
    with pytest.raises(tocsin.InvalidInput, match="finite"):
        built(kind, [Interval(0, 0, 1, 1.0, 0), Interval(0, 0, 1, score, 1)], [3])


@pytest.mark.parametrize("name", [r.name for r in RANKERS if "branching" in r.options])
@pytest.mark.parametrize("branching", [-2, 0, 1, 4097])
def test_a_branching_factor_that_cannot_be_is_refused(name, branching):
    with pytest.raises(tocsin.InvalidInput, match=str(branching)):
        ranker_builder(name, {"branching": branching})


def test_threads_ask_one_ranker_at_once(kind):
    """Each gets what it gets alone."""
    random = np.random.default_rng(5)
    intervals = random_load(random, 600, 200, 60.0)
    ranker = built(kind, intervals, [199, 5, 199])
    questions = [
        ([(2 * (code % 2), code) for code in random.integers(0, 200, 400).tolist()], k) for k in (1, 3, 50, 600) * 4
    ]
    alone = [answers(ranker, ask(ranker, *one)) for one in questions]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: answers(ranker, ask(ranker, *one)), questions))

    assert together == alone
    assert alone[0] == expected(intervals, *questions[0])
