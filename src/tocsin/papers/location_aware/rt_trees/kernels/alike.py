"""`Similar` on R-trees: a walk from the root into nodes with a sufficient bound.

Source: Yu et al. 2015, section 6. Departs: docs/papers/location_aware.md, "What we did".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tocsin.index.filtering.kernels.layouts import meets
from tocsin.index.spatial_text.kernels.layouts import ABSENT, Message, Seen
from tocsin.index.spatial_text.kernels.resembling import Similarity, register_alike, spatial_share
from tocsin.jit.decorators import inlined, inner
from tocsin.jit.views import choose
from tocsin.papers.location_aware.rt_trees.kernels.bounds import SLACK, most_in_common
from tocsin.papers.location_aware.rt_trees.kernels.filters import BareTrees
from tocsin.papers.location_aware.rt_trees.kernels.token_sets import TokenLists, TokenSets, next_common
from tocsin.papers.location_aware.rt_trees.kernels.trees import DEEPEST, Trees, begin, descend, next_node


class BoundedTrees(NamedTuple):
    """R-trees whose nodes have all tokens below, and the least area and weight of a subscription there. N nodes."""

    trees: Trees
    sets: TokenSets
    areas: NDArray[np.float64]  # (N,)
    totals: NDArray[np.float64]  # (N,) weights of a subscription's tokens


class SharedTrees(NamedTuple):
    """R-trees whose nodes have all tokens below, each with a bound on its worth as the first common one. H slots."""

    trees: Trees
    sets: TokenSets
    shares: NDArray[np.float64]  # (H,) the greatest share of a subscription that it and all later tokens have


class RankedTrees(NamedTuple):
    """R-trees whose nodes have lists, with one token of each subscription per level. N nodes, E entries."""

    trees: Trees
    lists: TokenLists
    shares: NDArray[np.float64]  # (E,) the share of the subscription that the entry's token and all later ones have
    ahead: NDArray[np.float64]  # (N,) the greatest share that a subscription below has from its token of this level on
    areas: NDArray[np.float64]  # (N,) the least area of a region below


def may_enter(
    structure: Any,
    asked: Similarity,
    node: int,
    message: Message,
    seen: Seen,
    found: int,
) -> tuple[bool, int]:
    """Whether more candidates may be below a node; for a leaf, whether all are. Writes others to `seen.hits`."""
    raise NotImplementedError("for kernels")


@inner
def find_alike_in_tree(
    structure: Any,
    asked: Similarity,
    place: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """`find_alike`, depth first."""
    trees, hits, stamps = structure.trees, seen.hits, seen.stamps
    at, end = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    begin(trees, place, at, end)
    found, depth = np.int64(found), np.int64(0)
    while True:
        node, depth = next_node(at, end, depth)
        if node == ABSENT:
            return found
        goes_on, found = may_enter(structure, asked, node, message, seen, found)
        if goes_on and trees.is_leaf[node]:
            for i in range(trees.firsts[node], trees.stops[node]):
                one = np.int64(trees.entries[i])
                hits[found] = one
                found += np.int64(stamps[one] != message.stamp)
                stamps[one] = message.stamp
        elif goes_on:
            depth = descend(trees, node, at, end, depth)


@inlined
def _in_contact(
    structure: BareTrees,
    asked: Similarity,
    node: int,
    message: Message,
    seen: Seen,
    found: int,
) -> tuple[bool, int]:
    """`may_enter`: if the boxes meet, or everywhere if keywords alone may suffice."""
    return asked.far <= 1.0 or meets(structure.trees.boxes, node, message), found


@inlined
def _bounded(
    structure: BoundedTrees,
    asked: Similarity,
    node: int,
    message: Message,
    seen: Seen,
    found: int,
) -> tuple[bool, int]:
    """`may_enter`: by the common weight over the least below, and likewise the area (section 6.1, equation 4)."""
    sets, least = structure.sets, structure.totals[node]
    bound = asked.alpha * most_in_common(structure.trees, structure.areas, node, message)
    enough, common, at = asked.threshold - SLACK, 0.0, np.int64(0)
    if bound + (1.0 - asked.alpha) < enough:
        return False, found
    while bound + (1.0 - asked.alpha) * common / least < enough:
        slot, at = next_common(sets, node, message, seen, at)
        if slot == ABSENT:
            return False, found
        common = min(common + asked.weighed.weights[sets.tokens[slot]], least)
    return True, found


@inlined
def _shared(
    structure: SharedTrees,
    asked: Similarity,
    node: int,
    message: Message,
    seen: Seen,
    found: int,
) -> tuple[bool, int]:
    """`may_enter`: if a common token is in the prefix of a subscription (section 6.2, equations 5 and 6)."""
    touches = meets(structure.trees.boxes, node, message)
    if touches and asked.near <= 0.0:
        return True, found
    enough, at = asked.near if touches else asked.far, np.int64(0)
    while enough <= 1.0:
        slot, at = next_common(structure.sets, node, message, seen, at)
        if slot == ABSENT:
            break
        if structure.shares[slot] >= enough:
            return True, found
    return False, found


@inlined
def _ranked(
    structure: RankedTrees,
    asked: Similarity,
    node: int,
    message: Message,
    seen: Seen,
    found: int,
) -> tuple[bool, int]:
    """`may_enter`: reads the node's lists, then tells whether subscriptions in no list so far may still suffice."""
    lists, enough = structure.lists, asked.threshold - SLACK
    spatial = asked.alpha * most_in_common(structure.trees, structure.areas, node, message)
    if spatial + (1.0 - asked.alpha) * structure.ahead[node] < enough:
        return False, found
    if structure.trees.is_leaf[node] and spatial >= enough:
        return True, found
    at = np.int64(0)
    while True:
        slot, at = next_common(lists.sets, node, message, seen, at)
        if slot == ABSENT:
            return structure.trees.is_leaf[node] == 0, found
        found = _write_able(structure, asked, np.int64(lists.numbers[slot]), message, seen, found)


@inlined
def _write_able(
    structure: RankedTrees,
    asked: Similarity,
    number: int,
    message: Message,
    seen: Seen,
    found: int,
) -> int:
    """Write the subscriptions first met in a list that may suffice if they have all tokens from this one on."""
    lists, enough = structure.lists, asked.threshold - SLACK
    for i in range(lists.starts[number], lists.starts[number + 1]):
        textual = (1.0 - asked.alpha) * structure.shares[i]
        if asked.alpha + textual < enough:
            continue
        one = np.int64(lists.entries[i])
        if seen.stamps[one] != message.stamp and (
            textual >= enough or asked.alpha * spatial_share(asked, one, message) + textual >= enough
        ):
            seen.stamps[one] = message.stamp
            seen.hits[found] = one
            found += 1
    return np.int64(found)


for layout, entering in (
    (BareTrees, _in_contact),
    (BoundedTrees, _bounded),
    (SharedTrees, _shared),
    (RankedTrees, _ranked),
):
    choose(may_enter, layout, entering)
    register_alike(layout, find_alike_in_tree)
