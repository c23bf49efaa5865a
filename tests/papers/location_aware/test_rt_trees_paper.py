"""The R^t-trees of Yu, Li et al. 2015: on the paper's own example its tree, its nodes' tokens and lists; its lemmas."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.asking import batch, compiled, pairs
from tests.index.spatial_text.test_regions import random_messages, random_texts
from tests.naive.location_aware_examples import (
    ANSWERS,
    CHILDREN,
    COUNTS,
    LEAVES,
    LISTS,
    MESSAGES,
    ORDERED,
    REGIONS,
    REPRESENTATIVES,
    STATEMENTS,
    SUBSCRIPTIONS,
    TOKENS,
    Count,
    Statement,
    Tree,
)
from tests.naive.places import intersects
from tests.papers.location_aware.trees import leaves_of, lists_at, tokens_at
from tocsin.index.spatial_text.regions import Held
from tocsin.papers.location_aware.rt_trees import (
    RTPlusPlusTreeBuilder,
    RTPlusTreeBuilder,
    RTTreeBuilder,
    SpatialFirstBuilder,
)
from tocsin.papers.location_aware.rt_trees.index import list_trees, token_trees
from tocsin.papers.location_aware.rt_trees.kernels.placing import ALL, parents_of
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees
from tocsin.papers.location_aware.rt_trees.ordering import DF, IDF, SELECTIONS, order_tokens
from tocsin.papers.location_aware.rt_trees.packing import Level, build_trees, trees_of

NAMES = list(SUBSCRIPTIONS)
NODES = ["n1", "n2", "n3", "n4", "n5", "n6", "n7"]
BUILDERS = {
    "all": RTTreeBuilder(),
    "df": RTPlusTreeBuilder(selection=DF),
    "idf": RTPlusTreeBuilder(selection=IDF),
    "lists": RTPlusPlusTreeBuilder(selection=IDF, finish=0),
    "finished": RTPlusPlusTreeBuilder(selection=IDF, finish=1),
}
FIGURE = Held.of(compiled([s.where() for s in SUBSCRIPTIONS.values()]))


def figure_2() -> Trees:
    """The very tree of Figure 2, whose leaves hold the subscriptions in their order."""
    assert [name for names in LEAVES.values() for name in names] == NAMES
    assert list(CHILDREN.values()) == [["n2", "n3"], ["n4", "n5"], ["n6", "n7"]]
    leaves = Level(np.arange(0, 13, 3), np.arange(12))
    return trees_of(
        [[leaves, Level(np.arange(0, 5, 2), np.arange(4)), Level(np.array([0, 2]), np.arange(2))]], _boxes()
    )


def _boxes() -> np.ndarray:
    return FIGURE.regions.boxes


def sets_of(tree: Tree) -> dict[str, set[str]]:
    """The tokens of each node of Figure 2, or of Figure 4."""
    tokens = FIGURE.regions.tokens if tree == "all" else order_tokens(FIGURE, {"df": DF, "idf": IDF}[tree])
    found = tokens_at(token_trees(FIGURE, figure_2(), tokens, ALL if tree == "all" else 1).sets, FIGURE)
    return {NODES[node]: words for node, words in found.items()}


def figure_5() -> dict[tuple[str, str], list[str]]:
    """The lists of each node of Figure 5, those of the third level in its leaves."""
    lists = lists_at(list_trees(FIGURE, figure_2(), order_tokens(FIGURE, IDF)).lists, FIGURE)
    return {(NODES[node], word): [NAMES[one] for one in own] for (node, word), own in lists.items()}


def test_the_tree_of_figure_2():
    """Nodes have the regions of the examples, and levels are counted from the root's children."""
    trees = figure_2()

    assert {name: tuple(trees.boxes[NODES.index(name)]) for name in REGIONS} == REGIONS
    assert trees.levels.tolist() == [0, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("tree", TOKENS)
def test_token_sets(tree: Tree):
    """Those of Examples 2, 4, 6 and 7."""
    assert sets_of(tree) == TOKENS[tree]


def test_representatives():
    """Those of Figures 4a and 4b; where tokens are as rare as each other the example decides as we do."""
    firsts = {tree: order_tokens(FIGURE, {"df": DF, "idf": IDF}[tree]) for tree in REPRESENTATIVES}
    lowest = {tree: _words(tokens[FIGURE.regions.token_starts[:-1]]) for tree, tokens in firsts.items()}

    assert {tree: dict(zip(NAMES, words, strict=True)) for tree, words in lowest.items()} == REPRESENTATIVES


def test_order_of_tokens():
    """The rarest first (Example 8)."""
    words = _words(order_tokens(FIGURE, IDF))

    starts = FIGURE.regions.token_starts.tolist()
    assert {name: words[a:b] for name, (a, b) in zip(NAMES, pairwise(starts), strict=True)} == ORDERED


def _words(tokens: np.ndarray) -> list[str]:
    operands = FIGURE.keywords.operands
    return [FIGURE.expressions.vocabulary.text(int(operands[token]) >> 1) for token in tokens]


@pytest.mark.parametrize("said", STATEMENTS, ids=lambda said: f"{said.where}, {said.node}, {said.tree}")
def test_filters(said: Statement):
    """Everyone below nodes that an example keeps is verified, and nobody below those that it prunes."""
    message = MESSAGES[said.message]
    kept = [node for node in kept_nodes(said.tree, message) if node in LEAVES]
    matcher = BUILDERS[said.tree].over(FIGURE, figure_2())

    examined = matcher.match(batch(FIGURE.expressions, [message])).candidates_examined

    assert (said.by is None) == (said.node in kept_nodes(said.tree, message))
    assert examined == sum(len(LEAVES[leaf]) for leaf in kept)


def kept_nodes(tree: Tree, message: dict[str, Any]) -> list[str]:
    """The nodes that neither filter prunes, nor any node above, by the examples' data."""
    kept = ["n1"]
    for parent, children in CHILDREN.items():
        for node in children if parent in kept else ():
            is_met = intersects(REGIONS[node], tuple(message["location"]))
            if is_met and TOKENS[tree][node] & set(message["words"]):
                kept.append(node)
    return kept


def test_inverted_lists():
    """Those of Figure 5: level 3 is in the leaves, like what is left over (Example 8)."""
    found = figure_5()

    expected: dict[tuple[str, str], list[str]] = {}
    for (_, node), lists in LISTS.items():
        for word, names in lists.items():
            expected.setdefault((node, word), []).extend(names)
    assert {key: sorted(names) for key, names in found.items()} == {key: sorted(own) for key, own in expected.items()}


@pytest.mark.parametrize("said", COUNTS, ids=lambda said: f"{said.where}, {said.subscription}")
def test_counts(said: Count):
    """In so many lists of the message's tokens a subscription is, down to a level (section 5.2)."""
    words = MESSAGES[said.message]["words"]
    upper = [names for (node, word), names in figure_5().items() if word in words and (said.level > 2 or node < "n4")]
    own = [name for (node, word), names in figure_5().items() if word in words and node >= "n4" for name in names]
    first = sum(said.subscription in names for names in upper)

    assert (first if said.level > 2 else first + own.count(said.subscription)) == said.lists


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("tree", BUILDERS)
def test_answers(tree: str, message: str):
    """Those of the paper, by each tree (Examples 1 and 3, section 5.2)."""
    matcher = BUILDERS[tree].over(FIGURE, figure_2())

    found = pairs(matcher.match(batch(FIGURE.expressions, [MESSAGES[message]])))

    assert [NAMES[one] for _, one in found] == ANSWERS[message]


@pytest.mark.parametrize("selection", range(len(SELECTIONS)), ids=SELECTIONS)
def test_lemma_2(selection: int):
    """Whatever the R^t-tree prunes the R^t+-tree on the same tree prunes: message by message it verifies no more."""
    random = np.random.default_rng(selection)
    expressions = compiled(random_texts(600, random))
    held = Held.of(expressions)
    trees = build_trees(held, 2, 4)
    whole = token_trees(held, trees, held.regions.tokens, ALL)
    represented = token_trees(held, trees, order_tokens(held, selection), 1)
    matchers = [builder.over(held, trees) for builder in (RTTreeBuilder(), RTPlusTreeBuilder(selection=selection))]
    events = random_messages(60, random, longest=6)

    more, fewer = tokens_at(whole.sets, held), tokens_at(represented.sets, held)
    assert all(fewer[node] <= more[node] for node in more)
    examined = [
        [matcher.match(batch(expressions, [event])).candidates_examined for event in events] for matcher in matchers
    ]
    assert all(plus <= plain for plain, plus in zip(*examined, strict=True))
    assert sum(examined[1]) < sum(examined[0])


@given(
    loads=st.lists(st.sets(st.sampled_from("abcdefg"), min_size=1), min_size=1, max_size=12),
    words=st.sets(st.sampled_from("abcdefg")),
)
def test_lemmas_3_to_5(loads: list[set[str]], words: set[str]):
    """Who is in fewer lists than its level is no answer; who is in all has all tokens; and an answer with more tokens
    than a node's level waits there, so that the node is visited."""
    texts = [
        f"S_INTERSECTS(p, BBOX({i}, 0, {i}, 1)) AND A_CONTAINS(l, ({', '.join(map(repr, own))}))"
        for i, own in enumerate(map(sorted, loads))
    ]
    held = Held.of(compiled(texts))
    structure = list_trees(held, build_trees(held, 1, 2), order_tokens(held, IDF))
    trees, lists = structure.trees, lists_at(structure.lists, held)
    parents, height = parents_of(trees), int(trees.levels.max())
    counts: dict[tuple[int, int], int] = {}
    for one, leaf in leaves_of(trees).items():
        path, node = {}, leaf
        for level in range(height, 0, -1):
            path[level], node = node, parents[node]
        appearances = [level for level, at in path.items() for key, own in lists.items() if key[0] == at and one in own]
        assert len(appearances) == len(loads[one])
        assert all(appearances.count(level) == 1 for level in range(1, min(height, len(loads[one]))))
        for level in path:
            above = [node for other, node in path.items() if other <= level]
            counts[one, level] = sum(one in lists.get((node, word), []) for node in above for word in words)

        is_answer = loads[one] <= words
        assert (counts[one, height] == len(loads[one])) == is_answer  # Lemma 4
        assert not any(counts[one, level] < level <= len(loads[one]) and is_answer for level in path)  # Lemma 3
        if is_answer:
            assert all(counts[one, level] == level for level in range(1, min(height, len(loads[one]))))  # Lemma 5


def test_what_trees_let_through():
    """Representatives leave fewer candidates than all tokens, and these fewer than boxes alone; what is counted on the
    way down fewest of all where messages are short."""
    random = np.random.default_rng(8)
    expressions = compiled(random_texts(4000, random))
    events = batch(expressions, random_messages(200, random, longest=6))
    builders = [
        RTPlusPlusTreeBuilder(5, 10),
        RTPlusTreeBuilder(5, 10),
        RTTreeBuilder(5, 10),
        SpatialFirstBuilder(5, 10),
    ]

    found = [builder.build(expressions).match(events) for builder in builders]
    examined = [one.candidates_examined for one in found]

    assert examined == sorted(examined)
    assert len(found[0].subscriptions) < examined[0]
    assert examined[1] < 0.8 * examined[3]


@pytest.mark.parametrize("longest", [4, 150])
@pytest.mark.parametrize("finish", [1, 3, 1000])
def test_finishing_at_once_changes_no_answer(finish: int, longest: int):
    """Comparing the keywords of waiting subscriptions finds whom counting to the leaves finds; regions are compared for
    the same subscriptions."""
    random = np.random.default_rng(longest)
    expressions = compiled(random_texts(3000, random))
    events = batch(expressions, random_messages(150, random, longest))

    counted, finished = (RTPlusPlusTreeBuilder(2, 4, finish=n).build(expressions).match(events) for n in (0, finish))

    assert pairs(finished) == pairs(counted)
    assert finished.candidates_examined == counted.candidates_examined
    assert len(counted.subscriptions) > 300


@pytest.mark.parametrize("least, most", [(1, 2), (2, 3), (2, 4), (25, 50)])
@pytest.mark.parametrize("count", [1, 2, 3, 25, 49, 50, 51, 52, 99, 101, 1251, 2501, 2600])
def test_nodes_have_between_least_and_most_children(least: int, most: int, count: int):
    """And a root at least two, unless it is a leaf; everyone lies in one leaf; the tree is as low as can be."""
    random = np.random.default_rng(count)
    held = Held.of(compiled(random_texts(count, random)))
    trees = build_trees(held, least, most)
    children = (trees.stops - trees.firsts).tolist()
    height = next(height for height in range(1, 32) if most**height >= count)

    assert sorted(trees.entries.tolist()) == list(range(count))
    assert all(least <= size <= most for size in children[1:])
    assert min(2, count) <= children[0] <= most
    assert set(trees.levels[trees.is_leaf == 1].tolist()) == {max(height - 1, 1)}


@pytest.mark.parametrize("options", [{"least": 3, "most": 4}, {"least": 0, "most": 4}, {"least": 1, "most": 1}])
def test_refuses_nodes_that_cannot_be(options: dict[str, int]):
    """A full node and one more must be two that are full enough."""
    with pytest.raises(ValueError, match="least from 1 to half of most"):
        SpatialFirstBuilder(**options)


def test_refuses_other_selections():
    """By the names of those that there are."""
    with pytest.raises(ValueError, match="3 \\(locality-aware\\)"):
        RTPlusTreeBuilder(selection=4)
