"""What Yu, Li et al. 2015 say of their Figures 1 to 5 holds of the oracle and of plain sets."""

from __future__ import annotations

from collections import Counter

import pytest

import tocsin
from tests.naive import match as naive
from tests.naive.location_aware_examples import (
    ANSWERS,
    CHILDREN,
    COUNTS,
    COUNTS_OF_TOKENS,
    FREQUENCIES,
    LEAVES,
    LISTS,
    MESSAGES,
    MISSED_BY_REGION,
    ORDERED,
    POINT,
    REGION,
    REGIONS,
    REPRESENTATIVES,
    STATEMENTS,
    SUBSCRIPTIONS,
    TOKENS,
    Bounds,
    Count,
    Statement,
    Tree,
)
from tests.naive.places import intersects

UNDER = LEAVES | {node: [s for leaf in CHILDREN[node] for s in LEAVES[leaf]] for node in ("n2", "n3")}
OF_TREE = {"all": {name: s.keywords for name, s in SUBSCRIPTIONS.items()}} | {
    tree: {name: {token} for name, token in chosen.items()} for tree, chosen in REPRESENTATIVES.items()
}


@pytest.mark.parametrize("message", MESSAGES)
def test_answers(message: str) -> None:
    """The oracle gives the paper's answers (Examples 1 and 3, section 5.2)."""
    subscriptions = [(name, tocsin.parse(s.where())) for name, s in SUBSCRIPTIONS.items()]

    pairs = naive.match(subscriptions, [MESSAGES[message]])

    assert {name for _, name in pairs} == set(ANSWERS[message])


def test_frequencies() -> None:
    """Tokens are as frequent as the caption of Figure 4 says."""
    assert Counter(token for s in SUBSCRIPTIONS.values() for token in s.keywords) == FREQUENCIES


def test_a_token_alone_keeps_s10_from_the_point_and_space_alone_s7() -> None:
    """Example 1: s10 covers the point, and s7's tokens are all in the message."""
    words = set(MESSAGES["m_p"]["words"])

    assert _meets(SUBSCRIPTIONS["s10"].region, POINT) and SUBSCRIPTIONS["s10"].keywords - words == {"32GB"}
    assert SUBSCRIPTIONS["s7"].keywords <= words and not _meets(SUBSCRIPTIONS["s7"].region, POINT)


def test_a_region_is_the_smallest_around_what_is_under_a_node() -> None:
    """R_13 to R_16, and those of n2 and n3; entries of one node are disjoint (footnote 1)."""
    for node, names in UNDER.items():
        sides = list(zip(*(SUBSCRIPTIONS[name].region for name in names), strict=True))
        assert REGIONS[node] == (*map(min, sides[:2]), *map(max, sides[2:]))
    for one, other in CHILDREN.values():
        assert not _meets(REGIONS[one], REGIONS[other])


def test_what_the_messages_region_misses() -> None:
    """n4 and s7 (Examples 1 and 3); it meets the other nodes, s8 and s9, and all under n7."""
    named = REGIONS | {name: s.region for name, s in SUBSCRIPTIONS.items() if name not in ("s1", "s2", "s3", "s5")}

    assert [name for name, region in named.items() if not _meets(region, REGION)] == MISSED_BY_REGION


@pytest.mark.parametrize("tree", TOKENS)
def test_token_sets(tree: Tree) -> None:
    """A node has what those under it have; all entries together have as many tokens as Example 6 counts."""
    found = {node: set().union(*(OF_TREE[tree][name] for name in names)) for node, names in UNDER.items()}

    assert found == TOKENS[tree]
    assert sum(map(len, [*found.values(), *OF_TREE[tree].values()])) == COUNTS_OF_TOKENS[tree]


def test_representatives() -> None:
    """By df: a greedy cover by the token that most of those left have; by idf: the rarest (Examples 6 and 7)."""
    greedy: dict[str, str] = {}
    while left := set(SUBSCRIPTIONS) - set(greedy):
        counts = Counter(token for name in left for token in SUBSCRIPTIONS[name].keywords)
        ((token, _),) = counts.most_common(1)
        greedy |= {name: token for name in left if token in SUBSCRIPTIONS[name].keywords}

    assert greedy == REPRESENTATIVES["df"]
    assert {name: tokens[0] for name, tokens in ORDERED.items()} == REPRESENTATIVES["idf"]


@pytest.mark.parametrize("said", STATEMENTS, ids=lambda said: f"{said.where}, {said.node}, {said.tree}")
def test_filters(said: Statement) -> None:
    """A node is pruned by the filter that an example names, and by no other, or it is kept."""
    message = MESSAGES[said.message]
    pruning = {
        "MBR filter": not _meets(REGIONS[said.node], message["location"]),
        "token filter": not TOKENS[said.tree][said.node] & set(message["words"]),
    }

    assert [name for name, prunes in pruning.items() if prunes] == ([] if said.by is None else [said.by])


def test_order_of_tokens() -> None:
    """Each subscription's keywords, the rarest first (Example 8)."""
    for name, tokens in ORDERED.items():
        assert tokens == sorted(SUBSCRIPTIONS[name].keywords, key=lambda token: FREQUENCIES[token])


def test_inverted_lists() -> None:
    """The i-th token of a subscription is in a list of the i-th level, and in no other (Figure 5, its property)."""
    path = {name: {1: node, 2: leaf, 3: leaf} for node, leaf, name in _paths()}
    found: dict[tuple[int, str], dict[str, list[str]]] = {}
    for name, tokens in ORDERED.items():
        for level, token in enumerate(tokens, 1):
            found.setdefault((level, path[name][level]), {}).setdefault(token, []).append(name)

    assert found == LISTS


@pytest.mark.parametrize("said", COUNTS, ids=lambda said: f"{said.where}, {said.subscription}")
def test_counts(said: Count) -> None:
    """The lists of the message's tokens that hold a subscription, down to a level; one list a level at most."""
    words = MESSAGES[said.message]["words"]
    holding = [
        (level, node)
        for (level, node), lists in LISTS.items()
        if level <= said.level and any(said.subscription in lists.get(token, []) for token in words)
    ]

    assert len(holding) == said.lists
    assert len({level for level, _ in holding}) == said.lists


def _paths() -> list[tuple[str, str, str]]:
    return [(node, leaf, name) for node in ("n2", "n3") for leaf in CHILDREN[node] for name in LEAVES[leaf]]


def _meets(one: Bounds, other: list[float] | Bounds) -> bool:
    return intersects(tuple(one), tuple(other)) is True
