"""How the tests of trees look into them: tables of tokens and lists as dicts of plain values."""

from __future__ import annotations

from tocsin.index.spatial_text.kernels.layouts import ABSENT
from tocsin.index.spatial_text.regions import Held
from tocsin.papers.location_aware.rt_trees.kernels.token_sets import TokenLists, TokenSets
from tocsin.papers.location_aware.rt_trees.kernels.trees import Trees


def words_of(held: Held) -> list[str]:
    """The keyword of each token of one list of strings."""
    return [held.expressions.vocabulary.text(code >> 1) for code in held.keywords.operands.tolist()]


def slots_of(sets: TokenSets, held: Held) -> dict[tuple[int, str], int]:
    """The slot of each token of each node."""
    words = words_of(held)
    return {
        (node, words[sets.tokens[slot]]): slot
        for node in range(len(sets.starts) - 1)
        for slot in range(sets.starts[node], sets.starts[node + 1])
        if sets.tokens[slot] != ABSENT
    }


def tokens_at(sets: TokenSets, held: Held) -> dict[int, set[str]]:
    """The tokens of each node that has any."""
    found: dict[int, set[str]] = {}
    for node, word in slots_of(sets, held):
        found.setdefault(node, set()).add(word)
    return found


def lists_at(lists: TokenLists, held: Held) -> dict[tuple[int, str], list[int]]:
    """The subscriptions of each node's tokens."""
    numbers = {key: lists.numbers[slot] for key, slot in slots_of(lists.sets, held).items()}
    return {
        key: lists.entries[lists.starts[number] : lists.starts[number + 1]].tolist() for key, number in numbers.items()
    }


def leaves_of(trees: Trees) -> dict[int, int]:
    """The leaf of each subscription."""
    return {
        one: leaf
        for leaf in range(len(trees.firsts))
        if trees.is_leaf[leaf]
        for one in trees.entries[trees.firsts[leaf] : trees.stops[leaf]].tolist()
    }
