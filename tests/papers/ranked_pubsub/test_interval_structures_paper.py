"""Interval trees, IR-trees and segment trees are the paper's: Lemma 3.1, Theorem 3.1, and what a node holds.

Machanavajjhala, Vee, Garofalakis, Shanmugasundaram: Scalable Ranked Publish/Subscribe, PVLDB 1(1), 2008, sections 2.1
and 3.1.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.scored.building import by_rank, ends_of, entries, few, levels, lists_of, random_ends
from tests.naive import intervals as naive
from tocsin.index import ranker_builder
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.index.scored.r_trees.kernels import RTrees
from tocsin.index.scored.sopt_r_tree import sopt_r_trees
from tocsin.papers.ranked_pubsub.interval_tree.kernels import BEST, LEFT, MEDIAN, NODE, RIGHT, IntervalTrees
from tocsin.papers.ranked_pubsub.ir_tree import ir_trees
from tocsin.papers.ranked_pubsub.segment_tree import segment_trees
from tocsin.papers.ranked_pubsub.segment_tree.kernels import SegmentTrees


@pytest.mark.parametrize("branching", [2, 3, 5, 32, 50])
@pytest.mark.parametrize("length", [1.0, 40.0, 2000.0])
def test_theorem_3_1_space(branching: int, length: float) -> None:
    """An IR-tree takes at most 1 + 2 / (b - 1) of what the scored interval tree does."""
    intervals = by_rank(random_ends(np.random.default_rng(3), 5000, 3000, length))
    plain, indexed = (
        ranker_builder(name, options).build(intervals).sizes()["structure"]
        for name, options in (("interval_tree", {}), ("ir_tree", {"branching": branching}))
    )

    assert 12 * 5000 <= indexed <= plain * (1 + 2 / (branching - 1))
    assert plain <= (12 + 40) * 5000 + 100


def check_no_holes(trees: IntervalTrees, last: int) -> None:
    """Lemma 3.1: of every list's R-tree, a node that is stabbed has a stabbed entry below."""
    rows = entries(trees.lists)
    for node in range(len(trees.nodes) // NODE):
        for level in levels(trees.lists, node):
            for (low, high), below in zip(level.extents, level.entries, strict=True):
                held = np.zeros(last + 2, np.int64)
                np.add.at(held, rows[below, 0], 1)
                np.add.at(held, rows[below, 1] + 1, -1)
                assert np.flatnonzero(np.cumsum(held)).tolist() == list(range(low, high + 1))


def check_interval_tree(trees: IntervalTrees, intervals: ScoredIntervals) -> None:
    """Section 2.1.1: a node's list has what its median stabs, by score; the others go left or right of it."""
    rows, ends = entries(trees.lists), ends_of(intervals)
    nodes = trees.nodes.reshape(-1, NODE).tolist()
    waiting = [(int(trees.roots[0]), set(range(len(ends))))] if ends else []
    while waiting:
        number, own = waiting.pop()
        node = nodes[number]
        listed = rows[trees.lists.starts[number] : trees.lists.starts[number + 1], 2].tolist()
        assert listed == sorted(i for i in own if naive.contains(ends[i], node[MEDIAN]))
        assert listed[0] == node[BEST]
        sides = {
            LEFT: {i for i in own if ends[i][1] < node[MEDIAN]},
            RIGHT: {i for i in own if ends[i][0] > node[MEDIAN]},
        }
        for side, held in sides.items():
            assert (node[side] >= 0) == bool(held)
            assert len(held) <= len(own) / 2
            waiting += [(node[side], held)] if held else []


@given(few, st.integers(2, 4))
def test_lemma_3_1_of_few(intervals: list[tuple[int, int]], branching: int) -> None:
    held = by_rank(intervals)
    trees = ir_trees(held.ranges, branching, 1)

    check_no_holes(trees, 12)
    check_interval_tree(trees, held)


def test_few_are_not_split() -> None:
    """A list whose intervals have no value in common is short, and the end of its path (docs/papers says why)."""
    held = by_rank(random_ends(np.random.default_rng(8), 5000, 3000, 20.0))
    trees = ir_trees(held.ranges, 32)

    rows, nodes = entries(trees.lists), trees.nodes.reshape(-1, NODE)
    apart = 0
    for number, (first, stop) in enumerate(itertools.pairwise(trees.lists.starts.tolist())):
        own = rows[first:stop]
        if not ((own[:, 0] <= nodes[number, MEDIAN]) & (nodes[number, MEDIAN] <= own[:, 1])).all():
            apart += 1
            assert stop - first <= 64
            assert nodes[number, [LEFT, RIGHT]].tolist() == [-1, -1]
    assert apart > 10


def test_lemma_3_1_of_many() -> None:
    """Long lists, and many of them."""
    for length in (2.0, 300.0):
        held = by_rank(random_ends(np.random.default_rng(8), 1500, 1000, length))
        trees = ir_trees(held.ranges, 3, 1)
        check_no_holes(trees, 1000)
        check_interval_tree(trees, held)
        assert np.diff(trees.lists.starts).max() > (300 if length > 100 else 3)


def check_segment_tree(intervals: ScoredIntervals) -> None:
    """Section 2.1.2: an interval is in at most two lists a level; the lists on a path have just what is stabbed."""
    trees = segment_trees(intervals.ranges, 0)
    lists, ends = lists_of(trees), ends_of(intervals)
    size = int(trees.sizes[0])
    places = [[node for node, own in enumerate(lists) if place in own] for place in range(len(ends))]

    assert lists[0] == []
    assert all(own == sorted(set(own)) for own in lists)
    for own in places:
        by_level = [node.bit_length() for node in own]
        assert all(by_level.count(level) <= 2 for level in by_level)
        assert not any((node ^ 1) in own for node in own)  # siblings would be their parent
    for code in range(int(intervals.ranges.last[0]) + 1):
        path = [(size + code) >> up for up in range(size.bit_length())]
        found = sorted(itertools.chain(*(lists[node] for node in path)))
        assert found == [place for place, one in enumerate(ends) if naive.contains(one, code)]


@given(few)
def test_segment_tree_of_few(intervals: list[tuple[int, int]]) -> None:
    check_segment_tree(by_rank(intervals))


@pytest.mark.parametrize("codes", [1, 2, 127, 128, 129])
def test_segment_tree_of_many(codes: int) -> None:
    """Around the sizes at which the tree gets a level."""
    check_segment_tree(by_rank(random_ends(np.random.default_rng(codes), 120, codes, codes / 3)))


def test_a_segment_tree_looks_at_nothing_in_vain() -> None:
    """Section 2.2.1: every list on the path is stabbed whole."""
    intervals = by_rank(random_ends(np.random.default_rng(4), 800, 500, 40.0))
    tree = ranker_builder("segment_tree", {}).build(intervals)

    for k in (1, 10, 800):
        found = tree.best(np.zeros(500, np.int32), np.arange(500, dtype=np.int32), k)
        assert found.examined == len(found.places) > 0


def test_structures_have_the_layouts_that_kernels_tell_apart() -> None:
    held = by_rank([(0, 1), (1, 2)])

    assert isinstance(sopt_r_trees(held.ranges, 2), RTrees)
    assert isinstance(ir_trees(held.ranges, 2), IntervalTrees)
    assert isinstance(segment_trees(held.ranges, 2), SegmentTrees)
