"""After any insertions, deletions and new scores an IR-tree answers like a list, and is one (Lemma 3.1)."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from reproduce.ir_tree.kernels.layouts import CHANGING, ChangingTrees

import tocsin
from reproduce.ir_tree import ChangingIRTree
from tests.contract.test_rankers import EVERYTHING, SCORES, answers, ask, check, every_query, loads, random_load
from tests.index.scored.building import scored
from tests.naive.intervals import Interval
from tests.reproduce.ir_tree.reading import check_structure, insert_all, lists_of
from tocsin.index import ranker_builder
from tocsin.jit.views import kind_of

BRANCHINGS = (4, 5, 6, 9, 32)


class Churn(RuleBasedStateMachine):
    """Three groups of few codes, one of a single one; twenty owners, so that many are there already or are not."""

    last = (11, 0, 30)
    groups = st.integers(0, 2)
    owners = st.integers(-3, 16)
    scores = st.sampled_from((*SCORES, -0.0))

    @initialize(
        branching=st.sampled_from(BRANCHINGS), load=st.lists(st.tuples(groups, st.integers(0, 99)), max_size=60)
    )
    def begin(self, branching: int, load: list[tuple[int, int]]) -> None:
        """Empty, or made of what a static tree would be."""
        self.branching = branching
        self.held: dict[tuple[int, int], Interval] = {}
        for owner, (group, drawn) in enumerate(load):
            low = drawn % (self.last[group] + 1)
            high = min(low + drawn // 10, self.last[group])
            self.held[group, owner] = Interval(group, low, high, float(drawn % 7), owner)
        self.tree = ChangingIRTree.of(scored(list(self.held.values()), self.last), branching)

    @rule(group=groups, ends=st.tuples(st.integers(0, 30), st.integers(0, 30)), score=scores, owner=owners)
    def insert(self, group: int, ends: tuple[int, int], score: float, owner: int) -> None:
        low, high = sorted(min(end, self.last[group]) for end in ends)
        if (group, owner) in self.held:
            with pytest.raises(tocsin.InvalidInput, match=f"owner {owner} has an interval in group {group} already"):
                self.tree.insert(group, low, high, score, owner)
            return
        self.tree.insert(group, low, high, score, owner)
        self.held[group, owner] = Interval(group, low, high, score, owner)

    @rule(group=groups, owner=owners)
    def delete(self, group: int, owner: int) -> None:
        if self.held.pop((group, owner), None) is None:
            with pytest.raises(tocsin.InvalidInput, match=f"owner {owner} has no interval in group {group}"):
                self.tree.delete(group, owner)
            return
        self.tree.delete(group, owner)

    @rule(group=groups, owner=owners, score=scores)
    def rescore(self, group: int, owner: int, score: float) -> None:
        if (group, owner) not in self.held:
            with pytest.raises(tocsin.InvalidInput, match=f"owner {owner} has no interval in group {group}"):
                self.tree.rescore(group, owner, score)
            return
        self.tree.rescore(group, owner, score)
        self.held[group, owner] = self.held[group, owner]._replace(score=score)

    @rule(group=groups, first=st.integers(20, 60), count=st.integers(1, 40), score=scores, seed=st.integers(0, 9))
    def insert_many(self, group: int, first: int, count: int, score: float, seed: int) -> None:
        draw = random.Random(seed)
        new = []
        for owner in range(first, first + count):
            low, high = sorted(draw.randint(0, self.last[group]) for _ in range(2))
            if (group, owner) not in self.held:
                new.append(Interval(group, low, high, draw.choice((score, float(owner))), owner))
        if new:
            insert_all(self.tree, new)
        self.held.update({(group, one.owner): one for one in new})

    @rule(group=groups, step=st.integers(1, 3))
    def delete_many(self, group: int, step: int) -> None:
        """All of a group, every second one or every third."""
        going = sorted(pair for pair in self.held if pair[0] == group)[::step]
        self.tree.delete_many([group] * len(going), np.array([owner for _, owner in going], np.int64))
        for pair in going:
            del self.held[pair]

    @rule(score=scores, step=st.integers(1, 3))
    def rescore_many(self, score: float, step: int) -> None:
        chosen = sorted(self.held)[::step]
        pairs = np.array(chosen, np.int64).reshape(-1, 2)
        self.tree.rescore_many(pairs[:, 0], pairs[:, 1], [score] * len(chosen))
        for pair in chosen:
            self.held[pair] = self.held[pair]._replace(score=score)

    @rule(k=st.sampled_from([1, 2, 5, 200]))
    def answer(self, k: int) -> None:
        """As the list does, and as a static tree does that is built afresh."""
        intervals, queries = list(self.held.values()), every_query(self.last)
        check(self.tree, intervals, queries, k)
        static = ranker_builder("ir_tree", {"branching": self.branching}).build(self.tree.intervals())
        assert answers(static, ask(static, queries, k)) == answers(self.tree, ask(self.tree, queries, k))

    @invariant()
    def is_an_ir_tree(self) -> None:
        check_structure(self.tree, list(self.held.values()), self.branching)


TestChurn = Churn.TestCase
TestChurn.settings = settings(
    stateful_step_count=30,
    max_examples=max(10, settings.default.max_examples // 4),
)


@given(load=loads(), branching=st.sampled_from(BRANCHINGS), k=st.integers(1, 45))
def test_made_of_intervals_it_answers_as_the_list(load, branching, k):
    """Places are those of the intervals it was made of; a cursor gives what `best` does, one by one."""
    intervals, last = load
    made = scored(intervals, last)
    tree = ChangingIRTree.of(made, branching)

    check(tree, intervals, every_query(last), k)
    assert tree.scores[: len(made)].tolist() == made.scores.tolist()
    assert tree.owners[: len(made)].tolist() == made.owners.tolist()
    for query in every_query(last):
        assert list(tree.cursor(*query)) == ask(tree, [query], EVERYTHING).places.tolist()
    assert [list(tree.cursor(group, most + 1)) for group, most in enumerate(last)] == [[] for _ in last]


@pytest.mark.parametrize("branching", [4, 7, 32])
@pytest.mark.parametrize("codes", [1, 40, 3000])
def test_long_churn(branching, codes):
    """Thousands of changes of a thousand owners, so that lists have several levels, shrink and grow again."""
    draw = random.Random(codes)
    last = [codes - 1, codes // 2]
    tree, held = ChangingIRTree(last, branching), {}
    for turn in range(6000):
        pair = draw.randrange(2), draw.randrange(1000)
        score = float(draw.choice([1, 2, draw.randrange(1000)]))
        if pair not in held:
            low = draw.randint(0, last[pair[0]])
            high = min(low + int(draw.expovariate(4 / codes)), last[pair[0]])
            tree.insert(pair[0], low, high, score, pair[1])
            held[pair] = Interval(pair[0], low, high, score, pair[1])
        elif draw.random() < (0.2, 0.9)[turn // 1500 % 2]:
            tree.delete(*pair)
            del held[pair]
        else:
            tree.rescore(*pair, score)
            held[pair] = held[pair]._replace(score=score)
        if turn % 500 == 499:
            queries = [(group, draw.randint(0, last[group])) for group in (0, 1) * 10]
            check(tree, list(held.values()), queries, draw.choice([1, 7, 2000]))
            check_structure(tree, list(held.values()), branching)

    for pair in list(held):
        tree.delete(*pair)
    check_structure(tree, [], branching)
    check(tree, [], every_query([min(one, 50) for one in last]), 3)


@pytest.mark.parametrize("branching", [63, 64, 65, 4096])
@pytest.mark.parametrize("count", [62, 63, 64, 65, 66, 130, 5000])
def test_lists_around_the_size_of_a_node(branching, count):
    """Lists that all intervals share grow past a node and shrink again, one interval after the other."""
    draw = random.Random(count)
    tree = ChangingIRTree([98], branching)
    held = [
        Interval(0, draw.randint(0, 63), draw.randint(63, 98), float(draw.randrange(count)), i) for i in range(count)
    ]
    queries = [(0, code) for code in (0, 20, 63, 70, 98)]
    for one in held:
        tree.insert(*one)
    check(tree, held, queries, count)
    check_structure(tree, held, branching)
    draw.shuffle(held)
    while len(held) > 60:
        tree.delete(0, held.pop().owner)

    check(tree, held, queries, count)
    check_structure(tree, held, branching)


@pytest.mark.parametrize("branching", [4, 5, 32])
def test_depth_and_fill_are_bounded(branching):
    """A list of n has at most 1 + log n / log(b / 3) levels, whatever came and went; Theorem 3.1's space is O(n)."""
    count = 4000
    tree = ChangingIRTree([98], branching)
    insert_all(tree, [Interval(0, owner % 64, 64 + owner % 35, float(-owner), owner) for owner in range(count)])
    for step in (2, 3, 5):
        for owner in range(0, count, step):
            if all(owner % before for before in (2, 3) if before < step):
                tree.delete(0, owner)
    (root,) = lists_of(tree).values()

    assert len(tree) == sum(1 for owner in range(count) if all(owner % step for step in (2, 3, 5)))
    assert root.level <= math.log(len(tree)) / math.log(max(2, branching // 3))
    assert sum(1 for _ in root.all_nodes()) <= len(tree)


@pytest.mark.parametrize("branching", [4, 32])
def test_size_follows_what_is_held(branching):
    """Growing, shrinking to nothing and growing elsewhere leaves no more room than a constant for each interval."""
    tree = ChangingIRTree([999], branching)
    empty = sum(tree.sizes().values())
    sizes = []
    for turn in range(6):
        first = 5000 * turn
        lows = np.arange(5000) % 900 if turn % 2 else np.full(5000, 3)
        tree.insert_many(np.zeros(5000, int), lows, lows + turn, np.arange(5000.0) % 10, np.arange(first, first + 5000))
        sizes.append(sum(tree.sizes().values()) - empty)
        for owner in range(first, first + 5000, 2):
            tree.delete(0, owner)
        tree.delete_many(np.zeros(2500, int), np.arange(first + 1, first + 5000, 2))

        assert len(tree) == 0
        assert sum(tree.sizes().values()) - empty < 150_000
    assert max(sizes) <= 5000 * (8 * 24 + 60) + 150_000


def test_a_leaf_is_looked_at_for_every_result_at_most():
    """Lemma 3.1: where all intervals overlap, a leaf that is stabbed gives a result; so after a thousand changes."""
    branching, count = 8, 3000
    draw = random.Random(8)
    tree = ChangingIRTree([126], branching)
    for owner in range(count):
        tree.insert(0, draw.randint(0, 63), draw.randint(63, 126), draw.random(), owner)
    for owner in draw.sample(range(count), 1000):
        tree.rescore(0, owner, draw.random())
    assert list(lists_of(tree)) == [(0, 63)]

    for k in (1, 5, 100):
        found = ask(tree, [(0, code) for code in range(127)], k)
        assert found.examined <= (branching + 1) * (len(found.places) + 127)
    assert ask(tree, [(0, 63)], 1).examined <= 2


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), count=st.sampled_from([15, 150, 700]), codes=st.sampled_from([1, 3, 64, 1000]))
def test_one_by_one_and_many_are_the_same(seed, count, codes):
    """Of the same intervals in any order: what is answered, and what is held."""
    random_numbers = np.random.default_rng(seed)
    last = [codes - 1, 5, codes - 1]
    intervals = [
        one._replace(low=max(one.low, 0), high=min(one.high, last[one.group]))
        for one in random_load(random_numbers, count, codes, 1 + codes / 5)
        if max(one.low, 0) <= min(one.high, last[one.group])
    ]
    singly, together = ChangingIRTree(last, 5), ChangingIRTree(last, 5)
    for one in intervals:
        singly.insert(*one)
    if intervals:
        insert_all(together, intervals)
    made = ChangingIRTree.of(scored(intervals, last), 5)
    queries = [(0, int(code)) for code in random_numbers.integers(-1, codes, 20)]

    for tree in (singly, together, made):
        check(tree, intervals, queries, 7)
        check_structure(tree, intervals, 5)
        assert tree.intervals().scores.tolist() == made.intervals().scores.tolist()
        assert tree.intervals().owners.tolist() == made.intervals().owners.tolist()


@pytest.mark.parametrize("low, high", [(low, high) for low in range(8) for high in range(low, 8)])
def test_an_interval_lies_at_the_highest_code_that_it_contains(low, high):
    """The code that comes first on the way from the root of a balanced tree over the codes."""
    tree = ChangingIRTree([7])
    tree.insert(0, low, high, 1.0, 1)
    middle, step = 8, 8
    while not low + 1 <= middle <= high + 1:
        step //= 2
        middle += step if middle < low + 1 else -step

    assert list(lists_of(tree)) == [(0, middle - 1)]


def test_an_owner_may_have_an_interval_in_each_group():
    """The dimensions of one subscription."""
    tree = ChangingIRTree([5, 5])
    tree.insert(0, 1, 2, 1.0, 7)
    tree.insert(1, 2, 3, 2.0, 7)
    tree.delete(0, 7)

    assert list(tree.cursor(0, 2)) == []
    assert [float(tree.scores[place]) for place in tree.cursor(1, 2)] == [2.0]


def test_both_zeros_are_one_score():
    """They tie, by owner; and either takes the other's place."""
    tree = ChangingIRTree([5])
    for owner, score in ((3, 0.0), (2, -0.0), (1, 0.0), (0, -1.0)):
        tree.insert(0, 1, 2, score, owner)
    tree.rescore(0, 1, -0.0)

    assert [int(tree.owners[place]) for place in tree.cursor(0, 2)] == [1, 2, 3, 0]


def test_of_an_owner_rescored_twice_the_last_score_counts():
    tree = ChangingIRTree([5])
    tree.insert(0, 1, 2, 1.0, 7)
    tree.rescore_many([0, 0], [7, 7], [5.0, 4.0])

    assert tree.intervals().scores.tolist() == [4.0]


def test_a_cursor_ends_with_the_next_change():
    """It says so, and does not read what has moved."""
    tree = ChangingIRTree([5])
    for owner in range(3):
        tree.insert(0, 1, 2, 1.0, owner)
    cursor = tree.cursor(0, 1)
    next(cursor)
    tree.delete(0, 2)

    with pytest.raises(tocsin.InvalidInput, match="changed since this cursor began"):
        next(cursor)


def test_the_layout_is_what_kernels_take():
    assert kind_of(ChangingTrees) == CHANGING
    assert isinstance(ChangingIRTree([3]).structure, ChangingTrees)
