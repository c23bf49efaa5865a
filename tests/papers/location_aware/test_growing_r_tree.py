"""An R-tree that grows and shrinks: it finds what a look at all finds, and stays the tree that Guttman describes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.papers.location_aware.growing_trees.kernels.r_tree import USED
from tocsin.papers.location_aware.growing_trees.r_tree import GrowingRTree

sides = st.integers(0, 8).map(float)
boxes = st.tuples(sides, sides, sides, sides).map(
    lambda one: (min(one[0], one[2]), min(one[1], one[3]), max(one[0], one[2]), max(one[1], one[3]))
)


def check_tree(index: GrowingRTree, branching: int) -> None:
    """Leaves are of height 0, nodes are full enough, boxes are those around what is below, all is there once."""
    tree, places, fewest = index.tree, branching + 1, max(2, branching * 2 // 5)
    found = []
    root = int(tree.roots[0])
    stack = [root]
    while stack:
        node = stack.pop()
        own = range(node * places, node * places + int(tree.counts[node]))
        assert len(own) <= branching
        assert node == root or len(own) >= fewest
        assert node != root or tree.parents[node] == -1
        for place in own:
            child = int(tree.children[place])
            if tree.heights[node] == 0:
                found.append(child)
                continue
            assert tree.parents[child] == node
            assert tree.heights[child] == tree.heights[node] - 1
            below = tree.boxes[child * places : child * places + tree.counts[child]]
            assert tree.boxes[place].tolist() == [*below[:, :2].min(axis=0), *below[:, 2:].max(axis=0)]
            stack.append(child)
    assert sorted(found) == sorted(index._boxes)


@given(st.sampled_from([4, 5, 16]), st.lists(st.tuples(st.integers(0, 40), boxes), max_size=120))
def test_it_finds_what_covers_a_point(branching, changes):
    """One that comes again has gone before."""
    index, there = GrowingRTree(branching), {}
    for number, box in changes:
        if number in there:
            index.delete(number)
            del there[number]
        else:
            index.insert(number, box)
            there[number] = box

    check_tree(index, branching)
    for x in np.arange(-0.5, 9, 0.5):
        for y in (-0.5, 0, 2.5, 4, 8):
            expected = [n for n, (a, b, c, d) in there.items() if a <= x <= c and b <= y <= d]
            assert index.find(x, y) == sorted(expected)


def test_many_come_and_go():
    """Nodes that are cut off are used again, and the tree is as high as it must be."""
    random = np.random.default_rng(2)
    corners = random.random((5000, 2))
    index = GrowingRTree(8)
    for number, (x, y) in enumerate(corners.tolist()):
        index.insert(number, (x, y, x + 0.05, y + 0.02))
    check_tree(index, 8)
    used = int(index.tree.state[USED])
    for number in range(4990):
        index.delete(number)
    check_tree(index, 8)
    for number, (x, y) in enumerate(corners[:4990].tolist()):
        index.insert(number, (x, y, x + 0.05, y + 0.02))
    check_tree(index, 8)

    assert int(index.tree.state[USED]) < 1.2 * used
    for x, y in random.random((50, 2)).tolist():
        inside = (corners <= [x, y]) & (corners + np.array([0.05, 0.02]) >= [x, y])
        assert index.find(x, y) == np.flatnonzero(inside.all(axis=1)).tolist()
    with pytest.raises(ValueError, match="there already"):
        index.insert(0, (0, 0, 1, 1))
    with pytest.raises(KeyError):
        index.delete(9999)
    with pytest.raises(ValueError, match="4 at least"):
        GrowingRTree(3)
