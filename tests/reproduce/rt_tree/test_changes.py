"""R^t-trees that change: they find what a look at all finds, and nodes know what they would if counted anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproduce.rt_tree.changing import TREES, ChangingTree

import tocsin
from tests.index.asking import batch, compiled, pairs
from tocsin.papers.location_aware.growing_trees.kernels.layouts import CountedTree, ListedTree
from tocsin.papers.location_aware.rt_trees.ordering import DF, IDF, LOCALITY, RANDOM

Box = tuple[int, int, int, int]
WORDS = "abcdefg"
CHILDREN = [(2, 4), (2, 5), (1, 4)]

sides = st.integers(0, 9)
boxes = st.tuples(sides, sides, sides, sides).map(
    lambda one: (min(one[0], one[2]), min(one[1], one[3]), max(one[0], one[2]), max(one[1], one[3]))
)
words = st.sets(st.sampled_from(WORDS), min_size=1, max_size=5)
subscriptions = st.lists(st.tuples(boxes, words), min_size=8, max_size=40)
messages = st.lists(st.tuples(boxes, words), min_size=1, max_size=8)


def text(box: Box, keywords: set[str]) -> str:
    quoted = ", ".join(f"'{word}'" for word in sorted(keywords))
    return f"S_INTERSECTS(place, BBOX({', '.join(map(str, box))})) AND A_CONTAINS(words, ({quoted}))"


def answers(there, asked) -> list[tuple[int, int]]:
    """Who meets each message and has no keyword that it lacks."""
    return [
        (event, number)
        for event, (m, said) in enumerate(asked)
        for number, (s, keywords) in sorted(there.items())
        if s[0] <= m[2] and m[0] <= s[2] and s[1] <= m[3] and m[1] <= s[3] and keywords <= said
    ]


def ways(structure: CountedTree | ListedTree) -> Iterator[tuple[int, list[int]]]:
    """Each subscription, and its nodes from the root down."""
    tree = structure.tree
    places = len(tree.children) // len(tree.counts)
    stack = [[int(tree.roots[0])]]
    while stack:
        way = stack.pop()
        first = way[-1] * places
        for child in tree.children[first : first + tree.counts[way[-1]]].tolist():
            if tree.heights[way[-1]]:
                stack.append([*way, child])
            else:
                yield child, way


def kept(structure: CountedTree | ListedTree) -> Iterator[tuple[int, int, int]]:
    """Node, token and value of all that is not 0."""
    _, keys, values = structure.table
    for slot in np.flatnonzero(values).tolist():
        yield int(keys[slot]) >> 32, int(keys[slot]) & 0xFFFFFFFF, int(values[slot])


def check_counts(structure: CountedTree) -> None:
    turns = structure.turns
    expected = Counter(
        (node, int(turns.tokens[turn]))
        for one, way in ways(structure)
        for node in way
        for turn in range(turns.firsts[one], turns.stops[one])
    )
    assert {(node, token): value for node, token, value in kept(structure)} == expected


def check_lists(structure: ListedTree) -> None:
    """The i-th token at level i, what is left in the leaf; of a list both ways are the same."""
    turns, chains = structure.turns, structure.chains
    expected = set()
    for one, way in ways(structure):
        below = way[1:] or way
        for place, turn in enumerate(range(turns.firsts[one], turns.stops[one])):
            expected.add((below[min(place, len(below) - 1)], int(turns.tokens[turn]), one))
    found = []
    for node, token, turn in kept(structure):
        before = 0
        while turn:
            assert chains.befores[turn - 1] == before
            assert turns.tokens[turn - 1] == token
            found.append((node, token, int(chains.owners[turn - 1])))
            before, turn = turn, int(chains.nexts[turn - 1])
    assert len(found) == len(expected)
    assert set(found) == expected


def check(index: ChangingTree) -> None:
    structure = index.structure
    check_counts(structure) if isinstance(structure, CountedTree) else check_lists(structure)


@given(
    name=st.sampled_from(TREES),
    children=st.sampled_from(CHILDREN),
    selection=st.sampled_from([RANDOM, DF, IDF, LOCALITY]),
    all_of_them=subscriptions,
    asked=messages,
    changes=st.lists(st.integers(0, 39), min_size=16, max_size=120),
)
def test_any_churn_answers_like_a_look_at_all(name, children, selection, all_of_them, asked, changes):
    """One that is there goes, one that is not comes; then nodes know what they would if all were counted anew."""
    expressions = compiled([text(*one) for one in all_of_them])
    least, most = children
    index = ChangingTree(expressions, name, least=least, most=most, selection=selection)
    there: dict[int, tuple[Box, set[str]]] = {}
    for change in changes:
        number = change % len(all_of_them)
        if number in there:
            index.delete(number)
            del there[number]
        else:
            index.insert(number)
            there[number] = all_of_them[number]

    assert len(index) == len(there)
    check(index)
    given_events = batch(expressions, [{"place": list(box), "words": sorted(said)} for box, said in asked])
    assert pairs(index.match(given_events)) == answers(there, asked)


@pytest.mark.parametrize("name", TREES)
def test_many_come_and_go(name):
    """A tree of several levels grows and is emptied, on the way down through underfull nodes and roots of one child."""
    random = np.random.default_rng(4)
    corners = random.integers(0, 100, (600, 2))
    held = [
        ((x, y, x + 4, y + 3), set(random.choice(list(WORDS), 1 + number % 5, replace=False).tolist()))
        for number, (x, y) in enumerate(corners.tolist())
    ]
    asked = [((x, y, x + 9, y + 9), set("abcdef")) for x, y in random.integers(0, 95, (40, 2)).tolist()]
    expressions = compiled([text(*one) for one in held])
    given_events = batch(expressions, [{"place": list(box), "words": sorted(said)} for box, said in asked])
    index = ChangingTree(expressions, name, least=2, most=4)
    for number in range(600):
        index.insert(number)
    check(index)
    height = int(index.structure.tree.heights[index.structure.tree.roots[0]])
    assert height >= 5
    assert pairs(index.match(given_events)) == answers(dict(enumerate(held)), asked)

    for left, number in zip(range(599, -1, -1), random.permutation(600).tolist(), strict=True):
        index.delete(number)
        held[number] = ((-1, -1, -1, -1), {"nobody"})
        if left % 100 == 0:
            check(index)
            assert pairs(index.match(given_events)) == answers(dict(enumerate(held)), asked)
    assert len(index) == 0
    assert int(index.structure.tree.heights[index.structure.tree.roots[0]]) == 0
    assert not index.structure.table.values.any()


def test_the_rest_is_verified_and_who_never_holds_is_not_there():
    expressions = compiled([text((0, 0, 1, 1), {"a"}), text((0, 0, 1, 1), {"a"}) + " AND x > 3", "FALSE"])
    index = ChangingTree(expressions)
    for number in range(3):
        index.insert(number)

    found = index.match(batch(expressions, [{"place": [1, 1], "words": ["a"], "x": x} for x in (3, 4)]))

    assert pairs(found) == [(0, 0), (1, 0), (1, 1)]
    assert len(index) == 2


def test_what_is_there_or_is_not_is_said():
    """Twice in, twice out, and regions of two attributes."""
    index = ChangingTree(compiled([text((0, 0, 1, 1), {"a"})]))
    index.insert(0)
    with pytest.raises(tocsin.DuplicateSubscription, match="0 is there already"):
        index.insert(0)
    index.delete(0)
    with pytest.raises(tocsin.UnknownSubscription, match="no subscription 0"):
        index.delete(0)
    other = text((0, 0, 1, 1), {"a"})
    with pytest.raises(tocsin.UnsuitableIndex, match="several attributes"):
        ChangingTree(compiled([other, other.replace("place", "where")]))
