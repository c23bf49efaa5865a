"""The structures of scored intervals are the paper's: Examples 1 to 5, Lemmas 3.1 to 3.4, Theorems 3.1 and 3.2.

Machanavajjhala, Vee, Garofalakis, Shanmugasundaram: Scalable Ranked Publish/Subscribe, PVLDB 1(1), 2008.

The ten intervals of its figures are lost in our copy. `RUNNING` is what the text leaves: the ends are 0, 10, 30, 45,
55, 65, 75, 90 and 100 (Examples 2 and 5); 9 is [10, 45] (2); 6 is [0, 30], 3 and 7 begin at 45 and 75, 4 at 65, 3 ends
at 55 and 7 at 100 (5); 1 ends no later than 3, but behind 50 (1), and meets neither 5 nor 6 (4), so that it is [30, 55]
and 5 ends at 30; 2, 4, 7 and 8 contain (75, 90) (2). The order in which Example 2 lists what a query stabs, 10, 2, 7,
4, 8, is by node from the root down, by score in each, only if 10 and 2 end at 100, 4 and 8 at 90. Left open are where 5
and 10 begin (0 or 10), 2 (65 or 75) and 8 (55, 65 or 75): every choice is tested.

The paper takes intervals that touch for apart: 1 and 6 do at 30. So ends are half-open here, [low, high), and a code is
an atomic segment. That 50, 20 and 80 are *median ends* (Example 1) cannot be, for the ends are those nine: they stand
for the segments that they lie in.
"""

from __future__ import annotations

import itertools
from typing import Final, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.scored.building import Search, by_rank, entries, few, levels, lists_of, random_ends, scored
from tests.naive import intervals as naive
from tests.naive.intervals import Edge, Interval
from tocsin.index import ranker_builder
from tocsin.index.scored.intervals import ScoredIntervals
from tocsin.index.scored.r_trees import r_trees, scored_r_trees
from tocsin.index.scored.sopt_r_tree.arrangement import Graph, arrange, constraint_graph
from tocsin.index.scored.sopt_r_tree.building import end_ranks, sopt_r_trees
from tocsin.index.scored.tree import ScoredTree
from tocsin.papers.ranked_pubsub.interval_tree import interval_trees
from tocsin.papers.ranked_pubsub.interval_tree.kernels import LEFT, MEDIAN, NODE, RIGHT, IntervalTrees
from tocsin.papers.ranked_pubsub.ir_tree import ir_trees
from tocsin.papers.ranked_pubsub.segment_tree import segment_trees

Ten: TypeAlias = dict[int, tuple[int, int]]

ENDS: Final = (0, 10, 30, 45, 55, 65, 75, 90, 100)
SEGMENTS: Final = len(ENDS) - 1
RUNNING: Final = [
    {
        1: (30, 55),
        2: (of_2, 100),
        3: (45, 55),
        4: (65, 90),
        5: (of_5, 30),
        6: (0, 30),
        7: (75, 100),
        8: (of_8, 90),
        9: (10, 45),
        10: (of_10, 100),
    }
    for of_2, of_5, of_8, of_10 in itertools.product((65, 75), (0, 10), (55, 65, 75), (0, 10))
]
running = pytest.mark.parametrize("ten", RUNNING, ids=lambda ten: f"{ten[2][0]}-{ten[5][0]}-{ten[8][0]}-{ten[10][0]}")


def segment_of(value: float) -> int:
    """The atomic segment that a value lies in."""
    return sum(end <= value for end in ENDS) - 1


def half_open(ten: Ten) -> list[tuple[int, int]]:
    """The segments of each, by score."""
    return [(ENDS.index(low), ENDS.index(high) - 1) for _, (low, high) in sorted(ten.items())]


def closed(ten: Ten) -> list[tuple[int, int]]:
    """As rank codes, both ends included: those that touch meet."""
    return [(2 * ENDS.index(low) + 1, 2 * ENDS.index(high) + 1) for _, (low, high) in sorted(ten.items())]


def graph_of(intervals: ScoredIntervals) -> Graph:
    return constraint_graph(*end_ranks(intervals.ranges))


def edge_list(graph: Graph) -> list[Edge]:
    """From what to what, by place, each as often as it is there."""
    found = []
    for better, head in enumerate(graph.heads.tolist()):
        edge = head
        while edge >= 0:
            found.append((better, int(graph.targets[edge])))
            edge = int(graph.nexts[edge])
    return found


def edges_of(intervals: list[tuple[int, int]]) -> set[Edge]:
    return set(edge_list(graph_of(by_rank(intervals))))


def on_line(intervals: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[float]]:
    """Intervals as the kernel sees them, by the ranks of their ends, which all differ; and all points of that line."""
    lefts, rights = end_ranks(by_rank(intervals).ranges)
    ranked = list(zip(lefts.tolist(), rights.tolist(), strict=True))
    return ranked, [half / 2 for half in range(4 * len(intervals))]


# The running example


@running
def test_example_1_the_interval_tree(ten: Ten) -> None:
    """Three nodes, whose medians are where 50, 20 and 80 are: {1, 3, 10}, {5, 6, 9} and {2, 4, 7, 8}, by score."""
    intervals = by_rank(half_open(ten))
    for trees in (interval_trees(intervals.ranges, 2), ir_trees(intervals.ranges, 2, 1)):
        nodes = trees.nodes.reshape(-1, NODE)
        root = nodes[trees.roots[0]]
        found = {
            value: (int(node[MEDIAN]), own_list(trees, number))
            for value, number in ((50, trees.roots[0]), (20, root[LEFT]), (80, root[RIGHT]))
            for node in [nodes[number]]
        }

        assert len(nodes) == 3
        assert found == {
            50: (segment_of(50), [1, 3, 10]),
            20: (segment_of(20), [5, 6, 9]),
            80: (segment_of(80), [2, 4, 7, 8]),
        }
    assert [ten[i][0] for i in (10, 1, 3)] == sorted(ten[i][0] for i in (1, 3, 10))
    assert [ten[i][1] for i in (1, 3, 10)] == sorted(ten[i][1] for i in (1, 3, 10))


def own_list(trees: IntervalTrees, node: int) -> list[int]:
    """The ids, from 1 on, of a node's list."""
    return (entries(trees.lists)[trees.lists.starts[node] : trees.lists.starts[node + 1], 2] + 1).tolist()


@running
def test_example_2_the_segment_tree(ten: Ten) -> None:
    """Four levels; 9 is in the nodes of [10, 30] and [30, 45]; 10, 2, 7, 4, 8 lie on the path to (75, 90)."""
    trees = segment_trees(by_rank(half_open(ten)).ranges, 0)
    lists = {node: [place + 1 for place in own] for node, own in enumerate(lists_of(trees))}

    assert trees.sizes.tolist() == [8]
    assert [node for node, own in lists.items() if 9 in own] == [8 + segment_of(10), 8 + segment_of(30)]
    path = [(8 + segment_of(80)) >> up for up in (3, 2, 1, 0)]
    assert list(itertools.chain(*(lists[node] for node in path))) == [10, 2, 7, 4, 8]


@running
@pytest.mark.parametrize("value", [35, 90])
def test_example_3_every_node_is_visited(ten: Ten, value: int) -> None:
    """For 35 in an R-tree of branching factor 4, and section 2.2.3 for 90 in the scored one: here they are the same.

    Which intervals Figure 3 groups is lost; by score all its nodes are stabbed, too. Section 2.2.3 says that a single
    `getnext()` for 90 visits all nodes; as 2 contains (75, 90), no choice of ends makes it, but asking for all does.
    """
    trees = scored_r_trees(by_rank(closed(ten)).ranges, 4)
    search = Search(trees, 2 * segment_of(value) + (2 if value == 35 else 1))

    found = [place + 1 for place in search.places()]

    assert found == sorted(i for i, (low, high) in ten.items() if low <= value <= high)
    assert search.explored == [[0, 1, 2], [0]]


@running
def test_example_4_the_constraint_graph(ten: Ten) -> None:
    """There are edges from 1 to 3 and to 9, and none to 10, which is covered by the path of 1, 3, 10."""
    by_segments = naive.constraints(half_open(ten), range(SEGMENTS))
    edges = {(better + 1, worse + 1) for better, worse in edges_of(closed(ten))}

    for found in ({(better + 1, worse + 1) for better, worse in by_segments}, edges):
        assert {(1, 3), (1, 9), (3, 10)} <= found
        assert (1, 10) not in found
    assert {worse for better, worse in by_segments if better == 0} == {2, 8}


@running
def test_example_4_half_open(ten: Ten) -> None:
    """Of half-open ends the graph has these edges, and some for gaps on the line that no value is in.

    At 45 an interval ends before another begins, and 1 and 10 meet in between. They do elsewhere, so that a path covers
    such an edge, as any other that is not needed.
    """
    found = edges_of(half_open(ten))
    by_segments = naive.constraints(half_open(ten), range(SEGMENTS))

    assert by_segments < found <= naive.meeting(half_open(ten), range(SEGMENTS)) <= reachable(by_segments)
    assert (0, 9) in found - by_segments


def reachable(edges: set[Edge]) -> set[Edge]:
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in edges if b == c} - found:
        found |= more
    return found


@running
def test_example_5_visible_blocks(ten: Ten) -> None:
    """Of 1 to 7, and what is associated with each: a probe in a block has an edge from that interval alone."""
    seven = {i: ten[i] for i in range(1, 8)}
    shifted = [(low + 1, high + 1) for low, high in half_open(seven)]  # so that there is room before 0
    bounds = (-1, 0, 30, 45, 55, 65, 75, 100, 101)
    associated = (None, 6, 1, 3, None, 4, 7, None)

    assert naive.visible_ends(list(seven.values())) == list(bounds[1:-1])
    for low, high, owner in zip(bounds, bounds[1:], associated, strict=False):
        for probe in itertools.combinations(range(segment_of(low) + 1, segment_of(high) + 2), 2):
            graph = edges_of([*shifted, (probe[0], probe[1] - 1)])
            assert [better + 1 for better, worse in graph if worse == 7] == ([] if owner is None else [owner])


@running
def test_section_3_2_2_an_end_that_is_obscured(ten: Ten) -> None:
    """30 is visible among 1 to 8, as an end of 6, and not among 1 to 10, where 10 hides it."""
    some = {count: [ten[i] for i in range(1, count + 1)] for count in (8, 10)}
    probe = (ENDS.index(10), ENDS.index(45) - 1)

    assert 30 in naive.visible_ends(some[8])
    assert 30 not in naive.visible_ends(some[10])
    for count, seen in ((8, {5, 0}), (10, {9})):
        edges = edges_of([*half_open({i: ten[i] for i in range(1, count + 1)}), probe])
        assert {better for better, worse in edges if worse == count} == seen


# Lemmas and theorems

CODES: Final = range(13)


@given(few)
def test_algorithm_2_is_the_definition(intervals: list[tuple[int, int]]) -> None:
    """The same edges as brute force over all points of the line; `before` counts those that lead to each, one a block.

    On the line equal ends differ, so that there may be edges for points that are no code; but all pairs do meet.
    """
    graph = graph_of(by_rank(intervals))
    found = edge_list(graph)

    assert set(found) == naive.constraints(*on_line(intervals))
    assert naive.constraints(intervals, CODES) <= set(found) <= naive.meeting(intervals, CODES)
    assert graph.before.tolist() == [sum(worse == place for _, worse in found) for place in range(len(intervals))]
    assert len(found) == len(graph.targets) == len(graph.nexts)
    assert all(better < worse for better, worse in found)


@given(few)
def test_every_pair_that_meets_is_covered_by_a_path(intervals: list[tuple[int, int]]) -> None:
    """Section 3.2.1: what respects one graph respects the other."""
    assert reachable(edges_of(intervals)) >= naive.meeting(intervals, CODES)


@given(few)
def test_lemma_3_3(intervals: list[tuple[int, int]]) -> None:
    """An edge leads to an interval from those that are associated with a visible block which it meets, and no others.

    On the line of ranks, on which all ends differ.
    """
    ranked, _ = on_line(intervals)
    edges = edges_of(intervals)

    for worse, (left, right) in enumerate(ranked):
        blocks = naive.visible_blocks(ranked[:worse])
        seen = {owner for (low, high), owner in blocks if owner is not None and low < right and left < high}
        assert {better for better, target in edges if target == worse} == seen


@given(few)
def test_algorithm_1_is_its_text(intervals: list[tuple[int, int]]) -> None:
    """Of those that nothing left must precede the one that begins furthest left; the better where two begin there."""
    held = by_rank(intervals)
    lefts, _ = end_ranks(held.ranges)

    order = arrange(graph_of(held), lefts)

    assert order.tolist() == naive.arrangement(intervals, naive.constraints(intervals, CODES))


@given(few, st.integers(2, 5), st.randoms(use_true_random=False))
def test_lemma_3_2_any_arrangement_that_respects_the_graph_will_do(intervals, branching, dice) -> None:
    """Depth first from the left gives the best k, whichever of those that may come next does."""
    held = by_rank(intervals)
    edges = naive.constraints(intervals, CODES)
    order: list[int] = []
    while len(order) < len(intervals):
        free = [i for i in range(len(intervals)) if i not in order]
        order.append(dice.choice([i for i in free if not any((j, i) in edges for j in free)]))
    trees = r_trees(held.ranges.starts, np.array(order, np.int32), held.ranges, branching)
    rows = [Interval(0, low, high, -float(place), place) for place, (low, high) in enumerate(intervals)]

    for code in range(int(held.ranges.last[0]) + 1):
        expected = [one.owner for one in naive.stabbed(rows, 0, code)]
        assert list(ScoredTree(held, trees).cursor(0, code)) == list(Search(trees, code).places()) == expected


@given(few)
def test_lemma_3_4_there_are_at_most_3_n_edges(intervals: list[tuple[int, int]]) -> None:
    assert len(edge_list(graph_of(by_rank(intervals)))) <= 3 * len(intervals)


@pytest.mark.parametrize("shape", ["random", "combs", "stairs", "nested", "from the inside", "equal", "points"])
def test_lemma_3_4_of_many(shape: str) -> None:
    """Nor of shapes that are made to have many."""
    count = 3000
    tooth = [(4 * i, 4 * i + 2) for i in range(count)]
    shapes = {
        "random": random_ends(np.random.default_rng(1), count, 5000, 400.0),
        "combs": [
            one for i in range(0, count, 30) for one in [*tooth[i : i + 29], (tooth[i][0] + 1, tooth[i + 28][1])]
        ],
        "stairs": [(2 * i, 2 * i + 101) for i in range(count)],
        "nested": [(i, 3 * count - i) for i in range(count)],
        "from the inside": [(count - i, 2 * count + i) for i in range(count)],
        "equal": [(3, 9)] * count,
        "points": [(i % 50, i % 50) for i in range(count)],
    }
    intervals = shapes[shape]
    graph = graph_of(by_rank(intervals))

    assert 0 < len(graph.targets) <= 3 * len(intervals)
    order = arrange(graph, end_ranks(by_rank(intervals).ranges)[0])
    assert sorted(order.tolist()) == list(range(len(intervals)))


def check_exploring(intervals: ScoredIntervals, branching: int, codes: list[int]) -> int:
    """Theorem 3.2 for any k: at most 2 k nodes of each level, no two holes beside each other. How many holes there are.

    Counted in Python as the kernel walks, which is seen to look at no more entries than those leaves have.
    """
    trees = sopt_r_trees(intervals.ranges, branching)
    tree = ScoredTree(intervals, trees)
    below = levels(trees)
    rows = entries(trees)
    holes = 0
    for code in codes:
        search = Search(trees, code)
        for k, place in enumerate(search.places(), 1):
            assert all(len(own) <= 2 * k for own in search.explored), (code, k)
            if k in (1, 2, 20):
                found = tree.best(np.zeros(1, np.int32), np.array([code], np.int32), k)
                assert found.places[-1] == place
                assert found.examined <= branching * max(len(search.explored[0]), 1) <= 2 * k * branching
        for level, own in zip(below, search.explored, strict=True):
            stabbed = [((rows[e, 0] <= code) & (code <= rows[e, 1])).any() for e in (level.entries[i] for i in own)]
            assert all(one or other for one, other in itertools.pairwise(stabbed))
            holes += len(stabbed) - sum(stabbed)
    return holes


@given(few, st.integers(2, 4))
def test_theorem_3_2_of_few(intervals: list[tuple[int, int]], branching: int) -> None:
    check_exploring(by_rank(intervals), branching, list(range(13)))


@pytest.mark.parametrize("branching", [2, 5, 32])
@pytest.mark.parametrize("length", [1, 30, 1500])
def test_theorem_3_2_of_many(branching: int, length: int) -> None:
    """Where there are holes, and where scores tie and groups lie beside one another."""
    random = np.random.default_rng(branching)
    intervals = by_rank(random_ends(random, 2500, 6000, length))

    assert check_exploring(intervals, branching, random.integers(0, 6000, 40).tolist()) > 0 or length != 30


@settings(max_examples=40)
@given(few, few, st.lists(st.integers(0, 2), min_size=28, max_size=28))
def test_groups_are_arranged_as_if_alone(first, second, scores) -> None:
    """All groups lie on one line; no edge leads from one to another, and ties go to the lower owner."""
    rows = [(group, *ends) for group, own in ((0, first), (2, second)) for ends in own]
    made = [Interval(*row, float(score), owner) for owner, (row, score) in enumerate(zip(rows, scores, strict=False))]
    together = scored(made, [12, 5, 12])
    trees = sopt_r_trees(together.ranges, 3)

    for group in (0, 2):
        alone = scored([one._replace(group=0) for one in made if one.group == group], [12])
        own = sopt_r_trees(alone.ranges, 3)
        place = together.ranges.starts[group]
        here = slice(trees.starts[group], trees.starts[group + 1])
        assert (entries(trees)[here] - [0, 0, place]).tolist() == entries(own).tolist()
        assert levels(trees, group)[:1] == [
            level._replace(entries=[range(e.start + here.start, e.stop + here.start) for e in level.entries])
            for level in levels(own)[:1]
        ]


@pytest.mark.parametrize("branching", [2, 3, 5, 32, 50])
@pytest.mark.parametrize("count", [1000, 1001, 20_000])
def test_theorem_3_2_space(branching: int, count: int) -> None:
    """At most 1 + 2 / (b - 1) of the 12 bytes an interval, as any R-tree; the same as the scored one."""
    intervals = by_rank(random_ends(np.random.default_rng(count), count, 3000, 50.0))
    sizes = [
        ranker_builder(name, {"branching": branching}).build(intervals).sizes()["structure"]
        for name in ("sopt_r_tree", "scored_r_tree")
    ]

    assert sizes[0] == sizes[1] <= 12 * count * (1 + 2 / (branching - 1))
